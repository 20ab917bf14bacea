//! Short runs of the program: a correct engine passes, and an engine with a deliberate bug fails.

use std::path::Path;
use std::process::{Command, Output};

fn stress(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_foldb-stress");
    Command::new(program).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(directory: &Path, more: &[&str]) -> Output {
    let directory = directory.to_str().expect("a path in UTF-8");
    let own = ["run", "--directory", directory, "--kills", "3", "--life", "300", "--allow-gaps"];
    stress(&[&own, more].concat())
}

#[test]
fn kills_lose_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = run(directory.path(), &["--databases", "2", "--seed", "100"]);
    assert!(outcome.status.success(), "{}", text(&outcome.stderr));
    assert!(text(&outcome.stdout).contains("kills survived"), "{}", text(&outcome.stdout));
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "databases that passed are removed");
}

/// A unit test checks that these seeds draw each kind.
#[test]
fn a_short_run_meets_all_that_happens_around_the_engine() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = run(directory.path(), &["--databases", "9"]);
    assert!(outcome.status.success(), "{}", text(&outcome.stderr));
    let counts = text(&outcome.stdout);
    for name in [
        "RelativePath",
        "LinkedPath",
        "ChangedDirectory",
        "Fork",
        "Orphan",
        "FewHandles",
        "MovedAway",
        "ClockJump",
        "Signals",
        "Visit",
    ] {
        let count = counts.lines().find_map(|line| line.trim().strip_suffix(&format!("  {name}")));
        assert!(count.is_some_and(|count| count != "0"), "{name} never happened: {counts}");
    }
}

#[test]
fn a_missing_acknowledged_write_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    let database = database.to_str().unwrap();
    // The database is empty, and a hundred writes of each thread are expected.
    let outcome = stress(&[
        "worker",
        "--database",
        database,
        "--seed",
        "1",
        "--life",
        "0",
        "--thread",
        "100,0",
        "--thread",
        "100,0",
        "--thread",
        "100,0",
        "--thread",
        "100,0",
        "--check-only",
    ]);
    assert!(!outcome.status.success());
    assert!(text(&outcome.stdout).contains("wrong thread 0 after 100"), "{outcome:?}");
}

#[test]
fn a_gap_fails_the_run_unless_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let outcome =
        stress(&["run", "--directory", path, "--databases", "1", "--kills", "1", "--life", "10"]);
    assert!(!outcome.status.success());
    assert!(text(&outcome.stderr).contains("never happened"), "{}", text(&outcome.stderr));
}

#[cfg(debug_assertions)]
#[test]
fn a_planted_fault_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let planted = ["--databases", "20", "--plant", "LoseLastLogRecord"];
    let outcome = run(directory.path(), &planted);
    assert!(!outcome.status.success(), "twenty databases without their last records pass");
    assert!(text(&outcome.stderr).contains("the database is in"), "{}", text(&outcome.stderr));
}
