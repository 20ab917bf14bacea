//! Code of the program that the engine calls: operators and comparators.
//!
//! The engine calls them on any thread, some with its own locks held, and they take the GIL. So no
//! call of this crate holds the GIL while it may wait for the engine.
//!
//! An exception cannot pass through the engine. The thread notes it. When the engine's error comes
//! out of the call, [`cause_of`] finds the exception for it.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use foldb::{Error, ErrorKind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::ending::{Running, Unlocked, is_ended, with_gil};
use crate::errors::raise;

/// Most exceptions that a thread notes.
const MOST_NOTED: usize = 8;

/// What a call of the program was about when it raised.
#[derive(PartialEq, Eq)]
pub(crate) enum About {
    /// The fold of a key.
    Fold(Vec<u8>),
    /// A comparison. The engine's message contains this text.
    Comparison(String),
}

thread_local! {
    /// Whether this thread checks laws, and wants to know every exception.
    static IS_CHECKING: Cell<bool> = const { Cell::new(false) };
    static NOTED: RefCell<Vec<(About, PyErr)>> = const { RefCell::new(Vec::new()) };
}

/// Calls the program. Returns `None` if the interpreter ends.
pub(crate) fn calling<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<PyResult<T>> {
    let _running = Running::enter();
    (!is_ended()).then(|| with_gil(call))
}

/// Runs a check of laws. Returns its outcome, and the last exception of the operator.
pub(crate) fn checking<T>(check: impl FnOnce() -> T) -> (T, Option<PyErr>) {
    NOTED.take();
    let before = IS_CHECKING.replace(true);
    let outcome = check();
    IS_CHECKING.set(before);
    (outcome, NOTED.take().pop().map(|(_, raised)| raised))
}

/// Returns whether this thread checks laws.
pub(crate) fn is_checking() -> bool {
    IS_CHECKING.get()
}

/// Notes the exception of a call on this thread.
pub(crate) fn note(about: About, error: PyErr) {
    NOTED.with_borrow_mut(|noted| {
        noted.retain(|(other, _)| *other != about);
        if noted.len() == MOST_NOTED {
            noted.remove(0);
        }
        noted.push((about, error));
    });
}

/// Finds the exception behind an error of the engine, and forgets the others.
pub(crate) fn cause_of(error: &Error) -> Option<PyErr> {
    if NOTED.with_borrow(Vec::is_empty) {
        return None;
    }
    let text = error.to_string();
    let is_cause = |about: &About| match about {
        About::Fold(key) => error.failed_merge().is_some_and(|(failed, _)| failed == key),
        About::Comparison(said) => text.contains(said),
    };
    NOTED.take().into_iter().rev().find(|(about, _)| is_cause(about)).map(|(_, error)| error)
}

/// Returns whether an exception is an error of the program. Ctrl-C and `sys.exit` are none.
pub(crate) fn is_error(py: Python<'_>, raised: &PyErr) -> bool {
    raised.is_instance_of::<PyException>(py)
}

/// Repeats a Ctrl-C that the engine would swallow, in the main thread.
pub(crate) fn pass_on(py: Python<'_>, raised: &PyErr) -> PyResult<()> {
    if !is_error(py, raised) {
        py.import("_thread")?.call_method0("interrupt_main")?;
    }
    Ok(())
}

/// Calls the engine without the GIL. A comparator that raises interrupts the engine by a panic,
/// which becomes an error here.
#[inline]
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    call: impl Send + FnOnce() -> foldb::Result<T>,
) -> PyResult<T> {
    py.unlocked(|| guarded(call)).map_err(raise)
}

/// Calls the engine, and turns the panic of a comparator into an error.
///
/// # Errors
/// `ComparatorFailed`; the errors of the call.
#[inline]
pub(crate) fn guarded<T>(call: impl FnOnce() -> foldb::Result<T>) -> foldb::Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let is_noted = |text: &String| {
            let own = About::Comparison(text.clone());
            NOTED.with_borrow(|noted| noted.iter().any(|(about, _)| *about == own))
        };
        match panic.downcast_ref::<String>().filter(|text| is_noted(text)) {
            Some(text) => Err(Error::new(ErrorKind::ComparatorFailed, text.clone())),
            None => resume_unwind(panic),
        }
    })
}
