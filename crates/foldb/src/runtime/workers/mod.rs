//! The threads that do background work, for all databases of a runtime.
//!
//! A database is a [`Tenant`] of the workers: a worker asks it for a step of flushing, of sorting
//! memtables or of compacting. The tenant does the step and answers whether there was anything to
//! do. No thread belongs to a database or to a kind of work. A free thread takes a flush first,
//! because writers wait for flushes first. Then it takes a piece of sorting (a millisecond or two),
//! then a compaction. The tenant whose writers are nearest to waiting goes first; among equals, the
//! one that was served longest ago. A compaction step is one slice, so no tenant waits for a large
//! job of another. With two or more threads, one is always left to flush.
//!
//! ```text
//! tenant    flush            compaction
//! a         ready  0.5       running
//! b         ready  1.0  ◄──  ready  0.2      the next free thread flushes b, whose writers wait
//! ```
//!
//! The threads start when a tenant first has work for them: a program that opens a database, reads
//! a key and closes it starts none. If the system cannot start one then, callers do the work on
//! their own threads, and the next wake-up tries again.
//!
//! Workers ask a tenant to sort only when [`Tenant::wants_order`] is true. They ask for other work
//! again if the tenant was woken, or did a step, since it last answered "nothing to do". After a
//! failed step it is asked again a second later. A worker catches the panic of a step and tells the
//! tenant.

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use foldb_env::{Process, Thread, Threads, scheduling_point};

use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::locks::rank::WORKERS;
use crate::locks::{Condition, Lock, LockGuard};
use crate::user_code::{become_worker, message_of};

/// The kinds of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Sealing memtables to free memory, and flushing them.
    Flush,
    /// Sorting memtables while they fill.
    Order,
    /// Compacting, a slice at a time.
    Compaction,
}

/// A database as its workers see it.
pub(crate) trait Tenant: Send + Sync {
    /// Does one step. Returns whether there was anything to do.
    fn step(&self, work: Work) -> Result<bool>;

    /// Does one short step, on a worker that pauses inside a step for this or another tenant.
    /// Returns whether there was anything to do.
    fn step_beside(&self, work: Work) -> Result<bool>;

    /// Returns how near writers are to waiting for this kind of work; at 1 and more they wait.
    /// Called under a lock that every worker needs.
    fn urgency(&self, work: Work) -> f64;

    /// Notes that a worker did a step, or failed to.
    fn stepped(&self, work: Work, outcome: &Result<bool>);

    /// Makes the error for a step that panicked with this message.
    fn panicked(&self, work: Work, message: &str) -> crate::Error;

    /// Returns how many threads may compact at once.
    fn max_compactions(&self) -> usize;

    /// Returns whether there is something to sort.
    fn wants_order(&self) -> bool;

    /// Returns whether to ask for this work also when nothing happened for [`IDLE`].
    fn works_when_idle(&self, work: Work) -> bool;

    /// Asks the tenant to seal its memtables, because memory is needed.
    fn request_seal(&self);

    /// Returns whether a worker would find work now, or has to look from time to time.
    fn has_work(&self) -> bool;

    /// Returns the bytes of memory that its logs use.
    fn log_bytes(&self) -> usize;

    /// Returns the flag that [`Workers::poke`] sets.
    fn poke(&self) -> Arc<AtomicBool>;
}

/// How long a tenant that has work when idle is left alone.
pub(crate) const IDLE: Duration = Duration::from_secs(1);

/// How long work that failed is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// The threads and their tenants.
pub(crate) struct Workers {
    /// Most threads.
    limit: usize,
    threads: Arc<dyn Threads>,
    state: Lock<State, WORKERS>,
    /// Signalled when there may be work, and at the end.
    work: Condition,
    /// Signalled when a worker has finished a step for a tenant.
    left: Condition,
    /// Whether there are threads, or there will be when there is work. Stored under the lock.
    /// `Relaxed`: a caller that waits for a step of its own has woken a worker before, under the
    /// same lock. So it sees whether threads started then, and threads that started stay. One that
    /// waits for steps of other threads looks again after each.
    running: AtomicBool,
    /// Itself, for the threads that it starts.
    own: Weak<Workers>,
    /// Whether a tenant was poked and its poke is not noted yet.
    poked: AtomicBool,
    /// The process that has the threads.
    process: Process,
    /// How many threads can run at the same time. Only compactions that
    /// several threads may share ask, because the answer may take the system some time.
    processors: OnceLock<usize>,
}

#[derive(Default)]
struct State {
    tenants: Vec<Entry>,
    started: Vec<Thread>,
    shutdown: bool,
    /// Steps begun so far.
    begun: u64,
}

/// A tenant and what is known of its work.
struct Entry {
    id: u64,
    tenant: Arc<dyn Tenant>,
    /// Set by [`Workers::poke`].
    poke: Arc<AtomicBool>,
    /// Counts everything that may have made work.
    news: u64,
    flush: Lane,
    order: Lane,
    compaction: Lane,
    /// Whether the tenant is leaving: no step begins any more.
    leaving: bool,
}

/// One kind of work of one tenant.
#[derive(Default)]
struct Lane {
    /// How many workers do this work now.
    running: usize,
    /// The value of `news` when there was last nothing to do.
    idle_at: Option<u64>,
    /// Earliest time of the next step, whatever happens: the last step failed.
    not_before: Option<Instant>,
    /// Time of the next step even if nothing happens.
    look_at: Option<Instant>,
    /// The number of its last step: the lane that has waited longest has the lowest rank.
    rank: u64,
}

/// How a worker gets to a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The worker was free.
    Own,
    /// The worker pauses inside another step.
    Beside,
}

/// A step to do.
struct Task {
    id: u64,
    tenant: Arc<dyn Tenant>,
    work: Work,
    news: u64,
}

impl Workers {
    /// Returns the source of the threads.
    pub(crate) fn threads(&self) -> &Arc<dyn Threads> {
        &self.threads
    }

    pub(crate) fn new(limit: usize, threads: Arc<dyn Threads>) -> Arc<Workers> {
        Arc::new_cyclic(|own| Workers {
            limit: limit.max(1),
            running: AtomicBool::new(threads.has_threads()),
            threads,
            state: Lock::default(),
            work: Condition::default(),
            left: Condition::default(),
            own: Weak::clone(own),
            poked: AtomicBool::new(false),
            process: Process::current(),
            processors: OnceLock::new(),
        })
    }

    fn lock(&self) -> LockGuard<'_, State, WORKERS> {
        scheduling_point();
        self.state.lock()
    }

    /// Returns whether this process has the threads. A fork has none of them, so it must neither
    /// wait for one nor for a lock that one may hold.
    pub(crate) fn are_of_this_process(&self) -> bool {
        self.process.is_current()
    }

    /// Returns whether there are threads, or will be when there is work. Without threads tenants do
    /// their own steps.
    pub(crate) fn are_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns how many compactions can make progress at the same time.
    pub(crate) fn compactions_at_once(&self) -> usize {
        let processors = *self.processors.get_or_init(|| self.threads.processors());
        self.limit.saturating_sub(1).clamp(1, processors.max(1))
    }

    /// Begins to work for a tenant. Starts the threads if it has work for them.
    pub(crate) fn add(&self, id: u64, tenant: Arc<dyn Tenant>) {
        let has_work = self.are_running() && tenant.has_work();
        let mut state = self.lock();
        assert!(state.entry(id).is_none(), "a database joins the workers once");
        let (flush, order, compaction) = Default::default();
        let (poke, news, leaving) = (tenant.poke(), 0, false);
        state.tenants.push(Entry { id, tenant, poke, news, flush, order, compaction, leaving });
        if has_work {
            self.start(&mut state);
        }
        drop(state);
        self.work.notify_all();
    }

    /// Starts the threads, unless they were started. If the system starts none, tenants do their
    /// own steps until a later call succeeds.
    fn start(&self, state: &mut State) {
        if !state.started.is_empty() || state.shutdown || !self.threads.has_threads() {
            return;
        }
        let Some(own) = self.own.upgrade() else { return };
        for _ in 0..self.limit {
            let workers = Arc::clone(&own);
            match self.threads.spawn("foldb-background", Box::new(move || workers.run())) {
                Ok(Some(thread)) => state.started.push(thread),
                // Fewer threads do the same work.
                Ok(None) | Err(_) => break,
            }
        }
        self.running.store(!state.started.is_empty(), Ordering::Relaxed);
    }

    /// Starts a separate thread beside the workers, for work that waits for them.
    ///
    /// # Errors
    /// The error of the operating system if it starts no thread.
    pub(crate) fn start_beside(
        &self,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        self.threads.spawn(name, Box::new(body)).map(drop)
    }

    /// Stops working for a tenant. After it returns, no worker works for the tenant.
    pub(crate) fn remove(&self, id: u64) {
        let mut state = self.lock();
        if let Some(entry) = state.entry(id) {
            entry.leaving = true;
        }
        let is_busy = |state: &mut State| {
            let running = |entry: &mut Entry| entry.lanes().iter().any(|lane| lane.running > 0);
            state.entry(id).is_some_and(running)
        };
        state = self.left.wait_while(state, is_busy);
        let gone = state.tenants.iter().position(|entry| entry.id == id);
        let gone = gone.map(|at| state.tenants.swap_remove(at));
        drop(state);
        drop(gone);
    }

    /// Notes that an event may have made work for a tenant.
    pub(crate) fn wake(&self, id: u64) {
        if !self.are_of_this_process() {
            return;
        }
        let mut state = self.lock();
        if let Some(entry) = state.entry(id) {
            entry.news += 1;
            self.start(&mut state);
        }
        drop(state);
        if planted(Fault::LoseWakeUp) {
            return;
        }
        self.work.notify_all();
    }

    /// Does what [`Workers::wake`] does, and lets a step that failed be tried again at once.
    pub(crate) fn retry(&self, id: u64) {
        if !self.are_of_this_process() {
            return;
        }
        let mut state = self.lock();
        if let Some(entry) = state.entry(id) {
            entry.news += 1;
            for lane in [&mut entry.flush, &mut entry.compaction] {
                lane.not_before = None;
            }
            self.start(&mut state);
        }
        drop(state);
        self.work.notify_all();
    }

    /// Wakes one worker for a tenant that wants to sort: one free worker is enough.
    pub(crate) fn wake_one(&self) {
        if !self.are_of_this_process() {
            return;
        }
        // Once this thread has had the lock, a worker that already looked is waiting and gets the
        // signal.
        self.start(&mut self.lock());
        self.work.notify_one();
    }

    /// Does what [`Workers::wake`] does, but waits for no lock: the caller may hold any lock, even
    /// this one. `poke` is the tenant's own flag. The thread that holds the lock sees it. If that
    /// thread has just looked, a worker sees it at the next look at a tenant with work when idle.
    pub(crate) fn poke(&self, poke: &AtomicBool) {
        poke.store(true, Ordering::SeqCst);
        self.poked.store(true, Ordering::SeqCst);
        if let Some(mut state) = self.state.try_lock() {
            if self.note_pokes(&mut state) {
                self.start(&mut state);
            }
            drop(state);
            self.work.notify_all();
        }
    }

    /// Notes pokes. Returns whether any tenant was poked since the last call.
    fn note_pokes(&self, state: &mut State) -> bool {
        let any = self.poked.swap(false, Ordering::SeqCst);
        if any {
            for entry in &mut state.tenants {
                entry.news += u64::from(entry.poke.swap(false, Ordering::SeqCst));
            }
        }
        any
    }

    /// Asks a tenant to seal its memtables.
    pub(crate) fn request_seal(&self, id: u64) {
        let mut state = self.lock();
        if let Some(entry) = state.entry(id) {
            entry.tenant.request_seal();
            entry.news += 1;
            self.start(&mut state);
        }
        drop(state);
        self.work.notify_all();
    }

    /// Returns whether all steps for a tenant are done, and the last step of this work found
    /// nothing to do after the last news.
    #[cfg(debug_assertions)]
    pub(crate) fn are_idle(&self, id: u64, work: Work) -> bool {
        let mut state = self.lock();
        let is_running = self.are_running() && !state.shutdown;
        is_running
            && state.entry(id).is_some_and(|entry| {
                let lane = entry.lane_of(work);
                let is_served = lane.idle_at == Some(entry.news) && lane.not_before.is_none();
                is_served && !entry.leaving && entry.lanes().iter().all(|lane| lane.running == 0)
            })
    }

    /// Returns all tenants.
    pub(crate) fn tenants(&self) -> Vec<Arc<dyn Tenant>> {
        self.lock().tenants.iter().map(|entry| Arc::clone(&entry.tenant)).collect()
    }

    /// Ends the threads and waits for them.
    pub(crate) fn shut_down(&self) {
        if !self.are_of_this_process() {
            return;
        }
        let started = {
            let mut state = self.lock();
            state.shutdown = true;
            std::mem::take(&mut state.started)
        };
        self.work.notify_all();
        for thread in started {
            // The last handle of the runtime may be dropped on one of its own threads, which cannot
            // wait for itself.
            if !thread.is_current() {
                let _panicked = thread.join();
            }
        }
    }

    fn run(&self) {
        become_worker();
        while let Some(task) = self.next() {
            self.perform(task, Pass::Own);
        }
    }

    /// Does a step while another step on this thread pauses, if there is one to do. Every tenant is
    /// served as by a free worker, except for work that may itself pause.
    pub(crate) fn step_beside(&self) -> bool {
        let task = {
            let mut state = self.lock();
            self.note_pokes(&mut state);
            match state.shutdown {
                true => None,
                false => state.take(Instant::now(), true),
            }
        };
        task.is_some_and(|task| self.perform(task, Pass::Beside))
    }

    /// Does a task. Returns whether there was anything to do.
    fn perform(&self, task: Task, pass: Pass) -> bool {
        let Task { id, work, news, .. } = task;
        let mut step =
            StepInHand { workers: self, id, work, news, found: None, looks_again: false };
        // Declared after the step, so it is gone at the end of the step: once no worker works for
        // the tenant, its database may close.
        let tenant = task.tenant;
        let outcome = catch_unwind(AssertUnwindSafe(|| match pass {
            Pass::Own => tenant.step(work),
            Pass::Beside => tenant.step_beside(work),
        }));
        let outcome =
            outcome.unwrap_or_else(|panic| Err(tenant.panicked(work, message_of(&*panic))));
        tenant.stepped(work, &outcome);
        // A step beside another one leaves out work that a free worker may find.
        step.looks_again = pass == Pass::Beside || tenant.works_when_idle(work);
        step.found = outcome.ok();
        step.found == Some(true)
    }

    /// Waits for the next step; `None` at the end.
    fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.shutdown {
                return None;
            }
            let now = Instant::now();
            self.note_pokes(&mut state);
            let may_compact = state.may_compact(self.limit);
            if let Some(task) = state.take(now, may_compact) {
                return Some(task);
            }
            // A tenant may have been poked during the search: search again.
            if self.note_pokes(&mut state) {
                continue;
            }
            state = match state.next_look(now) {
                None => self.work.wait(state),
                Some(pause) => self.work.wait_for(state, pause).0,
            };
        }
    }
}

/// A step that this thread does for a tenant. Its end lowers the count of its lane, also if the
/// thread unwinds.
struct StepInHand<'a> {
    workers: &'a Workers,
    id: u64,
    work: Work,
    /// The value of the tenant's `news` at its beginning.
    news: u64,
    /// Whether there was anything to do; `None` if the step failed.
    found: Option<bool>,
    /// Whether a worker looks again after a while, even if nothing happens.
    looks_again: bool,
}

impl Drop for StepInHand<'_> {
    fn drop(&mut self) {
        let mut state = self.workers.lock();
        if let Some(entry) = state.entry(self.id) {
            let lane = entry.lane(self.work);
            assert!(lane.running > 0, "a step that ends had begun");
            lane.running -= 1;
            match self.found {
                Some(true) => {}
                Some(false) => {
                    lane.idle_at = Some(self.news);
                    lane.look_at = self.looks_again.then(|| Instant::now() + IDLE);
                }
                None => lane.not_before = Some(Instant::now() + RETRY),
            }
            if self.work != Work::Order && self.found != Some(false) {
                // A flush makes work for a compaction, and a compaction for the next.
                entry.news += 1;
            }
        }
        drop(state);
        self.workers.left.notify_all();
        self.workers.work.notify_all();
    }
}

impl State {
    fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        self.tenants.iter_mut().find(|entry| entry.id == id)
    }

    /// Returns whether a free worker may compact: with two or more threads, one is left to flush.
    fn may_compact(&self, threads: usize) -> bool {
        let compacting: usize = self.tenants.iter().map(|entry| entry.compaction.running).sum();
        threads == 1 || compacting + 1 < threads
    }

    /// Begins the most urgent step.
    fn take(&mut self, now: Instant, may_compact: bool) -> Option<Task> {
        let soon = self.most_urgent(Work::Flush, now);
        let (at, work) = soon
            .or_else(|| self.most_urgent(Work::Order, now))
            .or_else(|| if may_compact { self.most_urgent(Work::Compaction, now) } else { None })?;
        self.begun += 1;
        let rank = self.begun;
        let entry = &mut self.tenants[at];
        let lane = entry.lane(work);
        (lane.rank, lane.not_before, lane.look_at) = (rank, None, None);
        lane.running += 1;
        Some(Task { id: entry.id, tenant: Arc::clone(&entry.tenant), work, news: entry.news })
    }

    fn most_urgent(&self, work: Work, now: Instant) -> Option<(usize, Work)> {
        let mut best: Option<(usize, f64, u64)> = None;
        for (at, entry) in self.tenants.iter().enumerate() {
            if !entry.is_ready(work, now) {
                continue;
            }
            let (urgency, rank) = (entry.tenant.urgency(work), entry.lane_of(work).rank);
            let is_better = |&(_, most, first): &(usize, f64, u64)| {
                urgency > most || urgency == most && rank < first
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((at, urgency, rank));
            }
        }
        best.map(|(at, ..)| (at, work))
    }

    /// Returns how long until something needs a look even if nothing happens.
    fn next_look(&self, now: Instant) -> Option<Duration> {
        let lanes = self.tenants.iter().flat_map(Entry::lanes);
        let dates = lanes.flat_map(|lane| [lane.not_before, lane.look_at]).flatten();
        // Work that is due and cannot begin now begins when a worker finishes something else.
        Some(dates.filter(|&at| at > now).min()? - now)
    }
}

impl Entry {
    fn lane(&mut self, work: Work) -> &mut Lane {
        match work {
            Work::Flush => &mut self.flush,
            Work::Order => &mut self.order,
            Work::Compaction => &mut self.compaction,
        }
    }

    fn lane_of(&self, work: Work) -> &Lane {
        match work {
            Work::Flush => &self.flush,
            Work::Order => &self.order,
            Work::Compaction => &self.compaction,
        }
    }

    fn lanes(&self) -> [&Lane; 3] {
        [&self.flush, &self.order, &self.compaction]
    }

    /// Returns whether a step may begin, as far as this entry shows.
    fn is_ready(&self, work: Work, now: Instant) -> bool {
        let lane = self.lane_of(work);
        let most = match work {
            Work::Flush | Work::Order => 1,
            Work::Compaction => self.tenant.max_compactions(),
        };
        if self.leaving || lane.running >= most {
            return false;
        }
        match lane.not_before {
            Some(not_before) => not_before <= now,
            None if work == Work::Order => self.tenant.wants_order(),
            None => lane.idle_at != Some(self.news) || lane.look_at.is_some_and(|look| look <= now),
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        write!(f, "{} workers for {} databases", state.started.len(), state.tenants.len())
    }
}
