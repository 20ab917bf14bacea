//! A kill of the process after unsynced commits returned: which engines keep them.
//!
//! The table marks an engine that loses them, and its rate reaches no bar. This test says which
//! engines those are.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use foldb_compare::engine::Name;

const COMMITS: u64 = 1000;

/// Commits in another process, kills it with SIGKILL, and returns how many commits a third
/// process finds.
fn survivors(engine: Name, directory: &Path) -> u64 {
    let command = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldb-compare"));
        command.args([name, engine.as_str()]).arg(directory).arg(COMMITS.to_string());
        command
    };
    let mut child = command("commit-and-wait").stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, format!("committed {COMMITS}\n"), "{engine:?}");
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    let counted = command("count-commits").output().unwrap();
    let (stdout, stderr) = (&counted.stdout, String::from_utf8_lossy(&counted.stderr));
    assert!(counted.status.success(), "{engine:?}: {stderr}");
    String::from_utf8_lossy(stdout).trim().parse().unwrap()
}

#[test]
fn engines_keep_unsynced_commits_as_the_table_says() {
    for engine in [
        Name::Foldb,
        Name::RocksDb,
        Name::FjallSingleWriter,
        Name::FjallOptimistic,
        Name::Redb,
        Name::Lmdb,
    ] {
        if let Some(why) = engine.absent() {
            println!("{engine:?}: {why}");
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let survivors = survivors(engine, directory.path());
        println!("{engine:?}: {survivors} of {COMMITS} commits survive");
        assert!(survivors <= COMMITS, "{engine:?}");
        assert_eq!(
            survivors == COMMITS,
            engine.keeps_unsynced_commits(),
            "{engine:?}: {survivors}"
        );
    }
}
