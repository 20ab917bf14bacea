//! The memory of a garbage collection, and the bytes that it reads to find live values.

use foldb::env::MemFs;
use foldb::garbage::{GcOptions, GcReport};
use foldb::internals::Knobs;
use foldb::{Db, KeyspaceOptions, Options};

use crate::support::segments::{check_all, key, put_all, separating};
use crate::support::{PATH, options};

/// Options without background garbage collection and compaction.
fn by_hand(fs: &MemFs) -> Options {
    Options { max_dead_fraction: 1.0, disable_auto_compactions: true, ..separating(fs) }
}

/// Returns each number below `count` once, far from its neighbours.
fn scattered(n: usize, count: usize) -> usize {
    n * 7919 % count
}

const KEYS: usize = 30_000;

/// Every other value is dead, so each live one is a stretch of its own.
fn scattered_overwrites(write_budget: usize) -> (MemFs, Db) {
    let fs = MemFs::new();
    let options = Options {
        knobs: Knobs { gc_memory_budget: write_budget, ..Knobs::default() },
        default: KeyspaceOptions { value_separation_min: Some(0), ..by_hand(&fs).default },
        write_buffer_size: 8 << 20,
        target_file_size: 64 << 10,
        ..by_hand(&fs)
    };
    let db = Db::open(PATH, options).unwrap();
    (0..KEYS).for_each(|n| db.put(key(n), small(n, 0)).unwrap());
    db.flush().unwrap();
    for round in 0..3 {
        let overwritten = (0..KEYS / 2).filter(|n| n % 3 == round);
        overwritten.for_each(|n| db.put(key(2 * scattered(n, KEYS / 2)), small(n, 1)).unwrap());
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    (fs, db)
}

fn small(n: usize, generation: usize) -> String {
    format!("{n}.{generation}.with some more")
}

fn collect(db: &Db, memory_budget: usize) -> GcReport {
    let options = GcOptions {
        max_dead_fraction: 0.0,
        memory_budget: Some(memory_budget),
        ..GcOptions::default()
    };
    db.with(&options).collect_garbage().unwrap()
}

fn check(db: &Db) {
    for n in 0..KEYS / 2 {
        let (even, odd) = (2 * scattered(n, KEYS / 2), 2 * n + 1);
        assert_eq!(db.get(key(even)).unwrap().unwrap(), small(n, 1).as_bytes());
        assert_eq!(db.get(key(odd)).unwrap().unwrap(), small(odd, 0).as_bytes());
    }
    db.verify().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
}

/// The budget holds, whether segments were written with this budget or with a thousand times as
/// much.
#[test]
fn collections_of_scattered_values_keep_to_their_budget() {
    for write_budget in [64 << 20, 64 << 10] {
        for budget in [64 << 10, 256 << 10, 1 << 20] {
            let (_fs, db) = scattered_overwrites(write_budget);
            let report = collect(&db, budget);
            assert!(report.bytes_reclaimed() > 400_000, "{report:?}");
            let peak = report.peak_lookup_bytes;
            assert!(peak <= budget as u64, "{peak} bytes of {budget}");
            check(&db);
            // Segments that were rewritten in parts are rewritten again.
            (0..KEYS / 2).for_each(|n| {
                db.put(key(2 * scattered(n, KEYS / 2)), small(n, 1)).unwrap();
            });
            db.compact(..).unwrap();
            let report = collect(&db, budget);
            assert!(report.peak_lookup_bytes <= budget as u64, "{report:?}");
            check(&db);
        }
    }
}

/// Each table refers to each segment, and a garbage collection rewrites some of them.
#[test]
fn a_collection_reads_only_the_references_to_its_segments() {
    const EACH: usize = 100;
    for (segments, victims) in [(20, 2), (80, 2), (80, 8)] {
        let fs = MemFs::new();
        let small_tables = Options { target_file_size: 4 << 10, ..by_hand(&fs) };
        let db = Db::open(PATH, small_tables).unwrap();
        let count = segments * EACH;
        for segment in 0..segments {
            let own = segment * EACH..(segment + 1) * EACH;
            put_all(&db, own.map(|n| scattered(n, count)), 0);
            db.flush().unwrap();
        }
        db.compact(..).unwrap();
        let dead = |n: usize| n.is_multiple_of(2) && n < victims * EACH;
        (0..count).filter(|&n| dead(n)).for_each(|n| db.delete(key(scattered(n, count))).unwrap());
        db.compact(..).unwrap();
        let tables: u64 = db.stats().levels.iter().map(|level| level.tables).sum();
        assert!(tables >= 2, "{tables} tables");

        let options = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
        let report = db.with(&options).collect_garbage().unwrap();
        assert_eq!(db.stats().segments.dead_bytes, 0);
        assert!(report.commits > 0);
        // An entry of 30 bytes and a frame of at least 12 for each table and segment, and the
        // stretches.
        let most = victims as u64 * (tables * 45 + EACH as u64 * 6);
        let read = report.references_read;
        assert!((1..=most).contains(&read), "{victims} of {segments}: {read} bytes, not {most}");
        let place: std::collections::HashMap<usize, usize> =
            (0..count).map(|n| (scattered(n, count), n)).collect();
        check_all(&db, count, |n| (!dead(place[&n])).then_some(0));
    }
}

#[test]
fn a_database_without_separated_values_reads_no_references() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    let report = collect(&db, 1 << 20);
    assert_eq!((report.references_read, report.peak_lookup_bytes), (0, 0));
}
