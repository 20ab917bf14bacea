//! The database: its handles, and the code that their calls run.
//!
//! ```text
//!   handle      Db, Keyspace, Snapshot, ReadOnlyDb: what a program holds, and how it reads them
//!   lifecycle   open, replay, close, checkpoint, repair, verify; keyspaces and operators
//!   load        sorted loads: keys in order straight into tables
//!   backup      incremental backups in one directory
//!   dump        a whole database as one stream, and back
//!   trees       background work: flush, compaction, garbage collection, installing their results
//!   transaction transactions, conditional writes
//!   read        point reads, iterators, operands; the payments of reads
//!   write       log, apply, publish
//!   feed        the change feed: updates since a position, and the logs kept for it
//!   throttle    stalls, slowdowns, and the order of writers
//!   core        the state of a database
//!   state       the data that each lock guards
//! ```
//!
//! [`core::Core`] owns the state. The modules above it add operations, each in an `impl` block for
//! its subject. The files of `state` say which lock guards what.

pub(crate) mod backup;
mod core;
pub(crate) mod dump;
pub(crate) mod feed;
mod handle;
mod lifecycle;
mod load;
mod read;
mod state;
#[cfg(test)]
mod tests;
mod throttle;
mod transaction;
mod trees;
mod write;

pub use backup::{BackupCheck, BackupInfo, Backups};
pub use dump::DumpReport;
pub use feed::{
    BatchUpdate, Change, CreatedKeyspace, Position, Update, UpdateOp, Updates, UpdatesOptions,
};
pub use handle::{Db, Keyspace, KeyspaceReader, ReadOnlyDb, ReadOptions, Reader, Snapshot};
pub use handle::{verify, verify_with_progress};
pub use lifecycle::checkpoint::CheckpointReport;
pub use lifecycle::copying::check_output;
pub use lifecycle::open::{
    CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport, SkippedPart,
};
pub use lifecycle::open::{VerifiedFile, VerifyProgress, VerifyReport};
pub use lifecycle::operators::Finalized;
pub use lifecycle::reset_time::ClockReading;
pub use load::{LoadReport, SortedLoad};
pub use read::approximate::ApproximateCount;
pub use read::explain::{Explained, ExplainedRecord, Place, RecordKind, Unfolded};
pub use read::operands::{Base, Operand, Operands};
pub use read::tables::TableInfo;
pub use transaction::{
    CompareAndSwap, Conditional, Isolation, Savepoint, Transaction, TransactionKeyspace,
    TransactionOptions,
};
pub use trees::gc::{GcOptions, GcProgress, GcReport, OnGcProgress};
pub use write::batch::{BatchOp, WriteBatch};
