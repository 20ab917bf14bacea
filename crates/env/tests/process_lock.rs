//! Checks that the real lock excludes other processes. It ends when its holder ends in any way, but
//! not when a process that the holder forked ends.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use foldb_env::{FileSystem, PortableFs};

const PATH_VARIABLE: &str = "FOLDB_TEST_LOCK";
#[cfg(unix)]
const FORK_VARIABLE: &str = "FOLDB_TEST_LOCK_FORK";
const UNLINKED_VARIABLE: &str = "FOLDB_TEST_LOCK_UNLINKED";
const PORTABLE_VARIABLE: &str = "FOLDB_TEST_LOCK_PORTABLE";

#[cfg(unix)]
const OWN: &dyn FileSystem = &foldb_env::PosixFs;
#[cfg(not(unix))]
const OWN: &dyn FileSystem = &PortableFs;

/// The file system of this process.
fn real() -> &'static dyn FileSystem {
    if env::var_os(PORTABLE_VARIABLE).is_some() { &PortableFs } else { OWN }
}

/// This program, running one test on one of the real file systems.
fn child(test: &str, is_portable: bool) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    if is_portable {
        command.env(PORTABLE_VARIABLE, "1");
    }
    command
}

/// Not a test of its own: what the child processes below run.
#[test]
fn hold_the_lock_until_killed() {
    let Some(path) = env::var_os(PATH_VARIABLE) else { return };
    let held = real().lock(Path::new(&path)).unwrap();
    #[cfg(unix)]
    let held = match env::var_os(FORK_VARIABLE) {
        Some(_) => forks::drop_in_a_fork(held),
        None => held,
    };
    println!("held");
    // Standard input is a pipe that nothing is written to.
    let _ = std::io::stdin().read(&mut [0]);
    drop(held);
}

/// A process that has the lock of `path`.
fn holder(path: &Path, mut command: Command) -> Child {
    command.env(PATH_VARIABLE, path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let held = lines.map_while(Result::ok).any(|line| line.ends_with("held"));
    assert!(held, "the child got no lock");
    child
}

/// Checks the lock against a process that has it and is killed.
fn check_against_a_holder(fs: &dyn FileSystem, command: Command) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let mut child = holder(&path, command);

    let error = fs.lock(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(error.to_string().contains("another process"), "{error}");

    child.kill().unwrap();
    child.wait().unwrap();
    // The refused attempt above left no claim in this process.
    fs.lock(&path).unwrap();
}

#[test]
fn a_lock_excludes_other_processes_and_ends_with_its_holder() {
    for (fs, is_portable) in [(OWN, false), (&PortableFs as &dyn FileSystem, true)] {
        check_against_a_holder(fs, child("hold_the_lock_until_killed", is_portable));
    }
}

/// Not a test of its own: takes the lock over and over, and unlinks it before it lets go, as the
/// removal of a database does.
#[test]
fn take_and_unlink_the_lock() {
    let Some(path) = env::var_os(UNLINKED_VARIABLE) else { return };
    let path = Path::new(&path);
    let token = path.with_file_name("token");
    let mut taken = 0;
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        let Ok(held) = real().lock(path) else { continue };
        // Closed at once: some file systems keep the name of an open file that is removed.
        let alone = fs::File::create_new(&token).map(drop);
        assert!(alone.is_ok(), "two processes hold the lock after {taken} turns: {alone:?}");
        taken += 1;
        fs::remove_file(&token).unwrap();
        fs::remove_file(path).unwrap();
        drop(held);
    }
    assert!(taken > 0);
}

/// A file may lose its name while a process waits for its lock. A regression test: such a lock
/// counted although another process had the lock of the next file of that name.
#[test]
fn a_lock_whose_file_was_unlinked_does_not_count() {
    for is_portable in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let command = || {
            let mut command = child("take_and_unlink_the_lock", is_portable);
            command.env(UNLINKED_VARIABLE, dir.path().join("LOCK")).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let children = [command(), command(), command()];
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    }
}

#[cfg(unix)]
mod forks {
    //! Processes that fork, and locks by `fcntl`. Windows has neither.

    use std::os::fd::{AsRawFd, FromRawFd};

    use foldb_env::{FileLock, PosixFs};

    use super::*;

    /// Forks a child that drops its copy of the lock.
    pub(super) fn drop_in_a_fork(held: Box<dyn FileLock>) -> Box<dyn FileLock> {
        // SAFETY: the child does nothing but drop the handle and end.
        match unsafe { libc::fork() } {
            0 => {
                let was_held = held.is_held();
                drop(held);
                // SAFETY: ends the process at once.
                unsafe { libc::_exit(i32::from(was_held)) }
            }
            child => {
                let mut status = -1;
                // SAFETY: `status` is there for the answer.
                unsafe { libc::waitpid(child, &mut status, 0) };
                assert_eq!(status, 0, "the fork holds no lock");
            }
        }
        assert!(held.is_held());
        held
    }

    /// A regression test: a fork that dropped its copy of the handle unlocked the parent's file.
    #[test]
    fn a_lock_outlives_a_fork_that_drops_its_copy() {
        let mut command = child("hold_the_lock_until_killed", false);
        command.env(FORK_VARIABLE, "1");
        check_against_a_holder(&PosixFs, command);
    }

    /// What another process gets that takes a lock by `fcntl`, as LevelDB does; with a wait before
    /// it ends, until the pipe is closed.
    fn fcntl_in_child(path: &Path, wait: bool) -> (i32, fs::File) {
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path).unwrap();
        let (mut told, mut ends) = ([0; 2], [0; 2]);
        // SAFETY: both have two numbers.
        let made =
            unsafe { libc::pipe(told.as_mut_ptr()) == 0 && libc::pipe(ends.as_mut_ptr()) == 0 };
        assert!(made);
        // SAFETY: the child only makes system calls.
        if unsafe { libc::fork() } == 0 {
            // SAFETY: a lock of zeros is one of the whole file.
            let mut lock: libc::flock = unsafe { std::mem::zeroed() };
            lock.l_type = libc::F_WRLCK as _;
            // SAFETY: the descriptors are open, and the buffers have their lengths.
            unsafe {
                let answer = [libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) as u8];
                libc::close(ends[1]);
                libc::write(told[1], answer.as_ptr().cast(), 1);
                if wait {
                    libc::read(ends[0], [0u8; 1].as_mut_ptr().cast(), 1);
                }
                libc::_exit(0)
            }
        }
        // `file` must stay open: where this process has the lock, a close would end it.
        std::mem::forget(file);
        let mut answer = [1u8];
        // SAFETY: the descriptors are open and belong to nothing else.
        let end = unsafe {
            assert_eq!(libc::read(told[0], answer.as_mut_ptr().cast(), 1), 1);
            for end in [told[0], told[1], ends[0]] {
                libc::close(end);
            }
            fs::File::from_raw_fd(ends[1])
        };
        (i32::from(answer[0] as i8), end)
    }

    /// LevelDB takes its lock by `fcntl`. A regression test: foldb's was one by `flock` only, so
    /// both could write to one directory.
    #[test]
    fn the_lock_excludes_one_by_fcntl_and_is_excluded_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let held = PosixFs.lock(&path).unwrap();
        assert_eq!(fcntl_in_child(&path, false).0, -1, "LevelDB gets the lock beside foldb");
        drop(held);
        let (taken, end) = fcntl_in_child(&path, true);
        assert_eq!(taken, 0);
        let error = PosixFs.lock(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        drop(end);
        let begun = Instant::now();
        while PosixFs.lock(&path).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "the child has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
