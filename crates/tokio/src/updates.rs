//! The change feed as a stream.
//!
//! A blocking task waits for an update, takes what is there, gives the reader back, and ends. A
//! task that waits ends within [`LONGEST`], and the stream begins another. So a runtime that shuts
//! down does not wait for a stream that is kept outside of it.
//!
//! Invariant: the reader of the feed is with the stream or with one blocking task.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use foldb::Result;
use foldb::feed::{Interrupt, Update, Updates};
use futures_core::Stream;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::pool::ended;

/// The longest wait of one blocking task.
const LONGEST: Duration = Duration::from_secs(1);

/// Most updates that a blocking task takes at once.
const MOST: usize = 64;

/// A batch of updates may be as long as a memtable, so a task takes no more behind a long one.
const MOST_CHANGES: usize = 1000;

/// The updates of a database after a position, as a stream. Made by
/// [`AsyncDb::updates_since`](crate::AsyncDb::updates_since).
///
/// The stream waits at the end of the feed, and never ends by itself. Each item is as
/// [`foldb::feed::Updates`] returns it. After an error, the next poll tries again; `Closed` and
/// `PositionLost` come again, so leave the loop then. One blocking thread of Tokio sleeps while the
/// stream waits. At most 64 updates are read ahead.
///
/// A stream that is dropped wakes its thread, which ends. The updates that were read ahead are gone
/// with it: go on from the position of the last update that was taken.
///
/// # Example
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> foldb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb::Options;
/// use foldb::feed::{Position, UpdatesOptions};
/// use foldb_tokio::AsyncDb;
///
/// let options = Options {
///     create_if_missing: true,
///     wal_retention_bytes: 64 << 20,
///     ..Options::default()
/// };
/// let db = AsyncDb::open(dir.path().join("db"), options).await?;
/// let mut updates = db.updates_since(Position::BEGINNING, UpdatesOptions::default()).await?;
/// let writer = tokio::spawn({
///     let db = db.clone();
///     async move {
///         db.put("page", "text").await?;
///         db.sync().await
///     }
/// });
/// let update = updates.next().await?;
/// assert_eq!(update.position.sequence_number(), 1);
/// writer.await.unwrap()?;
/// db.close().await
/// # }
/// ```
pub struct UpdateStream {
    interrupt: Interrupt,
    state: State,
    /// Updates that the last task took.
    taken: VecDeque<Result<Update>>,
}

type Took = (Box<Updates>, VecDeque<Result<Update>>);

enum State {
    Rests(Box<Updates>),
    Waits(JoinHandle<Took>),
    /// The runtime shut down, or a task panicked.
    Ended,
}

impl UpdateStream {
    pub(crate) fn new(updates: Updates) -> UpdateStream {
        let interrupt = updates.interrupt();
        UpdateStream { interrupt, state: State::Rests(Box::new(updates)), taken: VecDeque::new() }
    }

    /// Returns the next update, once there is one. A future that is dropped loses no update.
    ///
    /// # Errors
    /// As [`foldb::feed::Updates::wait`]. `Aborted` if the runtime shuts down.
    pub async fn next(&mut self) -> Result<Update> {
        let next = poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await;
        next.unwrap_or_else(|| Err(foldb::Error::aborted("the runtime shuts down")))
    }
}

/// Waits for an update and takes those that are there.
fn take(mut updates: Box<Updates>) -> Took {
    let (mut taken, mut changes) = (VecDeque::new(), 0);
    if let Err(error) = updates.wait(LONGEST) {
        taken.push_back(Err(error));
        return (updates, taken);
    }
    while taken.len() < MOST && changes < MOST_CHANGES {
        let Some(update) = updates.next() else { break };
        let is_error = update.is_err();
        if let Ok(Update { change: foldb::feed::Change::Batch(batch), .. }) = &update {
            changes += batch.len();
        }
        taken.push_back(update);
        if is_error {
            break;
        }
    }
    (updates, taken)
}

impl Stream for UpdateStream {
    type Item = Result<Update>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let own = &mut *self;
        loop {
            if let Some(update) = own.taken.pop_front() {
                return Poll::Ready(Some(update));
            }
            match std::mem::replace(&mut own.state, State::Ended) {
                State::Ended => return Poll::Ready(None),
                State::Rests(updates) => {
                    own.state = State::Waits(spawn_blocking(move || take(updates)));
                }
                State::Waits(mut task) => match Pin::new(&mut task).poll(context) {
                    Poll::Pending => {
                        own.state = State::Waits(task);
                        return Poll::Pending;
                    }
                    Poll::Ready(outcome) => match ended(outcome) {
                        Ok((updates, taken)) => {
                            own.state = State::Rests(updates);
                            own.taken = taken;
                        }
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    },
                },
            }
        }
    }
}

impl Drop for UpdateStream {
    fn drop(&mut self) {
        self.interrupt.raise();
        if let State::Waits(task) = &self.state {
            // A task that has not begun need not begin.
            task.abort();
        }
    }
}

impl fmt::Debug for UpdateStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateStream").finish_non_exhaustive()
    }
}
