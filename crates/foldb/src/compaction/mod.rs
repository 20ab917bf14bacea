//! Compaction: [`policy`] picks what to compact and is pure; [`job`] does it slice by slice, in
//! [`parts`] if several workers may share it.

pub(crate) mod job;
mod parts;
pub(crate) mod policy;
#[cfg(test)]
mod tests;
