//! Adoption: a log of mostly separated values becomes a value segment. Only the written bytes
//! show the difference.

use std::path::Path;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::internals::Knobs;
use foldb::{Db, KeyspaceOptions, LogAdoption, Options, Reader, Value, WriteBatch, WriteOptions};

use super::adopted_collections::none_dead;
use crate::support;
use crate::support::segments::{key, segment_files};
use crate::support::{PATH, skipped_where_files_only_grow};

/// Options that adopt logs of some kilobytes, without background work.
pub(super) fn adopting(fs: &MemFs) -> Options {
    Options {
        default: KeyspaceOptions {
            value_separation_min: Some(500),
            ..support::options(fs).default
        },
        knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
        adopt_logs: LogAdoption::Always,
        disable_auto_compactions: true,
        ..support::options(fs)
    }
}

pub(super) fn open(fs: &MemFs) -> Db {
    Db::open(PATH, adopting(fs)).unwrap()
}

/// Returns a value of 1000 bytes that names its key and generation.
pub(super) fn value(n: usize, generation: usize) -> Vec<u8> {
    let mut value = format!("{n}.{generation}.").into_bytes();
    value.resize(1000, b'a' + (n + generation) as u8 % 26);
    value
}

/// Puts the keys in another order than their own.
pub(super) fn put_all(db: &Db, count: usize, generation: usize) {
    (0..count).for_each(|n| {
        let n = (n * 37 + 11) % count;
        db.put(key(n), value(n, generation)).unwrap();
    });
}

pub(super) fn check_all(db: &impl Reader, count: usize, generation: impl Fn(usize) -> usize) {
    let expected: Vec<_> =
        (0..count).map(|n| (key(n).into_bytes(), value(n, generation(n)))).collect();
    let owned = |entry: foldb::Result<(Vec<u8>, Value)>| {
        entry.map(|(key, value)| (key, value.into_owned())).unwrap()
    };
    assert!(db.iter().unwrap().map(owned).eq(expected.iter().cloned()));
    assert!(db.iter().unwrap().rev().map(owned).eq(expected.iter().rev().cloned()));
    for (n, found) in db.multi_get((0..count).map(key)).unwrap().into_iter().enumerate() {
        assert_eq!(found.unwrap().unwrap().into_owned(), value(n, generation(n)));
        assert_eq!(db.get(key(n)).unwrap().unwrap().into_owned(), value(n, generation(n)));
    }
}

fn files(fs: &MemFs, extension: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    names
}

#[test]
fn a_log_of_separated_values_becomes_a_segment_and_reads_like_one() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    for hints in [true, false] {
        let fs = MemFs::new();
        let mut options = adopting(&fs);
        options.knobs.value_hints = hints;
        let db = Db::open(PATH, options).unwrap();
        let log = files(&fs, ".log")[0].clone();
        put_all(&db, 100, 0);
        db.put("small", "inline").unwrap();
        let snapshot = db.snapshot();
        db.flush().unwrap();
        let stats = db.stats();
        assert_eq!((stats.bytes_segments, stats.bytes_adopted / 1000), (0, 101), "{stats:?}");
        assert!(stats.bytes_flush < 10_000, "the tree holds addresses");
        assert!(stats.write_amplification() < 1.2, "{}", stats.write_amplification());
        assert_eq!(segment_files(&fs), [log.replace(".log", ".seg")]);
        assert!(!files(&fs, ".log").contains(&log), "the file is still there as a log");
        db.delete("small").unwrap();
        check_all(&db, 100, |_| 0);
        put_all(&db, 50, 1);
        assert_eq!(snapshot.get(key(7)).unwrap().unwrap().into_owned(), value(7, 0));
        db.flush().unwrap();
        assert_eq!(segment_files(&fs).len(), 2);
        let generation = |n| usize::from(n < 50);
        check_all(&db, 100, generation);
        db.verify().unwrap();
        assert_eq!(snapshot.get(key(7)).unwrap().unwrap().into_owned(), value(7, 0));
        drop(snapshot);
        db.checkpoint("copy").unwrap();
        drop(db);
        for path in [PATH, "copy"] {
            let db = Db::open_read_only(path, adopting(&fs)).unwrap();
            check_all(&db, 100, generation);
            drop(db);
            let db = Db::open(path, adopting(&fs)).unwrap();
            check_all(&db, 100, generation);
            db.verify().unwrap();
            db.compact(..).unwrap();
            check_all(&db, 100, generation);
            assert_eq!(db.stats().bytes_segments, 0);
            db.verify().unwrap();
        }
    }
}

/// Returns whether a flush of the last writes makes the log a segment.
pub(super) fn is_adopted(db: &Db) -> bool {
    let before = db.stats().bytes_adopted;
    db.flush().unwrap();
    db.stats().bytes_adopted > before
}

#[test]
fn a_log_with_more_dead_than_may_be_is_not_adopted() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    // Three of four values are overwritten in the log itself.
    (0..4).for_each(|generation| put_all(&db, 30, generation));
    assert!(!is_adopted(&db));
    check_all(&db, 30, |_| 3);
    let stats = db.stats();
    assert!(stats.segments.dead_bytes * 10 < stats.segments.bytes, "{:?}", stats.segments);
    // One of ten is overwritten.
    put_all(&db, 40, 4);
    put_all(&db, 4, 5);
    assert!(is_adopted(&db));
    check_all(&db, 40, |n| if n < 4 { 5 } else { 4 });
    let segments = db.stats().segments;
    assert!(segments.dead_bytes > 6_000, "frames and headers count as dead: {segments:?}");
    // Half are deleted, one by one or all at once.
    put_all(&db, 40, 6);
    (0..20).for_each(|n| db.delete(key(n)).unwrap());
    assert!(!is_adopted(&db));
    put_all(&db, 40, 7);
    db.delete_range(key(0)..key(20)).unwrap();
    assert!(!is_adopted(&db));
    put_all(&db, 20, 7);
    check_all(&db, 40, |_| 7);
    db.verify().unwrap();
}

#[test]
fn small_folded_unlogged_and_multi_frame_values_are_copied() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    // A short log.
    put_all(&db, 3, 0);
    assert!(!is_adopted(&db));
    // Small values beside large ones.
    put_all(&db, 20, 0);
    (0..200).for_each(|n| db.put(format!("small{n}"), [7; 100]).unwrap());
    assert!(!is_adopted(&db));
    (0..200).for_each(|n| db.delete(format!("small{n}")).unwrap());
    db.flush().unwrap();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    (0..40).for_each(|n| db.with(&unlogged).put(key(n), value(n, 1)).unwrap());
    assert!(!is_adopted(&db));
    check_all(&db, 40, |_| 1);

    // In a log that is adopted: an operand over a value, a value of two frames, and an unlogged
    // one.
    put_all(&db, 100, 2);
    let list = db.operator("append").unwrap();
    db.merge_with(&list, key(5), "+").unwrap();
    db.with(&unlogged).put(key(6), value(6, 3)).unwrap();
    let written = db.stats().bytes_segments;
    assert!(is_adopted(&db));
    let copied = db.stats().bytes_segments - written;
    assert!((2000..3000).contains(&copied), "{copied}");
    let mut appended = value(5, 2);
    appended.push(b'+');
    assert_eq!(db.get(key(5)).unwrap().unwrap().into_owned(), appended);
    db.put(key(5), value(5, 2)).unwrap();
    check_all(&db, 100, |n| if n == 6 { 3 } else { 2 });
    let huge = vec![b'h'; 3 << 20];
    let mut batch = WriteBatch::new();
    for n in 0..8u8 {
        batch.put(format!("part{n}"), vec![n; 200 << 10]);
    }
    db.put("huge", &huge).unwrap();
    db.write(&batch).unwrap();
    (0..20u8).for_each(|n| db.put(format!("whole{n:02}"), vec![n; 1000 << 10]).unwrap());
    assert!(is_adopted(&db));
    drop(db);
    let db = open(&fs);
    assert_eq!(db.get("huge").unwrap().unwrap().into_owned(), huge);
    for n in 0..8u8 {
        assert_eq!(db.get(format!("part{n}")).unwrap().unwrap(), vec![n; 200 << 10][..]);
    }
    for n in 0..20u8 {
        assert_eq!(db.get(format!("whole{n:02}")).unwrap().unwrap(), vec![n; 1000 << 10][..]);
    }
    db.verify().unwrap();
}

#[test]
fn a_batch_of_large_and_small_writes_is_whole_in_an_adopted_log() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    let own = KeyspaceOptions { value_separation_min: Some(500), ..KeyspaceOptions::default() };
    let other = db.create_keyspace("other", own).unwrap();
    for n in 0..20 {
        let mut batch = WriteBatch::new();
        batch.put(key(n), value(n, 0)).put_in(&other, key(n), "small").delete(key(n + 1));
        batch.put(key(n + 1), value(n + 1, 1)).put_in(&other, "last", n.to_string());
        db.write(&batch).unwrap();
    }
    let check = |db: &Db| {
        check_all(db, 21, |n| usize::from(n == 20));
        let other = db.keyspace("other").unwrap();
        assert_eq!(other.get("last").unwrap().unwrap(), b"19");
        assert_eq!(other.iter().unwrap().count(), 21);
        db.verify().unwrap();
    };
    check(&db);
    // The log of a killed process is replayed; half of its contents are dead.
    let killed = fs.kill();
    check(&open(&killed));
    assert!(!is_adopted(&db));
    check(&db);
    for n in 0..21 {
        let mut batch = WriteBatch::new();
        batch.put(key(n), value(n, usize::from(n == 20))).put_in(&other, key(n), "small");
        db.write(&batch).unwrap();
    }
    other.delete(key(20)).unwrap();
    assert!(is_adopted(&db));
    check(&db);
    check(&open(&fs.kill()));
}

#[test]
fn the_keyspace_with_most_of_a_log_adopts_it() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    let own = KeyspaceOptions { value_separation_min: Some(500), ..KeyspaceOptions::default() };
    let other = db.create_keyspace("other", own).unwrap();
    for n in 0..50 {
        other.put(key(n), value(n, 1)).unwrap();
        if n < 5 {
            db.put(key(n), value(n, 0)).unwrap();
        }
    }
    assert!(is_adopted(&db));
    let copied = db.stats().bytes_segments;
    assert!((5000..6000).contains(&copied), "{copied}");
    // Neither keyspace has most of this log.
    (0..50).for_each(|n| other.put(key(n), value(n, 2)).unwrap());
    put_all(&db, 50, 3);
    assert!(!is_adopted(&db));
    let check = |db: &Db| {
        check_all(db, 50, |_| 3);
        let other = db.keyspace("other").unwrap();
        for n in 0..50 {
            assert_eq!(other.get(key(n)).unwrap().unwrap().into_owned(), value(n, 2));
        }
        db.verify().unwrap();
    };
    check(&db);
    (0..50).for_each(|n| other.put(key(n), value(n, 2)).unwrap());
    assert!(is_adopted(&db));
    drop(other);
    drop(db);
    let db = open(&fs);
    check(&db);
    db.drop_keyspace("other").unwrap();
    check_all(&db, 50, |_| 3);
    assert_eq!(db.stats().segments.files, segment_files(&fs).len() as u64);
}

/// H11, H12: at any stop during the flush, every synced write survives and no orphan file stays.
#[test]
fn a_crash_at_any_moment_of_an_adoption_loses_nothing_and_leaves_nothing() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let mut moment = 1;
    loop {
        let fs = MemFs::new();
        let db = open(&fs);
        put_all(&db, 30, 0);
        db.flush().unwrap();
        put_all(&db, 20, 1);
        db.sync().unwrap();
        fs.inject(Fault::on_mutation().nth(moment).forever());
        let outcome = db.flush();
        for (seed, survivor) in
            [fs.kill(), fs.crash(), fs.crash_with(moment), fs.crash_with(!moment)]
                .iter()
                .enumerate()
        {
            survivor.clear_faults();
            let db = open(survivor);
            check_all(&db, 30, |n| usize::from(n < 20));
            let files = segment_files(survivor);
            let stats = db.stats();
            assert_eq!(stats.segments.files, files.len() as u64, "{moment} {seed}: {files:?}");
            db.verify().unwrap();
            put_all(&db, 30, 2);
            assert!(is_adopted(&db), "{moment} {seed}");
            drop(db);
            check_all(&open(&survivor.crash()), 30, |_| 2);
        }
        // The disk works again: the flush is tried again, unless a sync failed.
        fs.clear_faults();
        if outcome.is_ok() {
            assert!(db.stats().bytes_adopted > 40_000);
            break;
        }
        if db.flush().is_ok() {
            check_all(&db, 30, |n| usize::from(n < 20));
            let files = segment_files(&fs);
            assert_eq!(db.stats().segments.files, files.len() as u64, "{moment}: {files:?}");
            db.verify().unwrap();
        }
        moment += 1;
    }
    assert!(moment > 8, "link, cut, sync, table, its sync, directory, edit, its sync: {moment}");
}

/// Without adoption the log is not kept as a segment. The next open may adopt.
#[test]
fn without_adoption_values_are_copied() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { adopt_logs: LogAdoption::Never, ..adopting(&fs) }).unwrap();
    put_all(&db, 50, 0);
    assert!(!is_adopted(&db));
    drop(db);
    let db = open(&fs);
    put_all(&db, 25, 1);
    assert!(is_adopted(&db));
    drop(db);
    let db = Db::open(PATH, Options { adopt_logs: LogAdoption::Never, ..adopting(&fs) }).unwrap();
    check_all(&db, 50, |n| usize::from(n < 25));
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    check_all(&db, 50, |n| usize::from(n < 25));
    db.verify().unwrap();
}

/// By default a log is adopted only under two conditions. Walks over keys meet its values nearly in
/// order. And its values are so large that no garbage collection copies them to drop the frames.
#[test]
fn logs_are_adopted_by_default_in_key_order_and_of_large_values() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let options = |fs: &MemFs| Options { adopt_logs: LogAdoption::default(), ..adopting(fs) };
    let large = |n: usize, generation| value(n, generation).repeat(3);
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    put_all(&db, 50, 0);
    assert!(!is_adopted(&db), "neither in order nor large");
    (0..50).for_each(|n| db.put(key(n), value(n, 1)).unwrap());
    assert!(!is_adopted(&db), "not large");
    let put = |numbers: &mut dyn Iterator<Item = usize>, generation| {
        numbers.for_each(|n| db.put(key(n), large(n, generation)).unwrap());
    };
    put(&mut (0..50), 2);
    assert!(is_adopted(&db));
    db.collect_garbage().unwrap();
    assert_eq!(db.stats().bytes_gc_written, 0, "garbage collection leaves the frames' overhead");
    // One of ten came late, then one of five.
    put(&mut (0..50).filter(|n| n % 10 > 0), 3);
    put(&mut (0..50).step_by(10), 3);
    assert!(is_adopted(&db));
    put(&mut (0..50).filter(|n| n % 5 > 0), 4);
    put(&mut (0..50).step_by(5), 4);
    assert!(!is_adopted(&db));
    // A backward order does not help walks that begin at the first key.
    put(&mut (0..50).rev(), 5);
    assert!(!is_adopted(&db));
    drop(db);
    let db = Db::open(PATH, options(&fs)).unwrap();
    for (n, entry) in db.iter().unwrap().enumerate() {
        assert_eq!(entry.unwrap().1, large(n, 5)[..]);
    }
    db.verify().unwrap();
}

#[test]
fn values_are_copied_where_files_cannot_have_two_names() {
    let fs = MemFs::new();
    let db = open(&fs);
    fs.inject(Fault::on(Operation::HardLink).kind(std::io::ErrorKind::Unsupported).forever());
    put_all(&db, 50, 0);
    assert!(!is_adopted(&db));
    assert!(db.stats().bytes_segments > 50_000);
    check_all(&db, 50, |_| 0);
    db.verify().unwrap();
}

#[test]
fn what_tells_where_values_lie_is_accounted_for() {
    let fs = MemFs::new();
    let db = open(&fs);
    let before = db.memory().logs;
    put_all(&db, 1000, 0);
    let taken = db.memory().logs - before;
    assert!((16_000..64_000).contains(&taken), "{taken}");
    db.flush().unwrap();
    assert_eq!(db.memory().logs, before);
}
