//! The entries of an iterator as a stream.
//!
//! ```text
//! blocking task: 1, then 4, 16, 64, 256 entries | ends      blocking task: 256 entries | ends
//! stream:                              yields them, then asks for more
//! ```
//!
//! Invariant: the iterator is with the stream or with one blocking task, never with two.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use foldb::{Iter, Result, Value};
use futures_core::Stream;

use crate::pool::Pool;

/// A key and its value.
pub type Entry = (Vec<u8>, Value);

/// Entries of the first batch, so that a caller that needs one does not wait for many.
const FIRST: usize = 4;
/// Most entries of a batch.
const MOST: usize = 256;
/// A batch ends with the entry that makes it this long.
const MOST_BYTES: usize = 64 << 10;

type Batch = (Option<Iter>, VecDeque<Result<Entry>>);
type Filling = Pin<Box<dyn Future<Output = Result<Batch>> + Send>>;

/// The entries of an iterator, as a stream. Made by [`AsyncDb::range`](crate::AsyncDb::range),
/// [`AsyncDb::prefix`](crate::AsyncDb::prefix) and [`AsyncDb::entries`](crate::AsyncDb::entries).
///
/// A blocking task reads a batch of at most 256 entries when the last one is used up. So the stream
/// reads no further than its reader, by one batch, and holds no thread while the reader works. It
/// may be dropped at any time: a batch in hand is read to its end, then the iterator is gone. The
/// stream ends after an error.
///
/// # Example
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> foldb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_tokio::AsyncDb::create(dir.path().join("db")).await?;
/// for key in ["a", "b", "c"] {
///     db.put(key, "").await?;
/// }
/// let mut entries = db.range("b"..);
/// let mut keys = Vec::new();
/// while let Some(entry) = entries.next().await {
///     keys.push(entry?.0);
/// }
/// assert_eq!(keys, [b"b", b"c"]);
/// # Ok(())
/// # }
/// ```
pub struct Entries {
    pool: Pool,
    state: State,
    /// What the last batch has left.
    batch: VecDeque<Result<Entry>>,
    /// Entries of the next batch.
    next: usize,
}

enum State {
    Begins(Option<Box<dyn FnOnce() -> Result<Iter> + Send>>),
    Rests(Box<Iter>),
    Fills(Filling),
    Ended,
}

impl Entries {
    pub(crate) fn new(pool: Pool, open: impl FnOnce() -> Result<Iter> + Send + 'static) -> Entries {
        let state = State::Begins(Some(Box::new(open)));
        Entries { pool, state, batch: VecDeque::new(), next: FIRST }
    }

    /// Returns the next entry; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Entry>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Begins the blocking task for the next batch.
    fn fill(&mut self, open: Box<dyn FnOnce() -> Result<Iter> + Send>) {
        let (pool, entries) = (self.pool.clone(), self.next);
        self.next = (4 * self.next).min(MOST);
        let filling =
            async move { pool.run(move || open().map(|iter| filled(iter, entries))).await };
        self.state = State::Fills(Box::pin(filling));
    }
}

/// Reads a batch. Returns the iterator if there may be more.
fn filled(mut iter: Iter, most: usize) -> Batch {
    let (mut batch, mut bytes) = (VecDeque::new(), 0);
    while batch.len() < most && bytes < MOST_BYTES {
        let Some(entry) = iter.next() else { return (None, batch) };
        let is_error = entry.is_err();
        bytes += entry.as_ref().map_or(0, |(key, value)| key.len() + value.len());
        batch.push_back(entry);
        if is_error {
            return (None, batch);
        }
    }
    (Some(iter), batch)
}

impl Stream for Entries {
    type Item = Result<Entry>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let own = &mut *self;
        loop {
            if let Some(entry) = own.batch.pop_front() {
                return Poll::Ready(Some(entry));
            }
            match std::mem::replace(&mut own.state, State::Ended) {
                State::Begins(None) | State::Ended => return Poll::Ready(None),
                State::Begins(Some(open)) => own.fill(open),
                State::Rests(iter) => own.fill(Box::new(move || Ok(*iter))),
                State::Fills(mut filling) => match filling.as_mut().poll(context) {
                    Poll::Pending => {
                        own.state = State::Fills(filling);
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(Ok((iter, batch))) => {
                        own.batch = batch;
                        if let Some(iter) = iter {
                            own.state = State::Rests(Box::new(iter));
                        }
                    }
                },
            }
        }
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}
