//! Dead letters: jobs whose attempts are used up.

use std::fmt;
use std::time::{Duration, SystemTime};

use foldb::{Iter, KeyspaceReader};

use crate::counts::Transition;
use crate::error::{Error, Result};
use crate::layout::{self, DEAD, Grave, Job};
use crate::queue::Queue;

/// A job that is not claimed any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The id that the push returned.
    pub id: u64,
    /// What was pushed.
    pub body: Vec<u8>,
    /// How often the job was claimed.
    pub attempts: u32,
    /// The priority of the job.
    pub priority: i32,
    /// When the last attempt ended, by the clock of the queue.
    pub died_at: SystemTime,
    /// Why the last attempt ended.
    pub reason: String,
}

/// The dead letters of a queue at one moment, in the order of their pushes. Made by
/// [`Queue::dead`].
pub struct DeadLetters {
    letters: Iter,
    bodies: KeyspaceReader,
}

impl Iterator for DeadLetters {
    type Item = Result<DeadLetter>;

    fn next(&mut self) -> Option<Result<DeadLetter>> {
        let entry = self.letters.next()?;
        Some(entry.map_err(Error::Engine).and_then(|(key, value)| self.letter(&key, &value)))
    }
}

impl DeadLetters {
    fn letter(&self, key: &[u8], value: &[u8]) -> Result<DeadLetter> {
        let Grave { job, died_at, reason } = Grave::decode(key, value)?;
        let body = self.bodies.get(layout::body(job.id))?.ok_or_else(|| layout::damaged(key))?;
        Ok(DeadLetter {
            id: job.id,
            body: body.into_owned(),
            attempts: job.attempts,
            priority: job.priority,
            died_at: SystemTime::UNIX_EPOCH + Duration::from_nanos(died_at),
            reason,
        })
    }
}

impl fmt::Debug for DeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetters").finish_non_exhaustive()
    }
}

impl Queue {
    /// Returns the dead letters as they are now, in the order of their pushes.
    ///
    /// # Errors
    /// [`Error::Engine`]: as [`foldb::Keyspace::range`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("{")?;
    /// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// jobs.bury(&job, "not JSON")?;
    /// for letter in jobs.dead()? {
    ///     let letter = letter?;
    ///     println!("{}: {} after {} attempts", letter.id, letter.reason, letter.attempts);
    ///     jobs.revive(letter.id)?;
    /// }
    /// assert_eq!((jobs.depth()?.ready, jobs.depth()?.dead), (1, 0));
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn dead(&self) -> Result<DeadLetters> {
        let bodies = self.db().snapshot().keyspace(self.own());
        let letters = bodies.range(layout::all(DEAD))?;
        Ok(DeadLetters { letters, bodies })
    }

    /// Makes a dead letter ready again, in its old place and with all attempts before it.
    ///
    /// # Errors
    /// [`Error::NotDead`] if no dead letter has this id; [`Error::Engine`]: as
    /// [`foldb::Db::transact`].
    pub fn revive(&self, id: u64) -> Result<()> {
        let job = self.leave_dead(id, |own, job| {
            let job = Job { attempts: 0, ..job };
            self.put_waiting(own, job, Duration::ZERO)?;
            self.count(own, Transition::Revived)
        })?;
        // A claim beside the commit may have walked past the job's place.
        self.tell(job, Duration::ZERO);
        Ok(())
    }

    /// Deletes a dead letter for good.
    ///
    /// # Errors
    /// As [`Queue::revive`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Error, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// let id = jobs.push("{")?;
    /// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// jobs.bury(&job, "not JSON")?;
    /// jobs.discard(id)?;
    /// assert!(matches!(jobs.revive(id), Err(Error::NotDead { .. })));
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn discard(&self, id: u64) -> Result<()> {
        self.leave_dead(id, |own, _| {
            own.delete(layout::body(id))?;
            self.count(own, Transition::Discarded)
        })
        .map(drop)
    }

    fn leave_dead(
        &self,
        id: u64,
        put_next: impl Fn(&foldb::TransactionKeyspace<'_>, Job) -> Result<()>,
    ) -> Result<Job> {
        self.run(self.writing(), |transaction| {
            let own = self.view(transaction);
            let key = layout::dead(id);
            let value = own.get(key)?.ok_or(Error::NotDead { id })?;
            let grave = Grave::decode(&key, &value)?;
            own.delete(key)?;
            put_next(&own, grave.job)?;
            Ok(grave.job)
        })
    }
}
