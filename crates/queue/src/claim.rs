//! Claims: a worker takes the first ready job for some time.
//!
//! Before it, the queue gives back what is due: jobs whose lease ended, and jobs whose delay ended,
//! at most [`MOST_WOKEN`] of each. If more are due at once, the next claims bring the rest. Until
//! then a job of a small priority may be claimed before a due one of a larger priority.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use foldb::{TransactionKeyspace, Value};

use crate::counts::Transition;
use crate::error::Result;
use crate::front::AHEAD;
use crate::layout::{self, DELAYED, Job, LEASED, Lease, READY};
use crate::queue::Queue;

/// Most leases that one claim ends, and most delayed jobs that it wakes.
const MOST_WOKEN: usize = 64;

/// How far a look for due jobs reaches, in nanoseconds: the time until the next look at the latest.
const LOOK: u64 = 100_000_000;

/// A job in the hands of a worker, until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The id that the push returned.
    pub id: u64,
    /// What was pushed.
    pub body: Vec<u8>,
    /// The number of this claim among the claims of the job, from 1 on. From 2 on, an earlier
    /// worker may have done a part of the job.
    pub attempt: u32,
    /// The priority of the job.
    pub priority: i32,
    /// The name that the worker gave.
    pub worker: String,
    /// When the lease ends, in nanoseconds since 1970: a part of the key of the lease.
    pub(crate) end: u64,
    pub(crate) token: u64,
}

impl Claimed {
    /// Returns when the lease ends, by the clock of the queue. From then on another claim may get
    /// the job.
    pub fn lease_end(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.end)
    }
}

impl Queue {
    /// Claims the first ready job: of those with the largest priority, the one pushed first. `None`
    /// if no job is ready.
    ///
    /// The job belongs to the caller until the lease ends. The caller ends it with
    /// [`Queue::ack_with`], [`Queue::ack_in`] or [`Queue::ack`], gives it back with
    /// [`Queue::retry`] or [`Queue::fail`], or asks for more time with [`Queue::extend`]. `worker`
    /// is a name for people: dead letters tell whose lease ended.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine): as [`foldb::Db::transact`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("job")?;
    /// let lease = Duration::from_millis(5);
    /// let first = jobs.claim("ann", lease)?.unwrap();
    /// assert!(jobs.claim("bob", lease)?.is_none());
    /// std::thread::sleep(lease);
    /// // Ann did not come back.
    /// let second = jobs.claim("bob", lease)?.unwrap();
    /// assert_eq!((second.id, second.attempt), (first.id, 2));
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn claim(&self, worker: &str, lease: Duration) -> Result<Option<Claimed>> {
        let _alone = self.alone();
        let may_be_due = || self.front().may_be_due(self.now());
        let last_write = || self.db().snapshot().sequence_number();
        let empty_at = self.front().empty_at();
        if !may_be_due() && empty_at.is_some_and(|at| at == last_write()) {
            return Ok(None);
        }
        let mut looked_at = may_be_due().then(last_write);
        loop {
            let has_woken = looked_at.is_some() && self.wake()?;
            while let Some(job) = self.first_ready()? {
                let claimed = self.claim_job(job, worker, lease);
                if claimed.is_err() {
                    // The job may still be the first one.
                    self.front().ready(job);
                }
                // Without an entry, another handle has claimed the job.
                if let Some(claimed) = claimed? {
                    return Ok(Some(claimed));
                }
            }
            if let Some(at) = looked_at.filter(|_| !has_woken) {
                self.front().found_nothing(at);
                return Ok(None);
            }
            looked_at = Some(last_write());
        }
    }

    /// Returns the first ready job that the handle knows of, and forgets it.
    fn first_ready(&self) -> Result<Option<Job>> {
        loop {
            if let Some(job) = self.front().next() {
                return Ok(Some(job));
            }
            let from = self.front().begin_walk();
            let Range { start, end } = layout::all(READY);
            let start = from.as_ref().map_or(&start[..], |from| from);
            let mut jobs = Vec::new();
            for entry in self.own().range(start..&end[..])?.take(AHEAD) {
                let (key, value) = entry?;
                jobs.push(Job::decode(&key, &value)?);
            }
            if jobs.is_empty() {
                return Ok(None);
            }
            self.front().end_walk(jobs);
        }
    }

    /// Claims a job, if it is ready.
    fn claim_job(&self, job: Job, worker: &str, lease: Duration) -> Result<Option<Claimed>> {
        self.run(self.claiming(), |transaction| {
            let own = self.view(transaction);
            // All reads come before the first write: reads of own writes cost more.
            let key = job.ready_key();
            let Some(value) = own.get_for_update(key)? else { return Ok(None) };
            let job = Job::decode(&key, &value)?;
            let body = own.get(layout::body(job.id))?.ok_or_else(|| layout::damaged(&key))?;
            own.delete(key)?;
            self.put_lease(&own, job, &body, worker, lease).map(Some)
        })
    }

    fn put_lease(
        &self,
        own: &TransactionKeyspace<'_>,
        job: Job,
        body: &[u8],
        worker: &str,
        lease: Duration,
    ) -> Result<Claimed> {
        let claimed = Claimed {
            id: job.id,
            body: body.to_vec(),
            attempt: job.attempts.saturating_add(1),
            priority: job.priority,
            worker: worker.to_owned(),
            end: self.after(lease),
            token: fastrand::u64(..),
        };
        let job = Job { attempts: claimed.attempt, ..job };
        let lease = Lease { job, token: claimed.token, worker: worker.to_owned() };
        own.put(layout::leased(claimed.end, job.id), lease.value())?;
        self.front().due_at(claimed.end);
        self.count(own, Transition::Claimed)?;
        Ok(claimed)
    }

    /// Gives back the jobs whose lease ended, and makes those ready whose delay ended. Returns
    /// whether there were any; more may be due then.
    fn wake(&self) -> Result<bool> {
        let now = self.now();
        self.front().begin_look(now);
        let woken = self.wake_due(now);
        if !matches!(woken, Ok(false)) {
            self.front().due_at(0);
        }
        woken
    }

    /// Wakes what is due. Returns whether there was something; if not, the front knows the next
    /// time to look.
    fn wake_due(&self, now: u64) -> Result<bool> {
        let mut next = now.saturating_add(LOOK);
        for tag in [LEASED, DELAYED] {
            // Behind this range may be very many ended leases whose end had not come.
            let first = self.own().range(layout::due(tag, next))?.next().transpose()?;
            if let Some((key, _)) = first {
                next = next.min(layout::time_of(&key)?);
            }
        }
        self.front().due_at(next);
        if next > now {
            return Ok(false);
        }
        self.run(self.claiming(), |transaction| {
            let own = self.view(transaction);
            let ended = first_due(&own, LEASED, now)?;
            let delayed = first_due(&own, DELAYED, now)?;
            let has_some = !(ended.is_empty() && delayed.is_empty());
            for (key, value) in delayed {
                let job = Job::decode(&key, &value)?;
                own.delete(&key)?;
                self.put_waiting(&own, job, Duration::ZERO)?;
                self.count(&own, Transition::Woken)?;
            }
            for (key, value) in ended {
                let lease = Lease::decode(&key, &value)?;
                own.delete(&key)?;
                let why = format!("the lease of worker '{}' ended", lease.worker);
                self.end_attempt(&own, lease.job, Duration::ZERO, &why)?;
            }
            Ok(has_some)
        })
    }
}

/// Returns the first jobs of a range whose time has come.
fn first_due(
    own: &TransactionKeyspace<'_>,
    tag: u8,
    now: u64,
) -> foldb::Result<Vec<(Vec<u8>, Value)>> {
    own.range(layout::due(tag, now))?.take(MOST_WOKEN).collect()
}
