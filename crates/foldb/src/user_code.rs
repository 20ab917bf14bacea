//! Calls of code from the caller: comparators, operators, listeners.
//!
//! Such code may panic. A guarded call then returns the panic's message. Such code may also call
//! the database. Some of those calls wait for background work, which may itself wait for the
//! callback to return. So each thread notes the databases whose background steps and listeners it
//! runs, and whether it is a worker. And the locks under which the engine calls such code note the
//! thread that holds them. The engine refuses a call that would wait for its own caller, and closes
//! on another thread.
//!
//! A program may close its databases while a thread, or the process, ends: in the destructor of a
//! static object of C++, for example. The notes of the thread are gone by then. Calls then count as
//! made outside of callbacks.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls code from the caller and catches its panics.
///
/// # Errors
/// The message of the panic, if the call panics.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message_of(&*panic).to_owned())
}

/// Returns the message of a panic.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// The databases whose callbacks run on this thread, the innermost last.
    static INSIDE: RefCell<Vec<DatabaseMark>> = const { RefCell::new(Vec::new()) };
}

/// Identifies an open database, by an address.
pub(crate) type DatabaseMark = usize;

/// Notes that this thread does background work.
pub(crate) fn become_worker() {
    IS_WORKER.set(true);
}

/// Returns whether a wait on this thread for a database's background work may never end.
pub(crate) fn must_not_wait(database: DatabaseMark) -> bool {
    // Steps and calls of listeners are noted in `INSIDE`: noting each call of an operator or
    // comparator would take too long. The engine itself never waits for background work in a step.
    let inside = |inside: &RefCell<Vec<_>>| inside.borrow().contains(&database);
    IS_WORKER.get() || INSIDE.try_with(inside).unwrap_or(false)
}

/// A callback in progress on this thread.
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn enter(database: DatabaseMark) -> Inside {
        let _ = INSIDE.try_with(|inside| inside.borrow_mut().push(database));
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.borrow_mut().pop());
    }
}

/// A time in which the innermost step or callback of this thread does not count. The step waits in
/// it for nothing, so the caller's code may flush and compact.
pub(crate) struct Outside(Option<DatabaseMark>);

impl Outside {
    pub(crate) fn enter() -> Outside {
        Outside(INSIDE.try_with(|inside| inside.borrow_mut().pop()).ok().flatten())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if let Some(database) = self.0.take() {
            let _ = INSIDE.try_with(|inside| inside.borrow_mut().push(database));
        }
    }
}

/// Returns a value that tells threads apart, never 0. A new thread may get the value of an ended
/// thread.
#[inline]
pub(crate) fn this_thread() -> usize {
    IS_WORKER.with(|flag| std::ptr::from_ref(flag).addr())
}

/// The thread that holds a lock.
///
/// All accesses are `Relaxed`: a thread asks only whether it stored the value itself, and it sees
/// its own stores in order. A thread that ended has forgotten the lock before. A new thread with
/// its value got the memory of the ended one from the system, which orders the two.
#[derive(Debug, Default)]
pub(crate) struct Holder(AtomicUsize);

impl Holder {
    /// Notes that this thread has taken the lock.
    #[inline]
    pub(crate) fn note(&self) {
        self.0.store(this_thread(), Ordering::Relaxed);
    }

    /// Notes that the thread is about to release the lock.
    #[inline]
    pub(crate) fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns whether this thread holds the lock. What other threads store never equals it.
    #[inline]
    pub(crate) fn is_this_thread(&self) -> bool {
        self.0.load(Ordering::Relaxed) == this_thread()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Calls all functions when the thread ends, and sends what they return.
    struct AtEnd(Sender<(bool, bool)>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            let gone = INSIDE.try_with(|_| ()).is_err();
            let _inside = Inside::enter(7);
            self.0.send((gone, must_not_wait(7))).unwrap();
        }
    }

    /// The order in which a thread destroys its values is open, so one lies on each side. On
    /// Windows the order may depend on earlier threads, and both may lie on one side.
    #[test]
    fn a_thread_that_ends_is_in_no_callback() {
        thread_local! {
            static FIRST: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
            static LAST: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
        }
        let (sender, receiver) = channel();
        let ends = std::thread::spawn(move || {
            FIRST.set(Some(AtEnd(sender.clone())));
            drop(Inside::enter(1));
            LAST.set(Some(AtEnd(sender)));
        });
        ends.join().unwrap();
        let mut told: Vec<_> = receiver.iter().collect();
        told.sort_unstable();
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|(gone, inside)| gone != inside), "{told:?}");
        assert!(cfg!(windows) || told == [(false, true), (true, false)], "{told:?}");
    }
}
