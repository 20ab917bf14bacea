//! Tests that garbage collection reclaims dead space and changes nothing else, whatever happens
//! meanwhile.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use foldb::env::mem::Fault;
use foldb::env::{Clock, Env, FileSystem, ManualClock, MemFs, SystemClock, SystemThreads};
use foldb::events::{Event, EventListener};
use foldb::garbage::GcOptions;
use foldb::{Db, ErrorKind, Options};

use crate::support::deeds::BeforeChanges;
use crate::support::segments::{check_all, key, open, put_all, segment_files, separating, value};
use crate::support::{PATH, assert_error, steps, watched};

/// Options without background garbage collection.
fn by_hand(fs: &MemFs) -> Options {
    Options { max_dead_fraction: 1.0, ..separating(fs) }
}

/// Options after which no value is known to be dead.
fn none_dead() -> GcOptions {
    GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() }
}

/// Of 300 keys, those below 200 are overwritten, and every third above is deleted.
fn half_dead(fs: &MemFs) -> (Db, impl Fn(usize) -> Option<usize> + use<>) {
    half_dead_in(by_hand(fs))
}

fn half_dead_in(options: Options) -> (Db, impl Fn(usize) -> Option<usize> + use<>) {
    let db = Db::open(PATH, options).unwrap();
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
fn a_collection_reclaims_dead_space() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    let before = db.stats().segments;
    let report = db.collect_garbage().unwrap();
    let after = db.stats().segments;
    assert_eq!((report.bytes_before, report.bytes_after), (before.bytes, after.bytes));
    assert!(report.commits > 0 && report.files_rewritten > 0, "{report:?}");
    assert!((0.3..0.6).contains(&report.reduction_ratio()), "{report:?}");
    assert!(after.dead_bytes * 20 <= after.bytes, "{after:?}");
    check_all(&db, 300, &generation);
    db.verify().unwrap();
    let on_disk: u64 =
        segment_files(&fs).iter().map(|name| fs.len(&Path::new(PATH).join(name)).unwrap()).sum();
    assert_eq!(on_disk, after.bytes, "old files are gone");
    // A second time, onto values that were moved before.
    put_all(&db, 100..150, 2);
    db.flush().unwrap();
    let generation = |n| if (100..150).contains(&n) { Some(2) } else { generation(n) };
    db.with(&none_dead()).collect_garbage().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    check_all(&db, 300, generation);
    drop(db);
    let db = open(&fs);
    check_all(&db, 300, generation);
    assert_eq!(db.stats().segments.dead_bytes, 0);
    db.verify().unwrap();
}

/// The tree learned from its compactions that nothing is ever overwritten, and values are very
/// small. The collection still finds the hidden dead values.
#[test]
fn a_collection_on_demand_finds_what_the_tree_hides() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { disable_auto_compactions: true, ..by_hand(&fs) }).unwrap();
    let small = |n: usize, generation: usize| value(n, generation)[..128].to_vec();
    for round in 0..6 {
        for n in 100 * round..100 * (round + 1) {
            db.put(key(n), small(n, 0)).unwrap();
        }
        db.compact(..).unwrap();
    }
    (0..200).for_each(|n| db.put(key(n), small(n, 1)).unwrap());
    db.flush().unwrap();
    (200..300).for_each(|n| db.delete(key(n)).unwrap());
    db.flush().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0, "nothing is known to be dead");
    let report = db.collect_garbage().unwrap();
    let (dead, after) = (300.0 * 137.0, report.bytes_after as f64);
    assert!(report.bytes_reclaimed() as f64 > 0.9 * dead, "{report:?}");
    assert!(after < 1.1 * 500.0 * 137.0 / 0.95, "{report:?}");
    for n in 0..600 {
        let expected = match n {
            0..200 => Some(small(n, 1)),
            200..300 => None,
            _ => Some(small(n, 0)),
        };
        assert_eq!(db.get(key(n)).unwrap().map(foldb::Value::into_owned), expected, "{n}");
    }
}

/// Deletes that no flush has written yet count too: those of keys, and those of ranges.
#[test]
fn a_collection_on_demand_sees_the_deletes_of_the_memtable() {
    for by_range in [false, true] {
        let fs = MemFs::new();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        put_all(&db, 0..300, 0);
        db.flush().unwrap();
        if by_range {
            db.delete_range(key(0)..key(299)).unwrap();
        } else {
            (0..299).for_each(|n| db.delete(key(n)).unwrap());
        }
        let report = db.collect_garbage().unwrap();
        assert!(report.reduction_ratio() > 0.9, "by_range {by_range}: {report:?}");
        check_all(&db, 300, |n| (n == 299).then_some(0));
    }
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
    // After writes end, background work also finds what the tree hides.
    for _ in 0..3 {
        steps::run_background(&db, |_| {});
    }
    let stats = db.stats();
    assert!(stats.garbage_collections > 0);
    let segments = stats.segments;
    assert!(segments.bytes < 300 * 290 * 3 / 2, "{segments:?}");
    assert!(segments.dead_bytes * 4 <= segments.bytes, "{segments:?}");
    check_all(&db, 300, |n| (0..12).rev().find(|generation| n % 4 != generation % 4));
}

#[test]
fn a_snapshot_taken_before_a_collection_reads_its_values_after_it() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let iter = db.iter().unwrap();
    put_all(&db, 0..100, 1);
    db.flush().unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    for n in 0..100 {
        assert_eq!(snapshot.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
    }
    drop(snapshot);
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    // The iterator's version is older than all of that, and so are the files that it reads.
    let read: Vec<_> = iter.map(|entry| entry.unwrap().1.into_owned()).collect();
    assert_eq!(read, (0..100).map(|n| value(n, 0)).collect::<Vec<_>>());
    check_all(&db, 100, |_| Some(1));
}

/// Overwrites every seventh of 300 keys, and deletes as many.
fn write_meanwhile(db: &Db) {
    put_all(db, (0..300).step_by(7), 5);
    (1..300).step_by(7).for_each(|n| db.delete(key(n)).unwrap());
}

/// Returns the expected contents after [`write_meanwhile`].
fn after_writes(n: usize, before: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    match n % 7 {
        0 => Some(5),
        1 => None,
        _ => before(n),
    }
}

/// Checks now, after a reopen, and after background work.
fn check_for_good(db: Db, options: Options, generation: impl Fn(usize) -> Option<usize>) {
    check_all(&db, 300, &generation);
    drop(db);
    let db = Db::open(PATH, options).unwrap();
    check_all(&db, 300, &generation);
    db.verify().unwrap();
    steps::run_background(&db, |_| {});
    check_all(&db, 300, &generation);
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    check_all(&db, 300, generation);
}

/// A reader in another process keeps the files that a garbage collection removes.
#[test]
fn a_read_only_database_shows_its_moment_after_a_collection() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    let shown = Db::open_read_only(PATH, separating(&fs)).unwrap();
    let report = db.with(&none_dead()).collect_garbage().unwrap();
    assert!(report.commits > 0);
    put_all(&db, 0..300, 9);
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    check_all(&shown, 300, generation);
    check_all(&Db::open_read_only(PATH, separating(&fs)).unwrap(), 300, |_| Some(9));
}

/// A write during a garbage collection stays, whatever it does to the collected values. Here it is
/// also flushed and compacted.
#[test]
fn a_write_during_a_collection_is_never_undone() {
    let mut moments = 0;
    for moment in 0.. {
        let fs = MemFs::new();
        let (db, generation) = half_dead(&fs);
        let (writer, calls) = (db.clone(), Arc::new(AtomicU64::new(0)));
        let seen = Arc::clone(&calls);
        let progress = move |_: &foldb::garbage::GcProgress| {
            if seen.fetch_add(1, Ordering::Relaxed) == moment {
                write_meanwhile(&writer);
                writer.flush().unwrap();
                // Many values that the collection is moving are dead before it records their new
                // places.
                writer.compact(..).unwrap();
            }
        };
        let options = GcOptions {
            memory_budget: Some(64 << 10),
            progress: Some(Arc::new(progress)),
            ..none_dead()
        };
        db.with(&options).collect_garbage().unwrap();
        drop(options);
        if calls.load(Ordering::Relaxed) <= moment {
            break;
        }
        moments += 1;
        check_for_good(db, separating(&fs), |n| after_writes(n, &generation));
    }
    assert!(moments >= 3, "{moments}");
}

/// The same before each single change that the collection makes to a file: those of the manifest
/// and the removal of old files too.
#[test]
fn a_write_before_any_change_of_a_collection_is_never_undone() {
    for change in 0.. {
        let (fs, watch) = (MemFs::new(), Arc::new(BeforeChanges::default()));
        let on_files = || {
            let env = Env { fs: watched(&fs, &watch), ..Env::in_memory(fs.clone()) };
            Options { env, ..by_hand(&fs) }
        };
        let (db, generation) = half_dead_in(on_files());
        db.compact(..).unwrap();
        let writer = db.clone();
        let deed = move |number| {
            if number == change {
                write_meanwhile(&writer);
            }
        };
        watch.start(deed);
        db.with(&none_dead()).collect_garbage().unwrap();
        if watch.stop() <= change {
            assert!(change > 8, "{change} changes");
            return;
        }
        check_for_good(db, on_files(), |n| after_writes(n, &generation));
    }
}

/// Memory for the places of moved records is counted.
#[test]
fn the_index_of_rewritten_segments_is_counted() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    db.put("small", "inline").unwrap();
    db.compact(..).unwrap();
    assert!(db.with(&none_dead()).collect_garbage().unwrap().commits > 0);
    drop(db);
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    db.get("small").unwrap().unwrap();
    let before = db.memory().indexes;
    check_all_of(&db, &generation);
    assert!(db.memory().indexes > before, "{:?}", db.memory());
    let found = db.memory().indexes;
    check_all_of(&db, &generation);
    assert_eq!(db.memory().indexes, found, "once for all readers");
}

fn check_all_of(db: &Db, generation: impl Fn(usize) -> Option<usize>) {
    for n in 0..300 {
        let expected = generation(n).map(|generation| value(n, generation));
        assert_eq!(db.get(key(n)).unwrap().map(foldb::Value::into_owned), expected, "{n}");
    }
}

/// Collects all garbage whenever a flush has written its files and not yet installed them.
#[derive(Debug, Default)]
struct CollectsAtFlush(Mutex<Option<Db>>);

impl EventListener for CollectsAtFlush {
    fn on_event(&self, event: &Event) {
        let db = self.0.lock().unwrap().clone();
        if let (Event::Flush { .. }, Some(db)) = (event, db) {
            let options = GcOptions { compact_first: false, ..none_dead() };
            // On another thread: a listener must not wait for background work.
            let collected =
                std::thread::spawn(move || db.with(&options).collect_garbage().map(drop));
            collected.join().unwrap().unwrap();
        }
    }
}

/// A flush appends to a file. Everything else in the file is rewritten elsewhere before the flush
/// is installed. The file must stay.
#[test]
fn a_file_that_a_flush_is_about_to_install_is_not_taken_away() {
    let fs = MemFs::new();
    let listener = Arc::new(CollectsAtFlush::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![listener.clone()];
    let db = Db::open(PATH, Options { listeners, ..by_hand(&fs) }).unwrap();
    put_all(&db, 0..30, 0);
    db.flush().unwrap();
    (0..20).for_each(|n| db.delete(key(n)).unwrap());
    db.compact(..).unwrap();
    *listener.0.lock().unwrap() = Some(db.clone());
    put_all(&db, 30..50, 0);
    db.flush().unwrap();
    assert_eq!(db.stats().garbage_collections, 1, "in the middle of the flush");
    *listener.0.lock().unwrap() = None;
    let generation = |n| (n >= 20).then_some(0);
    check_all(&db, 50, generation);
    // The next flush removes files that are not needed.
    put_all(&db, 49..50, 0);
    db.flush().unwrap();
    drop(db);
    let db = open(&fs);
    check_all(&db, 50, generation);
    db.verify().unwrap();
}

#[test]
fn a_crash_at_each_step_of_a_collection_leaves_the_old_or_the_new_state() {
    let mut reached_end = false;
    for step in 0..200u64 {
        let fs = MemFs::new();
        let (db, generation) = half_dead(&fs);
        db.compact(..).unwrap();
        fs.inject(Fault::on_mutation().nth(step + 1).forever());
        let collected = db.collect_garbage();
        reached_end = collected.as_ref().is_ok_and(|report| report.commits > 0);
        fs.clear_faults();
        for survive in [MemFs::kill, MemFs::crash] {
            let fs = survive(&fs);
            let db = open(&fs);
            check_all(&db, 300, &generation);
            db.verify().unwrap();
            let used: Vec<_> = segment_files(&fs);
            assert_eq!(used.len() as u64, db.stats().segments.files, "no orphan after the open");
            drop(db);
            let db = open(&fs);
            assert_eq!(segment_files(&fs), used);
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
    let mut options = by_hand(&fs);
    options.knobs.segment_size = 8 << 20;
    let db = Db::open(PATH, options).unwrap();
    let large = |n: u8| vec![n; 700_000];
    for n in 0..4 {
        db.put([n], large(n)).unwrap();
    }
    db.flush().unwrap();
    db.put([0], "small").unwrap();
    db.put([2], "small").unwrap();
    db.compact(..).unwrap();
    let options =
        GcOptions { memory_budget: Some(64 << 10), max_dead_fraction: 0.0, ..GcOptions::default() };
    let report = db.with(&options).collect_garbage().unwrap();
    assert!(report.bytes_reclaimed() > 1_400_000, "{report:?}");
    assert!(report.peak_lookup_bytes <= 64 << 10, "{report:?}");
    assert_eq!(db.get([1]).unwrap().unwrap().into_owned(), large(1));
    assert_eq!(db.get([3]).unwrap().unwrap().into_owned(), large(3));
    assert_eq!(db.get([2]).unwrap().unwrap(), b"small");
}

/// Returns the segment file in which a value lies, and its offset.
fn find(fs: &MemFs, needle: &[u8]) -> (PathBuf, usize) {
    let found = segment_files(fs).iter().find_map(|name| {
        let path = Path::new(PATH).join(name);
        let bytes = fs.read(&path).unwrap();
        let at = bytes.windows(needle.len()).position(|window| window == needle)?;
        Some((path, at))
    });
    found.expect("the value lies in a segment")
}

#[test]
fn a_collection_leaves_a_damaged_segment_alone() {
    for lost in [false, true] {
        let fs = MemFs::new();
        let (db, generation) = half_dead(&fs);
        db.compact(..).unwrap();
        let dead_before = db.stats().segments.dead_bytes;
        drop(db);
        // A live value, in a file with dead ones.
        let (path, at) = find(&fs, b"250.0.");
        let whole = fs.read(&path).unwrap();
        if lost {
            fs.remove(&path).unwrap();
        } else {
            let mut bytes = whole.clone();
            bytes[at + 20] ^= 1;
            fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
        }
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        let report = db.with(&none_dead()).collect_garbage().unwrap();
        assert!(report.commits > 0, "the other files are collected: {report:?}");
        let dead = db.stats().segments.dead_bytes;
        assert!(0 < dead && dead < dead_before, "{dead} of {dead_before}");
        assert_eq!(fs.exists(&path), !lost);
        let name = path.file_name().unwrap().to_str().unwrap();
        let error = assert_error(db.get(key(250)), ErrorKind::Corruption, Some(name));
        assert!(error.to_string().contains("key0250"), "{error}");
        let mut unread = 0;
        for n in 0..300 {
            match db.get(key(n)) {
                Ok(found) => {
                    let expected = generation(n).map(|generation| value(n, generation));
                    assert_eq!(found.map(foldb::Value::into_owned), expected, "{n}");
                }
                Err(_) => unread += 1,
            }
        }
        assert!(if lost { unread < 100 } else { unread == 1 }, "{unread}");
        // Other values are written, flushed and collected as usual. When the file is back, so are
        // all its values.
        put_all(&db, 0..100, 3);
        db.compact(..).unwrap();
        db.with(&none_dead()).collect_garbage().unwrap();
        drop(db);
        fs.create(&path).unwrap().write_at(&whole, 0).unwrap();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        let generation = |n| if n < 100 { Some(3) } else { generation(n) };
        check_all(&db, 300, generation);
        db.with(&none_dead()).collect_garbage().unwrap();
        assert_eq!(db.stats().segments.dead_bytes, 0);
        check_all(&db, 300, generation);
    }
}

#[test]
fn a_collection_can_be_cancelled() {
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    db.compact(..).unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&cancel);
    let options = GcOptions {
        cancel: Some(cancel),
        progress: Some(Arc::new(move |_| set.store(true, Ordering::Relaxed))),
        ..GcOptions::default()
    };
    let report = db.with(&options).collect_garbage().unwrap();
    assert!(report.cancelled && report.commits == 0, "{report:?}");
    check_all(&db, 300, &generation);
    let report = db.collect_garbage().unwrap();
    assert!(!report.cancelled && report.commits > 0, "{report:?}");
    check_all(&db, 300, &generation);
}

/// Cancels a garbage collection after the first compaction slice, and counts slices.
#[derive(Debug, Default)]
struct CancelsAtSlice {
    cancel: Arc<AtomicBool>,
    slices: AtomicU64,
}

impl EventListener for CancelsAtSlice {
    fn on_event(&self, event: &Event) {
        if let Event::Compaction { .. } = event {
            self.slices.fetch_add(1, Ordering::Relaxed);
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}

/// The tree is compacted first, which may take longer than the collection.
#[test]
fn a_collection_can_be_cancelled_while_it_compacts() {
    let fs = MemFs::new();
    let listener = Arc::new(CancelsAtSlice::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![listener.clone()];
    let small = Options { target_file_size: 1024, block_size: 256, ..by_hand(&fs) };
    let (db, generation) =
        half_dead_in(Options { listeners, disable_auto_compactions: true, ..small });
    let cancellable =
        GcOptions { cancel: Some(Arc::clone(&listener.cancel)), ..GcOptions::default() };
    let report = db.with(&cancellable).collect_garbage().unwrap();
    assert!(report.cancelled && report.commits == 0, "{report:?}");
    assert_eq!(listener.slices.load(Ordering::Relaxed), 1);
    check_all(&db, 300, &generation);
    // A collection that is cancelled from the beginning does nothing.
    assert!(db.with(&cancellable).collect_garbage().unwrap().cancelled);
    assert_eq!(listener.slices.load(Ordering::Relaxed), 1);
    let report = db.collect_garbage().unwrap();
    assert!(!report.cancelled && report.bytes_reclaimed() > 0, "{report:?}");
    assert!(listener.slices.load(Ordering::Relaxed) > 2, "{listener:?}");
    check_all(&db, 300, &generation);
    db.verify().unwrap();
}

/// Background collection reads and writes no more bytes per time than the budget allows.
#[test]
fn background_collections_keep_to_their_io_budget() {
    const BUDGET: u64 = 10_000;
    let fs = MemFs::new();
    let (db, generation) = half_dead(&fs);
    db.compact(..).unwrap();
    drop(db);
    for gc_io_budget in [0, BUDGET] {
        let fs = fs.kill();
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: clock.clone(), ..Env::in_memory(fs.clone()) };
        let mut options = Options { env, max_dead_fraction: 0.05, ..separating(&fs) };
        options.knobs.gc_io_budget = gc_io_budget;
        let db = Db::open(PATH, options).unwrap();
        let before = db.stats();
        let start = clock.now();
        while db.step_background().unwrap() {}
        let took = clock.now() - start;
        let after = db.stats();
        assert!(after.garbage_collections > before.garbage_collections);
        let moved = after.bytes_gc_read + after.bytes_gc_written
            - before.bytes_gc_read
            - before.bytes_gc_written;
        assert!(moved > BUDGET, "{moved}");
        if gc_io_budget == 0 {
            assert!(took.is_zero(), "{took:?}");
        } else {
            assert!(took.as_secs_f64() >= moved as f64 / BUDGET as f64, "{moved} in {took:?}");
        }
        check_all(&db, 300, &generation);
    }
}

/// Writers, a reader, flushes, compactions and garbage collections at once, on threads. Each writer
/// finds its last write, at any moment and after a reopen.
#[test]
fn collections_run_while_writers_readers_and_flushes_run() {
    const WRITERS: usize = 2;
    const KEYS: usize = 300;
    const ROUNDS: usize = 400;
    let fs = MemFs::new();
    let (threads, clock) = (Arc::new(SystemThreads), Arc::new(SystemClock::default()));
    let env = Env { threads, clock, ..Env::in_memory(fs.clone()) };
    let options = Options { env, max_dead_fraction: 0.1, ..separating(&fs) };
    let db = Db::open(PATH, options).unwrap();
    put_all(&db, 0..KEYS, 0);
    let stop = AtomicBool::new(false);
    let collected = AtomicU64::new(0);
    let until_stopped = |step: &dyn Fn(usize)| {
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            step(count);
            count += 1;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until_stopped(&|_| {
                let options = GcOptions { memory_budget: Some(64 << 10), ..none_dead() };
                collected.fetch_add(
                    db.with(&options).collect_garbage().unwrap().commits,
                    Ordering::Relaxed,
                );
            });
        });
        scope.spawn(|| {
            until_stopped(&|count| {
                db.flush().unwrap();
                if count.is_multiple_of(4) {
                    db.compact(..).unwrap();
                }
            });
        });
        scope.spawn(|| {
            until_stopped(&|count| {
                let n = count * 7 % KEYS;
                let found = db.get(key(n)).unwrap().unwrap();
                assert!(found.starts_with(format!("{n}.").as_bytes()), "{n}");
                if count.is_multiple_of(50) {
                    assert_eq!(db.iter().unwrap().filter(Result::is_ok).count(), KEYS);
                }
            });
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let db = &db;
                scope.spawn(move || {
                    for round in 1..=ROUNDS {
                        for n in (writer..KEYS)
                            .step_by(WRITERS)
                            .filter(|n| !(n + round).is_multiple_of(3))
                        {
                            db.put(key(n), value(n, round)).unwrap();
                            let found = db.get(key(n)).unwrap().unwrap();
                            assert!(found == value(n, round)[..], "{n} in round {round}");
                        }
                    }
                })
            })
            .collect();
        let done: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        done.into_iter().for_each(|done| done.unwrap());
    });
    assert!(collected.load(Ordering::Relaxed) > 0);
    let last = |n: usize| (1..=ROUNDS).rev().find(|round| !(n + round).is_multiple_of(3));
    check_all(&db, KEYS, last);
    drop(db);
    let db = open(&fs);
    check_all(&db, KEYS, last);
    db.verify().unwrap();
}
