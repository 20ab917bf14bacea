//! Job queues with leases, retries and dead letters, over `foldb-queue`.
//!
//! Invariant: the pointers of a `foldb_job_t` point into the claim or the list that stored it.

use std::ffi::{CString, c_char};
use std::ptr;
use std::time::Duration;

use foldb::{Error, Result};
use foldb_queue::{Claimed, Fate, JobInfo, JobState, Jobs, PushOptions, Queue, QueueOptions};

use crate::boundary::{arg, arg_mut, bytes, call, check_out, free, store, text};
use crate::bytes::foldb_bytes_t;
use crate::database::foldb_t;
use crate::error::{c_string, foldb_error_t};
use crate::expiry::{NEVER, millis_of};
use crate::transaction::{foldb_transaction_t, open};

/// A queue of jobs, in a keyspace of its own. All threads may use it at the same time. Open it once
/// and share it: the claims of one handle do not conflict with each other. It keeps its database
/// open.
pub struct foldb_queue_t(Queue);

/// A job in the hands of a worker, until its lease ends. One thread at a time may use it.
pub struct foldb_claim_t {
    claimed: Claimed,
    token: CString,
    worker: CString,
}

/// The jobs of a queue at one moment. One thread at a time may use it. It keeps its database open.
pub struct foldb_jobs_t {
    jobs: Jobs,
    current: Option<JobInfo>,
    text: CString,
}

/// What a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_job_state_t {
    /// It can be claimed.
    FOLDB_JOB_READY = 0,
    /// It can be claimed from `time_millis` on.
    FOLDB_JOB_DELAYED = 1,
    /// The worker `text` has it until `time_millis`.
    FOLDB_JOB_LEASED = 2,
    /// It is a dead letter: its last attempt ended at `time_millis`, because of `text`.
    FOLDB_JOB_DEAD = 3,
}

use foldb_job_state_t::*;

/// A job. Its body and text live as long as the claim, or until the next move of the list.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct foldb_job_t {
    /// The id that the push stored.
    pub id: u64,
    /// What was pushed.
    pub body: foldb_bytes_t,
    /// How often the job was claimed. In a claim from 2 on, an earlier worker may have done a part.
    pub attempts: u32,
    /// The priority of the job.
    pub priority: i32,
    /// What the job waits for.
    pub state: foldb_job_state_t,
    /// The moment that belongs to the state, in milliseconds since 1970; -1 for a ready job.
    pub time_millis: i64,
    /// The worker of a leased job, the reason of a dead letter; otherwise NULL.
    pub text: *const c_char,
}

/// How many jobs are in each state. A job whose delay or lease has ended counts as delayed or
/// leased until the next claim looks.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct foldb_queue_depth_t {
    /// Jobs that can be claimed.
    pub ready: u64,
    /// Jobs that wait for their time.
    pub delayed: u64,
    /// Jobs in the hands of workers.
    pub leased: u64,
    /// Dead letters.
    pub dead: u64,
    /// Jobs that were ended as done.
    pub done: u64,
}

impl foldb_claim_t {
    fn of(claimed: Claimed) -> *mut foldb_claim_t {
        let (token, worker) = (c_string(&claimed.token()), c_string(&claimed.worker));
        Box::into_raw(Box::new(foldb_claim_t { claimed, token, worker }))
    }
}

/// Opens the queue in the keyspace `name`, and stores it in `*queue`. Creates the keyspace if there
/// is none. Free the queue with `foldb_queue_free`.
///
/// A job becomes a dead letter after `max_attempts` claims; 0 stands for 5. `retry_delay_millis` is
/// how long a job waits after `foldb_queue_fail`. With `sync`, a push and the end of a job return
/// when they are on the disk. The handle has these settings; the queue does not store them.
///
/// Fails with `FOLDB_INVALID_ARGUMENT` if the keyspace has entries that no queue wrote.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_open(
    db: *const foldb_t,
    name: *const c_char,
    max_attempts: u32,
    retry_delay_millis: u64,
    sync: bool,
    queue: *mut *mut foldb_queue_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(queue, "queue")?;
        // SAFETY: the caller keeps the rules of the header.
        let (db, name) = unsafe { (arg(db, "db")?, text(name, "name")?) };
        let default = QueueOptions::default();
        let options = QueueOptions {
            max_attempts: if max_attempts == 0 { default.max_attempts } else { max_attempts },
            retry_delay: Duration::from_millis(retry_delay_millis),
            sync,
            ..default
        };
        let opened = Queue::open(db.db.to_change()?, name, options)?;
        // SAFETY: checked above.
        unsafe { store(queue, Box::into_raw(Box::new(foldb_queue_t(opened)))) };
        Ok(())
    })
}

/// Frees a queue. NULL is allowed. Claims of it stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_free(queue: *mut foldb_queue_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(queue) };
}

/// Pushes a job and stores its id in `*id`, unless `id` is NULL. Jobs of a larger priority are
/// claimed first. The job can be claimed after `delay_millis`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_push(
    queue: *const foldb_queue_t,
    body: *const u8,
    body_len: usize,
    priority: i32,
    delay_millis: u64,
    id: *mut u64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (own, body) = unsafe { (arg(queue, "queue")?, bytes(body, body_len, "body")?) };
        let pushed = own.0.push_with(body, push_options(priority, delay_millis))?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe { store_unless_null(id, pushed) };
        Ok(())
    })
}

/// Pushes a job in a transaction: it is there once the transaction has committed. Otherwise as
/// `foldb_queue_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_push_in(
    queue: *const foldb_queue_t,
    transaction: *const foldb_transaction_t,
    body: *const u8,
    body_len: usize,
    priority: i32,
    delay_millis: u64,
    id: *mut u64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (own, transaction, body) = unsafe {
            let transaction = arg(transaction, "transaction")?;
            (arg(queue, "queue")?, transaction, bytes(body, body_len, "body")?)
        };
        let options = push_options(priority, delay_millis);
        let pushed = own.0.push_in(open(transaction)?, body, options)?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe { store_unless_null(id, pushed) };
        Ok(())
    })
}

fn push_options(priority: i32, delay_millis: u64) -> PushOptions {
    PushOptions { priority, delay: Duration::from_millis(delay_millis) }
}

/// Stores a result that the caller may not want.
///
/// # Safety
/// `out` is NULL, or points to a place for a `u64`.
unsafe fn store_unless_null(out: *mut u64, result: u64) {
    if !out.is_null() {
        // SAFETY: as the caller promises.
        unsafe { store(out, result) };
    }
}

/// Claims the first ready job for `lease_millis` and stores the claim in `*claim`; NULL if no job
/// is ready. `worker` is a name for people. Free the claim with `foldb_claim_free`, which does not
/// end it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_claim(
    queue: *const foldb_queue_t,
    worker: *const c_char,
    lease_millis: u64,
    claim: *mut *mut foldb_claim_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(claim, "claim")?;
        // SAFETY: the caller keeps the rules of the header.
        let (own, worker) = unsafe { (arg(queue, "queue")?, text(worker, "worker")?) };
        let claimed = own.0.claim(worker, Duration::from_millis(lease_millis))?;
        // SAFETY: checked above.
        unsafe { store(claim, claimed.map_or(ptr::null_mut(), foldb_claim_t::of)) };
        Ok(())
    })
}

/// Stores the claim of another process in `*claim`, by the id of its job and its token. Fails with
/// `FOLDB_ABORTED` if it no longer holds the job, and with `FOLDB_INVALID_ARGUMENT` for a text that
/// is no token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_resume(
    queue: *const foldb_queue_t,
    id: u64,
    token: *const c_char,
    claim: *mut *mut foldb_claim_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(claim, "claim")?;
        // SAFETY: the caller keeps the rules of the header.
        let (own, token) = unsafe { (arg(queue, "queue")?, text(token, "token")?) };
        let claimed = own.0.resume(id, token)?;
        // SAFETY: checked above.
        unsafe { store(claim, foldb_claim_t::of(claimed)) };
        Ok(())
    })
}

/// Stores the job of a claim in `*job`: its text is the name of the worker, and `time_millis` the
/// end of the lease.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_claim_job(
    claim: *const foldb_claim_t,
    job: *mut foldb_job_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(job, "job")?;
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg(claim, "claim")? };
        let claimed = &own.claimed;
        let found = foldb_job_t {
            id: claimed.id,
            body: (&claimed.body[..]).into(),
            attempts: claimed.attempt,
            priority: claimed.priority,
            state: FOLDB_JOB_LEASED,
            time_millis: millis_of(Some(claimed.lease_end())),
            text: own.worker.as_ptr(),
        };
        // SAFETY: checked above.
        unsafe { store(job, found) };
        Ok(())
    })
}

/// Returns the token of a claim, with which another process goes on (`foldb_queue_resume`). It
/// lives until the claim is extended or freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_claim_token(claim: *const foldb_claim_t) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { claim.as_ref() }.map_or(ptr::null(), |own| own.token.as_ptr())
}

/// Frees a claim. NULL is allowed. Its lease goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_claim_free(claim: *mut foldb_claim_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(claim) };
}

/// Runs a call of a queue with a claim.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn with_claim(
    queue: *const foldb_queue_t,
    claim: *const foldb_claim_t,
    run: impl FnOnce(&Queue, &Claimed) -> Result<()>,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: as the caller promises.
        let (own, claim) = unsafe { (arg(queue, "queue")?, arg(claim, "claim")?) };
        run(&own.0, &claim.claimed)
    })
}

/// Ends a job as done. Fails with `FOLDB_ABORTED` if the claim no longer holds the job: another
/// claim does it, or did it, and nothing was written. So do all calls with a claim.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_ack(
    queue: *const foldb_queue_t,
    claim: *const foldb_claim_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { with_claim(queue, claim, |queue, claimed| Ok(queue.ack(claimed)?)) }
}

/// Ends a job as done in a transaction. The writes of the transaction and the end of the job happen
/// at one moment, so they happen exactly once for each job.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_ack_in(
    queue: *const foldb_queue_t,
    transaction: *const foldb_transaction_t,
    claim: *const foldb_claim_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        with_claim(queue, claim, |queue, claimed| {
            Ok(queue.ack_in(open(arg(transaction, "transaction")?)?, claimed)?)
        })
    }
}

/// Lets the lease of a claim end `lease_millis` from now instead. The claim then has another token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_extend(
    queue: *const foldb_queue_t,
    claim: *mut foldb_claim_t,
    lease_millis: u64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (own, claim) = unsafe { (arg(queue, "queue")?, arg_mut(claim, "claim")?) };
        own.0.extend(&mut claim.claimed, Duration::from_millis(lease_millis))?;
        claim.token = c_string(&claim.claimed.token());
        Ok(())
    })
}

/// Stores whether a job died, unless the caller does not want it.
///
/// # Safety
/// `is_dead` is NULL, or points to a place for a `bool`.
unsafe fn store_fate(is_dead: *mut bool, fate: Fate) {
    if !is_dead.is_null() {
        // SAFETY: as the caller promises.
        unsafe { store(is_dead, fate == Fate::Dead) };
    }
}

/// Gives a job back: it can be claimed again after `after_millis`. Stores in `*is_dead` whether no
/// attempt was left and the job is a dead letter; `is_dead` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_retry(
    queue: *const foldb_queue_t,
    claim: *const foldb_claim_t,
    after_millis: u64,
    is_dead: *mut bool,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        with_claim(queue, claim, |queue, claimed| {
            store_fate(is_dead, queue.retry(claimed, Duration::from_millis(after_millis))?);
            Ok(())
        })
    }
}

/// Ends an attempt that failed: the job can be claimed again after the retry delay of the queue. If
/// no attempt is left, it becomes a dead letter with the reason `why`. `*is_dead` is as for
/// `foldb_queue_retry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_fail(
    queue: *const foldb_queue_t,
    claim: *const foldb_claim_t,
    why: *const c_char,
    is_dead: *mut bool,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        with_claim(queue, claim, |queue, claimed| {
            store_fate(is_dead, queue.fail(claimed, text(why, "why")?)?);
            Ok(())
        })
    }
}

/// Makes a job a dead letter, whatever attempts are left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_bury(
    queue: *const foldb_queue_t,
    claim: *const foldb_claim_t,
    why: *const c_char,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        with_claim(queue, claim, |queue, claimed| Ok(queue.bury(claimed, text(why, "why")?)?))
    }
}

/// Makes a dead letter ready again. Fails with `FOLDB_INVALID_ARGUMENT` if no dead letter has this
/// id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_revive(
    queue: *const foldb_queue_t,
    id: u64,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    call(|| Ok(unsafe { arg(queue, "queue")? }.0.revive(id)?))
}

/// Deletes a dead letter for good. Fails as `foldb_queue_revive`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_discard(
    queue: *const foldb_queue_t,
    id: u64,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    call(|| Ok(unsafe { arg(queue, "queue")? }.0.discard(id)?))
}

/// Stores in `*depth` how many jobs are in each state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_depth(
    queue: *const foldb_queue_t,
    depth: *mut foldb_queue_depth_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(depth, "depth")?;
        // SAFETY: the caller keeps the rules of the header.
        let found = unsafe { arg(queue, "queue")? }.0.depth()?;
        let found = foldb_queue_depth_t {
            ready: found.ready,
            delayed: found.delayed,
            leased: found.leased,
            dead: found.dead,
            done: found.done,
        };
        // SAFETY: checked above.
        unsafe { store(depth, found) };
        Ok(())
    })
}

/// Stores in `*millis` how long a worker without a job may sleep until a delay or a lease ends: 0
/// if a job is ready, -1 if nothing is due ever. A push may come sooner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_next_due(
    queue: *const foldb_queue_t,
    millis: *mut i64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(millis, "millis")?;
        // SAFETY: the caller keeps the rules of the header.
        let due = unsafe { arg(queue, "queue")? }.0.next_due()?;
        // A worker that wakes a part of a millisecond too early would only sleep again.
        let millis_up = |due: Duration| i64::try_from(due.as_nanos().div_ceil(1_000_000));
        let found = due.map_or(NEVER, |due| millis_up(due).unwrap_or(i64::MAX));
        // SAFETY: checked above.
        unsafe { store(millis, found) };
        Ok(())
    })
}

/// Lists the jobs of a queue as they are now, and stores the list in `*jobs`: ready ones in the
/// order of their claims, delayed and leased ones in the order of their times, then dead letters in
/// the order of their pushes. Free the list with `foldb_jobs_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_queue_jobs(
    queue: *const foldb_queue_t,
    jobs: *mut *mut foldb_jobs_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(jobs, "jobs")?;
        // SAFETY: the caller keeps the rules of the header.
        let listed = unsafe { arg(queue, "queue")? }.0.jobs()?;
        let listed = foldb_jobs_t { jobs: listed, current: None, text: CString::default() };
        // SAFETY: checked above.
        unsafe { store(jobs, Box::into_raw(Box::new(listed))) };
        Ok(())
    })
}

/// Moves to the next job, stores it in `*job`, and stores in `*found` whether there is one. The
/// job before it ends here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_jobs_next(
    jobs: *mut foldb_jobs_t,
    job: *mut foldb_job_t,
    found: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(job, "job")?;
        check_out(found, "found")?;
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(jobs, "jobs")? };
        own.current = None;
        own.current = own.jobs.next().transpose()?;
        let shown = own.shown()?;
        // SAFETY: checked above.
        unsafe {
            store(found, shown.is_some());
            if let Some(shown) = shown {
                store(job, shown);
            }
        }
        Ok(())
    })
}

/// Frees a list of jobs. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_jobs_free(jobs: *mut foldb_jobs_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(jobs) };
}

impl foldb_jobs_t {
    /// Returns the current job.
    fn shown(&mut self) -> Result<Option<foldb_job_t>> {
        let Some(job) = &self.current else { return Ok(None) };
        let (state, time, text) = match &job.state {
            JobState::Ready => (FOLDB_JOB_READY, None, None),
            JobState::Delayed(until) => (FOLDB_JOB_DELAYED, Some(*until), None),
            JobState::Leased { worker, end } => (FOLDB_JOB_LEASED, Some(*end), Some(worker)),
            JobState::Dead { reason, died_at } => (FOLDB_JOB_DEAD, Some(*died_at), Some(reason)),
            _ => return Err(Error::new(foldb::ErrorKind::Unsupported, "a new state of jobs")),
        };
        if let Some(text) = text {
            self.text = c_string(text);
        }
        Ok(Some(foldb_job_t {
            id: job.id,
            body: (&job.body[..]).into(),
            attempts: job.attempts,
            priority: job.priority,
            state,
            time_millis: millis_of(time),
            text: text.map_or(ptr::null(), |_| self.text.as_ptr()),
        }))
    }
}
