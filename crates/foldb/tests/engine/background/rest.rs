//! Tests work at rest, after writes end, and work for reads: compactions that begin when
//! reads have lost enough time.

use std::sync::Arc;
use std::time::Duration;

use foldb::env::{Env, ManualClock, MemFs};
use foldb::stats::ReadReport;
use foldb::{Db, KeyspaceOptions, Options, ReadOptions};

use crate::support::{PATH, options};

/// More records only cost time: builds with debug assertions check them at each install.
const KEYS: u32 = 3000;

fn key(n: u32) -> [u8; 8] {
    u64::from(n).to_be_bytes()
}

/// Writes all keys and flushes them: a run of level 0.
fn write_run(db: &Db, round: u32) {
    for n in 0..KEYS {
        db.put(key(n), (n + round).to_le_bytes()).unwrap();
    }
    db.flush().unwrap();
}

fn runs(db: &Db) -> u64 {
    db.stats().runs_per_read()
}

fn step_until_nothing_is_left(db: &Db) {
    while db.step_background().unwrap() {}
}

/// A database without threads, with three runs and no compaction due.
fn with_three_runs(clock: &Arc<ManualClock>) -> Db {
    let fs = MemFs::default();
    let env = Env { clock: Arc::clone(clock) as _, ..Env::in_memory(fs.clone()) };
    let db = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
    (0..3).for_each(|round| write_run(&db, round));
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 3, "below the trigger");
    db
}

fn assert_newest(db: &Db) {
    for (n, entry) in (0..KEYS).zip(db.iter().unwrap()) {
        let (found, value) = entry.unwrap();
        assert_eq!((&found[..], &value[..]), (&key(n)[..], &(n + 2).to_le_bytes()[..]));
    }
}

#[test]
fn a_small_tree_becomes_one_run_after_a_second_without_writes() {
    let clock = Arc::new(ManualClock::default());
    let db = with_three_runs(&clock);
    clock.advance(Duration::from_millis(999));
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 3);
    // A write restarts the second.
    db.put(key(0), 2u32.to_le_bytes()).unwrap();
    clock.advance(Duration::from_millis(999));
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 3);
    clock.advance(Duration::from_secs(1));
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 1);
    let written = db.stats().bytes_compaction;
    clock.advance(Duration::from_secs(1000));
    step_until_nothing_is_left(&db);
    assert_eq!(db.stats().bytes_compaction, written, "a tree at rest stays as it is");
    assert_newest(&db);
}

/// Returns how many blocks a scan of the keys before this one visits.
fn blocks_before(db: &Db, end: u32) -> u64 {
    let report = ReadReport::default();
    let options = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
    let entries = db.with(&options).range(..key(end)).unwrap();
    assert_eq!(entries.count() as u32, end.div_ceil(24));
    report.cached_blocks() + report.read_blocks()
}

/// Tombstones over data that is not delete-heavy stay in place, and each scan passes them. Here
/// they are in short rows: a walk remembers long ones.
#[test]
fn scans_over_deleted_keys_lead_to_their_end() {
    let fs = MemFs::default();
    let db = Db::open(PATH, options(&fs)).unwrap();
    write_run(&db, 0);
    let is_deleted = |n: &u32| *n < KEYS / 5 && !n.is_multiple_of(24);
    (0..KEYS).filter(is_deleted).for_each(|n| db.delete(key(n)).unwrap());
    let is_kept = |n: &u32| !is_deleted(n);
    (0..KEYS).filter(is_kept).for_each(|n| db.put(key(n), (n + 2).to_le_bytes()).unwrap());
    db.flush().unwrap();
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 2, "no compaction is due");

    // A scan behind them loses time at two runs only, which is little.
    assert_eq!(db.range(key(KEYS / 5)..).unwrap().count(), (KEYS - KEYS / 5) as usize);
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 2);

    let before = blocks_before(&db, KEYS / 5);
    let mut scans = 1;
    while runs(&db) == 2 {
        step_until_nothing_is_left(&db);
        blocks_before(&db, KEYS / 5);
        scans += 1;
        assert!(scans < 40, "forty scans did not lead to a compaction");
    }
    let after = blocks_before(&db, KEYS / 5);
    assert!(before >= 4 && after < before, "{before} blocks before, {after} after {scans} scans");
    let written = db.stats().bytes_compaction;
    (0..100).for_each(|_| assert_eq!(blocks_before(&db, KEYS / 5), after));
    step_until_nothing_is_left(&db);
    assert_eq!(db.stats().bytes_compaction, written, "no job is left");
}

#[test]
fn a_wait_for_background_work_waits_for_rest() {
    let db = with_three_runs(&Arc::default());
    db.wait_for_background().unwrap();
    assert_eq!(runs(&db), 1);
    assert_newest(&db);
}

#[test]
fn a_database_without_compactions_does_no_work_at_rest() {
    let fs = MemFs::default();
    let db = Db::open(PATH, Options { disable_auto_compactions: true, ..options(&fs) }).unwrap();
    (0..3).for_each(|round| write_run(&db, round));
    db.wait_for_background().unwrap();
    assert_eq!(runs(&db), 3);
}

/// Deletes all keys.
type Delete = fn(&Db);

const DELETES: [(&str, Delete); 3] = [
    ("clear", |db| db.clear().unwrap()),
    ("a range delete", |db| db.delete_range(key(0)..key(KEYS)).unwrap()),
    ("single deletes", |db| (0..KEYS).for_each(|n| db.delete(key(n)).unwrap())),
];

/// Bytes of tables and value segments.
fn data_bytes(db: &Db) -> u64 {
    let stats = db.stats();
    stats.levels.iter().map(|level| level.bytes).sum::<u64>() + stats.segments.bytes
}

/// Writes 3 MB that do not compress.
fn fill(db: &Db) {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut value = [0; 1000];
    for n in 0..KEYS {
        rng.fill(&mut value);
        db.put(key(n), value).unwrap();
    }
    db.flush().unwrap();
    db.wait_for_background().unwrap();
    assert!(data_bytes(db) > 2 << 20);
}

/// The deletes stayed in the memtable, and what they hid stayed on the disk, until a flush by hand.
#[test]
fn the_space_of_deleted_data_returns_at_rest() {
    for (how, delete) in DELETES {
        for value_separation_min in [None, Some(500)] {
            let clock = Arc::new(ManualClock::default());
            let fs = MemFs::default();
            let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(fs.clone()) };
            let own = Options {
                env,
                default: KeyspaceOptions { value_separation_min, ..options(&fs).default },
                ..options(&fs)
            };
            let db = Db::open(PATH, own).unwrap();
            fill(&db);
            // A few deletes wait for the next flush.
            let second = || {
                clock.advance(Duration::from_secs(1));
                step_until_nothing_is_left(&db);
            };
            let flushes = db.stats().flushes;
            (0..10).for_each(|n| db.delete(key(n)).unwrap());
            (0..4).for_each(|_| second());
            assert_eq!(db.stats().flushes, flushes, "{how}");
            delete(&db);
            (0..4).for_each(|_| second());
            let left = data_bytes(&db);
            assert!(left < 100 << 10, "{left} bytes stay after {how}, {value_separation_min:?}");
            assert!(db.is_empty().unwrap());
        }
    }
}

#[test]
fn the_space_of_deleted_data_returns_within_thirty_seconds_of_rest() {
    for (how, delete) in DELETES {
        let directory = tempfile::tempdir().unwrap();
        let db = Db::create(directory.path().join("db")).unwrap();
        fill(&db);
        delete(&db);
        let begin = std::time::Instant::now();
        while data_bytes(&db) > 100 << 10 {
            assert!(begin.elapsed() < Duration::from_secs(30), "{} after {how}", data_bytes(&db));
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// With threads, work at rest begins without a call.
#[test]
fn threads_start_work_at_rest_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::open(directory.path(), Options { create_if_missing: true, ..Options::default() })
        .unwrap();
    (0..3).for_each(|round| write_run(&db, round));
    let begin = std::time::Instant::now();
    while runs(&db) > 1 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} runs", runs(&db));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_newest(&db);
}

#[test]
fn seeks_lead_to_a_merge_of_the_runs_they_meet() {
    let db = with_three_runs(&Arc::default());
    let mut seeks = 0;
    while runs(&db) > 1 {
        assert!(seeks < 100_000, "{} runs", runs(&db));
        let mut iter = db.iter().unwrap();
        assert!(iter.seek(key(seeks % KEYS)).unwrap());
        drop(iter);
        seeks += 1;
        step_until_nothing_is_left(&db);
    }
    // 9000 records of a few bytes: about 700 KB of work, for half of it, at 1 KB a seek.
    assert!((100..2000).contains(&seeks), "{seeks}");
    assert_newest(&db);
}

/// A long-lived iterator reports its effort before the caller drops it, too.
#[test]
fn one_iterator_that_seeks_on_and_on_leads_to_a_merge() {
    let db = with_three_runs(&Arc::default());
    let mut iter = db.iter().unwrap();
    for n in 0..3000 {
        assert!(iter.seek(key(n % KEYS)).unwrap());
    }
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 1);
}

#[test]
fn point_reads_that_no_filter_stops_lead_to_a_merge() {
    let fs = MemFs::default();
    let db = Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { bloom_bits: Some(0), ..options(&fs).default },
            ..options(&fs)
        },
    )
    .unwrap();
    // Only the oldest run has all keys; seeks visit two others in vain.
    write_run(&db, 2);
    for _ in 0..2 {
        db.put(key(0), 2u32.to_le_bytes()).unwrap();
        db.put(key(KEYS - 1), (KEYS + 1).to_le_bytes()).unwrap();
        db.flush().unwrap();
    }
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 3);
    for n in 0..5000 {
        assert!(db.get(key(1 + n % 1000)).unwrap().is_some());
    }
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 1);
    assert_newest(&db);
}

#[test]
fn a_pass_over_everything_leads_to_no_merge() {
    let db = with_three_runs(&Arc::default());
    assert_eq!(db.iter().unwrap().count(), KEYS as usize);
    step_until_nothing_is_left(&db);
    assert_eq!(runs(&db), 3);
    let written = db.stats().bytes_compaction;
    assert_eq!(written, 0);
}

/// Reads of one run lose nothing. They cause no compaction that would delay writes.
#[test]
fn reads_of_one_run_lose_nothing() {
    let db = with_three_runs(&Arc::default());
    db.wait_for_background().unwrap();
    for n in 0..KEYS {
        let mut iter = db.iter().unwrap();
        assert!(iter.seek(key(n)).unwrap());
    }
    let written = db.stats().bytes_compaction;
    write_run(&db, 2);
    step_until_nothing_is_left(&db);
    assert_eq!((runs(&db), db.stats().bytes_compaction), (2, written));
}
