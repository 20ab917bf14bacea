//! Rewriting: records of several sources become the records of new tables. Flushes and compactions
//! share this code.
//!
//! [`folding`] folds records on the way. [`filtering`] lets the caller's [`filter`] look at the
//! folded values of a compaction. [`older_tables`] says what they may have to hide.
//! [`range_deletes`] picks the range tombstones to pass on. [`output`] writes tables within the
//! [`memory`] that the work may take.

pub(crate) mod filter;
pub(crate) mod filtering;
pub(crate) mod folding;
pub(crate) mod memory;
pub(crate) mod older_tables;
pub(crate) mod output;
pub(crate) mod range_deletes;
#[cfg(test)]
mod tests;
