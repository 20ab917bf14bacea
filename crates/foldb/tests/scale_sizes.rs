//! Many keyspaces, databases, snapshots and operands: each works within the bounds that the section
//! "At scale" of `docs/guarantees.md` states.
//!
//! This is a program of its own: it counts the files that its process has open.
//!
//! Ordinary runs use small sizes. The full sizes are behind `#[ignore]` and print what they
//! measure. One command runs them:
//!
//! ```text
//! cargo test --release -p foldb --test scale_sizes -- --ignored --nocapture --test-threads=1
//! ```

mod support;

use std::time::{Duration, Instant};

use foldb::{Db, KeyspaceOptions, Options, Runtime, RuntimeOptions, Snapshot, WriteOptions};
use tempfile::TempDir;

use support::number;

fn files() -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    let took = start.elapsed();
    println!("  {what}: {took:?}");
    (done, took)
}

/// Returns how many files the process has open, where the system tells.
fn handles() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Writes to each of many keyspaces, then to one of them, then opens the database again both ways.
fn many_keyspaces(count: usize) {
    let dir = TempDir::new().unwrap();
    println!("{count} keyspaces");
    let before = handles();
    let db = Db::open(dir.path(), Options { max_open_files: 200, ..files() }).unwrap();
    let create = |n| db.create_keyspace(&format!("k{n}"), KeyspaceOptions::default()).unwrap();
    let (all, _) = timed("create", || (0..count).map(create).collect::<Vec<_>>());
    timed("first write to each", || {
        all.iter().for_each(|keyspace| keyspace.put("first", "x").unwrap());
    });
    println!("  memory: {} KiB", db.memory().total() >> 10);
    let puts = 20_000u64;
    let write = |keyspace: &foldb::Keyspace| {
        (0..puts).for_each(|n| keyspace.put(n.to_be_bytes(), [1; 100]).unwrap());
    };
    let (_, among) = timed("20 000 puts to one of them", || write(&all[0]));
    let alone = Db::open(dir.path().join("alone"), files()).unwrap();
    let only = alone.create_keyspace("only", KeyspaceOptions::default()).unwrap();
    let (_, one) = timed("20 000 puts to one alone", || write(&only));
    // Among 4 000 keyspaces it once took 12 to 16 times as long.
    assert!(among < 6 * one + Duration::from_millis(200), "{among:?} among others, {one:?} alone");
    timed("flush", || db.flush().unwrap());
    let opened = handles() - before;
    assert!(opened < 400, "{opened} handles, 200 of them for tables");
    drop((all, db));

    let (db, _) = timed("open", || Db::open(dir.path(), files()).unwrap());
    assert_eq!(db.keyspaces().len(), count + 1);
    assert_eq!(db.keyspace("k7").unwrap().get("first").unwrap().unwrap(), b"x");
    drop(db);
    let (db, _) = timed("open read-only", || Db::open_read_only(dir.path(), Options::default()));
    let db = db.unwrap();
    let last = db.keyspace(&format!("k{}", count - 1)).unwrap();
    assert_eq!(last.get("first").unwrap().unwrap(), b"x");
}

#[test]
fn many_keyspaces_work() {
    many_keyspaces(200);
}

#[test]
#[ignore = "takes minutes: one synced edit for each keyspace"]
fn many_keyspaces_full_size() {
    many_keyspaces(10_000);
}

/// Writes to many databases that share a runtime, and reads them back after another open.
fn many_databases(count: u64) {
    let dir = TempDir::new().unwrap();
    println!("{count} databases on one runtime");
    let before = handles();
    let budget = 64 << 20;
    let sizes = RuntimeOptions { memory_budget: budget, max_open_files: 200, ..Default::default() };
    let runtime = Runtime::new(sizes).unwrap();
    let open = |n: u64| {
        let options = Options { runtime: Some(runtime.clone()), ..files() };
        Db::open(dir.path().join(n.to_string()), options).unwrap()
    };
    let (all, _) = timed("open", || (0..count).map(open).collect::<Vec<_>>());
    timed("1 000 puts to each", || {
        for n in 0..1000u64 {
            all.iter().for_each(|db| db.put(n.to_be_bytes(), [n as u8; 100]).unwrap());
        }
    });
    let (memory, opened) = (runtime.memory(), handles() - before);
    println!("  memory: {memory:?}, handles: {opened}");
    // Besides the budget, each has a log window of up to 256 KiB, and one made ready.
    let most = budget as u64 + count * (512 << 10);
    assert!(memory.total() <= most, "{} bytes, budget {budget}", memory.total());
    // Each has a lock, a log, a manifest, and a log made ready. All share 200 tables.
    assert!(opened as u64 <= 5 * count + 250, "{opened} handles");
    timed("close", || drop(all));
    let (all, _) = timed("open again", || (0..count).map(open).collect::<Vec<_>>());
    for db in &all {
        assert_eq!(db.get(999u64.to_be_bytes()).unwrap().unwrap(), [231; 100]);
    }
}

#[test]
fn many_databases_share_a_runtime() {
    many_databases(12);
}

#[test]
#[ignore = "takes minutes"]
fn many_databases_full_size() {
    many_databases(300);
}

/// Takes a snapshot behind each write to one key, and reads it before and after a flush.
fn many_snapshots(count: u64, merges: bool) {
    let dir = TempDir::new().unwrap();
    println!("{count} snapshots of one key, merges: {merges}");
    let db = Db::open(dir.path(), files()).unwrap();
    let mut held: Vec<Snapshot> = Vec::new();
    timed("write and take", || {
        for n in 1..=count {
            match merges {
                true => db.merge("hot", number(1)).unwrap(),
                false => db.put("hot", number(n)).unwrap(),
            }
            held.push(db.snapshot());
        }
    });
    let read = |what: &str| {
        timed(&format!("get, {what}"), || db.get("hot").unwrap());
        timed(&format!("101 gets at snapshots, {what}"), || {
            for n in (1..=count).step_by((count / 100) as usize) {
                assert_eq!(held[n as usize - 1].get("hot").unwrap().unwrap(), number(n));
            }
        })
    };
    read("in memory");
    timed("flush", || db.flush().unwrap());
    read("in tables");
    timed("compact", || db.compact(..).unwrap());
    let (_, took) = read("compacted");
    if !merges {
        // Stepping over the versions between would take 10 microseconds a thousand.
        assert!(took < Duration::from_millis(500), "{took:?}");
    }
    timed("let go", || held.clear());
    timed("compact again", || db.compact(..).unwrap());
    assert_eq!(db.get("hot").unwrap().unwrap(), number(count));
}

#[test]
fn many_snapshots_work() {
    many_snapshots(2000, false);
    many_snapshots(500, true);
}

#[test]
#[ignore = "takes a minute"]
fn many_snapshots_full_size() {
    many_snapshots(100_000, false);
    many_snapshots(100_000, true);
}

/// Operands that only a read of the key folds: additions of floating-point numbers, whose order
/// matters.
fn long_chain(operands: u64) {
    let dir = TempDir::new().unwrap();
    println!("{operands} operands that cannot be folded");
    let options = Options { default: KeyspaceOptions::with_operator("float64add"), ..files() };
    let db = Db::open(dir.path(), options).unwrap();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    timed("merge", || {
        for _ in 0..operands {
            db.with(&unlogged).merge("k", 1f64.to_le_bytes()).unwrap();
        }
    });
    let expected = (operands as f64).to_le_bytes();
    timed("get", || assert_eq!(db.get("k").unwrap().unwrap(), expected));
    timed("flush", || db.flush().unwrap());
    timed("get, in tables", || assert_eq!(db.get("k").unwrap().unwrap(), expected));
    timed("compact", || db.compact(..).unwrap());
    let (_, took) = timed("get, compacted", || assert_eq!(db.get("k").unwrap().unwrap(), expected));
    // At the bottom they are folded into one.
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[test]
fn long_chains_are_read_and_end_at_the_bottom() {
    long_chain(20_000);
}

#[test]
#[ignore = "takes a minute and gigabytes of memory"]
fn long_chains_full_size() {
    long_chain(10_000_000);
}
