//! Collections of adopted logs, and what they reclaim.

use foldb::env::MemFs;
use foldb::garbage::GcOptions;
use foldb::{Db, Options};

use super::adopted_damage::damage;
use super::adoption::{adopting, check_all, is_adopted, open, put_all, value};
use crate::support::segments::{key, segment_files};
use crate::support::{PATH, skipped_where_files_only_grow, steps};

pub(super) fn none_dead() -> GcOptions {
    GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() }
}

/// C1: a garbage collection copies the live values to an ordinary segment; addresses stay.
#[test]
fn collections_of_adopted_logs_keep_every_live_value_and_reclaim_the_rest() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    for memory in [64 << 10, 64 << 20] {
        let fs = MemFs::new();
        let db = open(&fs);
        put_all(&db, 200, 0);
        db.flush().unwrap();
        (0..200).step_by(3).for_each(|n| db.put(key(n), value(n, 1)).unwrap());
        assert!(is_adopted(&db));
        let generation = |n: usize| usize::from(n.is_multiple_of(3));
        let snapshot = db.snapshot();
        db.compact(..).unwrap();
        let logs = segment_files(&fs);
        let options = GcOptions { memory_budget: Some(memory), ..none_dead() };
        let report = db.with(&options).collect_garbage().unwrap();
        assert!(report.bytes_reclaimed() > 60_000, "{report:?}");
        assert!(report.peak_lookup_bytes <= memory as u64, "{report:?}");
        assert!(segment_files(&fs).iter().all(|name| !logs.contains(name)), "{report:?}");
        check_all(&db, 200, generation);
        drop(snapshot);
        let segments = db.stats().segments;
        assert!(segments.dead_bytes < 1000, "{segments:?}");
        assert!(segments.bytes < 210_000, "{segments:?}");
        db.verify().unwrap();
        drop(db);
        let db = open(&fs);
        check_all(&db, 200, generation);
        // A second time, onto values that were moved before.
        (0..100).for_each(|n| db.put(key(n), value(n, 2)).unwrap());
        db.compact(..).unwrap();
        db.with(&options).collect_garbage().unwrap();
        check_all(&db, 200, |n| if n < 100 { 2 } else { generation(n) });
        db.verify().unwrap();
        check_all(&open(&fs.crash()), 200, |n| if n < 100 { 2 } else { generation(n) });
    }
}

/// Background work reclaims what adopted logs hold besides live values.
#[test]
fn the_dead_bound_holds_over_adopted_logs() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let options = Options { disable_auto_compactions: false, ..adopting(&fs) };
    let db = Db::open(PATH, options).unwrap();
    for generation in 0..20 {
        (0..60).for_each(|n| db.put(key(n * 7 % 100), value(n * 7 % 100, generation)).unwrap());
        (60..100).filter(|n| n % 20 == generation).for_each(|n| {
            db.put(key(n * 7 % 100), value(n * 7 % 100, generation)).unwrap();
        });
        db.flush().unwrap();
        steps::run_background(&db, |_| {});
    }
    db.wait_for_background().unwrap();
    let stats = db.stats();
    assert!(stats.bytes_adopted > 500_000, "{stats:?}");
    let (dead, bytes) = (stats.segments.dead_bytes as f64, stats.segments.bytes as f64);
    assert!(dead <= 0.25 * bytes, "{:?}", stats.segments);
    db.verify().unwrap();
}

/// A garbage collection of a log with a damaged frame copies the values without hints.
#[test]
fn a_log_whose_keys_are_damaged_is_collected_without_hints() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    (0..60).for_each(|n| db.put(key(n), value(n, 0)).unwrap());
    assert!(is_adopted(&db));
    (0..30).for_each(|n| db.put(key(n), value(n, 1)).unwrap());
    db.compact(..).unwrap();
    drop(db);
    let name = damage(&fs, 40, 0, -4);
    let db = open(&fs);
    db.with(&none_dead()).collect_garbage().unwrap();
    assert!(!segment_files(&fs).contains(&name));
    check_all(&db, 60, |n| usize::from(n < 30));
    db.verify().unwrap();
}

/// A checkpoint shares the file. Neither database sees what the other does with it.
#[test]
fn a_checkpoint_shares_adopted_logs() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 60, 0);
    assert!(is_adopted(&db));
    put_all(&db, 10, 1);
    let report = db.checkpoint("copy").unwrap();
    assert_eq!((report.segments_linked, report.segments_copied, report.logs), (1, 0, 1));
    put_all(&db, 60, 2);
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    check_all(&db, 60, |_| 2);
    drop(db);
    Db::destroy(PATH, &adopting(&fs)).unwrap();
    let db = Db::open("copy", adopting(&fs)).unwrap();
    check_all(&db, 60, |n| usize::from(n < 10));
    db.verify().unwrap();
}
