//! Garbage collection of value segments as the database sees it: when it is due, its installation,
//! and collection on demand.
//!
//! A collection reads a version and writes a new file that no version knows. Then one edit says
//! where segments lie from now on. The edit moves only segments that still lie where the collection
//! read them. The others keep what happened to them meanwhile.

mod hidden;
mod in_background;
mod on_demand;
mod options;
mod report;
mod step;
#[cfg(test)]
mod tests;

pub use self::options::{GcOptions, GcProgress, OnGcProgress};
pub use self::report::GcReport;
