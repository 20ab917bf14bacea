//! The peak memory for values of many MiB: the budget and three times the largest value. The peak
//! of an open whose logs hold more than the budget: the budget and one write buffer.
//!
//! Each piece of work runs in a child process, whose peak the system counts. Every run of the tree
//! is one value, so all cursors of a compaction stand on a large value at once. The child is this
//! executable again, so this is a program of its own.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use foldb::garbage::GcOptions;
use foldb::{Db, KeyspaceOptions, Options, WriteBatch};

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
        default: KeyspaceOptions {
            value_separation_min: std::env::var_os(SEPARATED).map(|_| MIB),
            ..KeyspaceOptions::default()
        },
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

/// Logged writes: one batch of this many values of 64 KiB, then as many puts.
const LOGGED: u32 = 64 * MIB as u32 / (64 << 10);

/// Fills write buffers that hold all of it, so that only the log has it.
fn log_much(path: &Path) {
    let db = Db::open(
        path,
        Options { create_if_missing: true, write_buffer_size: 1 << 30, ..Options::default() },
    )
    .unwrap();
    let value = |n: u32| [n as u8; 64 << 10];
    let mut batch = WriteBatch::new();
    for n in 0..LOGGED {
        batch.put(n.to_be_bytes(), value(n));
    }
    db.write(&batch).unwrap();
    (LOGGED..2 * LOGGED).for_each(|n| db.put(n.to_be_bytes(), value(n)).unwrap());
    println!("peak={}", peak());
    std::process::exit(0);
}

fn work(name: &str, path: &Path) {
    if name == "log much" {
        log_much(path);
    }
    let db = Db::open(path, options()).unwrap();
    match name {
        "recover" => {
            println!("peak={}", peak());
            let keys = db.iter().unwrap().map(|entry| entry.unwrap());
            let whole = keys.filter(|(key, value)| value[..] == [key[3]; 64 << 10]);
            assert_eq!(whole.count(), 2 * LOGGED as usize);
        }
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
            let report = db.with(&all).collect_garbage().unwrap();
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

/// An open of logs of 609 MiB with a budget of 32 once peaked at 617 MiB: it held all logged
/// writes, and the whole batch that it read.
#[test]
fn a_recovery_takes_the_budget_and_one_write_buffer() {
    let directory = tempfile::tempdir().unwrap();
    peak_of("log much", directory.path(), false);
    let most = BUDGET + BUDGET / 4 + IDLE;
    let peak = peak_of("recover", directory.path(), false);
    assert!(peak <= most, "{} MiB, limit {} MiB", peak / MIB, most / MIB);
}

/// Does this work, each piece in a child of its own, and checks the peak of each.
fn assert_peaks(work: &[&'static str], separated: bool) {
    let directory = tempfile::tempdir().unwrap();
    let most = BUDGET + 3 * value_bytes() + IDLE;
    let mut too_much = Vec::new();
    for &name in work {
        let peak = peak_of(name, directory.path(), separated);
        println!("{name}: {} MiB, limit {} MiB", peak / MIB, most / MIB);
        if peak > most {
            too_much.push((name, peak / MIB));
        }
    }
    assert!(too_much.is_empty(), "more than {} MiB: {too_much:?}", most / MIB);
}

/// Does one piece of work in a child, and returns the child's peak.
fn peak_of(name: &str, directory: &Path, separated: bool) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap());
    if separated {
        child.env(SEPARATED, "1");
    }
    let child = child
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(WORK, name)
        .env(DIRECTORY, directory.join("db"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
    let peak = said.lines().find_map(|line| line.split("peak=").nth(1)).expect("a peak");
    peak.trim().parse().unwrap()
}
