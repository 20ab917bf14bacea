//! Calls of code that the caller gave: comparators, operators, listeners.
//!
//! Such code may panic: a guarded call answers with what the panic said. And it may call back into
//! the database. Some calls there wait for background work, and that work may wait for the very
//! callback. So each thread knows inside which databases' callbacks it is, and whether it is a
//! worker; a call that would wait for itself is refused, and a close is handed to another thread.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code of the caller's.
///
/// # Errors
/// What the panic said.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message_of(&*panic).to_owned())
}

/// What a panic said.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// The databases whose callbacks this thread is in, the innermost last.
    static INSIDE: RefCell<Vec<DatabaseMark>> = const { RefCell::new(Vec::new()) };
}

/// Tells databases apart as long as they live: an address.
pub(crate) type DatabaseMark = usize;

/// Notes that this thread does background work.
pub(crate) fn become_worker() {
    IS_WORKER.set(true);
}

/// Whether a wait on this thread for background work of a database may never end.
pub(crate) fn must_not_wait(database: DatabaseMark) -> bool {
    // Of a worker's callbacks only listeners are noted, for operators and comparators are called
    // too often; the engine itself never waits for background work on a worker.
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
