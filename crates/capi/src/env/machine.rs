//! Threads and time of a program's environment.

use std::ffi::c_void;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldb::env::{Clock, Thread, ThreadBody, Threads};

use super::{ForeignEnv, ask, not_given};

/// Threads that the program starts.
#[derive(Debug)]
pub(super) struct ForeignThreads(Arc<ForeignEnv>);

impl ForeignThreads {
    pub(super) fn new(env: Arc<ForeignEnv>) -> ForeignThreads {
        ForeignThreads(env)
    }
}

impl Threads for ForeignThreads {
    fn spawn(&self, _name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        let start = self.0.own.start_thread.ok_or_else(|| not_given("start_thread"))?;
        let started = Thread::started_by(body, |body| {
            let argument = Box::into_raw(Box::new(body));
            // SAFETY: the program's function keeps the rules of the header: it calls `run` once
            // with this argument.
            let asked = ask(|message| unsafe {
                start(self.0.own.state, Some(run), argument.cast(), message)
            });
            if asked.is_err() {
                // SAFETY: the program never calls `run` after a failure.
                drop(unsafe { Box::from_raw(argument) });
            }
            asked
        });
        started.map(Some)
    }
}

/// Runs a thread.
unsafe extern "C" fn run(argument: *mut c_void) {
    // SAFETY: the argument is the one of `spawn`, and this is the only call with it.
    let body = unsafe { Box::from_raw(argument.cast::<ThreadBody>()) };
    // The body catches its panics.
    body();
}

/// Time that the program tells.
#[derive(Debug)]
pub(super) struct ForeignClock {
    env: Arc<ForeignEnv>,
    /// The latest time so far: the clock never goes back.
    latest: AtomicU64,
}

impl ForeignClock {
    pub(super) fn new(env: Arc<ForeignEnv>) -> ForeignClock {
        ForeignClock { env, latest: AtomicU64::new(0) }
    }
}

impl Clock for ForeignClock {
    fn now(&self) -> Duration {
        let Some(now) = self.env.own.now_micros else { return Duration::ZERO };
        // SAFETY: the program's function keeps the rules of the header.
        let now = unsafe { now(self.env.own.state) };
        Duration::from_micros(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }

    fn sleep(&self, duration: Duration) {
        let Some(sleep) = self.env.own.sleep_micros else { return };
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        // SAFETY: the program's function keeps the rules of the header.
        unsafe { sleep(self.env.own.state, micros.max(1)) };
    }
}
