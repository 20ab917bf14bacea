//! Calls of the operating system that have no safe interface: fork, signals of one thread.
//!
//! Invariant: this is the only module of the program with `unsafe`.

#![allow(unsafe_code)]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{Pid, Resource, Rlimit, setrlimit};

/// Runs `body` in a forked child, which ends with 0 if `body` returns `true`. Returns the child.
pub(super) fn fork(body: impl FnOnce() -> bool) -> io::Result<Pid> {
    // SAFETY: the child runs only `body`, which is what the program tests: a fork of a process with
    // threads. The C library keeps its allocator usable in the child.
    match unsafe { libc::fork() } {
        0 => {
            let is_right = catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
            // SAFETY: ends the child at once, without the exit handlers of the parent.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
        child => Pid::from_raw(child.max(0)).ok_or_else(io::Error::last_os_error),
    }
}

/// Limits the open files of this process.
pub(super) fn limit_handles(most: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// The signals of a storm.
pub(super) const SIGNALS: [i32; 2] = [libc::SIGUSR1, libc::SIGALRM];

extern "C" fn ignore(_signal: i32) {}

/// Has each signal of [`SIGNALS`] interrupt the system call that it meets, and do nothing else.
pub(super) fn interrupt_calls() -> io::Result<()> {
    for signal in SIGNALS {
        // SAFETY: zeros are a valid value: no flags, so no restart of the call, and an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = ignore as extern "C" fn(i32) as usize;
        // SAFETY: the handler does nothing, so it may run at any moment.
        if unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Sends a signal to one thread of this process. The thread may have ended.
#[cfg(target_os = "linux")]
pub(super) fn signal_thread(thread: i32, signal: i32) {
    let process = std::process::id();
    // SAFETY: sends one of `SIGNALS`, whose handler does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// Elsewhere a signal goes to any thread of this process.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal_thread(_thread: i32, signal: i32) {
    // SAFETY: sends one of `SIGNALS`, whose handler does nothing.
    unsafe { libc::kill(libc::getpid(), signal) };
}
