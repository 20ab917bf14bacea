//! What belongs to a process, not to a database: its working directory, its forks, its file
//! handles. Each case runs in a process of its own, because it changes these for the whole process.
#![cfg(unix)]

mod directories;
mod forks;
mod handles;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use foldb::{Db, KeyspaceOptions, Options};

const VARIABLE: &str = "FOLDB_TEST_PROCESS";

/// How long a case may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `case` in a process of its own, with an empty directory. `name` is the path of the test
/// that calls this.
fn alone(name: &str, case: impl FnOnce(&Path)) {
    if let Some(directory) = env::var_os(VARIABLE) {
        return case(&PathBuf::from(directory));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{name} hangs");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success(), "{name}: {status}");
}

/// Small memtables, so that few writes need new files.
fn small() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_size: 64 << 10,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    }
}

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// The number of entries.
fn count(db: &Db) -> usize {
    db.iter().unwrap().map(Result::unwrap).count()
}
