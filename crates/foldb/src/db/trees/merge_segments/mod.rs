//! Segment merges from the database's side: when there is one to do, its installation, and merging
//! on demand.
//!
//! A merge takes no part in anything else: it reads a version, writes a file that nobody knows of,
//! and says in one edit where segments lie from now on. Only segments that still lie where it read
//! them are said to have moved; what became of the others meanwhile stands.

mod hidden;
mod in_background;
mod on_demand;
mod options;
mod report;
mod step;
#[cfg(test)]
mod tests;

pub use self::options::{MergeOptions, MergeProgress, OnMergeProgress};
pub use self::report::MergeReport;
