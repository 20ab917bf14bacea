//! A thread that looks at databases once a second, for their flight recorders.
//!
//! It is no worker: when all workers wait for a slow disk, its samples show that. One thread serves
//! all databases of a runtime. It starts when a database first wakes it, and sleeps while no
//! database is awake, so a program that is idle stays idle.
//!
//! Invariant: after [`Ticker::remove`] returns, the thread does nothing for that database.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldb_env::{Process, Thread, Threads};

use crate::locks::rank::TICKER;
use crate::locks::{Condition, Lock, LockGuard};
use crate::user_code::{become_worker, guarded};

/// A database as the ticker sees it.
pub(crate) trait Ticked: Send + Sync {
    /// Does what is due each second. Returns whether to look again in a second.
    fn tick(&self) -> bool;
}

/// The time between two ticks.
const PERIOD: Duration = Duration::from_secs(1);

/// The thread and the databases that it looks at.
pub(crate) struct Ticker {
    threads: Arc<dyn Threads>,
    state: Lock<State, TICKER>,
    /// Signalled when a database wakes the thread, and at the end.
    woken: Condition,
    /// Signalled when a tick ends.
    ticked: Condition,
    /// Itself, for the thread that it starts.
    own: Weak<Ticker>,
    /// The process that has the thread.
    process: Process,
}

#[derive(Default)]
struct State {
    members: Vec<Member>,
    thread: Option<Thread>,
    /// The database whose tick runs.
    ticking: Option<u64>,
    shutdown: bool,
}

struct Member {
    id: u64,
    ticked: Arc<dyn Ticked>,
    is_awake: bool,
}

impl Ticker {
    pub(crate) fn new(threads: Arc<dyn Threads>) -> Arc<Ticker> {
        Arc::new_cyclic(|own| Ticker {
            threads,
            state: Lock::default(),
            woken: Condition::default(),
            ticked: Condition::default(),
            own: Weak::clone(own),
            process: Process::current(),
        })
    }

    /// Returns whether a thread would run.
    pub(crate) fn has_thread(&self) -> bool {
        self.threads.has_threads()
    }

    fn lock(&self) -> LockGuard<'_, State, TICKER> {
        self.state.lock()
    }

    /// Adds a database, asleep.
    pub(crate) fn add(&self, id: u64, ticked: Arc<dyn Ticked>) {
        self.lock().members.push(Member { id, ticked, is_awake: false });
    }

    /// Ticks for a database until a tick finds nothing to do. Starts the thread for the first.
    /// Returns whether a thread ticks: the system may start none, and a later call tries again.
    pub(crate) fn wake(&self, id: u64) -> bool {
        if !self.process.is_current() {
            return false;
        }
        let mut state = self.lock();
        if state.shutdown {
            return false;
        }
        let Some(member) = state.members.iter_mut().find(|member| member.id == id) else {
            return false;
        };
        member.is_awake = true;
        if state.thread.is_none()
            && let Some(own) = self.own.upgrade()
        {
            let started = self.threads.spawn("foldb-recorder", Box::new(move || own.run()));
            state.thread = started.ok().flatten();
        }
        let ticks = state.thread.is_some();
        drop(state);
        self.woken.notify_all();
        ticks
    }

    /// Removes a database, and waits for the end of its tick.
    pub(crate) fn remove(&self, id: u64) {
        if !self.process.is_current() {
            return;
        }
        let state = self.lock();
        let is_own = state.thread.as_ref().is_some_and(Thread::is_current);
        // A tick that drops the last handle of its own database cannot wait for itself.
        let mut state = match is_own {
            true => state,
            false => self.ticked.wait_while(state, |state| state.ticking == Some(id)),
        };
        let at = state.members.iter().position(|member| member.id == id);
        let gone = at.map(|at| state.members.swap_remove(at));
        drop(state);
        drop(gone);
    }

    /// Ends the thread and waits for it.
    pub(crate) fn shut_down(&self) {
        if !self.process.is_current() {
            return;
        }
        let thread = {
            let mut state = self.lock();
            state.shutdown = true;
            state.thread.take()
        };
        self.woken.notify_all();
        if let Some(thread) = thread
            && !thread.is_current()
        {
            let _panicked = thread.join();
        }
    }

    fn run(&self) {
        become_worker();
        loop {
            let is_asleep =
                |state: &mut State| !state.shutdown && !state.members.iter().any(|it| it.is_awake);
            drop(self.woken.wait_while(self.lock(), is_asleep));
            let state = self.lock();
            let rests = |state: &mut State| !state.shutdown;
            let state = self.woken.wait_while_for(state, rests, PERIOD);
            if state.shutdown {
                return;
            }
            let awake = state.members.iter().filter(|member| member.is_awake);
            let awake: Vec<u64> = awake.map(|member| member.id).collect();
            drop(state);
            awake.into_iter().for_each(|id| self.tick(id));
        }
    }

    fn tick(&self, id: u64) {
        let ticked = {
            let mut state = self.lock();
            let Some(member) = state.members.iter_mut().find(|member| member.id == id) else {
                return;
            };
            // A wake-up during the tick asks for another one.
            member.is_awake = false;
            let ticked = Arc::clone(&member.ticked);
            state.ticking = Some(id);
            ticked
        };
        // Statistics call the comparators of the program, which may panic.
        let again = guarded(|| ticked.tick()).unwrap_or(false);
        drop(ticked);
        let mut state = self.lock();
        state.ticking = None;
        if let Some(member) = state.members.iter_mut().find(|member| member.id == id) {
            member.is_awake |= again;
        }
        drop(state);
        self.ticked.notify_all();
    }
}

impl fmt::Debug for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticker({} databases)", self.lock().members.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use foldb_env::{SystemThreads, nap};

    use super::*;

    /// Counts its ticks, and asks for as many as it is given.
    #[derive(Default)]
    struct Counts {
        ticks: AtomicU32,
        wanted: u32,
    }

    impl Ticked for Counts {
        fn tick(&self) -> bool {
            self.ticks.fetch_add(1, Ordering::SeqCst) + 1 < self.wanted
        }
    }

    fn wait_for(counts: &Counts, ticks: u32) {
        let start = Instant::now();
        while counts.ticks.load(Ordering::SeqCst) < ticks {
            assert!(start.elapsed() < Duration::from_secs(60), "no tick came");
            nap(Duration::from_millis(10));
        }
    }

    /// The system starts no thread at first.
    #[derive(Debug, Default)]
    struct Late(AtomicU32);

    impl Threads for Late {
        fn spawn(
            &self,
            name: &str,
            body: foldb_env::ThreadBody,
        ) -> std::io::Result<Option<Thread>> {
            match self.0.fetch_add(1, Ordering::SeqCst) {
                0 => Err(std::io::ErrorKind::WouldBlock.into()),
                _ => SystemThreads.spawn(name, body),
            }
        }
    }

    #[test]
    fn a_thread_that_did_not_start_is_tried_again() {
        let ticker = Ticker::new(Arc::new(Late::default()));
        let counts = Arc::new(Counts::default());
        ticker.add(1, counts.clone());
        assert!(!ticker.wake(1));
        assert!(ticker.wake(1));
        wait_for(&counts, 1);
        ticker.shut_down();
    }

    #[test]
    fn it_ticks_while_a_database_is_awake_and_no_longer() {
        let ticker = Ticker::new(Arc::new(SystemThreads));
        let (busy, idle) =
            (Arc::new(Counts { wanted: 2, ..Counts::default() }), Arc::new(Counts::default()));
        ticker.add(1, busy.clone());
        ticker.add(2, idle.clone());
        ticker.wake(1);
        wait_for(&busy, 2);
        nap(PERIOD + PERIOD / 2);
        let ticks = |counts: &Counts| counts.ticks.load(Ordering::SeqCst);
        assert_eq!((ticks(&busy), ticks(&idle)), (2, 0));
        ticker.wake(2);
        wait_for(&idle, 1);
        ticker.remove(1);
        ticker.wake(1);
        ticker.shut_down();
        assert_eq!(ticks(&busy), 2, "a removed database has no ticks");
    }
}
