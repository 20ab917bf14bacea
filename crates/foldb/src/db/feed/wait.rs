//! Waits for the next update of the feed.
//!
//! Invariant: a reader counts the events of its signal before it looks for an update. So an update
//! that comes after the look ends its sleep.
//!
//! An interrupt is such an event. Its flag is raised with `Release` before it is announced, and
//! read with `Acquire` after the events are counted. A reader that has it in its count sees the
//! flag, and another reader does not sleep.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldb_env::nap;

use crate::db::feed::updates::Updates;
use crate::db::handle::database::Db;
use crate::db::state::news::Signal;
use crate::error::Result;

/// The time between the first two looks for an update of another process.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// The longest time between two such looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

impl Updates {
    /// Waits until there is an update, at most for this time. Returns whether there is one:
    /// [`Updates::next`] then returns it without a wait.
    ///
    /// The thread sleeps until a write that this feed may yield wakes it: a sync, or any write with
    /// [`include_unsynced`](crate::feed::UpdatesOptions::include_unsynced). Any number of threads
    /// may wait, each with its own [`Updates`]. The updates of a [`crate::ReadOnlyDb`] get no such
    /// signal, because another process writes. They look at the logs again after 1 millisecond,
    /// then less often, but at least every 20 milliseconds.
    ///
    /// # Errors
    /// As [`Db::updates_since`]. `Closed` as soon as another thread closes the database.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use std::time::Duration;
    ///
    /// use foldb::{Db, Options, feed::Position};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     wal_retention_bytes: 64 << 20,
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path(), options)?;
    /// let mut updates = db.updates_since(&Position::BEGINNING)?;
    /// assert!(!updates.wait(Duration::from_millis(1))?);
    ///
    /// let writer = std::thread::spawn(move || {
    ///     db.put("page", "text")?;
    ///     db.sync()
    /// });
    /// assert!(updates.wait(Duration::from_secs(60))?);
    /// assert!(updates.next().is_some());
    /// writer.join().unwrap()?;
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn wait(&mut self, timeout: Duration) -> Result<bool> {
        let begin = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            // Counted before the look: what comes after the look ends the sleep.
            let seen = self.signal().map(Signal::events);
            if self.look_ahead()? {
                return Ok(true);
            }
            let left = timeout.saturating_sub(begin.elapsed());
            if left.is_zero() || self.interrupted.load(Ordering::Acquire) {
                return Ok(false);
            }
            match (self.signal(), seen) {
                (Some(signal), Some(seen)) => signal.wait(seen, left),
                _ => {
                    nap(pause.min(left));
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Returns what ends the waits of this reader from another thread.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # use std::time::Duration;
    /// # use foldb::{Db, Options, feed::Position};
    /// # let options = Options {
    /// #     create_if_missing: true,
    /// #     wal_retention_bytes: 64 << 20,
    /// #     ..Options::default()
    /// # };
    /// # let db = Db::open(dir.path(), options)?;
    /// let mut updates = db.updates_since(&Position::BEGINNING)?;
    /// let interrupt = updates.interrupt();
    /// let follower = std::thread::spawn(move || updates.wait(Duration::MAX));
    /// interrupt.raise();
    /// assert!(!follower.join().unwrap()?, "there is no update");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn interrupt(&self) -> Interrupt {
        let interrupted = Arc::clone(&self.interrupted);
        Interrupt { db: self.db.clone(), durable: self.durable, interrupted }
    }

    /// Returns what wakes this reader; `None` if another process writes.
    fn signal(&self) -> Option<&Signal> {
        signal_of(&self.db, self.durable)
    }

    /// Reads the next update, if there is one now, and keeps it for `next`.
    fn look_ahead(&mut self) -> Result<bool> {
        if self.ready.is_none() {
            let before = self.passed;
            self.ready = self.advance()?.map(|update| (before, update));
        }
        Ok(self.ready.is_some())
    }
}

/// Ends the waits of an [`Updates`] from other threads. Made by [`Updates::interrupt`].
///
/// It keeps the database open, as every handle does.
#[derive(Clone)]
pub struct Interrupt {
    db: Db,
    durable: bool,
    interrupted: Arc<AtomicBool>,
}

impl Interrupt {
    /// Ends the wait in progress and all later ones of that [`Updates`]: each still returns `true`
    /// if there is an update, and otherwise returns `false` without a sleep. The wait of a
    /// [`crate::ReadOnlyDb`] ends with its next look.
    pub fn raise(&self) {
        self.interrupted.store(true, Ordering::Release);
        if let Some(signal) = signal_of(&self.db, self.durable) {
            signal.announce();
        }
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("interrupted", &self.interrupted).finish_non_exhaustive()
    }
}

fn signal_of(db: &Db, durable: bool) -> Option<&Signal> {
    db.core().feed.as_ref().map(|chain| chain.news.of(durable))
}
