//! The database's part in garbage collection of value segments: when it is due, its installation,
//! and collection on demand.
//!
//! A collection reads a version and writes a new file that no version knows. Then one edit gives
//! the new places of the segments. The edit moves only segments that still lie where the collection
//! read them. The other segments were moved or removed during the collection, and stay so.

mod hidden;
mod in_background;
mod on_demand;
mod options;
mod report;
mod step;
#[cfg(test)]
mod tests;

pub(super) use self::in_background::time_at;
pub use self::options::{GcOptions, GcProgress, OnGcProgress};
pub use self::report::GcReport;
