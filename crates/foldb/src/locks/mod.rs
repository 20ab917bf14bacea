//! The locks of the engine. Each has a *rank*, and a thread takes locks in ascending rank.
//!
//! Two threads that take two locks in different orders may wait for each other for ever. If all
//! threads take them by rank, none can. Builds with debug assertions check it, so a
//! test notices a wrong order on the first path that has it, without a second thread. Not checked
//! are the locks of the caller's own transactions and iterators (`rank::OF_CALLERS`), locks that a
//! thread only tries, and the writer lock while it is free: callers' code may find it so. A thread
//! that opens a table counts as holding nothing there (`rank::AROUND_CALLERS`).
//!
//! ```text
//! thread 1   TREE, then VIEW     fine
//! thread 2   VIEW, then TREE     panics in a build with debug assertions
//! ```
//!
//! A panic of a holder leaves the lock usable: what a lock guards is whole whenever code of the
//! caller may run, which is what panics.
//!
//! A lock is no point at which a simulated machine changes threads, unless its owner makes it one
//! ([`foldb_env::scheduling_point`]). With such points at all locks, threads that pause are resumed
//! sooner, and 400 seeds no longer found the planted `NumberBeforeView`.
//!
//! The locks are the standard library's. Those of parking_lot share state within a process. So a
//! simulated machine would not repeat a run, and a forked child could wait for threads of its
//! parent.
//!
//! Invariant: while a thread waits for a lock, all locks that it holds have lower ranks. A thread
//! that only tries may hold any lock. Builds without debug assertions keep no ranks at run time.

mod held;
mod queue;
pub(crate) mod rank;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockError,
};
use std::time::Duration;

use self::held::Held;
pub(crate) use self::held::check as check_rank;
pub(crate) use self::queue::Queue;

/// A value that one thread at a time uses.
#[derive(Default)]
pub(crate) struct Lock<T, const RANK: u8>(Mutex<T>);

/// Holds a [`Lock`].
pub(crate) struct LockGuard<'a, T, const RANK: u8> {
    guard: MutexGuard<'a, T>,
    held: Held<RANK>,
}

impl<T, const RANK: u8> Lock<T, RANK> {
    pub(crate) const fn new(value: T) -> Lock<T, RANK> {
        Lock(Mutex::new(value))
    }

    /// Takes the lock.
    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, T, RANK> {
        held::check(RANK);
        LockGuard::new(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the lock if it is free.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<LockGuard<'_, T, RANK>> {
        match self.0.try_lock() {
            Ok(guard) => Some(LockGuard::new(guard)),
            Err(TryLockError::Poisoned(poisoned)) => Some(LockGuard::new(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<'a, T, const RANK: u8> LockGuard<'a, T, RANK> {
    #[inline]
    fn new(guard: MutexGuard<'a, T>) -> LockGuard<'a, T, RANK> {
        LockGuard { guard, held: Held::note() }
    }
}

impl<T, const RANK: u8> Deref for LockGuard<'_, T, RANK> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T, const RANK: u8> DerefMut for LockGuard<'_, T, RANK> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug, const RANK: u8> fmt::Debug for Lock<T, RANK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Wakes threads that wait, with a lock released, for a change of what it guards.
#[derive(Debug, Default)]
pub(crate) struct Condition(Condvar);

impl Condition {
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits for the next notification, or returns without one.
    pub(crate) fn wait<'a, T, const RANK: u8>(
        &self,
        guard: LockGuard<'a, T, RANK>,
    ) -> LockGuard<'a, T, RANK> {
        let LockGuard { guard, held } = guard;
        LockGuard { guard: self.0.wait(guard).unwrap_or_else(PoisonError::into_inner), held }
    }

    /// Waits as [`Condition::wait`] does, for at most this long. Also returns `false` if that time
    /// ended the wait.
    pub(crate) fn wait_for<'a, T, const RANK: u8>(
        &self,
        guard: LockGuard<'a, T, RANK>,
        time: Duration,
    ) -> (LockGuard<'a, T, RANK>, bool) {
        let LockGuard { guard, held } = guard;
        let waited = self.0.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner);
        (LockGuard { guard: waited.0, held }, !waited.1.timed_out())
    }

    /// Waits until the condition no longer holds.
    pub(crate) fn wait_while<'a, T, const RANK: u8>(
        &self,
        guard: LockGuard<'a, T, RANK>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> LockGuard<'a, T, RANK> {
        let LockGuard { guard, held } = guard;
        let waited = self.0.wait_while(guard, condition);
        LockGuard { guard: waited.unwrap_or_else(PoisonError::into_inner), held }
    }

    /// Waits until the condition no longer holds, for at most this long.
    pub(crate) fn wait_while_for<'a, T, const RANK: u8>(
        &self,
        guard: LockGuard<'a, T, RANK>,
        condition: impl FnMut(&mut T) -> bool,
        time: Duration,
    ) -> LockGuard<'a, T, RANK> {
        let LockGuard { guard, held } = guard;
        let waited = self.0.wait_timeout_while(guard, time, condition);
        LockGuard { guard: waited.unwrap_or_else(PoisonError::into_inner).0, held }
    }
}

/// A value that many threads read, or one changes.
#[derive(Default)]
pub(crate) struct SharedLock<T, const RANK: u8>(RwLock<T>);

/// Holds a [`SharedLock`] for reading.
pub(crate) struct ReadGuard<'a, T, const RANK: u8> {
    guard: RwLockReadGuard<'a, T>,
    _held: Held<RANK>,
}

/// Holds a [`SharedLock`] for a change.
pub(crate) struct WriteGuard<'a, T, const RANK: u8> {
    guard: RwLockWriteGuard<'a, T>,
    _held: Held<RANK>,
}

impl<T, const RANK: u8> SharedLock<T, RANK> {
    pub(crate) const fn new(value: T) -> SharedLock<T, RANK> {
        SharedLock(RwLock::new(value))
    }

    /// Takes the lock for reading.
    #[inline]
    pub(crate) fn read(&self) -> ReadGuard<'_, T, RANK> {
        held::check(RANK);
        ReadGuard {
            guard: self.0.read().unwrap_or_else(PoisonError::into_inner),
            _held: Held::note(),
        }
    }

    /// Takes the lock for a change.
    pub(crate) fn write(&self) -> WriteGuard<'_, T, RANK> {
        held::check(RANK);
        WriteGuard {
            guard: self.0.write().unwrap_or_else(PoisonError::into_inner),
            _held: Held::note(),
        }
    }
}

impl<T, const RANK: u8> Deref for ReadGuard<'_, T, RANK> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T, const RANK: u8> Deref for WriteGuard<'_, T, RANK> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T, const RANK: u8> DerefMut for WriteGuard<'_, T, RANK> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug, const RANK: u8> fmt::Debug for SharedLock<T, RANK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    type Low = Lock<u32, { rank::FLUSHING }>;
    type High = Lock<u32, { rank::TREE }>;

    #[test]
    fn ascending_ranks_pass() {
        let (low, high) = (Low::new(1), High::new(2));
        let (low_held, high_held) = (low.lock(), high.lock());
        drop(low_held);
        drop(high_held);
        drop((low.lock(), high.lock()));
    }

    #[test]
    #[cfg(debug_assertions)]
    fn a_lower_rank_after_a_higher_one_is_noticed() {
        let (low, high) = (Low::new(1), High::new(2));
        let _held = high.lock();
        let waited = catch_unwind(|| drop(low.lock()));
        let panic = waited.expect_err("the order is wrong");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert_eq!(message, "this thread would wait for FLUSHING while it holds TREE");
    }

    #[test]
    #[cfg(debug_assertions)]
    fn two_locks_of_one_rank_are_noticed() {
        let (one, other) = (High::new(1), High::new(2));
        let _held = one.lock();
        assert!(catch_unwind(|| drop(other.lock())).is_err());
    }

    #[test]
    fn who_only_tries_may_hold_any_lock() {
        let (low, high) = (Low::new(1), High::new(2));
        let held = high.lock();
        assert!(low.try_lock().is_some());
        assert!(high.try_lock().is_none());
        drop(held);
        drop(low.lock());
    }

    #[test]
    fn a_panic_of_the_holder_leaves_the_lock_usable() {
        let lock = Low::new(1);
        let panicked = catch_unwind(|| {
            *lock.lock() += 1;
            let _held = lock.lock();
            panic!("planned");
        });
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 2);
    }

    #[test]
    fn a_wait_keeps_the_rank() {
        let (low, high) = (Low::new(1), High::new(2));
        let _held = Condition::default().wait_for(high.lock(), Duration::from_millis(1));
        assert_eq!(catch_unwind(|| drop(low.lock())).is_err(), cfg!(debug_assertions));
    }
}
