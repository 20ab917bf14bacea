//! Compaction: what to merge ([`policy`], pure), how records fold on the way ([`folding`]) and
//! what they may have to hide ([`older_tables`]), where they go ([`output`]), and the job that does
//! it slice by slice ([`job`]).

pub(crate) mod folding;
pub(crate) mod job;
pub(crate) mod memory;
pub(crate) mod older_tables;
pub(crate) mod output;
pub(crate) mod policy;
pub(crate) mod range_deletes;
#[cfg(test)]
mod tests;
