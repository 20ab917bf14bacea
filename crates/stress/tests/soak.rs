//! Short soaks: one passes, and one that keeps its snapshots fails.

use std::path::Path;
use std::process::{Command, Output};

/// Bounds of latency are wide: a test's machine runs other work too.
fn soak(directory: &Path, more: &[&str]) -> Output {
    let directory = directory.to_str().expect("a path in UTF-8");
    let own = ["soak", "--dir", directory, "--window", "8MB", "--sample", "20"];
    let bounds = ["--growth", "2.5", "--slowdown", "1000"];
    let program = env!("CARGO_BIN_EXE_foldb-stress");
    let mut command = Command::new(program);
    command.args(own).args(bounds).args(more).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_space_of_a_moving_window_does_not_grow() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = soak(directory.path(), &["--bytes", "400MB", "--rate", "100MB"]);
    assert!(outcome.status.success(), "{} {}", text(&outcome.stdout), text(&outcome.stderr));
    let stdout = text(&outcome.stdout);
    assert!(stdout.contains("keys compared at the end"), "{stdout}");
    let mut left: Vec<_> =
        directory.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["samples.csv", "soak.svg"], "the database is removed");
    let samples = std::fs::read_to_string(directory.path().join("samples.csv")).unwrap();
    assert!(samples.lines().count() > 50, "{samples}");
}

/// Each snapshot keeps the values that it shows.
#[test]
fn snapshots_that_are_never_dropped_fail_by_the_space_they_keep() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = soak(directory.path(), &["--bytes", "400MB", "--rate", "100MB", "--leak"]);
    assert!(!outcome.status.success(), "{}", text(&outcome.stdout));
    let line = text(&outcome.stdout);
    let line = line.lines().find(|line| line.starts_with("directory")).expect("a line on space");
    assert!(line.ends_with("TOO MUCH"), "{line}");
    assert!(text(&outcome.stderr).contains("grew"), "{}", text(&outcome.stderr));
}

#[test]
fn a_directory_with_a_database_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    std::fs::create_dir(&database).unwrap();
    std::fs::write(database.join("file"), "precious").unwrap();
    let outcome = soak(directory.path(), &["--bytes", "1MB"]);
    assert!(!outcome.status.success());
    assert!(text(&outcome.stderr).contains("remove it first"), "{}", text(&outcome.stderr));
    assert!(database.join("file").exists());
}
