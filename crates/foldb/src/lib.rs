//! An embedded, ordered, crash-safe key-value store around **merge operators**.
//!
//! A key's history is a chain: a base value, then operands. Each part of the engine, from the
//! memtable to the last level, *folds* chains. So changing a value is one blind write that never
//! reads.
//!
//! Start at [`Db`]. [`WriteOptions`] says what a write guarantees when it returns.
//! [`operators::MergeOperator`] says how to write an operator.
//!
//! ```
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! use foldb::{Db, KeyspaceOptions, Options};
//!
//! let options = Options {
//!     create_if_missing: true,
//!     default: KeyspaceOptions::with_operator("uint64add"),
//!     ..Options::default()
//! };
//! let db = Db::open(&path, options)?;
//! db.merge("visits", 1u64.to_le_bytes())?;
//! db.merge("visits", 41u64.to_le_bytes())?;
//! assert_eq!(db.get("visits")?.unwrap(), 42u64.to_le_bytes());
//! # Ok::<(), foldb::Error>(())
//! ```
//!
//! `docs/merge.md` introduces counters, lists, sets and your own operators in ten minutes.
//! [`operators::laws`] checks an operator.
//!
//! What a first program needs is here at the root. Each further subject is a module.
//!
//! Reading order of the source: `key`, `value`, `fold`, `memtable`, `wal`, `table`, `version`,
//! `iterator`, `rewriting`, `compaction`, `db`. ARCHITECTURE.md has the order of the layers.

#![forbid(unsafe_code)]
// Items that only benches and fuzz targets use are unreachable without the feature `internals`.
#![cfg_attr(not(feature = "internals"), allow(unreachable_pub))]

mod compaction;
mod counters;
mod db;
#[cfg(any(test, feature = "internals"))]
mod decoders;
mod encoding;
mod error;
pub mod events;
#[cfg(not(feature = "internals"))]
mod faults;
#[cfg(feature = "internals")]
pub mod faults;
mod files;
mod fold;
mod gc;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod iterator;
mod key;
pub mod limits;
mod locks;
mod memory;
mod memtable;
#[cfg(all(debug_assertions, feature = "internals"))]
pub mod numbering;
mod operation;
mod options;
mod range_tombstone;
mod recording;
mod rewriting;
mod runtime;
mod segment;
mod separated;
mod settings;
pub mod stats;
mod table;
#[cfg(test)]
mod testing;
mod user_code;
mod value;
mod version;
mod wal;

/// Compiles the example in README.md.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct ReadmeExample;

pub use db::{
    BatchOp, CompareAndSwap, Db, Isolation, Keyspace, KeyspaceReader, ReadOnlyDb, ReadOptions,
    Reader, Savepoint, Snapshot, Transaction, TransactionKeyspace, TransactionOptions, With,
    WriteBatch,
};
pub use error::{Error, ErrorKind, Result};
pub use iterator::Iter;
pub use key::AsKeyRange;
pub use options::{KeyspaceOptions, Options, Profile, WriteOptions};
pub use runtime::{Reservation, Runtime, RuntimeOptions};
pub use settings::{CompactionPreset, Compression, LogAdoption};
pub use value::Value;

/// Merge operators: the built-in ones with their operands, and how to write your own.
pub mod operators {
    pub use crate::db::{Base, Finalized, Operand, Operands, check_output};
    pub use crate::fold::{
        BuiltinInfo, Full, Growth, MergeOperator, Operator, Partial, TextForm, builtins, histogram,
        hyperloglog, laws, list, merge_fn, set, stats, top,
    };
}

/// Entries that expire: when, by which clock.
pub mod expiry {
    pub use crate::db::ClockReading;
    pub use crate::settings::{Expires, Expiry};
}

/// The change feed: the updates of a database since a position.
pub mod feed {
    pub use crate::db::{
        BatchUpdate, Change, CreatedKeyspace, Interrupt, Position, Update, UpdateOp, Updates,
        UpdatesOptions,
    };
}

/// Copies of a database: checkpoints, and incremental backups in one directory.
pub mod backup {
    pub use crate::db::{BackupCheck, BackupInfo, Backups, CheckpointReport};
}

/// A whole database as one stream, and back.
pub mod dump {
    pub use crate::db::DumpReport;
}

/// Loads of sorted keys straight into tables.
pub mod load {
    pub use crate::db::{LoadReport, SortedLoad};
}

/// Checks and repairs of databases that are not open.
pub mod repair {
    pub use crate::db::{
        CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport, SkippedPart,
        VerifiedFile, VerifyProgress, VerifyReport, verify, verify_with_progress,
    };
}

/// Garbage collection of value segments.
pub mod garbage {
    pub use crate::db::{GcOptions, GcProgress, GcReport, OnGcProgress};
}

/// What a database holds and why: the records of a key, tables, counts, options.
pub mod explain {
    pub use crate::db::{
        ApproximateCount, Explained, ExplainedRecord, KeyspaceInfo, Place, RecordKind, TableInfo,
        Unfolded,
    };
    pub use crate::options::{ExplainedOption, OptionSource, OptionValue};
}

/// The machine as a database sees it: files, time and threads. [`Options::env`] replaces them.
pub mod env {
    #[cfg(unix)]
    pub use foldb_env::PosixFs;
    pub use foldb_env::{
        AppendOnlyFiles, AppendOnlyFs, AppendedFile, CheckPlace, Clock, DirectoryLost, Env,
        FileLock, FileSystem, Holder, LockHeld, ManualClock, MemFs, NothingDone, Place, PortableFs,
        RandomAccessFile, ReadableFile, SCRATCH_NAME, Stepped, SystemClock, SystemThreads, Thread,
        ThreadBody, Threads, WritableFile, file_budget,
    };

    /// File systems, disks and clocks for tests of the engine.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub use foldb_env::*;
}

/// The flight recorder: what a database did, while it is open and after its process died.
pub mod recorder {
    pub use crate::recording::{
        RecordedCalls, RecordedEvent, RecordedKey, RecordedSample, RecordedSession, Recording,
        Remarkable,
    };
}

/// Parts that a program can replace or add: the order of keys, filters, the block cache, filters of
/// compactions.
pub mod custom {
    pub use crate::key::{BytewiseComparator, Comparator, FilterPolicy};
    pub use crate::rewriting::filter::{
        CompactionFilter, CompactionFilterFactory, FilterContext, Verdict,
    };
    pub use crate::table::{CustomCache, SharedBlock};
}

/// Compiles the examples of the tour.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tour.md")]
struct Tour;

/// Runs the examples of the guide to merging.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/merge.md")]
struct MergeGuide;

/// Runs the Rust example of the page of operators.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/operators.md")]
struct OperatorsPage;

/// Runs the examples of the guide to transactions.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/transactions.md")]
struct TransactionGuide;

/// Runs the example of the guide to expiry.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/expiry.md")]
struct ExpiryGuide;

/// Runs the example of the guide to the change feed.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/feed.md")]
struct FeedGuide;

/// Runs the example of the page on backups.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/backups.md")]
struct BackupsGuide;

/// Runs the examples of the page on watching a database.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/observe.md")]
struct ObservePage;
