//! Compaction: what to merge ([`policy`], pure), and the job that does it slice by slice ([`job`]).

pub(crate) mod job;
pub(crate) mod policy;
#[cfg(test)]
mod tests;
