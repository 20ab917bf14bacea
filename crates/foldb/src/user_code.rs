//! Calls of code from the caller: comparators, operators, listeners.
//!
//! Such code may panic: a guarded call returns the panic's message. Such code may also call back
//! into the database. Some of those calls wait for background work, which may wait for the same
//! callback. So each thread knows which databases' callbacks it is inside, and whether it is a
//! worker. A call that would wait for itself is refused, and a close moves to another thread.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls the caller's code.
///
/// # Errors
/// The message of a panic.
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

/// Identifies a database as long as it lives: an address.
pub(crate) type DatabaseMark = usize;

/// Notes that this thread does background work.
pub(crate) fn become_worker() {
    IS_WORKER.set(true);
}

/// Returns whether a wait on this thread for a database's background work may never end.
pub(crate) fn must_not_wait(database: DatabaseMark) -> bool {
    // On a worker only listeners are noted as callbacks: operators and comparators are called too
    // often. The engine itself never waits for background work on a worker.
    IS_WORKER.get() || INSIDE.with_borrow(|inside| inside.contains(&database))
}

/// A callback in progress on this thread.
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn enter(database: DatabaseMark) -> Inside {
        INSIDE.with_borrow_mut(|inside| inside.push(database));
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}
