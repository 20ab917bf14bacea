//! Locks and files while other threads fork: no child keeps a lock of its parent, and a child can
//! lock and open files of its own.
#![cfg(unix)]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb_env::{FileSystem, PosixFs};

const DIRECTORY_VARIABLE: &str = "FOLDB_TEST_LOCKS_AND_FORKS";

/// Forks of the process that is killed, and most locks that it holds at its end.
const FORKS: u32 = 150;
const LOCKS: usize = 400;

/// A forked child has run and closed its copies within this time.
const LONGEST_START: Duration = Duration::from_secs(2);

/// How long a child may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// Forks a child that ends with 0 if `body` returns true.
fn fork(body: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child calls only what is under test, and the allocator, which the C library makes
    // usable in a child.
    match unsafe { libc::fork() } {
        0 => {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!outcome.unwrap_or(false))) }
        }
        child => child,
    }
}

fn wait_for(child: libc::pid_t) {
    assert!(child > 0);
    let (begun, mut status) = (Instant::now(), 0);
    // SAFETY: `status` is there for the answer.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if begun.elapsed() > PATIENCE {
            // SAFETY: the child is this process's own and has not been waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child failed");
}

/// Waits until standard input is closed.
fn outlive_the_parent() -> bool {
    // SAFETY: the buffer has room for the byte.
    unsafe { libc::read(0, [0u8; 1].as_mut_ptr().cast(), 1) == 0 }
}

/// Not a test of its own: takes locks while another thread forks, until it is killed.
#[test]
fn lock_while_another_thread_forks() {
    let Some(directory) = env::var_os(DIRECTORY_VARIABLE) else { return };
    let directory = PathBuf::from(directory);
    let (begun, ended) = (AtomicU32::new(0), AtomicU32::new(0));
    let mut held = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..FORKS {
                begun.fetch_add(1, Ordering::SeqCst);
                assert!(fork(outlive_the_parent) > 0);
                ended.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let is_forking = || begun.load(Ordering::SeqCst) > ended.load(Ordering::SeqCst);
        while ended.load(Ordering::SeqCst) < FORKS {
            let was_forking = is_forking();
            let path = directory.join(format!("LOCK-{}", held.len()));
            let lock = PosixFs.lock(&path).unwrap();
            if (was_forking || is_forking()) && held.len() < LOCKS {
                held.push(lock);
            }
        }
    });
    println!("held {}", held.len());
    outlive_the_parent();
}

/// A regression test: the child of a fork between the open of a lock file and the note of its
/// descriptor kept the lock. A program that was killed could not open its database again then.
#[test]
fn no_child_keeps_a_lock_that_its_parent_was_taking() {
    let directory = tempfile::tempdir().unwrap();
    let mut killed = Command::new(env::current_exe().unwrap())
        .args(["--exact", "lock_while_another_thread_forks", "--nocapture"])
        .env(DIRECTORY_VARIABLE, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines().map_while(Result::ok);
    let held = lines.find_map(|line| line.rsplit_once("held ")?.1.parse::<usize>().ok());
    let held = held.expect("the process takes locks");
    let its_children_end = killed.stdin.take();
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The last child may have been forked right before the kill, and runs in a moment.
    let begun = Instant::now();
    let is_locked = |n: &usize| {
        let path = directory.path().join(format!("LOCK-{n}"));
        while is_locked(&path) {
            if begun.elapsed() > LONGEST_START {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    };
    let kept = (0..held).filter(is_locked).count();
    drop(its_children_end);
    assert_eq!(kept, 0, "children keep {kept} locks of {held}");
}

/// Calls `other` over and over while `body` runs.
fn beside(other: impl Fn() + Sync, body: impl FnOnce()) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                other();
            }
        });
        // A failure of the body ends the other thread, too.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        ended.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

/// A regression test: the claim of a lock outlived its file. If the file had no name any more, a
/// new file could get its number, and the lock of that file was refused.
#[test]
fn a_lock_of_a_file_without_a_name_ends_before_another_file_has_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let lock_and_unlink = |name: &str| {
        let path = directory.path().join(name);
        let lock = PosixFs.lock(&path).map_err(|error| error.to_string());
        let _held = lock.expect("no other thread locks this path");
        fs::remove_file(&path).unwrap();
    };
    beside(
        || lock_and_unlink("one"),
        || {
            for _ in 0..20_000 {
                lock_and_unlink("two");
            }
        },
    );
}

/// A regression test: if another thread of the parent took a lock or opened a file at the fork, the
/// child waited for that thread for ever.
#[test]
fn a_child_of_a_busy_parent_locks_and_opens_files_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let use_files = |name: &str| {
        let path = directory.path().join(name);
        let _held = PosixFs.lock(&path).unwrap();
        let read = PosixFs.open_named(&path).unwrap();
        read.len().unwrap() == 0
    };
    beside(
        || assert!(use_files("of the parent")),
        || {
            for n in 0..50 {
                wait_for(fork(|| use_files(&format!("of child {n}"))));
            }
        },
    );
}

/// A regression test: a child that dropped its copy of a lock closed the descriptor of its own one.
#[test]
fn a_child_that_drops_its_copy_of_a_lock_keeps_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let of_the_parent = PosixFs.lock(&path("of the parent")).unwrap();
    let own = path("of the child");
    let child = fork(move || {
        let _own = PosixFs.lock(&own).unwrap();
        drop(of_the_parent);
        // Another process finds it locked.
        let other = fork(|| is_locked(&own));
        wait_for(other);
        true
    });
    wait_for(child);
}

fn is_locked(path: &Path) -> bool {
    PosixFs.lock(path).is_err()
}
