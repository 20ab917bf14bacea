//! An embedded, ordered, crash-safe key-value store around **merge operators**.
//!
//! A key's history is a chain: a base value, then operands. Each part of the engine, from the
//! memtable to the last level, *folds* chains. So changing a value is one blind write that never
//! reads.
//!
//! Start at [`Db`]. [`WriteOptions`] says what a write guarantees when it returns.
//! [`MergeOperator`] says how to write an operator.
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
//! `docs/merge.md` introduces counters, lists, sets and your own operators in ten minutes. [`laws`]
//! checks an operator.
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
mod events;
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
mod rewriting;
mod runtime;
mod segment;
mod separated;
mod settings;
mod stats;
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
    ApproximateCount, BackupCheck, BackupInfo, Backups, Base, BatchOp, BatchUpdate, Change,
    CheckpointReport, ClockReading, CompareAndSwap, CreatedKeyspace, CutLog, Db, DumpReport,
    Explained, ExplainedRecord, Finalized, GcOptions, GcProgress, GcReport, Isolation, Keyspace,
    KeyspaceReader, LoadReport, LogCut, LostRange, LostTable, OnGcProgress, Operand, Operands,
    Place, Position, ReadOnlyDb, ReadOptions, Reader, RecordKind, RepairOptions, RepairReport,
    Savepoint, SkippedPart, Snapshot, SortedLoad, TableInfo, Transaction, TransactionKeyspace,
    TransactionOptions, Unfolded, Update, UpdateOp, Updates, UpdatesOptions, VerifiedFile,
    VerifyProgress, VerifyReport, With, WriteBatch, check_output, verify, verify_with_progress,
};
pub use error::{Error, ErrorKind, Result};
pub use events::{ClockJump, DroppedTail, Event, EventListener, FailedMerge, StallReason};
pub use fold::{
    BuiltinInfo, Full, Growth, MergeOperator, Operator, Partial, TextForm, builtins, hyperloglog,
    laws, list, merge_fn, set,
};
pub use foldb_env as env;
pub use iterator::Iter;
pub use key::{AsKeyRange, BytewiseComparator, Comparator, FilterPolicy};
pub use memory::MemoryUsage;
pub use options::{
    ExplainedOption, KeyspaceOptions, OptionSource, OptionValue, Options, Profile, WriteOptions,
};
pub use runtime::{Runtime, RuntimeOptions};
pub use settings::{CompactionPreset, Compression, Expires, Expiry, LogAdoption};
pub use stats::{KeyspaceStats, LevelShape, LevelStats, ReadReport, SegmentStats, Stats};
pub use table::{CustomCache, SharedBlock};
pub use value::Value;

/// Compiles the examples of the tour.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tour.md")]
struct Tour;

/// Runs the examples of the guide to merging.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/merge.md")]
struct MergeGuide;

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

/// Compiles the example of use from async code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/async.md")]
struct AsyncGuide;
