//! A look at all jobs of a queue, for people and tools.

use std::fmt;
use std::time::{Duration, SystemTime};

use foldb::{Iter, KeyspaceReader};

use crate::error::{Error, Result};
use crate::layout::{self, DEAD, DELAYED, Grave, Job, LEASED, Lease, READY};
use crate::queue::Queue;

/// What a job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobState {
    /// It can be claimed.
    Ready,
    /// It can be claimed from this moment on.
    Delayed(SystemTime),
    /// A worker has it.
    Leased {
        /// The name that the worker gave.
        worker: String,
        /// When the lease ends.
        end: SystemTime,
    },
    /// It is a dead letter.
    Dead {
        /// Why the last attempt ended.
        reason: String,
        /// When it ended.
        died_at: SystemTime,
    },
}

/// A job as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobInfo {
    /// The id that the push returned.
    pub id: u64,
    /// What was pushed.
    pub body: Vec<u8>,
    /// How often the job was claimed.
    pub attempts: u32,
    /// The priority of the job.
    pub priority: i32,
    /// What it waits for.
    pub state: JobState,
}

/// The jobs of a queue at one moment. Made by [`Queue::jobs`].
pub struct Jobs {
    own: KeyspaceReader,
    /// The entries of one state, and the states after it.
    entries: Iter,
    next: &'static [u8],
}

impl Queue {
    /// Returns all jobs as they are now: ready ones in the order of their claims, delayed and
    /// leased ones in the order of their times, and dead letters in the order of their pushes. A
    /// job whose delay or lease has ended counts as delayed or leased until the next claim looks.
    ///
    /// # Errors
    /// [`Error::Engine`]: as [`foldb::Keyspace::range`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{JobState, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("a")?;
    /// jobs.push("b")?;
    /// jobs.claim("worker 1", Duration::from_secs(60))?;
    /// let listed: Vec<_> = jobs.jobs()?.collect::<foldb_queue::Result<_>>()?;
    /// assert_eq!((&listed[0].body[..], &listed[0].state), (&b"b"[..], &JobState::Ready));
    /// let JobState::Leased { worker, .. } = &listed[1].state else { panic!("it is leased") };
    /// assert_eq!(worker, "worker 1");
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn jobs(&self) -> Result<Jobs> {
        let own = self.db().snapshot().keyspace(self.own());
        let entries = own.range(layout::all(READY))?;
        Ok(Jobs { own, entries, next: &[DELAYED, LEASED, DEAD] })
    }
}

impl Jobs {
    fn job(&self, key: &[u8], value: &[u8]) -> Result<JobInfo> {
        let (job, state) = match key.first() {
            Some(&LEASED) => {
                let Lease { job, worker, .. } = Lease::decode(key, value)?;
                (job, JobState::Leased { worker, end: moment(layout::time_of(key)?) })
            }
            Some(&DEAD) => {
                let Grave { job, died_at, reason } = Grave::decode(key, value)?;
                (job, JobState::Dead { reason, died_at: moment(died_at) })
            }
            Some(&DELAYED) => {
                let state = JobState::Delayed(moment(layout::time_of(key)?));
                (Job::decode(key, value)?, state)
            }
            _ => (Job::decode(key, value)?, JobState::Ready),
        };
        let Job { id, priority, attempts } = job;
        let body = self.own.get(layout::body(id))?.ok_or_else(|| layout::damaged(key))?;
        Ok(JobInfo { id, body: body.into_owned(), attempts, priority, state })
    }
}

fn moment(nanos: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)
}

impl Iterator for Jobs {
    type Item = Result<JobInfo>;

    fn next(&mut self) -> Option<Result<JobInfo>> {
        loop {
            if let Some(entry) = self.entries.next() {
                let entry = entry.map_err(Error::Engine);
                return Some(entry.and_then(|(key, value)| self.job(&key, &value)));
            }
            let (&tag, rest) = self.next.split_first()?;
            self.next = rest;
            match self.own.range(layout::all(tag)) {
                Ok(entries) => self.entries = entries,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}
