//! The database: handles, and what stands behind each of their calls.
//!
//! ```text
//!   handle      Db, Keyspace, Snapshot: what a program holds
//!   lifecycle   open, replay, close, checkpoint, repair, verify; keyspaces and operators come and go
//!   trees       background work: flush, compaction, garbage of segments; installing what they made
//!   read        point reads, iterators, operands; what reads pay for
//!   write       log, apply, publish
//!   throttle    what slows or orders writers
//!   core        everything a database is made of
//!   state       what each lock guards
//! ```
//!
//! [`core::Core`] owns the state. The rooms above it add what is done with it, each as an `impl` of
//! its own subject; no room reads another's files to know what a lock guards.

mod core;
mod handle;
mod lifecycle;
mod read;
mod state;
#[cfg(test)]
mod tests;
mod throttle;
mod trees;
mod write;

pub use handle::{Db, Keyspace, ReadOptions, Snapshot, verify, verify_with_progress};
pub use lifecycle::checkpoint::CheckpointReport;
pub use lifecycle::open::{CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport};
pub use lifecycle::open::{VerifiedFile, VerifyProgress, VerifyReport};
pub use lifecycle::operators::Finalized;
pub use read::approximate::ApproximateCount;
pub use read::explain::{Explained, ExplainedRecord, Place, RecordKind, Unfolded};
pub use read::operands::{Base, Operand, Operands};
pub use trees::gc::{GcOptions, GcProgress, GcReport, OnGcProgress};
pub use write::batch::{BatchOp, WriteBatch};
