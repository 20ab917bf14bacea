//! A follower and the database that it follows are killed again and again. At the end both hold the
//! same entries.
//!
//! This is a program of its own: the test starts its executable again, and kills it.

#![cfg(unix)]

#[path = "../examples/follower.rs"]
#[allow(dead_code, reason = "the example's main function runs elsewhere")]
mod follower;

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch, WriteOptions};

use follower::{Follower, open_first};

const DIRECTORY: &str = "FOLDB_TEST_DIRECTORY";
const SEED: &str = "FOLDB_TEST_SEED";
const KILLS: u64 = 12;

fn open_copy(directory: &Path) -> Db {
    let options = Options { create_if_missing: true, ..Options::default() };
    Db::open(directory.join("copy"), options).unwrap()
}

/// Not a test of its own: writes to one database while another one follows it, until it is killed.
#[test]
fn write_and_follow() {
    let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let seed = env::var(SEED).unwrap().parse().unwrap();
    let (first, copy) = (open_first(&directory.join("first")).unwrap(), open_copy(&directory));
    let applied = AtomicU64::new(0);
    println!("begun");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut follower = Follower::open(&first, copy.clone()).unwrap();
            loop {
                applied.fetch_add(follower.catch_up().unwrap(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut rng = fastrand::Rng::with_seed(seed);
        for step in 0u64.. {
            write_something(&first, &mut rng);
            if step % 64 == 0 {
                println!("applied {}", applied.load(Ordering::Relaxed));
            }
        }
    });
}

fn write_something(db: &Db, rng: &mut fastrand::Rng) {
    let key = format!("key{:02}", rng.u8(..40));
    let sync = WriteOptions { sync: true, ..WriteOptions::default() };
    match rng.u8(..40) {
        0 => db.flush().unwrap(),
        1 => db.sync().unwrap(),
        2 => db.delete_range("key10".."key13").unwrap(),
        3 => match db.drop_keyspace("more") {
            Err(error) if error.kind() == ErrorKind::KeyspaceMissing => {}
            outcome => outcome.unwrap(),
        },
        4..=8 => db.with(&sync).put(key, vec![b'v'; rng.usize(..3000)]).unwrap(),
        9..=14 => {
            let more = db.keyspace_or_create("more", KeyspaceOptions::default()).unwrap();
            let list = db.operator("stringappend:,").unwrap();
            let mut batch = WriteBatch::new();
            batch.delete(&key).merge_with_in(&list, &more, &key, "x");
            db.write(&batch).unwrap();
        }
        _ => db.merge(format!("n{}", rng.u8(..8)), 1u64.to_le_bytes()).unwrap(),
    }
}

/// Returns all entries of the keyspaces that both databases share.
fn entries(db: &Db) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for name in db.keyspaces().into_iter().filter(|name| name != "follower") {
        for entry in db.keyspace(&name).unwrap().iter().unwrap() {
            let (key, value) = entry.unwrap();
            all.push((name.clone(), key, value.to_vec()));
        }
    }
    all
}

#[test]
fn a_follower_is_in_step_after_kills_of_both() {
    let directory = tempfile::tempdir().unwrap();
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "write_and_follow", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .env(SEED, kill.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        // Killed after the follower has applied some updates of this life.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let enough = format!("applied {}", 20 + 17 * kill);
        let applied = |line: &str| line.strip_prefix("applied ").and_then(|n| n.parse().ok());
        let least: u64 = applied(&enough).unwrap();
        let reached = lines.map_while(Result::ok).any(|line| applied(&line) >= Some(least));
        assert!(reached, "the writer ended by itself in life {kill}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let first = open_first(&directory.path().join("first")).unwrap();
    let copy = open_copy(directory.path());
    first.sync().unwrap();
    let mut follower = Follower::open(&first, copy.clone()).unwrap();
    follower.catch_up().unwrap();
    let expected = entries(&first);
    assert!(expected.len() > 8, "{}", expected.len());
    assert_eq!(entries(&copy), expected);
}
