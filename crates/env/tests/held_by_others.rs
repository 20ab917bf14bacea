//! Files that another program holds open in a way that only Windows knows: without letting others
//! remove, replace or open them.
#![cfg(windows)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use foldb_env::{FileSystem, NothingDone, PortableFs};

/// As virus scanners and copy tools open a file: others may read and write it.
const READ_AND_WRITE: u32 = 1 | 2;
/// No other program may open the file.
const NOTHING: u32 = 0;

/// Opens a file as another program does. Windows does not care which process holds it.
fn hold(path: &Path, shared: u32) -> File {
    OpenOptions::new().read(true).share_mode(shared).open(path).unwrap()
}

type Call = fn(&Path) -> io::Result<()>;

/// The calls that a holder of `held` is in the way of, by how it shares the file.
const CALLS: [(u32, Call); 5] = [
    (READ_AND_WRITE, |held| PortableFs.remove(held)),
    (READ_AND_WRITE, |held| PortableFs.rename(&held.with_file_name("next"), held)),
    (READ_AND_WRITE, |held| PortableFs.rename(held, &held.with_file_name("new"))),
    (NOTHING, |held| PortableFs.open(held).map(drop)),
    (NOTHING, |held| PortableFs.create(held).map(drop)),
];

fn files() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let held = directory.path().join("held");
    fs::write(&held, "held").unwrap();
    fs::write(held.with_file_name("next"), "next").unwrap();
    (directory, held)
}

#[test]
fn a_call_waits_for_a_program_that_lets_go() {
    for (n, (shared, call)) in CALLS.into_iter().enumerate() {
        let (_directory, path) = files();
        let held = hold(&path, shared);
        let holder = thread::spawn(move || {
            thread::sleep(Duration::from_millis(150));
            drop(held);
        });
        let begun = Instant::now();
        call(&path).unwrap_or_else(|error| panic!("call {n}: {error}"));
        assert!(begun.elapsed() >= Duration::from_millis(100), "call {n} was not refused at all");
        holder.join().unwrap();
    }
}

#[test]
fn a_call_that_waits_in_vain_says_that_it_did_nothing() {
    for (n, (shared, call)) in CALLS.into_iter().enumerate() {
        let (directory, path) = files();
        let held = hold(&path, shared);
        let begun = Instant::now();
        let error = call(&path).unwrap_err();
        assert!(NothingDone::is_why(&error), "call {n}: {error}");
        assert!(begun.elapsed() >= Duration::from_secs(1), "call {n}");
        drop(held);
        assert_eq!(fs::read_to_string(&path).unwrap(), "held", "call {n}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "call {n}");
        call(&path).unwrap_or_else(|error| panic!("call {n}, later: {error}"));
    }
}

#[test]
fn an_error_that_no_wait_ends_is_returned_at_once() {
    let (directory, path) = files();
    let begun = Instant::now();
    let missing = directory.path().join("missing");
    assert_eq!(PortableFs.remove(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(PortableFs.remove(directory.path()).is_err());
    fs::create_dir(directory.path().join("directory")).unwrap();
    assert!(PortableFs.rename(&path, &directory.path().join("directory")).is_err());
    assert!(begun.elapsed() < Duration::from_millis(500));
}
