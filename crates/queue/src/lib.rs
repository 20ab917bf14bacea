//! Job queues with leases, retries and dead letters in a [foldb] database.
//!
//! A worker [claims](Queue::claim) a job for some time: its *lease*. The worker ends the job with
//! [`Queue::ack_with`], which commits the effects of the job and its end together. A worker that
//! dies gives its job back when the lease ends. So a job may be given to workers more than once,
//! and its effects happen exactly once.
//!
//! ```
//! # let dir = tempfile::tempdir().unwrap();
//! use std::time::Duration;
//! use foldb_queue::{PushOptions, Queue, QueueOptions};
//!
//! let db = foldb::Db::create(dir.path().join("db"))?;
//! let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
//! jobs.push("resize 7.png")?;
//! jobs.push_with("resize 8.png", PushOptions { priority: 1, ..Default::default() })?;
//!
//! let job = jobs.claim("worker 1", Duration::from_secs(60))?.expect("two jobs are ready");
//! assert_eq!(job.body, b"resize 8.png");
//! jobs.ack_with(&job, |transaction| transaction.put("8.png", "small"))?;
//! assert_eq!((jobs.depth()?.ready, jobs.depth()?.done), (1, 1));
//! # Ok::<(), foldb_queue::Error>(())
//! ```
//!
//! docs/queue.md says what is guaranteed, and what calls cost.
//!
//! # Design
//!
//! *One keyspace holds a queue.* The first byte of a key says what the entry is: see the drawing
//! in `layout.rs`. So one call creates a queue, one call drops it, and it has one memtable.
//!
//! *A job is one body and one state.* The body is written once. The state is one small entry in one
//! of four ranges: ready, delayed, leased or dead. Each transition deletes one state entry and puts
//! another in the same commit, and claims the deleted one. So two transitions of one state conflict
//! in the engine, and one of them runs again and finds the entry gone.
//!
//! *The key of a state is its place in line.* Ready jobs are in the order of priority and push,
//! delayed and leased ones in the order of time. What comes first is the first key of a range. The
//! engine remembers stretches of deleted keys, so the jobs before it cost nothing.
//!
//! *A lease is known by a random token.* The entry of a lease has its end in the key and the token
//! in the value. An ack compares both inside its transaction. So it does not matter what the clock
//! did: only the worker that has the entry of the job can end the job. A clock that goes back makes
//! leases longer, and never gives a job to two workers.
//!
//! *The depth is counted by merges.* Each transition adds 1 to a counter of its own kind, in the
//! same commit. Merges do not conflict. The number of jobs in a state is what came into it without
//! what left it.
//!
//! *Ids are reserved in blocks*, so pushes do not wait for each other's commits. An id is also the
//! place of its job among those of its priority.
//!
//! *Claims of one handle wait for each other.* All of them want the first ready job. Without the
//! lock, all but one would lose a conflict and run again. The engine commits one write at a time
//! anyway. Claims of two handles that were opened separately are right too, but run again more
//! often: open a queue once, and clone the handle.
//!
//! *One walk finds many jobs.* A walk over deleted entries costs as much as hundreds of commits. So
//! a handle reads the first 256 ready jobs at once, and each claim verifies its job in its
//! transaction. The next walk begins where the last claim was, and every 100 ms at the start.
//! `front.rs` says what makes it walk again.

#![forbid(unsafe_code)]

mod attempt;
mod claim;
mod counts;
mod dead;
mod error;
mod front;
mod jobs;
mod layout;
mod options;
mod queue;
mod token;

pub use attempt::Fate;
pub use claim::Claimed;
pub use counts::Depth;
pub use dead::{DeadLetter, DeadLetters};
pub use error::{Error, Result};
pub use jobs::{JobInfo, JobState, Jobs};
pub use options::{PushOptions, QueueOptions};
pub use queue::Queue;

/// Runs the examples of the guide to queues.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/queue.md")]
struct QueueGuide;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
