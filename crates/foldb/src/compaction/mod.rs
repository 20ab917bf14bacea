//! Compaction: [`policy`] picks what to compact and is pure; [`job`] does it slice by slice.

pub(crate) mod job;
pub(crate) mod policy;
#[cfg(test)]
mod tests;
