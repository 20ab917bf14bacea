//! The real lock between processes: excludes them, and ends with its holder however it ends.

use std::env;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use foldb_env::{FileSystem, PosixFs};

const PATH_VARIABLE: &str = "FOLDB_TEST_LOCK";

/// Not a test of its own: what the child process below runs.
#[test]
fn hold_the_lock_until_killed() {
    let Some(path) = env::var_os(PATH_VARIABLE) else { return };
    let _held = PosixFs.lock(Path::new(&path)).unwrap();
    println!("held");
    // Standard input is a pipe nobody writes to.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn a_lock_excludes_other_processes_and_ends_with_its_holder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "hold_the_lock_until_killed", "--nocapture"])
        .env(PATH_VARIABLE, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let held = lines.map_while(Result::ok).any(|line| line.ends_with("held"));
    assert!(held, "the child got no lock");

    let error = PosixFs.lock(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(error.to_string().contains("another process"), "{error}");

    child.kill().unwrap();
    child.wait().unwrap();
    // The refusal above kept no claim within this process either.
    PosixFs.lock(&path).unwrap();
}
