//! Tests the cost of many snapshots, many keyspaces, long chains, and iterators that outlive their
//! database. The tests count work wherever work can be counted.
//!
//! The sizes here are small enough for every run. `tests/scale_sizes.rs` has the full ones.

use std::cmp::Ordering as Order;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldb::custom::Comparator;
use foldb::env::MemFs;
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::stats::ReadReport;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, ReadOptions, Snapshot};

use crate::support::{PATH, number, options};

/// Returns keys such that neighbours in time are no neighbours in order.
fn spread(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

/// The order of the bytes, with a count of comparisons.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "test.counting"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        self.0.fetch_add(1, Ordering::Relaxed);
        a.cmp(b)
    }
    fn bytewise_order(&self) -> bool {
        true
    }
    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Returns the comparisons of a flush of this many records, snapshots and range deletes, and of a
/// compaction of its output.
fn comparisons(records: u64, snapshots: u64, range_deletes: u64) -> (u64, u64) {
    let (fs, counting) = (MemFs::new(), Arc::new(Counting::default()));
    let comparator: Arc<dyn Comparator> = counting.clone();
    let db = Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { comparator: Some(comparator), ..options(&fs).default },
            ..options(&fs)
        },
    )
    .unwrap();
    (0..records).for_each(|n| db.put(spread(n), number(n)).unwrap());
    let mut held = Vec::new();
    for n in 0..snapshots.max(range_deletes) {
        if n < range_deletes {
            db.delete_range(spread(n).to_vec()..=spread(n).to_vec()).unwrap();
        }
        if n < snapshots {
            held.push(db.snapshot());
        }
    }
    let count = |work: &dyn Fn()| {
        let before = counting.0.load(Ordering::Relaxed);
        work();
        counting.0.load(Ordering::Relaxed) - before
    };
    (count(&|| db.flush().unwrap()), count(&|| db.compact(..).unwrap()))
}

/// With any range delete, each record once asked each snapshot's cover. 200 000 records with 4 000
/// snapshots took 19 seconds, and 0.2 without the range delete.
#[test]
fn flushes_take_time_for_records_and_snapshots_not_for_their_product() {
    let records = 4000;
    let alone = comparisons(records, 1, 1);
    let among = comparisons(records, 1000, 1);
    assert!(among.0 < 3 * alone.0, "a flush compares {} times, among one {}", among.0, alone.0);
    assert!(among.1 < 3 * alone.1 + 1000, "a compaction {}, not {}", among.1, alone.1);
    // With as many range deletes as snapshots, each stretch between two of their ends once asked
    // each snapshot.
    let deletes = comparisons(records, 1, 1000);
    let both = comparisons(records, 1000, 1000);
    assert!(both.0 < 5 * deletes.0, "a flush compares {} times, not {}", both.0, deletes.0);
    assert!(both.1 < 5 * deletes.1, "a compaction {}, not {}", both.1, deletes.1);
}

/// A database with this many live snapshots, each behind a write to one key, all of it in tables.
fn with_snapshots(count: u64, write: impl Fn(&Db, u64)) -> (Db, Vec<Snapshot>) {
    let db = Db::open(PATH, options(&MemFs::new())).unwrap();
    let mut held = Vec::new();
    for n in 0..count {
        write(&db, n);
        held.push(db.snapshot());
    }
    db.put("a", "before it").unwrap();
    db.put("z", "behind it").unwrap();
    db.flush().unwrap();
    (db, held)
}

/// Returns the value of a key at a snapshot, and how many blocks the read visited.
fn read_at(db: &Db, key: &str, snapshot: &Snapshot) -> (u64, u64) {
    let report = ReadReport::default();
    let options = ReadOptions {
        snapshot: Some(snapshot.clone()),
        report: Some(report.clone()),
        ..ReadOptions::default()
    };
    let value = db.with(&options).get(key).unwrap().unwrap();
    let value = u64::from_le_bytes(value[..].try_into().unwrap());
    (value, report.cached_blocks() + report.read_blocks())
}

/// A key keeps a version for each snapshot. A read at an old one once stepped over all newer ones.
#[test]
fn reads_at_old_snapshots_find_their_version_by_search() {
    let (db, held) = with_snapshots(20_000, |db, n| db.put("hot", number(n)).unwrap());
    let mut most = 0;
    for at in (0..20_000).step_by(531).chain([0, 1, 19_998, 19_999]) {
        let (value, blocks) = read_at(&db, "hot", &held[at]);
        assert_eq!(value, at as u64);
        most = blocks.max(most);
        let several = db
            .default_keyspace()
            .with(&ReadOptions { snapshot: Some(held[at].clone()), ..ReadOptions::default() })
            .multi_get(["a", "hot", "z"]);
        let values = several.unwrap();
        assert_eq!(values[1].as_ref().unwrap().as_deref().unwrap(), number(at as u64));
    }
    // Seventy blocks hold them; a search visits two blocks a step.
    assert!(most <= 40, "{most} blocks looked into");
    drop(held);
    db.compact(..).unwrap();
    assert_eq!(db.get("hot").unwrap().unwrap(), number(19_999));
}

/// Searches that visit other keys' versions in the blocks of a hot key end at their own key.
#[test]
fn searches_among_versions_end_at_their_key() {
    let db = Db::open(PATH, options(&MemFs::new())).unwrap();
    let keys = ["ho", "hot", "hot\0", "hot1", "hou"];
    let mut held = Vec::new();
    for n in 0..3000u64 {
        db.put(keys[(n % 5) as usize], number(n)).unwrap();
        held.push(db.snapshot());
    }
    db.flush().unwrap();
    for at in (0..3000).step_by(41).chain([0, 1, 2, 3, 4, 5]) {
        for (index, key) in keys.iter().enumerate() {
            let newest = (0..=at).rev().find(|n| n % 5 == index);
            let found = held[at].get(key).unwrap();
            let expected = newest.map(|n| number(n as u64));
            assert_eq!(
                found.as_deref(),
                expected.as_ref().map(|value| &value[..]),
                "{key} at {at}"
            );
        }
    }
}

/// Returns how many entries an iterator still gives, and the error that ended it.
fn read_on(iter: foldb::Iter) -> (usize, Option<ErrorKind>) {
    let mut count = 0;
    for entry in iter {
        match entry {
            Ok(_) => count += 1,
            Err(error) => return (count, Some(error.kind())),
        }
    }
    (count, None)
}

/// Options under which an iterator needs file after file: tables of a few keys, or separated
/// values.
fn many_files(fs: &MemFs, separated: bool) -> Options {
    Options {
        target_file_size: 4 << 10,
        default: KeyspaceOptions {
            value_separation_min: separated.then_some(64),
            ..options(fs).default
        },
        knobs: Knobs { segment_size: 4 << 10, ..Knobs::default() },
        max_open_files: 16,
        adopt_logs: foldb::LogAdoption::Never,
        ..options(fs)
    }
}

const ENTRIES: usize = 2000;

fn write_entries(db: &Db, filler: u8) {
    for n in 0..ENTRIES {
        db.put(format!("{n:06}"), [filler; 200]).unwrap();
        if n % 250 == 249 {
            db.flush().unwrap();
        }
    }
    db.flush().unwrap();
    // One run of many tables, of which an iterator needs one at a time.
    db.compact(..).unwrap();
}

/// An iterator opens files as it reaches them. If they were gone, it once reported a missing table
/// or damage, though the database had only been closed.
#[test]
fn iterators_that_outlive_the_close_never_speak_of_damage() {
    for separated in [false, true] {
        for reopened in [false, true] {
            let fs = MemFs::new();
            write_entries(&Db::open(PATH, many_files(&fs, separated)).unwrap(), b'v');
            // Only the files that the iterator opened are open.
            let db = Db::open(PATH, many_files(&fs, separated)).unwrap();
            let mut iter = db.iter().unwrap();
            assert!(iter.seek_to_first().unwrap());
            db.close().unwrap();
            Db::destroy(PATH, &many_files(&fs, separated)).unwrap();
            if reopened {
                // Other files get the same names.
                let mut options = many_files(&fs, separated);
                options.env.seed = Some(1);
                write_entries(&Db::open(PATH, options).unwrap(), b'w');
            }
            let (count, ended) = read_on(iter);
            assert_eq!(ended, Some(ErrorKind::Closed), "{count} entries, separated: {separated}");
            assert!(count < ENTRIES);
        }
    }
}

/// The next open compacts and collects garbage. Files that it removes are not reported as damaged
/// either.
#[test]
fn iterators_that_outlive_the_close_and_a_compaction_answer_closed() {
    for separated in [false, true] {
        let fs = MemFs::new();
        write_entries(&Db::open(PATH, many_files(&fs, separated)).unwrap(), b'v');
        let db = Db::open(PATH, many_files(&fs, separated)).unwrap();
        let mut iter = db.iter().unwrap();
        assert!(iter.seek_to_first().unwrap());
        db.close().unwrap();
        let next = Db::open(PATH, many_files(&fs, separated)).unwrap();
        write_entries(&next, b'w');
        next.compact(..).unwrap();
        next.with(&GcOptions { max_dead_fraction: 0.0, ..Default::default() })
            .collect_garbage()
            .unwrap();
        let (count, ended) = read_on(iter);
        assert_eq!(ended, Some(ErrorKind::Closed), "{count} entries, separated: {separated}");
        assert_eq!(next.iter().unwrap().count(), ENTRIES);
    }
}

/// Where the next open removes nothing, an iterator of the previous one goes on to its end.
#[test]
fn iterators_that_outlive_the_close_go_on_while_their_files_are_there() {
    let fs = MemFs::new();
    write_entries(&Db::open(PATH, many_files(&fs, true)).unwrap(), b'v');
    let db = Db::open(PATH, many_files(&fs, true)).unwrap();
    let iter = db.iter().unwrap();
    db.close().unwrap();
    assert_eq!(read_on(iter), (ENTRIES, None));
}

/// Returns the time of gets of values in a rewritten segment that kept every other value, and of
/// gets before the rewrite. The budget either has space for the places of the moved values or not.
fn gets_of_moved_values(memory_budget: usize) -> (Duration, Duration) {
    let fs = MemFs::new();
    let options = Options {
        default: KeyspaceOptions { value_separation_min: Some(0), ..options(&fs).default },
        memory_budget,
        knobs: Knobs { segment_size: 256 << 20, ..Knobs::default() },
        write_buffer_size: 32 << 20,
        block_cache_size: 1 << 20,
        max_dead_fraction: 1.0,
        disable_auto_compactions: true,
        adopt_logs: foldb::LogAdoption::Never,
        ..options(&fs)
    };
    let db = Db::open(PATH, options).unwrap();
    const KEYS: u64 = 300_000;
    (0..KEYS).for_each(|n| db.put(n.to_be_bytes(), [7; 16]).unwrap());
    db.flush().unwrap();
    (0..KEYS).step_by(2).for_each(|n| db.delete(n.to_be_bytes()).unwrap());
    db.compact(..).unwrap();
    let gets = || {
        let start = Instant::now();
        for n in 0..1000u64 {
            let key = (n * 7919 % KEYS) | 1;
            assert_eq!(db.get(key.to_be_bytes()).unwrap().unwrap(), [7; 16]);
        }
        start.elapsed()
    };
    let least = || (0..4).map(|_| gets()).min().unwrap();
    let before = least();
    db.with(&GcOptions { max_dead_fraction: 0.0, ..Default::default() }).collect_garbage().unwrap();
    (before, least())
}

/// Without space for the places of moved values, each get once read all of them.
#[test]
fn gets_of_moved_values_read_a_small_part_of_where_they_lie() {
    let (before, after) = gets_of_moved_values(8 << 20);
    println!("{before:?} before, {after:?} after");
    // A get of a moved value takes six times as long as any other. Reading all places would take
    // 150 times as long.
    assert!(after < 10 * before + Duration::from_millis(100), "{before:?} before, {after:?} after");
}
