//! The end of the interpreter, while threads are in the engine.
//!
//! Daemon threads and the engine's own threads live on when the interpreter ends. None of them may
//! take the GIL from then on: CPython before 3.14 unwinds such a thread, which aborts a program in
//! Rust, and later versions let it hang with the engine's locks. So [`end`] runs as a function of
//! `atexit`, before the interpreter ends:
//!
//! - It waits for the calls of operators and comparators that run. Each later one fails without
//!   Python. The engine keeps operands that it cannot fold, so nothing is lost.
//! - It waits for threads that are about to take the GIL after a call of the engine. Each later one
//!   waits in front of the GIL until the process is gone.
//!
//! Objects of the program live on after that: module-level names are dropped while the interpreter
//! ends, and so are the streams that other libraries hold. Those drops run without the interpreter.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;

static IS_ENDED: AtomicBool = AtomicBool::new(false);
/// Calls of operators and comparators that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Threads that take the GIL after a call of the engine.
static RETURNING: AtomicUsize = AtomicUsize::new(0);
/// The process whose threads these are: not those of a forked child.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The thread that ends the interpreter.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// How long the end waits for other threads.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How long a thread waits in front of the GIL for the end of the process. Then it goes on: another
/// function of `atexit` may wait for this thread.
const PAUSE: Duration = Duration::from_secs(3);

thread_local! {
    /// How many calls of the program are in progress on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A call of an operator or a comparator.
pub(crate) struct Running;

impl Running {
    pub(crate) fn enter() -> Running {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        DEPTH.set(DEPTH.get() + 1);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns whether the engine called the program on this thread. The engine refuses some calls
/// there, and knows them by the thread.
pub(crate) fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Returns whether no more calls of the program may begin.
pub(crate) fn is_ended() -> bool {
    IS_ENDED.load(Ordering::SeqCst)
}

/// Returns whether a call of the program still runs although the interpreter ends. Its thread never
/// returns, so waiting for the engine would never end.
pub(crate) fn is_stuck() -> bool {
    is_ended() && RUNNING.load(Ordering::SeqCst) > 0
}

/// Takes the GIL for a call, also where another library released it.
///
/// A library in C, such as Arrow, may release the GIL and then call the engine, inside a call of
/// this crate. pyo3 counts only its own releases, and would take the GIL for held.
///
/// The caller has made sure that the interpreter does not end meanwhile: [`end`] waits for it.
pub(crate) fn with_gil<T>(call: impl FnOnce(Python<'_>) -> T) -> T {
    struct Held(ffi::PyGILState_STATE);
    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: `with_gil` has taken it, on this thread.
            unsafe { ffi::PyGILState_Release(self.0) };
        }
    }
    // SAFETY: the interpreter has loaded this module, and has not ended.
    let _held = Held(unsafe { ffi::PyGILState_Ensure() });
    Python::attach(call)
}

/// Takes the GIL for a call on any thread, whether it holds the GIL or not. Returns `None` if the
/// interpreter ends: then no thread may take the GIL.
pub(crate) fn attached<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    RETURNING.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the call is allowed at any time, with or without the GIL.
    if is_ended() || unsafe { ffi::Py_IsInitialized() } == 0 {
        RETURNING.fetch_sub(1, Ordering::SeqCst);
        return None;
    }
    Some(with_gil(|py| {
        RETURNING.fetch_sub(1, Ordering::SeqCst);
        call(py)
    }))
}

/// Runs a call of the engine on a thread that may hold the GIL or not. When the interpreter ends,
/// the call runs as things are: no call of the program begins then, and so none waits for the GIL.
pub(crate) fn without_gil<T: Send>(call: impl Send + FnOnce() -> T) -> T {
    let mut call = Some(call);
    let done = attached(|py| call.take().map(|call| py.unlocked(call))).flatten();
    match (done, call) {
        (Some(answer), _) => answer,
        (None, Some(call)) => call(),
        (None, None) => unreachable!("a call that was made has an answer"),
    }
}

/// Calls without the GIL.
pub(crate) trait Unlocked {
    /// Runs a call without the GIL. Every call of the engine that may wait goes through it.
    fn unlocked<T: Send>(self, call: impl Send + FnOnce() -> T) -> T;
}

impl Unlocked for Python<'_> {
    #[inline]
    fn unlocked<T: Send>(self, call: impl Send + FnOnce() -> T) -> T {
        let answer = self.detach(|| {
            let answer = call();
            RETURNING.fetch_add(1, Ordering::SeqCst);
            if is_ended() {
                wait_for_end();
            }
            answer
        });
        RETURNING.fetch_sub(1, Ordering::SeqCst);
        answer
    }
}

/// Waits for the end of the process, on a thread that does not end it.
#[cold]
fn wait_for_end() {
    // The end waits for calls of the program, and the engine may hold locks around them.
    if is_inside() || ENDING.get() == Some(&std::thread::current().id()) {
        return;
    }
    RETURNING.fetch_sub(1, Ordering::SeqCst);
    std::thread::sleep(PAUSE);
    RETURNING.fetch_add(1, Ordering::SeqCst);
}

/// Ends the calls of operators and comparators, and the returns of other threads.
#[pyfunction]
#[pyo3(name = "_end")]
pub(crate) fn end(py: Python<'_>) {
    // There is one such thread. A second end, in a forked child, is of its copy.
    let _ = ENDING.set(std::thread::current().id());
    IS_ENDED.store(true, Ordering::SeqCst);
    if PROCESS.load(Ordering::SeqCst) != std::process::id() {
        // A forked child has none of the threads.
        return;
    }
    py.detach(|| {
        let begin = Instant::now();
        let others = || RUNNING.load(Ordering::SeqCst) + RETURNING.load(Ordering::SeqCst);
        while others() > 0 && begin.elapsed() < LONGEST_WAIT {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Lets the interpreter call [`end`] at its end.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    PROCESS.store(std::process::id(), Ordering::SeqCst);
    let end = wrap_pyfunction!(end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,)).map(|_| ())
}
