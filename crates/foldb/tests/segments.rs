//! Value segments: what is separated reads like anything else, whatever happens to the files.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldb::env::mem::Fault;
use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, KeyspaceOptions, MergeOptions, Options};

use support::{PATH, assert_error, error_of, steps};

/// Values of 100 bytes and more are separated; files are small.
fn separating(fs: &MemFs) -> Options {
    Options { value_separation_min: Some(100), segment_size: 16 << 10, ..support::options(fs) }
}

fn open(fs: &MemFs) -> Db {
    Db::open(PATH, separating(fs)).unwrap()
}

fn key(n: usize) -> String {
    format!("key{n:04}")
}

/// A value of 200 bytes that says whose it is.
fn value(n: usize, generation: usize) -> Vec<u8> {
    let mut value = format!("{n}.{generation}.").into_bytes();
    value.resize(200, b'a' + (n + generation) as u8 % 26);
    value
}

fn put_all(db: &Db, keys: impl Iterator<Item = usize>, generation: usize) {
    keys.for_each(|n| db.put(key(n), value(n, generation)).unwrap());
}

/// Checks every way of reading keys `0..count`, where `generation` says what each holds.
fn check_all(db: &Db, count: usize, generation: impl Fn(usize) -> Option<usize>) {
    let expected: Vec<_> =
        (0..count).filter_map(|n| Some((key(n).into_bytes(), value(n, generation(n)?)))).collect();
    let scanned = |iter: foldb::Iter| {
        iter.map(|entry| entry.map(|(key, value)| (key, value.into_owned())))
            .collect::<foldb::Result<Vec<_>>>()
            .unwrap()
    };
    assert_eq!(scanned(db.iter().unwrap()), expected);
    let mut backwards: Vec<_> =
        db.iter().unwrap().reversed().map(|entry| entry.unwrap().1.into_owned()).collect();
    backwards.reverse();
    assert_eq!(backwards, expected.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
    let many = db.multi_get((0..count).map(key)).unwrap();
    for (n, found) in many.into_iter().enumerate() {
        let expected = generation(n).map(|generation| value(n, generation));
        assert_eq!(found.unwrap().map(foldb::Value::into_owned), expected, "{n}");
        assert_eq!(db.get(key(n)).unwrap().map(foldb::Value::into_owned), expected, "{n}");
    }
}

fn segment_files(fs: &MemFs) -> Vec<String> {
    let mut names = fs.list(std::path::Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(".seg"));
    names.sort();
    names
}

#[test]
fn separated_values_read_like_others() {
    for hints in [true, false] {
        let fs = MemFs::new();
        let options = Options { value_hints: hints, ..separating(&fs) };
        let db = Db::open(PATH, options).unwrap();
        put_all(&db, 0..300, 0);
        db.put("small", "inline").unwrap();
        db.flush().unwrap();
        assert!(db.stats().segments.live_bytes > 300 * 200);
        assert!(db.stats().bytes_flush < 30_000, "the tree holds addresses");
        put_all(&db, (0..300).step_by(3), 1);
        (0..300).skip(1).step_by(3).for_each(|n| db.delete(key(n)).unwrap());
        db.flush().unwrap();
        let generation = |n| match n % 3 {
            0 => Some(1),
            1 => None,
            _ => Some(0),
        };
        db.delete("small").unwrap();
        check_all(&db, 300, generation);
        db.compact::<&str>(..).unwrap();
        check_all(&db, 300, generation);
        drop(db);
        let db = open(&fs);
        check_all(&db, 300, generation);
        let explained = db.explain(key(0)).unwrap();
        assert_eq!(explained.records[0].bytes, 200);
        let chain = db.get_operands(key(0)).unwrap();
        assert!(matches!(chain.base(), foldb::Base::Put(found) if **found == *value(0, 1)));
        db.verify().unwrap();
    }
}

#[test]
fn small_flushes_fill_one_segment_file_until_it_is_full() {
    let fs = MemFs::new();
    let db = open(&fs);
    for n in 0..40 {
        put_all(&db, n..n + 1, 0);
        db.flush().unwrap();
    }
    assert_eq!(segment_files(&fs).len(), 1, "40 flushes of 200 bytes");
    put_all(&db, 40..200, 0);
    db.flush().unwrap();
    assert!((3..=4).contains(&segment_files(&fs).len()), "{:?}", segment_files(&fs));
    check_all(&db, 200, |_| Some(0));
    drop(db);
    // None is appended to by who did not create it.
    let before = segment_files(&fs);
    let db = open(&fs);
    put_all(&db, 200..201, 0);
    db.flush().unwrap();
    assert_eq!(segment_files(&fs).len(), before.len() + 1);
    check_all(&db, 201, |_| Some(0));
}

#[test]
fn a_segment_without_a_live_value_goes_by_itself() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { segment_size: 4096, ..separating(&fs) }).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let first = segment_files(&fs);
    put_all(&db, 0..100, 1);
    db.compact::<&str>(..).unwrap();
    for name in &first {
        assert!(segment_files(&fs).contains(name), "the snapshot's");
    }
    assert_eq!(snapshot.get(key(7)).unwrap().unwrap().into_owned(), value(7, 0));
    drop(snapshot);
    steps::run_background(&db, |_| {});
    db.compact::<&str>(..).unwrap();
    db.put("a", "b").unwrap();
    db.flush().unwrap();
    // Nothing but the file that grows is left of the first ones.
    let left = first.iter().filter(|name| segment_files(&fs).contains(name)).count();
    assert!(left <= 1, "{first:?} of {:?}", segment_files(&fs));
    check_all_but(&db, 1);
}

fn check_all_but(db: &Db, generation: usize) {
    db.delete("a").unwrap();
    check_all(db, 100, |_| Some(generation));
}

/// H22: a small operand over a large base does not write the base anew at every level.
#[test]
fn operands_over_a_separated_base_leave_it_where_it_is() {
    let fs = MemFs::new();
    let db = open(&fs);
    let list = db.operator("append").unwrap();
    let large = vec![b'x'; 4000];
    db.put("k", &large).unwrap();
    // So that what follows is not at the bottom.
    db.compact::<&str>(..).unwrap();
    let written = db.stats().bytes_segments;
    for _ in 0..3 {
        db.merge_with(&list, "k", "+").unwrap();
        db.flush().unwrap();
    }
    steps::run_background(&db, |_| {});
    assert_eq!(
        db.stats().bytes_segments,
        written,
        "three operands, and the base lies where it lay"
    );
    let mut expected = large.clone();
    expected.extend(b"+++");
    assert_eq!(db.get("k").unwrap().unwrap().into_owned(), expected);
    db.compact::<&str>(..).unwrap();
    assert!(db.stats().bytes_segments > written, "folded at the bottom");
    assert_eq!(db.get("k").unwrap().unwrap().into_owned(), expected);
    assert_eq!(db.get_operands("k").unwrap().len(), 0);
}

#[test]
fn a_keyspace_separates_as_it_was_created_to() {
    let fs = MemFs::new();
    let db = Db::open(PATH, support::options(&fs)).unwrap();
    let own = KeyspaceOptions { value_separation_min: Some(50), ..KeyspaceOptions::default() };
    let pictures = db.create_keyspace("pictures", own).unwrap();
    for n in 0..40 {
        pictures.put(key(n), value(n, 0)).unwrap();
        db.put(key(n), value(n, 1)).unwrap();
    }
    db.flush().unwrap();
    let live = db.stats().segments.live_bytes;
    assert!((40 * 200..60 * 200).contains(&live), "one keyspace of two: {live}");
    drop((pictures, db));
    let db = Db::open(PATH, support::options(&fs)).unwrap();
    let pictures = db.keyspace("pictures").unwrap();
    pictures.put(key(40), value(40, 0)).unwrap();
    db.flush().unwrap();
    assert!(db.stats().segments.live_bytes > live);
    for n in 0..41 {
        assert_eq!(pictures.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
    }
    drop(pictures);
    db.drop_keyspace("pictures").unwrap();
    assert_eq!(segment_files(&fs), Vec::<String>::new());
    check_all(&db, 40, |_| Some(1));
}

/// Open succeeds, a read of a lost value says so, and all else goes on.
#[test]
fn a_segment_lost_or_damaged_fails_the_reads_of_its_values_alone() {
    for damage in [true, false] {
        let fs = MemFs::new();
        let db = open(&fs);
        put_all(&db, 0..20, 0);
        db.compact::<&str>(..).unwrap();
        drop(db);
        let db = open(&fs);
        put_all(&db, 20..40, 0);
        db.flush().unwrap();
        drop(db);
        let name = segment_files(&fs)[0].clone();
        let path = std::path::Path::new(PATH).join(&name);
        if damage {
            let mut bytes = fs.read(&path).unwrap();
            let at = bytes.windows(4).position(|window| window == b"7.0.").unwrap();
            bytes[at + 9] ^= 1;
            fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
        } else {
            fs.remove(&path).unwrap();
        }
        let db = open(&fs);
        let error = assert_error(db.get(key(7)), ErrorKind::Corruption, Some(&name));
        assert!(error.to_string().contains("key0007"), "{error}");
        for n in 20..40 {
            assert_eq!(db.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
        }
        assert_eq!(db.get(key(6)).is_ok(), damage);
        let scanned: Vec<_> = db.iter().unwrap().collect();
        assert_eq!(scanned.len(), 40, "the entry is there, its value is not");
        assert_eq!(
            scanned.iter().filter(|entry| entry.is_err()).count(),
            if damage { 1 } else { 20 }
        );
        assert!(error_of(db.verify()).to_string().contains(&name));
        // What is merged onto a lost value waits; what replaces one does not.
        let list = db.operator("append").unwrap();
        db.merge_with(&list, key(7), "+").unwrap();
        db.compact::<&str>(..).unwrap();
        assert_error(db.get(key(7)), ErrorKind::Corruption, Some(&name));
        db.put(key(7), "new").unwrap();
        db.compact::<&str>(..).unwrap();
        assert_eq!(db.get(key(7)).unwrap().unwrap(), b"new");
        let shown = Db::open_read_only(PATH, separating(&fs)).unwrap();
        assert_eq!(shown.get(key(25)).unwrap().unwrap().into_owned(), value(25, 0));
    }
}

/// H12: what grows is copied, what does not is linked; both databases go on by themselves.
#[test]
fn a_checkpoint_copies_the_segment_file_that_grows() {
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 0..150, 0);
    db.flush().unwrap();
    let report = db.checkpoint("copy").unwrap();
    assert!(report.segments_linked >= 1, "{report:?}");
    assert_eq!(report.segments_copied, 1, "{report:?}");
    put_all(&db, 0..150, 1);
    db.flush().unwrap();
    let copy = Db::open("copy", separating(&fs)).unwrap();
    put_all(&copy, 100..150, 2);
    copy.compact::<&str>(..).unwrap();
    check_all(&copy, 150, |n| Some(if n < 100 { 0 } else { 2 }));
    check_all(&db, 150, |_| Some(1));
    drop(copy);
    Db::destroy("copy", &separating(&fs)).unwrap();
    db.compact::<&str>(..).unwrap();
    check_all(&db, 150, |_| Some(1));
}

/// A crash leaves nothing that nobody refers to.
#[test]
fn an_open_removes_segment_files_of_nobody() {
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 0..10, 0);
    db.flush().unwrap();
    drop(db);
    let used = segment_files(&fs);
    fs.create(&std::path::Path::new(PATH).join("000900.seg")).unwrap();
    let db = open(&fs);
    assert_eq!(segment_files(&fs), used);
    check_all(&db, 10, |_| Some(0));
}

/// Merges by hand only.
fn by_hand(fs: &MemFs) -> Options {
    Options { max_dead_fraction: 1.0, ..separating(fs) }
}

/// Of 300 keys those below 200 were overwritten, and every third above is gone.
fn half_dead(fs: &MemFs) -> (Db, impl Fn(usize) -> Option<usize> + use<>) {
    let db = Db::open(PATH, by_hand(fs)).unwrap();
    put_all(&db, 0..300, 0);
    db.flush().unwrap();
    put_all(&db, 0..200, 1);
    (200..300).step_by(3).for_each(|n| db.delete(key(n)).unwrap());
    db.flush().unwrap();
    let generation = |n| match n {
        0..200 => Some(1),
        _ if (n - 200) % 3 == 0 => None,
        _ => Some(0),
    };
    (db, generation)
}

#[test]
fn a_merge_gives_dead_space_back() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    let before = db.stats().segments;
    let report = db.merge_segments(&MergeOptions::default()).unwrap();
    let after = db.stats().segments;
    assert_eq!((report.bytes_before, report.bytes_after), (before.bytes, after.bytes));
    assert!(report.commits > 0 && report.files_rewritten > 0, "{report:?}");
    assert!((0.3..0.6).contains(&report.reduction_ratio()), "{report:?}");
    assert!(after.dead_bytes * 20 <= after.bytes, "{after:?}");
    check_all(&db, 300, &generation);
    db.verify().unwrap();
    let on_disk: u64 = segment_files(&fs)
        .iter()
        .map(|name| fs.len(&std::path::Path::new(PATH).join(name)).unwrap())
        .sum();
    assert_eq!(on_disk, after.bytes, "old files are gone");
    // Again, onto what was moved before.
    put_all(&db, 100..150, 2);
    db.flush().unwrap();
    let generation = |n| if (100..150).contains(&n) { Some(2) } else { generation(n) };
    let none_dead = MergeOptions { max_dead_fraction: 0.0, ..MergeOptions::default() };
    db.merge_segments(&none_dead).unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    check_all(&db, 300, generation);
    drop(db);
    let db = open(&fs);
    check_all(&db, 300, generation);
    assert_eq!(db.stats().segments.dead_bytes, 0);
    db.verify().unwrap();
}

#[test]
fn the_background_keeps_dead_space_within_its_bound() {
    let fs = MemFs::new();
    let db = open(&fs);
    for generation in 0..12 {
        put_all(&db, (0..300).filter(|n| n % 4 != generation % 4), generation);
        db.flush().unwrap();
        steps::run_background(&db, |_| {});
    }
    // Once nobody writes, what is hidden in the tree is known, too.
    for _ in 0..3 {
        steps::run_background(&db, |_| {});
    }
    let stats = db.stats();
    assert!(stats.segment_merges > 0);
    let segments = stats.segments;
    assert!(segments.bytes < 300 * 290 * 3 / 2, "{segments:?}");
    assert!(segments.dead_bytes * 4 <= segments.bytes, "{segments:?}");
    check_all(&db, 300, |n| (0..12).rev().find(|generation| n % 4 != generation % 4));
}

#[test]
fn a_snapshot_taken_before_a_merge_reads_its_values_after_it() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let iter = db.iter().unwrap();
    put_all(&db, 0..100, 1);
    db.flush().unwrap();
    let none_dead = MergeOptions { max_dead_fraction: 0.0, ..MergeOptions::default() };
    db.merge_segments(&none_dead).unwrap();
    for n in 0..100 {
        assert_eq!(snapshot.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
    }
    drop(snapshot);
    db.compact::<&str>(..).unwrap();
    db.merge_segments(&none_dead).unwrap();
    // The iterator's version is older than all of that, and so are the files it reads.
    let read: Vec<_> = iter.map(|entry| entry.unwrap().1.into_owned()).collect();
    assert_eq!(read, (0..100).map(|n| value(n, 0)).collect::<Vec<_>>());
    check_all(&db, 100, |_| Some(1));
}

/// What is written while a merge reads and writes stands, whatever it does to the merge's values.
#[test]
fn a_write_during_a_merge_is_never_undone() {
    for moment in 0..6 {
        let fs = MemFs::new();
        let (db, generation) = half_dead(&fs);
        let (writer, calls) = (db.clone(), AtomicU64::new(0));
        let progress = move |_: &foldb::MergeProgress| {
            if calls.fetch_add(1, Ordering::Relaxed) == moment {
                put_all(&writer, (0..300).step_by(7), 5);
                (1..300).step_by(7).for_each(|n| writer.delete(key(n)).unwrap());
                writer.flush().unwrap();
                // All that the merge is just moving is dead before it says where it lies.
                writer.compact::<&str>(..).unwrap();
            }
        };
        let options = MergeOptions {
            memory_budget: Some(64 << 10),
            max_dead_fraction: 0.0,
            progress: Some(Arc::new(progress)),
            ..MergeOptions::default()
        };
        db.merge_segments(&options).unwrap();
        let expected = |n: usize| match n % 7 {
            0 => Some(5),
            1 => None,
            _ => generation(n),
        };
        check_all(&db, 300, expected);
        drop((db, options));
        let db = open(&fs);
        check_all(&db, 300, expected);
        db.verify().unwrap();
        steps::run_background(&db, |_| {});
        check_all(&db, 300, expected);
    }
}

#[test]
fn a_crash_at_each_step_of_a_merge_leaves_the_old_or_the_new_state() {
    let mut reached_end = false;
    for step in 0..200u64 {
        let fs = MemFs::new();
        let (db, generation) = half_dead(&fs);
        db.compact::<&str>(..).unwrap();
        fs.inject(Fault::on_mutation().nth(step + 1).forever());
        let merged = db.merge_segments(&MergeOptions::default());
        reached_end = merged.as_ref().is_ok_and(|report| report.commits > 0);
        fs.clear_faults();
        for survive in [MemFs::kill, MemFs::crash] {
            let fs = survive(&fs);
            let db = open(&fs);
            check_all(&db, 300, &generation);
            db.verify().unwrap();
            let used: Vec<_> = segment_files(&fs);
            drop(db);
            let db = open(&fs);
            assert_eq!(segment_files(&fs), used, "no orphan after the first open");
            check_all(&db, 300, &generation);
        }
        if reached_end {
            break;
        }
    }
    assert!(reached_end, "the last step was not reached");
}

#[test]
fn a_budget_smaller_than_one_value_works() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { segment_size: 8 << 20, ..by_hand(&fs) }).unwrap();
    let large = |n: u8| vec![n; 700_000];
    for n in 0..4 {
        db.put([n], large(n)).unwrap();
    }
    db.flush().unwrap();
    db.put([0], "small").unwrap();
    db.put([2], "small").unwrap();
    db.compact::<&str>(..).unwrap();
    let options = MergeOptions {
        memory_budget: Some(64 << 10),
        max_dead_fraction: 0.0,
        ..MergeOptions::default()
    };
    let report = db.merge_segments(&options).unwrap();
    assert!(report.bytes_reclaimed() > 1_400_000, "{report:?}");
    assert!(report.peak_lookup_bytes <= 64 << 10, "{report:?}");
    assert_eq!(db.get([1]).unwrap().unwrap().into_owned(), large(1));
    assert_eq!(db.get([3]).unwrap().unwrap().into_owned(), large(3));
    assert_eq!(db.get([2]).unwrap().unwrap(), b"small");
}

#[test]
fn a_merge_leaves_a_damaged_segment_alone() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    db.compact::<&str>(..).unwrap();
    drop(db);
    // A value that is alive, in some file.
    let needle = b"250.0.";
    let path = segment_files(&fs)
        .iter()
        .map(|name| std::path::Path::new(PATH).join(name))
        .find(|path| fs.read(path).unwrap().windows(6).any(|window| window == needle))
        .unwrap();
    let mut bytes = fs.read(&path).unwrap();
    let at = bytes.windows(6).position(|window| window == needle).unwrap();
    bytes[at + 20] ^= 1;
    fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    let none_dead = MergeOptions { max_dead_fraction: 0.0, ..MergeOptions::default() };
    db.merge_segments(&none_dead).unwrap();
    assert!(fs.exists(&path));
    assert_error(db.get(key(250)), ErrorKind::Corruption, None);
    for n in (0..300).filter(|&n| n != 250) {
        let found = db.get(key(n)).unwrap().map(foldb::Value::into_owned);
        assert_eq!(found, generation(n).map(|generation| value(n, generation)), "{n}");
    }
}

#[test]
fn a_merge_can_be_cancelled() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    db.compact::<&str>(..).unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&cancel);
    let options = MergeOptions {
        cancel: Some(cancel),
        progress: Some(Arc::new(move |_| set.store(true, Ordering::Relaxed))),
        ..MergeOptions::default()
    };
    let report = db.merge_segments(&options).unwrap();
    assert!(report.cancelled && report.commits == 0, "{report:?}");
    check_all(&db, 300, &generation);
    let report = db.merge_segments(&MergeOptions::default()).unwrap();
    assert!(!report.cancelled && report.commits > 0, "{report:?}");
    check_all(&db, 300, &generation);
}

/// A program that knows nothing of separated values must not open the table or the manifest; what is
/// told to it is that it is too old.
#[test]
fn a_manifest_without_segments_is_as_it_always_was() {
    let fs = MemFs::new();
    let db = Db::open(PATH, support::options(&fs)).unwrap();
    put_all(&db, 0..10, 0);
    db.flush().unwrap();
    assert_eq!(segment_files(&fs), Vec::<String>::new());
    assert_eq!(db.stats().segments, foldb::SegmentStats::default());
}
