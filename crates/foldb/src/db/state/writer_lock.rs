//! The writers' lock: held for one write at a time, and rarely passed between threads.
//!
//! A write touches the heads of chains, the log's window and the sequence numbers. They lie in the
//! cache of the processor that wrote last. To move them to another processor costs more than the
//! write itself. So threads that pass the lock back and forth are slower than one thread alone. A
//! queue of sleepers is worse: each unlock then has to wake one (H15). But an occasional writer
//! must not wait for threads that write all the time. Therefore a waiter does one of three things:
//!
//! ```text
//!               ┌ in its own slice? ┐ yes
//!  lock is held ┤                   ├─────► regain: the lock comes back after the pressing waiters
//!               └─────────┬─────────┘
//!                      no │
//!              ┌ waited here lately? ┐ no
//!              ┤                     ├────► press: writers step aside, for one write
//!              └──────────┬──────────┘
//!                     yes └─────────────► queue: a time slice, in the order of arrival
//! ```
//!
//! - *Regain.* The owner of a time slice that is not over takes the lock back as soon as the
//!   pressing waiters have written.
//! - *Press.* A waiter that has not waited for this lock within [`PRESS_EVERY`] announces itself.
//!   Every other writer sees that before its next write and leaves the lock to the waiter.
//! - *Queue.* A waiter that waited within that time counts as one that writes all the time. It
//!   sleeps in a queue. The first in the queue waits for the rest of the owner's slice, then
//!   presses and becomes the owner.
//!
//! Invariant: a waiter that presses waits only for the write in progress and for other waiters that
//! press. It never waits for a time slice.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foldb_env::nap;

use crate::locks::rank::{WAITING_WRITERS, WRITER};
use crate::locks::{Lock, LockGuard, Queue, check_rank};
use crate::user_code::{Holder, this_thread};

/// Holds the lock. It has two words, so that a function returns it in registers. With a third one,
/// a write waited for its copies in memory.
pub(crate) struct WriterGuard<'a, T>(LockGuard<'a, Held<T>, WRITER>);

/// What the lock guards, with the note of its holder.
struct Held<T> {
    holder: Arc<Holder>,
    state: T,
}

impl<T> Deref for WriterGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0.state
    }
}

impl<T> DerefMut for WriterGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0.state
    }
}

impl<T> Drop for WriterGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.holder.forget();
    }
}

/// How long its owner keeps writing while other threads wait in the queue. A time slice has
/// thousands of writes, and moving the cache lines takes only some microseconds.
const TIME_SLICE: Duration = Duration::from_micros(700);
/// The time after a wait in which the thread may not press. If it waits again within that time, it
/// queues for a time slice.
const PRESS_EVERY: Duration = Duration::from_micros(100);
/// Time between two looks at the lock: a few writes.
const LOOK_EVERY: Duration = Duration::from_nanos(400);
/// Number of looks in such quick succession. After them, the holder has probably lost its processor
/// or waits for a disk.
const QUICK_LOOKS: u32 = 32;
/// Time between later looks. A waiter that sleeps with a timer wakes on an idle processor. If the
/// holder woke the waiter, it would often wake on the holder's processor and wait for the holder
/// again.
const LOOK_AGAIN: Duration = Duration::from_micros(100);

thread_local! {
    /// The lock that this thread waited for last, and when that wait ended.
    static LAST_WAIT: Cell<Option<(usize, Instant)>> = const { Cell::new(None) };
}

/// The lock around the state of the current writer.
pub(crate) struct WriterLock<T> {
    mutex: Lock<Held<T>, WRITER>,
    /// Read without the lock.
    holder: Arc<Holder>,
    waiting: Waiting,
}

/// The state that waiters share with the owner, on a cache line that the holder does not write to.
///
/// All accesses are `Relaxed`: they only decide when a writer asks for the lock. A writer that sees
/// an old value asks too early or too late. The lock itself orders what it guards.
#[repr(align(128))]
struct Waiting {
    /// Waiters that press.
    pressing: AtomicU32,
    queue: Queue<WAITING_WRITERS>,
    born: Instant,
    /// The thread whose time slice it is; 0 before the first one. A new thread with the value of an
    /// ended one is delayed by one slice at most.
    owner: AtomicUsize,
    /// When the slice began, in nanoseconds since `born`.
    slice_began: AtomicU64,
}

impl Waiting {
    fn rest_of_slice(&self) -> Duration {
        let began = Duration::from_nanos(self.slice_began.load(Ordering::Relaxed));
        (began + TIME_SLICE).saturating_sub(self.born.elapsed())
    }

    fn begin_slice(&self) {
        let now = u64::try_from(self.born.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.slice_began.store(now, Ordering::Relaxed);
        self.owner.store(this_thread(), Ordering::Relaxed);
    }

    fn is_pressed(&self) -> bool {
        self.pressing.load(Ordering::Relaxed) != 0
    }
}

/// Counts a waiter as pressing while this guard lives. `Relaxed`, as all of [`Waiting`].
struct Press<'a>(&'a AtomicU32);

impl<'a> Press<'a> {
    fn begin(waiting: &'a Waiting) -> Press<'a> {
        waiting.pressing.fetch_add(1, Ordering::Relaxed);
        Press(&waiting.pressing)
    }
}

impl Drop for Press<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The latest end of a wait; `None` without a limit.
#[derive(Clone, Copy)]
struct Limit(Option<Instant>);

impl Limit {
    fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    fn at_most(self, time: Duration) -> Duration {
        self.0.map_or(time, |end| time.min(end.saturating_duration_since(Instant::now())))
    }
}

impl<T> WriterLock<T> {
    pub(crate) fn new(state: T) -> WriterLock<T> {
        let waiting = Waiting {
            pressing: AtomicU32::new(0),
            queue: Queue::new(),
            born: Instant::now(),
            owner: AtomicUsize::new(0),
            slice_began: AtomicU64::new(0),
        };
        let holder = Arc::new(Holder::default());
        let held = Held { holder: Arc::clone(&holder), state };
        WriterLock { mutex: Lock::new(held), holder, waiting }
    }

    /// Takes the lock. A thread that holds it already would wait for ever.
    #[inline]
    pub(crate) fn lock(&self) -> WriterGuard<'_, T> {
        self.lock_unless_pressed().unwrap_or_else(|| self.wait())
    }

    /// Takes the lock if this needs no wait.
    #[inline]
    pub(crate) fn lock_unless_pressed(&self) -> Option<WriterGuard<'_, T>> {
        if self.waiting.is_pressed() { None } else { self.try_lock() }
    }

    /// Takes the lock if it is free, even if other waiters press.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<WriterGuard<'_, T>> {
        let guard = self.mutex.try_lock()?;
        guard.holder.note();
        Some(WriterGuard(guard))
    }

    /// Returns whether this thread holds the lock.
    #[inline]
    pub(crate) fn is_held_here(&self) -> bool {
        self.holder.is_this_thread()
    }

    /// Takes the lock, or gives up after the longer of `queueing` and `holding`. The waiter queues
    /// for at most `queueing`, and then presses. So time slices of other threads do not make its
    /// write fail. `holding` is how long a thread may be expected to hold the lock for its write.
    pub(crate) fn try_lock_for(
        &self,
        queueing: Duration,
        holding: Duration,
    ) -> Option<WriterGuard<'_, T>> {
        self.lock_unless_pressed().or_else(|| {
            let now = Instant::now();
            let end = |time| Limit(now.checked_add(time));
            self.wait_within(end(queueing), end(queueing.max(holding)))
        })
    }

    #[cold]
    fn wait(&self) -> WriterGuard<'_, T> {
        let guard = self.wait_within(Limit(None), Limit(None));
        guard.expect("a wait without a limit ends with the lock")
    }

    #[cold]
    fn wait_within(&self, queueing: Limit, holding: Limit) -> Option<WriterGuard<'_, T>> {
        check_rank(WRITER);
        let this_lock = std::ptr::from_ref(self).addr();
        let waited_lately = LAST_WAIT
            .get()
            .is_some_and(|(lock, when)| lock == this_lock && when.elapsed() < PRESS_EVERY);
        let is_owner = || self.waiting.owner.load(Ordering::Relaxed) == this_thread();
        let guard = if is_owner() && !self.waiting.rest_of_slice().is_zero() {
            self.regain(holding)
        } else if waited_lately {
            self.queue(queueing, holding)
        } else {
            self.press(holding)
        };
        LAST_WAIT.set(Some((this_lock, Instant::now())));
        guard
    }

    /// Takes the lock before all writers that do not press.
    fn press(&self, limit: Limit) -> Option<WriterGuard<'_, T>> {
        let _pressing = Press::begin(&self.waiting);
        self.look_until(limit, || self.try_lock())
    }

    /// Takes the lock back once the pressing waiters have written.
    fn regain(&self, limit: Limit) -> Option<WriterGuard<'_, T>> {
        self.look_until(limit, || self.lock_unless_pressed())
    }

    /// Waits for a time slice, and begins it. If `queueing` ends before it comes, the waiter
    /// presses at once.
    fn queue(&self, queueing: Limit, holding: Limit) -> Option<WriterGuard<'_, T>> {
        let first = self.waiting.queue.enter(queueing.0);
        if first.is_some() {
            let rest = queueing.at_most(self.waiting.rest_of_slice());
            if !rest.is_zero() {
                nap(rest);
            }
        }
        let guard = self.press(holding)?;
        if first.is_some() {
            self.waiting.begin_slice();
        }
        Some(guard)
    }

    /// Looks at the lock until it is free: often at first, then more rarely.
    fn look_until<'a>(
        &'a self,
        limit: Limit,
        mut look: impl FnMut() -> Option<WriterGuard<'a, T>>,
    ) -> Option<WriterGuard<'a, T>> {
        for _ in 0..QUICK_LOOKS {
            if let Some(guard) = look() {
                return Some(guard);
            }
            spin_for(LOOK_EVERY);
        }
        loop {
            match look() {
                None if limit.is_over() => return None,
                None => nap(limit.at_most(LOOK_AGAIN)),
                guard => return guard,
            }
        }
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
    use std::thread;

    /// Runs threads that write without pause. Returns the writes of each thread, and the total.
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
    fn h15_threads_that_write_all_the_time_alternate_and_none_starves() {
        let (done, total) = rush(4, Duration::from_millis(300));
        assert_eq!(done.iter().sum::<u64>(), total, "one at a time");
        // The time is enough for about a hundred slices of each thread. So each thread gets some
        // even on a busy machine.
        assert!(done.iter().all(|&done| done > 1000), "{done:?}");
    }

    #[test]
    fn a_deadline_ends_the_wait_for_a_lock_that_is_held() {
        let lock = WriterLock::new(());
        let held = lock.lock();
        let lock = &lock;
        assert!(thread::scope(|scope| {
            let time = Duration::from_millis(5);
            let waiter = scope.spawn(move || lock.try_lock_for(Duration::ZERO, time).is_none());
            waiter.join().expect("no panic")
        }));
        drop(held);
        assert!(lock.try_lock_for(Duration::ZERO, Duration::ZERO).is_some());
        assert!(lock.try_lock().is_some(), "a waiter that gave up no longer presses");
        drop(lock.lock());
    }

    /// Runs `rarely` while three threads take the lock all the time, for some microseconds each.
    /// `rarely` gets the count of their writes.
    fn beside_busy_threads(lock: &WriterLock<()>, rarely: impl FnOnce(&AtomicU64)) {
        let (writes, writes_on) = (AtomicU64::new(0), AtomicBool::new(true));
        thread::scope(|scope| {
            let write = || {
                while writes_on.load(Ordering::Relaxed) {
                    let _guard = lock.lock();
                    spin_for(Duration::from_micros(10));
                    writes.fetch_add(1, Ordering::Relaxed);
                }
            };
            (0..3).for_each(|_| drop(scope.spawn(write)));
            rarely(&writes);
            writes_on.store(false, Ordering::Relaxed);
        });
    }

    #[test]
    fn time_slices_of_other_threads_do_not_make_a_wait_fail() {
        let lock = WriterLock::new(());
        beside_busy_threads(&lock, |_| {
            for write in 0..100 {
                // First with pauses, then without: both get the lock, because its holders are
                // quick.
                if write < 50 {
                    thread::sleep(Duration::from_millis(1));
                }
                let guard = lock.try_lock_for(Duration::ZERO, Duration::from_secs(10));
                assert!(guard.is_some(), "write {write}");
            }
        });
    }

    #[test]
    fn a_rare_writer_waits_for_writes_and_not_for_time_slices() {
        let lock = WriterLock::new(());
        let mut waited_for = Vec::new();
        beside_busy_threads(&lock, |writes| {
            for _ in 0..200 {
                thread::sleep(Duration::from_millis(1));
                let before = writes.load(Ordering::Relaxed);
                let _guard = lock.lock();
                waited_for.push(writes.load(Ordering::Relaxed) - before);
            }
        });
        waited_for.sort_unstable();
        // A time slice is 70 such writes. Other processes may use the processors during the test,
        // so it checks the median.
        assert!(waited_for[100] <= 5, "{waited_for:?}");
    }

    #[test]
    fn waiters_get_a_lock_that_was_held_for_long() {
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
