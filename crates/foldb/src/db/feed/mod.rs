//! The change feed: reads the logs, in commit order, for a follower of the database.
//!
//! ```text
//!   position   a place in the history, which a follower stores
//!   update     one entry of the feed: a batch, or what else happened
//!   updates    the reader: `Db::updates_since`
//!   chain      the logs that the feed reads, from the oldest kept one to the active one
//!   announced  which keyspaces the records of the logs named so far
//!   archive    logs that tables hold are kept as archived logs, up to the bounds of the options
//!   directory  the logs as a read-only handle finds them
//!   recovery   which logs of earlier opens the feed can read
//! ```
//!
//! A log becomes an archived log (`000007.arc`) instead of being removed. The writer does nothing
//! for the feed, except at the switch to another log, where the new log names its place in the
//! history ([`crate::wal::Lineage`]).
//!
//! Invariants:
//!
//! - The feed yields no batch that readers cannot see yet, and none twice.
//! - Unless asked, it yields no batch that a power loss can take back: only frames that are synced.
//! - Numbers without a logged batch become [`Change::Unlogged`]. A missing log, or one of another
//!   history, is `PositionLost`. So a follower never misses a change silently.

pub(crate) mod announced;
pub(crate) mod archive;
pub(crate) mod chain;
#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
mod directory;
mod position;
pub(crate) mod recovery;
mod update;
pub(crate) mod updates;

pub use position::Position;
pub use update::{BatchUpdate, Change, CreatedKeyspace, Update, UpdateOp};
pub use updates::{Updates, UpdatesOptions};
