//! The end of an attempt: done, again, or dead. Each call compares the token of the lease inside
//! its transaction.

use std::time::Duration;

use foldb::{Transaction, TransactionKeyspace};

use crate::claim::Claimed;
use crate::counts::Transition;
use crate::error::{Error, Result};
use crate::layout::{self, Grave, Job, Lease};
use crate::queue::{Queue, all_or_nothing};

/// What became of a job whose attempt did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The job waits for its next attempt.
    Waits,
    /// No attempt was left: the job is a dead letter.
    Dead,
}

impl Queue {
    /// Runs `effects` in a transaction that also ends the job as done. Both happen at one moment,
    /// or neither does. So the effects in the database happen exactly once, however often the job
    /// was claimed. `effects` runs again after a conflict, as in [`foldb::Db::transact`].
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the claim no longer holds the job: `effects` did not run, or wrote
    /// nothing. [`Error::Engine`]: the error of `effects`; as [`foldb::Db::transact`]. The claim
    /// still holds the job then.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Queue, QueueOptions};
    ///
    /// let payments = Queue::open(&db, "payments", QueueOptions::default())?;
    /// payments.push("7")?;
    /// let payment = payments.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// let amount: u64 = String::from_utf8_lossy(&payment.body).parse().unwrap();
    /// payments.ack_with(&payment, |transaction| {
    ///     let balance = transaction.get("balance")?;
    ///     let balance = balance.map_or(0, |it| u64::from_le_bytes(it[..].try_into().unwrap()));
    ///     transaction.put("balance", (balance + amount).to_le_bytes())
    /// })?;
    /// assert_eq!(db.get("balance")?.unwrap(), 7u64.to_le_bytes());
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn ack_with<T>(
        &self,
        claimed: &Claimed,
        mut effects: impl FnMut(&Transaction) -> foldb::Result<T>,
    ) -> Result<T> {
        self.run(self.writing(), |transaction| {
            self.ack_in(transaction, claimed)?;
            Ok(effects(transaction)?)
        })
    }

    /// Ends a job as done. Effects that the worker had before may happen again, if the worker dies
    /// between them and this call: see [`Queue::ack_with`].
    ///
    /// An ack after the end of the lease is right as long as no other claim got the job.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the claim no longer holds the job. [`Error::Engine`]: as
    /// [`foldb::Db::transact`].
    pub fn ack(&self, claimed: &Claimed) -> Result<()> {
        self.run(self.writing(), |transaction| self.ack_in(transaction, claimed))
    }

    /// Ends a job as done, in a transaction of the program. If the transaction commits, its writes
    /// and the end of the job happen at one moment. After an error the transaction has no further
    /// write of this call.
    ///
    /// The transaction may be of any isolation. Its commit conflicts if another claim gets the job
    /// meanwhile. Claim the job before the transaction reads, and before it begins with
    /// [`foldb::Isolation::Snapshot`]: an older moment does not have the lease.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the claim no longer holds the job; [`Error::Engine`]: as
    /// [`Transaction::get`] and [`Transaction::put`]. A program that commits in spite of the error
    /// has the effects of a job that another worker does too: return it from the closure.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("1")?;
    /// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// let done = || db.transact(|transaction| {
    ///     transaction.put("result", "one")?;
    ///     jobs.ack_in(transaction, &job)?;
    ///     Ok(())
    /// });
    /// done()?;
    /// assert_eq!(done().unwrap_err().kind(), foldb::ErrorKind::Aborted);
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn ack_in(&self, transaction: &Transaction, claimed: &Claimed) -> Result<()> {
        let own = self.view(transaction);
        self.held(&own, claimed)?;
        all_or_nothing(transaction, || {
            own.delete(layout::leased(claimed.end, claimed.id))?;
            own.delete(layout::body(claimed.id))?;
            self.count(&own, Transition::Acked)
        })
    }

    /// Lets the lease end after `lease` from now on instead. A worker with a long job calls this
    /// from time to time.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the claim no longer holds the job; [`Error::Engine`]: as
    /// [`foldb::Db::transact`]. `claimed` is as before then.
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
    /// let mut job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// let before = job.lease_end();
    /// jobs.extend(&mut job, Duration::from_secs(120))?;
    /// assert!(job.lease_end() > before);
    /// jobs.ack(&job)?;
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn extend(&self, claimed: &mut Claimed, lease: Duration) -> Result<()> {
        let end = self.after(lease);
        let held = &*claimed;
        // Power loss takes the new end back only if the worker is gone too.
        self.run(self.claiming(), |transaction| {
            let own = self.view(transaction);
            let lease = self.held(&own, held)?;
            own.delete(layout::leased(held.end, held.id))?;
            Ok(own.put(layout::leased(end, held.id), lease.value())?)
        })?;
        claimed.end = end;
        self.front().due_at(end);
        Ok(())
    }

    /// Gives a job back. It can be claimed again `after` that time, in its old place. If no attempt
    /// is left, it becomes a dead letter.
    ///
    /// # Errors
    /// As [`Queue::ack`].
    ///
    /// # Example
    /// Longer pauses after each attempt:
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Fate, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("job")?;
    /// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// let fate = jobs.retry(&job, Duration::from_secs(1) * 2u32.pow(job.attempt))?;
    /// assert_eq!(fate, Fate::Waits);
    /// assert_eq!(jobs.depth()?.delayed, 1);
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn retry(&self, claimed: &Claimed, after: Duration) -> Result<Fate> {
        let why = format!("worker '{}' gave the job back", claimed.worker);
        self.give_back(claimed, after, &why)
    }

    /// Ends an attempt that failed. The job can be claimed again after
    /// [`QueueOptions::retry_delay`](crate::QueueOptions::retry_delay). If no attempt is left, it
    /// becomes a dead letter with the reason `why`.
    ///
    /// # Errors
    /// As [`Queue::ack`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Fate, Queue, QueueOptions};
    ///
    /// let once = QueueOptions { max_attempts: 1, ..QueueOptions::default() };
    /// let jobs = Queue::open(&db, "jobs", once)?;
    /// jobs.push("{")?;
    /// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// assert_eq!(jobs.fail(&job, "not JSON")?, Fate::Dead);
    /// assert_eq!(jobs.dead()?.next().unwrap()?.reason, "not JSON");
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn fail(&self, claimed: &Claimed, why: &str) -> Result<Fate> {
        self.give_back(claimed, self.options().retry_delay, why)
    }

    /// Makes a job a dead letter, whatever attempts are left: another attempt would fail too.
    ///
    /// # Errors
    /// As [`Queue::ack`].
    pub fn bury(&self, claimed: &Claimed, why: &str) -> Result<()> {
        self.run(self.writing(), |transaction| {
            let own = self.view(transaction);
            let lease = self.held(&own, claimed)?;
            own.delete(layout::leased(claimed.end, claimed.id))?;
            self.put_dead(&own, lease.job, why)
        })
    }

    fn give_back(&self, claimed: &Claimed, after: Duration, why: &str) -> Result<Fate> {
        let (fate, job) = self.run(self.writing(), |transaction| {
            let own = self.view(transaction);
            let lease = self.held(&own, claimed)?;
            own.delete(layout::leased(claimed.end, claimed.id))?;
            Ok((self.end_attempt(&own, lease.job, after, why)?, lease.job))
        })?;
        if fate == Fate::Waits {
            // A claim beside the commit may have walked past the job's place.
            self.tell(job, after);
        }
        Ok(fate)
    }

    /// Puts the next state of a leased job that is not done.
    pub(crate) fn end_attempt(
        &self,
        own: &TransactionKeyspace<'_>,
        job: Job,
        after: Duration,
        why: &str,
    ) -> Result<Fate> {
        if job.attempts >= self.options().max_attempts {
            self.put_dead(own, job, why)?;
            return Ok(Fate::Dead);
        }
        match self.put_waiting(own, job, after)? {
            true => self.count(own, Transition::Returned)?,
            false => self.count(own, Transition::Postponed)?,
        }
        Ok(Fate::Waits)
    }

    fn put_dead(&self, own: &TransactionKeyspace<'_>, job: Job, why: &str) -> Result<()> {
        let grave = Grave { job, died_at: self.now(), reason: why.to_owned() };
        own.put(layout::dead(job.id), grave.value())?;
        self.count(own, Transition::Died)
    }

    /// Returns the lease of a claim, and claims it: the commit fails if another one ends it.
    fn held(&self, own: &TransactionKeyspace<'_>, claimed: &Claimed) -> Result<Lease> {
        let key = layout::leased(claimed.end, claimed.id);
        if let Some(value) = own.get_for_update(key)? {
            let lease = Lease::decode(&key, &value)?;
            if lease.token == claimed.token {
                return Ok(lease);
            }
        }
        let is_gone = own.get_unclaimed(layout::body(claimed.id))?.is_none();
        Err(Error::LeaseLost { id: claimed.id, attempt: claimed.attempt, is_gone })
    }
}
