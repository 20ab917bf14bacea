//! The writers' lock: held for tens of nanoseconds, and kept from going back and forth.
//!
//! What a write touches (heads of chains, the log's window, the sequence numbers) lies in the cache of
//! the processor that wrote last. To take that over costs more than the write itself, so threads that
//! pass the lock back and forth are slower than one alone; and a queue of sleepers is worse, for then
//! each unlock has to wake one (H15). Therefore:
//!
//! - Of those who wait only the first looks at the lock; the others sleep behind it.
//! - Who finds the lock held now and then, takes it when it is free: a moment later.
//! - Who finds it held most of the time leaves the holder alone for what remains of its turn: at most
//!   [`TURN`], then the lock changes hands. So a thread that writes all the time writes for a
//!   turn and waits for the turns of the others, in the order in which they came.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

pub(crate) type WriterGuard<'a, T> = MutexGuard<'a, T>;

/// How long a thread writes on while others want to, if all write all the time: tens of thousands of
/// writes, against a hundred microseconds for the caches to follow.
const TURN: Duration = Duration::from_millis(3);
/// Between two looks at the lock: a few writes.
const LOOK_EVERY: Duration = Duration::from_nanos(400);
/// How often the first of those who wait looks so soon again: in vain if the holder has lost its
/// processor.
const QUICK_LOOKS: usize = 32;
/// Between two looks after those. Who sleeps with a clock wakes where a processor is idle; who waits to
/// be woken by the holder often wakes behind it.
const LOOK_AGAIN: Duration = Duration::from_micros(100);
/// How long it looks before it sleeps until it is woken.
const LOOK_FOR: Duration = Duration::from_millis(10);
/// What is left of a deadline when a thread stops waiting for its turn.
const PUSH_IN: Duration = Duration::from_millis(1);

/// The lock around what one writer at a time has in hand.
pub(crate) struct WriterLock<T> {
    mutex: Mutex<T>,
    waiting: Waiting,
}

/// What those who wait know of each other; not on a cache line that the holder writes to.
#[repr(align(128))]
struct Waiting {
    first: Mutex<()>,
    born: Instant,
    /// When the lock was last given to one who had waited, nanoseconds since `born`.
    handed: AtomicU64,
    /// How much of the time the lock is held, of [`ALWAYS`]: an average over the last looks.
    held: AtomicU32,
}

const ALWAYS: u32 = 1 << 16;

impl Waiting {
    /// Notes what a look at the lock saw. Whether it is held most of the time.
    fn saw(&self, is_held: bool) -> bool {
        let average = self.held.load(Ordering::Relaxed);
        let now = average - average / 8 + if is_held { ALWAYS / 8 } else { 0 };
        self.held.store(now, Ordering::Relaxed);
        now > ALWAYS / 5 * 2
    }

    /// What is left of the holder's turn.
    fn rest_of_turn(&self) -> Duration {
        let handed = Duration::from_nanos(self.handed.load(Ordering::Relaxed));
        (handed + TURN).saturating_sub(self.born.elapsed())
    }
}

impl<T> WriterLock<T> {
    pub(crate) fn new(state: T) -> WriterLock<T> {
        let (handed, held) = (AtomicU64::new(0), AtomicU32::new(0));
        let waiting = Waiting { first: Mutex::new(()), born: Instant::now(), handed, held };
        WriterLock { mutex: Mutex::new(state), waiting }
    }

    #[inline]
    pub(crate) fn lock(&self) -> WriterGuard<'_, T> {
        self.mutex.try_lock().unwrap_or_else(|| self.wait())
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> Option<WriterGuard<'_, T>> {
        self.mutex.try_lock()
    }

    /// The lock, unless it takes longer than a time.
    pub(crate) fn try_lock_for(&self, time: Duration) -> Option<WriterGuard<'_, T>> {
        self.mutex.try_lock().or_else(|| self.wait_at_most(time))
    }

    #[cold]
    fn wait(&self) -> WriterGuard<'_, T> {
        let first = self.waiting.first.lock();
        let guard = self.take_soon(LOOK_FOR).unwrap_or_else(|| self.mutex.lock());
        self.hand_over(first);
        guard
    }

    /// Waits its turn as the others do while there is time for that, then pushes in: the turns of
    /// others are no reason to refuse a write.
    #[cold]
    fn wait_at_most(&self, time: Duration) -> Option<WriterGuard<'_, T>> {
        let begun = Instant::now();
        let patient = time.saturating_sub(PUSH_IN);
        let first = self.waiting.first.try_lock_for(patient);
        let soon = match &first {
            Some(_) => self.take_soon(patient.saturating_sub(begun.elapsed())),
            None => None,
        };
        let left = || time.saturating_sub(begun.elapsed());
        let guard = soon.or_else(|| self.mutex.try_lock_for(left()))?;
        if let Some(first) = first {
            self.hand_over(first);
        }
        Some(guard)
    }

    /// Looks at the lock now and then for a time, and takes it as soon as that slows nobody down.
    fn take_soon(&self, time: Duration) -> Option<WriterGuard<'_, T>> {
        let begun = Instant::now();
        let mut looks = 0;
        while begun.elapsed() < time {
            if looks < QUICK_LOOKS {
                spin_for(LOOK_EVERY)
            } else {
                thread::sleep(LOOK_AGAIN)
            }
            looks += 1;
            if self.waiting.saw(self.mutex.is_locked()) {
                let left = time.saturating_sub(begun.elapsed());
                let rest = self.waiting.rest_of_turn().min(left);
                if !rest.is_zero() {
                    thread::sleep(rest);
                }
            }
            if let Some(guard) = self.mutex.try_lock() {
                return Some(guard);
            }
        }
        None
    }

    /// Begins the turn of who has just got the lock, and makes the next of those who wait the first.
    fn hand_over(&self, first: MutexGuard<'_, ()>) {
        let now = u64::try_from(self.waiting.born.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waiting.handed.store(now, Ordering::Relaxed);
        MutexGuard::unlock_fair(first);
    }
}

fn spin_for(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    /// What each of some threads gets done that write all the time, and what was done in all.
    fn rush(threads: usize, time: Duration) -> (Vec<u64>, u64) {
        let lock = WriterLock::new(0_u64);
        let start = Barrier::new(threads);
        let work = || {
            start.wait();
            let (begun, mut done) = (Instant::now(), 0);
            while begun.elapsed() < time {
                *lock.lock() += 1;
                done += 1;
            }
            done
        };
        let done = thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        });
        let total = *lock.lock();
        (done, total)
    }

    #[test]
    fn h15_threads_that_write_all_the_time_take_turns_and_none_starves() {
        let (done, total) = rush(4, Duration::from_millis(300));
        assert_eq!(done.iter().sum::<u64>(), total, "one at a time");
        // A hundred turns for four: each gets some, whatever else the machine does.
        assert!(done.iter().all(|&done| done > 1000), "{done:?}");
    }

    #[test]
    fn a_deadline_ends_the_wait_for_a_lock_that_is_held() {
        let lock = WriterLock::new(());
        let held = lock.lock();
        assert!(thread::scope(|scope| {
            let waiter = scope.spawn(|| lock.try_lock_for(Duration::from_millis(5)).is_none());
            waiter.join().expect("no panic")
        }));
        drop(held);
        assert!(lock.try_lock_for(Duration::ZERO).is_some());
    }

    #[test]
    fn the_turns_of_others_are_no_reason_to_refuse() {
        let lock = WriterLock::new(0_u64);
        let writes_on = AtomicBool::new(true);
        let (mut taken, mut refused) = (0, 0);
        thread::scope(|scope| {
            let write = || {
                while writes_on.load(Ordering::Relaxed) {
                    *lock.lock() += 1;
                }
            };
            (0..3).for_each(|_| drop(scope.spawn(write)));
            for _ in 0..30 {
                // Less than one turn, and three may come before its own.
                match lock.try_lock_for(TURN / 2) {
                    Some(_) => taken += 1,
                    None => refused += 1,
                }
            }
            writes_on.store(false, Ordering::Relaxed);
        });
        assert!(taken > refused, "taken {taken}, refused {refused}");
    }

    #[test]
    fn who_holds_it_for_long_is_waited_for() {
        let lock = WriterLock::new(false);
        let mut held = lock.lock();
        thread::scope(|scope| {
            let waiters = [(); 3].map(|()| scope.spawn(|| *lock.lock()));
            thread::sleep(Duration::from_millis(30));
            *held = true;
            drop(held);
            assert!(waiters.into_iter().all(|waiter| waiter.join().expect("no panic")));
        });
    }
}
