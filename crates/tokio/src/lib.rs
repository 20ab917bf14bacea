//! [foldb] in asynchronous programs on [tokio].
//!
//! A call of the engine may wait: for a disk, for other writers, for background work. On a thread
//! of the executor it would stop every task there. [`AsyncDb`] runs each call on a blocking thread
//! of Tokio, and gives scans and the change feed as streams.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> foldb::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! use foldb_tokio::AsyncDb;
//!
//! let db = AsyncDb::create(dir.path().join("db")).await?;
//! db.put("a", "1").await?;
//! db.put("b", "2").await?;
//! let swapped = db
//!     .transact(|transaction| {
//!         let (a, b) = (transaction.get("a")?.unwrap(), transaction.get("b")?.unwrap());
//!         transaction.put("a", b)?;
//!         transaction.put("b", a)
//!     })
//!     .await;
//! swapped?;
//! assert_eq!(db.get("a").await?.unwrap(), b"2");
//! db.close().await
//! # }
//! ```
//!
//! docs/async.md says which calls wait, and what a call costs here.
//!
//! # Design
//!
//! *Calls run in `tokio::task::spawn_blocking`, and a semaphore bounds them.* A pool of its own
//! would keep threads beside Tokio's, and know less: Tokio's blocking threads start on demand, end
//! when idle, and a runtime that shuts down waits for them. The bound keeps a burst of calls from
//! taking all 512 of these threads, which files and name look-ups of the program use too.
//!
//! *A call that has begun runs to its end.* A future that is dropped before that leaves nothing;
//! one that is dropped later leaves the whole call. No future leaves half a write, because the
//! engine applies a batch or a transaction at one moment.
//!
//! *No thread waits for the reader of a scan.* A blocking task fills a batch of entries, gives the
//! iterator back, and ends. The stream asks for the next batch when the last one is used up. So a
//! slow reader holds no thread, and a dropped one ends with the batch in hand.
//!
//! *A follower that waits has a thread.* [`foldb::feed::Updates::wait`] sleeps without polling, so
//! a stream of updates has one sleeping blocking thread while nothing happens. These threads are
//! outside of the bound: a follower would keep its place from calls for ever. A dropped stream
//! wakes its thread, which ends.

#![forbid(unsafe_code)]

mod calls;
mod database;
mod entries;
mod pool;
mod updates;

pub use calls::AsyncKeyspace;
pub use database::AsyncDb;
pub use entries::{Entries, Entry};
pub use updates::UpdateStream;

/// Runs the examples of the guide to async code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/async.md")]
struct AsyncGuide;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
