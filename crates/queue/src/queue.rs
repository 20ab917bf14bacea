//! The handle of a queue: open, push, and the time until the next job.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldb::custom::Comparator;
use foldb::operators::Operator;
use foldb::{
    Db, Isolation, Keyspace, KeyspaceOptions, Transaction, TransactionKeyspace, TransactionOptions,
    WriteOptions,
};

use crate::counts::Transition;
use crate::error::{Error, Result};
use crate::front::Front;
use crate::layout::{self, DELAYED, FORMAT, Job, LEASED, NEXT_ID, READY, VERSION, nanos};
use crate::options::{PushOptions, QueueOptions};

/// Ids that a handle reserves at once.
const BLOCK: u64 = 1 << 16;

/// A queue of jobs in a keyspace of its own. Cloning is cheap: all clones are one handle.
///
/// Open a queue once and give clones to threads. Several handles of one queue are right too, but
/// their claims lose conflicts to each other and run again. The order of pushes then holds for each
/// handle alone. Up to 256 claims of a handle, and those of the next 100 ms, may come before a job
/// of another one.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// use std::time::Duration;
/// use foldb_queue::{Queue, QueueOptions};
///
/// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
/// for job in 0..100 {
///     jobs.push(format!("job {job}"))?;
/// }
/// std::thread::scope(|scope| {
///     for worker in ["ann", "bob", "cid"] {
///         let jobs = jobs.clone();
///         scope.spawn(move || {
///             while let Some(job) = jobs.claim(worker, Duration::from_secs(60)).unwrap() {
///                 jobs.ack(&job).unwrap();
///             }
///         });
///     }
/// });
/// assert_eq!(jobs.depth()?.done, 100);
/// # Ok::<(), foldb_queue::Error>(())
/// ```
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    db: Db,
    own: Keyspace,
    options: QueueOptions,
    /// What adds to the counters.
    adds: Operator,
    claiming: TransactionOptions,
    writing: TransactionOptions,
    /// Ids that the handle has reserved and not used.
    ids: Mutex<Range<u64>>,
    /// Held by the claim in progress.
    claims: Mutex<()>,
    front: Mutex<Front>,
}

/// Takes a lock that guards no state which a panic could leave half changed.
fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Errors
/// `InvalidArgument` for options with which no job could be claimed.
fn check_options(options: &QueueOptions) -> Result<()> {
    if options.max_attempts == 0 {
        let text = "max_attempts is 0: a job is claimed at least once";
        return Err(foldb::Error::invalid_argument(text).into());
    }
    Ok(())
}

impl Queue {
    /// Opens the queue in the keyspace of this name, and creates it if there is none.
    ///
    /// A program that wants its own [`KeyspaceOptions`], such as separated values for large bodies,
    /// creates the keyspace first, in the order of the bytes and without an expiry.
    /// [`Db::drop_keyspace`] drops the queue.
    ///
    /// # Errors
    /// [`Error::NotAQueue`] if the keyspace has other entries. [`Error::Engine`]: as
    /// [`Db::create_keyspace`]; `InvalidArgument` for `max_attempts` 0, and for a keyspace with an
    /// expiry or another order; `Unsupported` if a later version of this crate wrote the queue.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb_queue::{Error, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("job")?;
    /// db.create_keyspace("users", Default::default())?.put("ann", "1815")?;
    /// let other = Queue::open(&db, "users", QueueOptions::default());
    /// assert!(matches!(other, Err(Error::NotAQueue { .. })));
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn open(db: &Db, name: &str, options: QueueOptions) -> Result<Queue> {
        let own = match db.keyspace(name) {
            Err(error) if error.kind() == foldb::ErrorKind::KeyspaceMissing => {
                check_options(&options)?;
                db.keyspace_or_create(name, KeyspaceOptions::with_operator("uint64add"))?
            }
            found => found?,
        };
        Queue::of(db, own, options, true)
    }

    /// Opens the queue of this name, and creates none: for tools that look at the queues of other
    /// programs.
    ///
    /// # Errors
    /// [`Error::NotAQueue`] if no queue uses the keyspace, also if it is empty. [`Error::Engine`]:
    /// as [`Queue::open`]; `KeyspaceMissing` if there is no keyspace of this name.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb_queue::{Error, Queue, QueueOptions};
    ///
    /// let missing = Queue::open_existing(&db, "jobs", QueueOptions::default());
    /// assert!(matches!(missing, Err(Error::Engine(_))));
    /// Queue::open(&db, "jobs", QueueOptions::default())?;
    /// Queue::open_existing(&db, "jobs", QueueOptions::default())?;
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn open_existing(db: &Db, name: &str, options: QueueOptions) -> Result<Queue> {
        Queue::of(db, db.keyspace(name)?, options, false)
    }

    /// Makes the handle of a keyspace. `creates`: an empty keyspace becomes a queue.
    fn of(db: &Db, own: Keyspace, options: QueueOptions, creates: bool) -> Result<Queue> {
        check_options(&options)?;
        let name = own.name();
        if own.options().expiry.is_some() {
            let text = format!("entries of the keyspace '{name}' expire: a queue would lose jobs");
            return Err(foldb::Error::invalid_argument(text).into());
        }
        if !has_order_of_bytes(own.comparator()) {
            let text = format!("the keys of '{name}' are in another order than that of the bytes");
            return Err(foldb::Error::invalid_argument(text).into());
        }
        let write = WriteOptions { sync: options.sync, ..WriteOptions::default() };
        let inner = Inner {
            adds: own.operator("uint64add")?,
            db: db.clone(),
            own,
            options,
            claiming: TransactionOptions { isolation: Isolation::Snapshot, ..Default::default() },
            writing: TransactionOptions { write, ..Default::default() },
            ids: Mutex::new(0..0),
            claims: Mutex::new(()),
            front: Mutex::default(),
        };
        let queue = Queue(Arc::new(inner));
        queue.check_format(creates)?;
        Ok(queue)
    }

    fn check_format(&self, creates: bool) -> Result<()> {
        self.run(&self.0.writing, |transaction| {
            let (own, name) = (self.view(transaction), self.name());
            match own.get(FORMAT)? {
                Some(version) if &*version == VERSION => Ok(()),
                Some(version) => {
                    let text = format!("the queue '{name}' has the unknown layout {version:?}");
                    Err(foldb::Error::new(foldb::ErrorKind::Unsupported, text).into())
                }
                None if creates && own.is_empty()? => Ok(own.put(FORMAT, VERSION)?),
                None => Err(Error::NotAQueue { name: name.to_owned() }),
            }
        })
    }

    /// Returns the name of the queue and its keyspace.
    pub fn name(&self) -> &str {
        self.0.own.name()
    }

    /// Pushes a job that is ready at once, behind the others of priority 0. Returns its id, which
    /// no other job of the queue ever has.
    ///
    /// # Errors
    /// [`Error::Engine`]: as [`Db::write`].
    pub fn push(&self, body: impl AsRef<[u8]>) -> Result<u64> {
        self.push_with(body, PushOptions::default())
    }

    /// Pushes a job with a priority or a delay.
    ///
    /// # Errors
    /// As [`Queue::push`].
    pub fn push_with(&self, body: impl AsRef<[u8]>, options: PushOptions) -> Result<u64> {
        // Nothing is read, so the commit is that of a batch.
        let transaction = self.0.db.with(&self.0.writing).begin()?;
        let id = self.push_in(&transaction, body, options)?;
        transaction.commit()?;
        // Told again: a walk may have begun before the commit.
        self.tell(Job { id, priority: options.priority, attempts: 0 }, options.delay);
        Ok(id)
    }

    /// Pushes a job in a transaction of the program. The job is there if the transaction commits,
    /// and its delay begins now. The push reads nothing, so it does not conflict. After an error
    /// the transaction has no further write.
    ///
    /// # Errors
    /// [`Error::Engine`]: as [`Transaction::put`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb_queue::{PushOptions, Queue, QueueOptions};
    ///
    /// let mails = Queue::open(&db, "mails", QueueOptions::default())?;
    /// db.transact(|transaction| {
    ///     transaction.put("order 7", "tea")?;
    ///     mails.push_in(transaction, "confirm order 7", PushOptions::default())?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(mails.depth()?.ready, 1);
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn push_in(
        &self,
        transaction: &Transaction,
        body: impl AsRef<[u8]>,
        options: PushOptions,
    ) -> Result<u64> {
        let job = Job { id: self.next_id()?, priority: options.priority, attempts: 0 };
        all_or_nothing(transaction, || {
            let own = self.view(transaction);
            own.put(layout::body(job.id), body)?;
            match self.put_waiting(&own, job, options.delay)? {
                true => self.count(&own, Transition::PushedReady),
                false => self.count(&own, Transition::PushedDelayed),
            }
        })?;
        Ok(job.id)
    }

    /// Tells the front of a job that waits.
    pub(crate) fn tell(&self, job: Job, delay: Duration) {
        match delay.is_zero() {
            true => self.front().ready(job),
            false => self.front().due_at(self.after(delay)),
        }
    }

    /// Puts the state of a job that waits. Returns whether it is ready.
    pub(crate) fn put_waiting(
        &self,
        own: &TransactionKeyspace<'_>,
        job: Job,
        delay: Duration,
    ) -> Result<bool> {
        let is_ready = delay.is_zero();
        if is_ready {
            own.put(job.ready_key(), job.value())?;
            self.front().ready(job);
        } else {
            let until = self.after(delay);
            own.put(layout::delayed(until, job.id), job.value())?;
            self.front().due_at(until);
        }
        Ok(is_ready)
    }

    /// Returns an id that the handle has reserved. Reserves more if there is none.
    fn next_id(&self) -> Result<u64> {
        let mut ids = lock(&self.0.ids);
        if ids.is_empty() {
            // The log has the reservation before every push with one of these ids.
            *ids = self.run(&TransactionOptions::default(), |transaction| {
                let own = self.view(transaction);
                let stored = own.get(NEXT_ID)?;
                let from = stored.map_or(Ok(1), |stored| layout::number(NEXT_ID, &stored))?;
                let block = from..from.saturating_add(BLOCK);
                own.put(NEXT_ID, block.end.to_le_bytes())?;
                Ok(block)
            })?;
        }
        ids.next().ok_or_else(|| layout::damaged(NEXT_ID))
    }

    /// Returns how long a worker that found no job may sleep: until the first delayed job is due,
    /// or the first lease ends. Zero: a job can be claimed now. `None`: there is no such job, only
    /// a push brings one.
    ///
    /// # Errors
    /// [`Error::Engine`]: as [`Keyspace::get`].
    ///
    /// # Example
    /// A worker that looks for new jobs at least every second:
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{PushOptions, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// let soon = PushOptions { delay: Duration::from_millis(5), ..PushOptions::default() };
    /// jobs.push_with("job", soon)?;
    /// let job = loop {
    ///     match jobs.claim("worker 1", Duration::from_secs(60))? {
    ///         Some(job) => break job,
    ///         None => {
    ///             let longest = Duration::from_secs(1);
    ///             std::thread::sleep(jobs.next_due()?.map_or(longest, |due| due.min(longest)));
    ///         }
    ///     }
    /// };
    /// assert_eq!(job.body, b"job");
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn next_due(&self) -> Result<Option<Duration>> {
        let now = self.now();
        if self.first_key(READY)?.is_some() {
            return Ok(Some(Duration::ZERO));
        }
        let mut first: Option<u64> = None;
        for tag in [DELAYED, LEASED] {
            if let Some(key) = self.first_key(tag)? {
                let time = layout::time_of(&key)?;
                first = Some(first.map_or(time, |first| first.min(time)));
            }
        }
        Ok(first.map(|time| Duration::from_nanos(time.saturating_sub(now))))
    }

    /// Returns the key of the first entry with this first byte.
    fn first_key(&self, tag: u8) -> Result<Option<Vec<u8>>> {
        let first = self.0.own.range(layout::all(tag))?.next().transpose()?;
        Ok(first.map(|(key, _)| key))
    }

    /// Runs `work` in a transaction until its commit succeeds. Errors keep their type.
    pub(crate) fn run<T>(
        &self,
        options: &TransactionOptions,
        mut work: impl FnMut(&Transaction) -> Result<T>,
    ) -> Result<T> {
        let mut own_error = None;
        let outcome = self.0.db.with(options).transact(|transaction| {
            work(transaction).map_err(|error| {
                own_error = Some(error.clone());
                error.into()
            })
        });
        // An error of the closure ends the loop, so it is the error of the outcome.
        outcome.map_err(|error| own_error.take().unwrap_or(Error::Engine(error)))
    }

    /// Adds 1 to the counter of a transition.
    pub(crate) fn count(
        &self,
        own: &TransactionKeyspace<'_>,
        transition: Transition,
    ) -> Result<()> {
        Ok(own.merge_with(&self.0.adds, transition.key(), 1u64.to_le_bytes())?)
    }

    pub(crate) fn view<'a>(&'a self, transaction: &'a Transaction) -> TransactionKeyspace<'a> {
        transaction.keyspace(&self.0.own)
    }

    pub(crate) fn db(&self) -> &Db {
        &self.0.db
    }

    pub(crate) fn own(&self) -> &Keyspace {
        &self.0.own
    }

    pub(crate) fn options(&self) -> &QueueOptions {
        &self.0.options
    }

    /// Options of transactions that a claim needs: they claim what they write, and sync nothing.
    pub(crate) fn claiming(&self) -> &TransactionOptions {
        &self.0.claiming
    }

    /// Options of all other transactions.
    pub(crate) fn writing(&self) -> &TransactionOptions {
        &self.0.writing
    }

    /// Waits until no other claim of the handle is in progress.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.0.claims)
    }

    pub(crate) fn front(&self) -> MutexGuard<'_, Front> {
        lock(&self.0.front)
    }

    pub(crate) fn now(&self) -> u64 {
        nanos(self.0.options.clock.time_of_day())
    }

    /// Returns the time after a duration from now.
    pub(crate) fn after(&self, duration: Duration) -> u64 {
        self.now().saturating_add(nanos(duration))
    }
}

/// Tries an order, which may be that of the bytes without telling so.
fn has_order_of_bytes(comparator: &dyn Comparator) -> bool {
    let samples: [&[u8]; 7] = [b"\0", b"\0\xff", b"\x01", b"r", b"r\0", b"\x80", b"\xff"];
    samples.is_sorted_by(|a, b| comparator.compare(a, b).is_lt())
}

/// Does some writes in a transaction of the program. After an error none of them stays.
pub(crate) fn all_or_nothing<T>(
    transaction: &Transaction,
    write: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let before = transaction.savepoint();
    let outcome = write();
    match outcome {
        Ok(_) => transaction.release(before),
        Err(_) => transaction.rollback_to(before)?,
    }
    outcome
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Queue");
        shown.field("name", &self.name()).field("options", self.options()).finish_non_exhaustive()
    }
}
