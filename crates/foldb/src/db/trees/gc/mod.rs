//! Garbage collection of value segments, from the database's side: when it is due, its
//! installation, and collection on demand. (NutsDB calls this its merge.)
//!
//! A collection touches nothing else. It reads a version and writes a file that no version knows.
//! Then one edit says where segments lie from now on. The edit moves only segments that still lie
//! where the collection read them; what happened to the others meanwhile stands.

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
