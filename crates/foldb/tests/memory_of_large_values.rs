//! The peak memory for values of many MiB: the budget and three times the largest value.
//!
//! Each piece of work runs in a child process, whose peak the system counts. Every run of the tree
//! is one value, so all cursors of a compaction stand on a large value at once. The child is this
//! executable again, so this is a program of its own.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use foldb::{Db, GcOptions, Options};

const MIB: usize = 1 << 20;
const RUNS: u8 = 6;
const BUDGET: usize = 8 * MIB;
/// Memory of a process besides: its program, stacks, allocator, windows into the log.
const IDLE: usize = 24 * MIB;

/// The work of a child, its directory and the length of a value.
const WORK: &str = "FOLDB_TEST_WORK";
const DIRECTORY: &str = "FOLDB_TEST_DIRECTORY";
/// Set by hand for other sizes, in MiB.
const SIZE: &str = "FOLDB_TEST_LARGE_VALUE_MIB";
/// Set when values lie in segments.
const SEPARATED: &str = "FOLDB_TEST_SEPARATED";

fn value_bytes() -> usize {
    std::env::var(SIZE).map_or(40, |mib| mib.parse().expect("a number of MiB")) * MIB
}

fn options() -> Options {
    Options {
        create_if_missing: true,
        disable_auto_compactions: true,
        memory_budget: BUDGET,
        value_separation_min: std::env::var_os(SEPARATED).map(|_| MIB),
        max_dead_fraction: 1.0,
        ..Options::default()
    }
}

/// The bytes of a value that compresses to half its size, sixteen at a time.
fn pieces(n: u8) -> impl Iterator<Item = [u8; 16]> {
    let mut state = u64::from(n) + 1;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut piece = [0; 16];
        piece[..8].copy_from_slice(&(state >> 8).to_le_bytes());
        piece
    })
}

fn value(n: u8) -> Vec<u8> {
    let mut value = Vec::with_capacity(value_bytes());
    pieces(n).take(value_bytes() / 16).for_each(|piece| value.extend_from_slice(&piece));
    value
}

fn is_value(found: &[u8], n: u8) -> bool {
    found.len() == value_bytes() && found.chunks_exact(16).zip(pieces(n)).all(|(a, b)| *a == b)
}

fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system reports memory");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kib = line.split_whitespace().nth(1).expect("a number").parse::<usize>();
    kib.expect("a number") << 10
}

fn work(name: &str, path: &Path) {
    let db = Db::open(path, options()).unwrap();
    match name {
        "put" => (0..RUNS).for_each(|n| {
            db.put([n], value(n)).unwrap();
            db.flush().unwrap();
        }),
        "get" => (0..RUNS).for_each(|n| {
            assert!(is_value(&db.get([n]).unwrap().unwrap(), n));
        }),
        "scan" => {
            let values = db.iter().unwrap().map(|entry| entry.unwrap().1);
            let seen = values.zip(0..).map(|(found, n)| assert!(is_value(&found, n)));
            assert_eq!(seen.count(), usize::from(RUNS));
        }
        "scan backwards" => {
            let values = db.iter().unwrap().rev().map(|entry| entry.unwrap().1);
            let seen = values.zip((0..RUNS).rev()).map(|(found, n)| assert!(is_value(&found, n)));
            assert_eq!(seen.count(), usize::from(RUNS));
        }
        "compact" => db.compact(..).unwrap(),
        "overwrite" => (0..RUNS / 2).for_each(|n| {
            db.put([n], value(n)).unwrap();
            db.flush().unwrap();
        }),
        "collect garbage" => {
            let all = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
            let report = db.collect_garbage(&all).unwrap();
            assert!(report.bytes_reclaimed() >= value_bytes() as u64, "{report:?}");
        }
        "checkpoint" => {
            db.checkpoint(path.with_extension("copy")).unwrap();
        }
        // The next open finds this value only in the log.
        "end without a close" => {
            db.put([0], value(0)).unwrap();
            println!("peak={}", peak());
            std::process::exit(0);
        }
        unknown => panic!("unknown work '{unknown}'"),
    }
    db.close().unwrap();
}

/// Not a test of its own: the work of a child.
#[test]
fn child() {
    let Ok(name) = std::env::var(WORK) else { return };
    work(&name, Path::new(&std::env::var(DIRECTORY).expect("a directory")));
    println!("peak={}", peak());
}

/// With a budget of 256 MiB, a compaction of values of 100 MiB once peaked at 908 MiB. With a
/// budget of 8, a flush peaked at 408. Reading seven such values peaked at 1.9 GB. Each cursor kept
/// up to three copies of its value, and the table's writer two.
#[test]
fn large_values_take_the_budget_and_three_times_their_size() {
    let tree = ["put", "get", "scan", "scan backwards", "compact", "get", "scan", "compact"];
    assert_peaks(&tree, false);
}

/// The same where values lie in segments, and after an end without a close.
#[test]
fn large_separated_values_take_the_budget_and_three_times_their_size() {
    let work = [
        "put",
        "get",
        "scan",
        "scan backwards",
        "compact",
        "overwrite",
        "compact",
        "collect garbage",
        "checkpoint",
        "end without a close",
        "get",
    ];
    assert_peaks(&work, true);
}

/// Does this work, each piece in a child of its own, and checks the peak of each.
fn assert_peaks(work: &[&'static str], separated: bool) {
    let directory = tempfile::tempdir().unwrap();
    let most = BUDGET + 3 * value_bytes() + IDLE;
    let mut too_much = Vec::new();
    for &name in work {
        let mut child = Command::new(std::env::current_exe().unwrap());
        if separated {
            child.env(SEPARATED, "1");
        }
        let child = child
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(WORK, name)
            .env(DIRECTORY, directory.path().join("db"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
        let peak = said.lines().find_map(|line| line.split("peak=").nth(1)).expect("a peak");
        let peak: usize = peak.trim().parse().unwrap();
        println!("{name}: {} MiB, limit {} MiB", peak / MIB, most / MIB);
        if peak > most {
            too_much.push((name, peak / MIB));
        }
    }
    assert!(too_much.is_empty(), "more than {} MiB: {too_much:?}", most / MIB);
}
