//! Forks, signals, limits and links: what only a Unix system does to a process.
#![allow(unsafe_code, reason = "no safe call forks a process or sets a handler of a signal")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{ptr, thread};

use crate::check::Wrong;
use crate::stage::Stage;

/// A child that takes longer counts as hanging.
const LONGEST_CHILD: Duration = Duration::from_secs(30);
/// Seconds for which a lingering child stays.
const LINGERS: u32 = 3;
/// Microseconds between two signals.
const BETWEEN_SIGNALS: libc::suseconds_t = 700;

fn last_error(what: &str) -> Wrong {
    format!("{what}: {}", std::io::Error::last_os_error())
}

/// Lets the process open few files from now on.
pub(super) fn limit_handles(handles: u64) -> Result<(), Wrong> {
    let limit = libc::rlimit { rlim_cur: handles, rlim_max: handles };
    // SAFETY: `limit` is a whole structure that the call only reads.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(()),
        _ => Err(last_error("cannot limit the file handles")),
    }
}

/// Returns a link beside the database that leads to it.
pub(super) fn link_to(database: &Path) -> Result<PathBuf, Wrong> {
    let link = database.with_extension("link");
    std::fs::create_dir_all(database).map_err(super::wrong(database))?;
    match std::os::unix::fs::symlink(database, &link) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(super::wrong(&link)(error))
        }
        _ => Ok(link),
    }
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// Interrupts the system calls of this process again and again.
pub(super) fn begin_signals() -> Result<(), Wrong> {
    let interval = libc::timeval { tv_sec: 0, tv_usec: BETWEEN_SIGNALS };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: a zeroed `sigaction` is one without flags, so calls are interrupted and do not begin
    // again. The handler touches nothing. Both calls only read the structures.
    let outcome = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(libc::SIGALRM, &action, ptr::null_mut())
            | libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut())
    };
    if outcome == 0 { Ok(()) } else { Err(last_error("cannot set a timer")) }
}

/// Runs `body` in a forked child, and returns the child's number.
fn fork(body: impl FnOnce() -> bool) -> Result<libc::pid_t, Wrong> {
    // SAFETY: a fork of a process with threads. The child calls only what is under test and the
    // allocator, which the C library makes usable in a child, and ends without exit handlers.
    match unsafe { libc::fork() } {
        0 => {
            // The supervisor reads this process's output to its end, so the child keeps none of it.
            // SAFETY: closes the child's copy of the output, which it does not use.
            unsafe { libc::close(1) };
            let right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!right.unwrap_or(false))) }
        }
        -1 => Err(last_error("cannot fork")),
        child => Ok(child),
    }
}

/// Uses the database in a forked child.
pub(super) fn use_in_a_child(stage: &Stage) -> Result<(), Wrong> {
    let child = fork(|| match super::calls_of_a_child(stage) {
        Ok(()) => true,
        Err(message) => {
            eprintln!("in a forked child: {message}");
            false
        }
    })?;
    let (begun, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: `status` is there for the answer. The child is this process's own.
        match unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } {
            ended if ended == child => break,
            _ if begun.elapsed() < LONGEST_CHILD => thread::sleep(Duration::from_millis(1)),
            _ => {
                // SAFETY: the child is this process's own and was not waited for.
                unsafe { libc::kill(child, libc::SIGKILL) };
                return Err("a forked child that uses the database hangs".to_owned());
            }
        }
    }
    match status {
        0 => Ok(()),
        _ => Err(format!("a forked child failed with status {status}: its error output says why")),
    }
}

/// Leaves a child that keeps its copies of all handles for some seconds, whatever its parent does.
pub(super) fn leave_a_child() -> Result<(), Wrong> {
    fork(|| {
        let end = Instant::now() + Duration::from_secs(LINGERS.into());
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(50));
        }
        true
    })
    .map(drop)
}
