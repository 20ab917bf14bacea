//! The database: its handles, and the code that their calls run.
//!
//! ```text
//!   backup      incremental backups in one directory
//!   dump        a whole database as one stream, and back
//!   load        sorted loads: keys in order straight into tables
//!   feed        the change feed: updates since a position
//!   transaction transactions, conditional writes
//!   -----------
//!   handle      Db, Keyspace, Snapshot, ReadOnlyDb: what a program holds, and how it reads them
//!   -----------
//!   lifecycle   open, replay, close, checkpoint, repair, verify; keyspaces and operators
//!   -----------
//!   trees       background work: flush, compaction, garbage collection, installing their results
//!   write       log, apply, publish
//!   -----------
//!   read        point reads, iterators, operands; the time that reads lose
//!   -----------
//!   throttle    stalls, slowdowns, and the order of writers
//!   -----------
//!   batch       the writes of one call
//!   core        the state of a database, and what every floor above asks of it
//!   -----------
//!   state       the data that each lock guards
//! ```
//!
//! A folder uses only folders of floors below its own, by names and by method calls.
//! `cargo xtask layers` reads this list and checks it. [`core::Core`] owns the state. The floors
//! above it add operations, each in an `impl` block for its subject. The files of `state` say which
//! lock guards what.

pub(crate) mod backup;
mod batch;
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
pub use batch::{BatchOp, WriteBatch};
pub use dump::DumpReport;
pub use feed::{
    BatchUpdate, Change, CreatedKeyspace, Interrupt, Update, UpdateOp, Updates, UpdatesOptions,
};
pub use handle::{
    Db, Finalized, Keyspace, KeyspaceReader, ReadOnlyDb, ReadOptions, Reader, Snapshot, With,
};
pub use handle::{check_output, verify, verify_with_progress};
pub use lifecycle::checkpoint::CheckpointReport;
pub use lifecycle::open::{
    CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport, SkippedPart,
};
pub use lifecycle::open::{KeyspaceInfo, VerifiedFile, VerifyProgress, VerifyReport};
pub use lifecycle::reset_time::ClockReading;
pub use load::{LoadReport, SortedLoad};
pub use read::approximate::ApproximateCount;
pub use read::explain::{Explained, ExplainedRecord, RecordKind, Unfolded};
pub use read::key_walk::Place;
pub use read::operands::{Base, Operand, Operands};
pub use read::tables::TableInfo;
pub use state::position::Position;
pub use transaction::{
    CompareAndSwap, Isolation, Savepoint, Transaction, TransactionKeyspace, TransactionOptions,
};
pub use trees::gc::{GcOptions, GcProgress, GcReport, OnGcProgress};
