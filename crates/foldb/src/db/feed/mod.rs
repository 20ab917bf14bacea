//! The change feed: reads the logs, in commit order, for a follower of the database.
//!
//! ```text
//!   update     one entry of the feed: a batch, or what else happened
//!   updates    the reader: `Db::updates_since`
//!   wait       waits for the next update
//!   now        the position of the last write
//!   read_only  the feed of a handle that only reads
//!   directory  the logs as a read-only handle finds them
//! ```
//!
//! The logs that the feed reads are [`crate::db::state::chain`], and a place in the history is a
//! [`crate::feed::Position`]. A log becomes an archived log (`000007.arc`) instead of being
//! removed. At the switch to another log, the new log names its place in the history
//! ([`crate::wal::Lineage`]). Otherwise the writer only counts the write, and wakes a reader that
//! sleeps until the next one ([`crate::db::state::news`]).
//!
//! Invariants:
//!
//! - The feed yields no batch that readers cannot see yet, and none twice. So it yields none that a
//!   failed write takes back (H28). A read-only handle cannot know that of unsynced batches.
//! - Unless asked, it yields no batch that a power loss can take back: only frames that are synced.
//! - Numbers without a logged batch become [`Change::Unlogged`]. A missing log, or one of another
//!   history, is `PositionLost`. So a follower never misses a change silently.

#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
mod directory;
mod now;
mod read_only;
mod update;
pub(crate) mod updates;
mod wait;

pub use update::{BatchUpdate, Change, CreatedKeyspace, Update, UpdateOp};
pub use updates::{Updates, UpdatesOptions};
pub use wait::Interrupt;
