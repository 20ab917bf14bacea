//! The scheduler decides which thread runs, what time it is, and the random numbers.
//!
//! One thread runs at a time: the one that holds the *baton*. It passes the baton on when it waits,
//! and at some of its calls to the machine. Time moves a little with each call, and jumps to the
//! next deadline when every thread waits. So a run is a function of its seed.
//!
//! ```text
//!  writer   lock ── futex wait ─┐                     ┌─ goes on
//!  worker                       └─ runs ─ futex wake ─┘ ─ sleeps 3 ms ─┐
//!  clock                                                               └─ +3 ms
//! ```
//!
//! Invariant: only the thread with the baton touches the [`Machine`].

use std::fmt::Write as _;
use std::sync::Arc;

use super::real::Baton;

/// A thread of the machine: its index in order of creation.
pub(super) type ThreadId = usize;

/// Nanoseconds since the machine was switched on.
pub(super) type Nanos = u64;

/// Calls after which a run counts as endless.
const MOST_CALLS: u64 = 20_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runnable,
    /// Waits for a wake at an address, or until a moment.
    Futex {
        address: usize,
        until: Option<Nanos>,
    },
    Asleep {
        until: Nanos,
    },
    /// Waits for the end of a thread.
    Joining(ThreadId),
    Ended,
}

struct Thread {
    baton: Arc<Baton>,
    state: State,
    /// Whether the last futex wait ended by a wake, not by its deadline.
    woken: bool,
}

/// What ended a wait at a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Woken,
    TimedOut,
}

/// The reason why no thread can continue.
#[derive(Debug)]
pub(super) struct Stuck(pub(super) String);

/// The pace of a run, drawn from the seed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many of 1 000 calls pass the baton on although their thread could continue.
    pub switches: u32,
    /// How many of 1 000 futex waits end without a cause, as the system call allows.
    pub spurious: u32,
    /// At how many of 1 000 scheduling points a thread loses its processor.
    pub points: u32,
    /// Longest time without the processor, in nanoseconds.
    pub away_nanos: u64,
    /// Longest time that passes at a call, in nanoseconds.
    pub call_nanos: u64,
}

impl Pace {
    fn draw(rng: &mut fastrand::Rng) -> Pace {
        Pace {
            switches: [0, 3, 10, 30, 100][rng.usize(..5)],
            points: [0, 0, 2, 10, 50][rng.usize(..5)],
            away_nanos: [100_000, 3_000_000, 30_000_000][rng.usize(..3)],
            spurious: [0, 0, 10, 100][rng.usize(..4)],
            call_nanos: [50, 1_000, 50_000][rng.usize(..3)],
        }
    }
}

pub(super) struct Machine {
    threads: Vec<Thread>,
    running: ThreadId,
    now: Nanos,
    rng: fastrand::Rng,
    pace: Pace,
    calls: u64,
    switches: u64,
    /// A hash of every decision. Two runs of a seed are equal if their hashes are.
    trace: u64,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// A hash of every decision of the scheduler.
    pub hash: u64,
    /// Calls of the machine.
    pub calls: u64,
    /// How often another thread got the baton.
    pub switches: u64,
    /// Time that passed on the machine, in nanoseconds.
    pub nanos: u64,
    /// Number of threads.
    pub threads: usize,
}

impl Machine {
    /// Makes a machine whose first thread holds the baton.
    pub(super) fn new(seed: u64) -> Machine {
        let mut rng = fastrand::Rng::with_seed(seed);
        let pace = Pace::draw(&mut rng);
        let (threads, now) = (Vec::new(), 1_000_000_000);
        let (calls, switches, trace) = (0, 0, seed);
        Machine { threads, running: 0, now, rng, pace, calls, switches, trace }
    }

    pub(super) fn trace(&self) -> Trace {
        let Machine { trace: hash, calls, switches, now: nanos, .. } = *self;
        Trace { hash, calls, switches, nanos, threads: self.threads.len() }
    }

    pub(super) fn baton(&self, thread: ThreadId) -> Arc<Baton> {
        Arc::clone(&self.threads[thread].baton)
    }

    /// Adds a thread, which waits for its baton.
    pub(super) fn add_thread(&mut self) -> ThreadId {
        let (baton, state) = (Arc::default(), State::Runnable);
        self.threads.push(Thread { baton, state, woken: false });
        self.threads.len() - 1
    }

    /// Removes a thread that the system did not start.
    pub(super) fn remove_last_thread(&mut self) {
        self.threads.pop();
    }

    pub(super) fn random(&mut self) -> u64 {
        self.rng.u64(..)
    }

    /// Returns the time, which moves with every call.
    pub(super) fn now(&mut self) -> Nanos {
        self.now += self.rng.u64(20..=self.pace.call_nanos.max(20));
        self.now
    }

    /// Returns whether this call passes the baton on.
    pub(super) fn gives_way(&mut self) -> bool {
        self.calls += 1;
        self.rng.u32(..1000) < self.pace.switches
    }

    /// Returns until when the thread loses its processor at this scheduling point; `None` if it
    /// keeps the processor. Other threads make much progress in that time, as if the system had
    /// suspended the thread.
    pub(super) fn is_away_until(&mut self) -> Option<Nanos> {
        let is_away = self.pace.points > 0 && self.rng.u32(..1000) < self.pace.points;
        is_away.then(|| self.now + self.rng.u64(..=self.pace.away_nanos))
    }

    pub(super) fn ends_without_cause(&mut self) -> bool {
        self.rng.u32(..1000) < self.pace.spurious
    }

    /// Chooses the next thread although the running one could continue.
    pub(super) fn give_way(&mut self) -> Result<ThreadId, Stuck> {
        self.now();
        self.next()
    }

    pub(super) fn wait_at_futex(
        &mut self,
        address: usize,
        until: Option<Nanos>,
    ) -> Result<ThreadId, Stuck> {
        self.threads[self.running].woken = false;
        self.block(State::Futex { address, until })
    }

    /// Returns what ended the running thread's last wait.
    pub(super) fn outcome_of_wait(&self) -> Wait {
        if self.threads[self.running].woken { Wait::Woken } else { Wait::TimedOut }
    }

    /// Wakes up to `count` threads that wait at an address, in any order. Returns how many.
    pub(super) fn wake_at_futex(&mut self, address: usize, count: usize) -> usize {
        let waits = |thread: &Thread| matches!(thread.state, State::Futex { address: at, .. } if at == address);
        let waiting = (0..self.threads.len()).filter(|&at| waits(&self.threads[at]));
        let mut waiting: Vec<_> = waiting.collect();
        self.rng.shuffle(&mut waiting);
        waiting.truncate(count);
        for &thread in &waiting {
            self.threads[thread].state = State::Runnable;
            self.threads[thread].woken = true;
        }
        waiting.len()
    }

    pub(super) fn sleep(&mut self, until: Nanos) -> Result<ThreadId, Stuck> {
        self.block(State::Asleep { until })
    }

    pub(super) fn join(&mut self, thread: ThreadId) -> Result<ThreadId, Stuck> {
        if self.threads[thread].state == State::Ended {
            return Ok(self.running);
        }
        self.block(State::Joining(thread))
    }

    /// Ends the running thread. Returns `None` if it was the first one: the run ends with it.
    pub(super) fn end(&mut self) -> Result<Option<ThreadId>, Stuck> {
        let ended = self.running;
        self.threads[ended].state = State::Ended;
        for thread in &mut self.threads {
            if thread.state == State::Joining(ended) {
                thread.state = State::Runnable;
            }
        }
        if ended != 0 {
            return self.next().map(Some);
        }
        let left = (0..).zip(&self.threads).filter(|(_, thread)| thread.state != State::Ended);
        let left: Vec<_> = left.map(|(id, thread)| format!("{id}: {:?}", thread.state)).collect();
        if left.is_empty() {
            return Ok(None);
        }
        Err(Stuck(format!("threads outlive the run: {}", left.join("; "))))
    }

    fn block(&mut self, state: State) -> Result<ThreadId, Stuck> {
        self.threads[self.running].state = state;
        self.next()
    }

    /// Chooses the thread that runs next. Moves the clock if all threads wait for it.
    fn next(&mut self) -> Result<ThreadId, Stuck> {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Err(Stuck(format!("no end after {MOST_CALLS} calls; {}", self.tell())));
        }
        loop {
            self.end_waits();
            let runnable = self.threads.iter().filter(|thread| thread.state == State::Runnable);
            let count = runnable.count();
            if count > 0 {
                let chosen = self.rng.usize(..count);
                let mut runnable =
                    (0..self.threads.len()).filter(|&at| self.threads[at].state == State::Runnable);
                let next = runnable.nth(chosen).unwrap_or(self.running);
                self.note(next);
                return Ok(next);
            }
            match self.threads.iter().filter_map(Thread::deadline).min() {
                Some(deadline) => self.now = self.now.max(deadline),
                None => {
                    let told = self.tell();
                    return Err(Stuck(format!(
                        "every thread waits and nothing will wake one: {told}"
                    )));
                }
            }
        }
    }

    /// Ends waits whose deadline has come.
    fn end_waits(&mut self) {
        for thread in &mut self.threads {
            if thread.deadline().is_some_and(|deadline| deadline <= self.now) {
                thread.state = State::Runnable;
            }
        }
    }

    fn note(&mut self, next: ThreadId) {
        self.switches += u64::from(next != self.running);
        self.running = next;
        let mixed = self.trace ^ (next as u64) ^ self.now.rotate_left(20);
        self.trace = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn tell(&self) -> String {
        let mut told = format!("at {} ns", self.now);
        for (id, thread) in self.threads.iter().enumerate() {
            if thread.state != State::Ended {
                let _infallible = write!(told, "; thread {id} {:?}", thread.state);
            }
        }
        told
    }
}

impl Thread {
    fn deadline(&self) -> Option<Nanos> {
        match self.state {
            State::Futex { until, .. } => until,
            State::Asleep { until } => Some(until),
            _ => None,
        }
    }
}
