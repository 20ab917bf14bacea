//! Tests value segments when an operation fails: a full or broken disk, and a close in the middle.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs};
use foldb::events::{Event, EventListener};
use foldb::garbage::GcOptions;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support;
use crate::support::gates::Gate;
use crate::support::segments::{check_all, key, open, put_all, segment_files, separating};
use crate::support::{PATH, assert_error, watched};

fn by_hand(fs: &MemFs) -> Options {
    Options { max_dead_fraction: 1.0, disable_auto_compactions: true, ..separating(fs) }
}

/// Options after which no value is known to be dead.
fn none_dead() -> GcOptions {
    GcOptions { max_dead_fraction: 0.0, compact_first: false, ..GcOptions::default() }
}

fn segment_bytes(fs: &MemFs) -> u64 {
    let len = |name: &String| fs.len(&Path::new(PATH).join(name)).unwrap();
    segment_files(fs).iter().map(len).sum()
}

/// Returns everything in the directory.
fn contents(fs: &MemFs) -> BTreeMap<String, Vec<u8>> {
    let names = fs.list(Path::new(PATH)).unwrap().into_iter();
    names.map(|name| (name.clone(), fs.read(&Path::new(PATH).join(name)).unwrap())).collect()
}

/// Work on a caller's thread is over when a close returns: no file changes from then on.
#[test]
fn a_close_waits_for_a_collection_and_a_compaction_on_other_threads() {
    type Work = fn(&Db) -> foldb::Result<()>;
    let collect: Work = |db| db.with(&none_dead()).collect_garbage().map(drop);
    let compact: Work = |db| db.compact(..);
    for (extension, work) in [("seg", collect), ("tbl", compact)] {
        let (fs, gate) = (MemFs::new(), Gate::before_syncs_of(extension));
        let env = Env { fs: watched(&fs, &gate), ..Env::in_memory(fs.clone()) };
        let options = Options { env, ..by_hand(&fs) };
        let db = Db::open(PATH, options.clone()).unwrap();
        put_all(&db, 0..100, 0);
        db.flush().unwrap();
        put_all(&db, 0..50, 1);
        db.compact(..).unwrap();
        put_all(&db, 0..25, 2);
        db.flush().unwrap();
        std::thread::scope(|scope| {
            let _open = gate.open_at_end();
            gate.close();
            let worker = scope.spawn(|| work(&db));
            gate.wait_for_a_thread();
            let closer = scope.spawn(|| db.close());
            while db.get(key(0)).is_ok() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(30));
            assert!(!closer.is_finished(), "the close did not wait for work on {extension} files");
            gate.open();
            closer.join().unwrap().unwrap();
            let at_close = contents(&fs);
            let _done_or_closed = worker.join().unwrap();
            assert!(contents(&fs) == at_close, "a file changed after the close");
        });
        assert_error(db.with(&none_dead()).collect_garbage(), ErrorKind::Closed, None);
        let db = Db::open(PATH, options).unwrap();
        check_all(&db, 100, |n| Some(if n < 25 { 2 } else { usize::from(n < 50) }));
        db.verify().unwrap();
    }
}

/// Runs an action whenever a flush has written its files and not yet installed them.
#[derive(Default)]
struct AtFlush(Mutex<Option<Box<dyn FnMut() + Send>>>);

impl std::fmt::Debug for AtFlush {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtFlush")
    }
}

impl EventListener for AtFlush {
    fn on_event(&self, event: &Event) {
        if let Event::Flush { .. } = event
            && let Some(mut deed) = self.0.lock().unwrap().take()
        {
            deed();
        }
    }
}

/// A flush appends to a file, everything else in it is rewritten elsewhere, and the sync of the
/// flush's edit fails. The edit may still be durable, so the file stays.
#[test]
fn a_file_that_an_edit_of_a_failed_sync_may_name_stays() {
    let fs = MemFs::new();
    let listener = Arc::new(AtFlush::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![listener.clone()];
    let db = Db::open(PATH, Options { listeners, ..by_hand(&fs) }).unwrap();
    put_all(&db, 0..30, 0);
    db.flush().unwrap();
    (0..20).for_each(|n| db.delete(key(n)).unwrap());
    db.compact(..).unwrap();
    let (other, files) = (db.clone(), fs.clone());
    *listener.0.lock().unwrap() = Some(Box::new(move || {
        // On another thread: a listener must not wait for background work.
        let other = other.clone();
        let collected =
            std::thread::spawn(move || other.with(&none_dead()).collect_garbage().unwrap());
        assert_eq!(collected.join().unwrap().commits, 1);
        files.inject(Fault::on(Operation::Sync).path("MANIFEST-").forever());
    }));
    put_all(&db, 30..50, 0);
    assert!(db.flush().is_err());
    fs.clear_faults();
    let poisoned = segment_files(&fs);
    assert_error(db.flush(), ErrorKind::Poisoned, None);
    assert_eq!(segment_files(&fs), poisoned);
    let fs = fs.kill();
    let db = open(&fs);
    check_all(&db, 50, |n| (n >= 20).then_some(0));
    db.verify().unwrap();
}

/// A full disk must not get fuller each time a flush or compaction is tried again.
#[test]
fn steps_that_fail_again_and_again_leave_no_values_behind() {
    let table = || Fault::on(Operation::Create).path(".tbl");
    let end_of_table = || Fault::on(Operation::Sync).path(".tbl");
    let manifest = || Fault::on(Operation::Write).path("MANIFEST");
    for fault in [table, end_of_table, manifest] {
        let fs = MemFs::new();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        let other = db.create_keyspace("other", Default::default()).unwrap();
        put_all(&db, 0..20, 0);
        db.flush().unwrap();
        put_all(&db, 20..40, 0);
        put_all(&db, 0..2, 1);
        other.put(key(0), support::segments::value(0, 0)).unwrap();
        let before = segment_bytes(&fs);
        fs.inject(fault().forever().kind(std::io::ErrorKind::StorageFull));
        for _ in 0..20 {
            assert_error(db.flush(), ErrorKind::NoSpace, None);
        }
        let leaked = segment_bytes(&fs) - before;
        assert!(leaked <= 3 * 22 * 220, "{leaked} bytes after 20 times");
        fs.clear_faults();
        db.flush().unwrap();
        // The next flush removes orphan files.
        db.put("a", "b").unwrap();
        db.flush().unwrap();
        db.delete("a").unwrap();
        assert_eq!(db.stats().segments.files, segment_files(&fs).len() as u64);
        check_all(&db, 40, |n| Some(usize::from(n < 2)));

        // A compaction also rewrites the values that it folds.
        let list = db.operator("append").unwrap();
        (0..20).for_each(|n| db.merge_with(&list, key(n), "+").unwrap());
        db.flush().unwrap();
        let before = segment_bytes(&fs);
        fs.inject(fault().forever().kind(std::io::ErrorKind::StorageFull));
        for _ in 0..20 {
            assert_error(db.compact(..), ErrorKind::NoSpace, None);
        }
        let leaked = segment_bytes(&fs) - before;
        assert!(leaked <= 3 * 20 * 220, "{leaked} bytes after 20 times");
        fs.clear_faults();
        db.compact(..).unwrap();
        db.verify().unwrap();
    }
}

/// Two keyspaces, half of each dead, collected in the background.
fn two_half_dead(fs: &MemFs) -> (Db, foldb::Keyspace, Options) {
    let options = Options { max_dead_fraction: 0.25, ..separating(fs) };
    let db = Db::open(PATH, Options { max_dead_fraction: 1.0, ..options.clone() }).unwrap();
    let own = foldb::KeyspaceOptions {
        value_separation_min: Some(100),
        ..foldb::KeyspaceOptions::default()
    };
    let other = db.create_keyspace("other", own).unwrap();
    for generation in 0..2 {
        put_all(&db, 0..100 - 50 * generation, generation);
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    for generation in 0..2 {
        for n in 0..100 - 50 * generation {
            other.put(key(n), support::segments::value(n, generation)).unwrap();
        }
        db.flush().unwrap();
    }
    other.compact(..).unwrap();
    (db, other, options)
}

/// Returns the files that hold values of the keyspace `default`, dead ones among them.
fn files_with_dead(fs: &MemFs) -> Vec<String> {
    let mut names = segment_files(fs);
    names.truncate(2);
    names
}

/// A file that garbage collection cannot read stops no other collection and no writer.
#[test]
fn a_collection_that_cannot_read_a_file_stops_no_other_work() {
    let fs = MemFs::new();
    let (db, other, options) = two_half_dead(&fs);
    drop((other, db));
    let clock = Arc::new(foldb::env::ManualClock::default());
    let env = Env { clock: clock.clone(), ..Env::in_memory(fs.clone()) };
    let db = Db::open(PATH, Options { env, ..options }).unwrap();
    let dead = db.stats().segments.dead_bytes;
    for name in files_with_dead(&fs) {
        fs.inject(Fault::on(Operation::Read).path(&name).forever());
    }
    support::steps::run_background(&db, |_| {});
    let left = db.stats().segments.dead_bytes;
    assert!(0 < left && left < dead, "the other keyspace's are collected: {left} of {dead}");
    // Only a caller that waits for garbage collection gets the error.
    assert_error(db.wait_for_background(), ErrorKind::Io, None);
    put_all(&db, 100..110, 0);
    db.flush().unwrap();
    // The collection is tried again after a while, but not for ever.
    for _ in 0..20 {
        clock.advance(Duration::from_secs(100));
        support::steps::run_background(&db, |_| {});
    }
    db.wait_for_background().unwrap();
    fs.clear_faults();
    drop(db);
    let db = open(&fs);
    support::steps::run_background(&db, |_| {});
    let segments = db.stats().segments;
    assert!(segments.dead_bytes * 4 <= segments.bytes, "{segments:?}");
    check_all(&db, 110, |n| Some(usize::from(n < 50)));
}

/// A file that cannot be opened now is not a lost file.
#[test]
fn a_read_only_open_does_not_take_a_broken_disk_for_a_lost_segment() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..20, 0);
    db.flush().unwrap();
    drop(db);
    fs.inject(Fault::on(Operation::Open).path(".seg").forever());
    assert_error(Db::open_read_only(PATH, by_hand(&fs)), ErrorKind::Io, None);
    fs.clear_faults();
    let db = Db::open_read_only(PATH, by_hand(&fs)).unwrap();
    check_all(&db, 20, |_| Some(0));
}

#[test]
fn a_checkpoint_without_a_segment_file_says_so() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..20, 0);
    db.flush().unwrap();
    drop(db);
    let name = segment_files(&fs).pop().unwrap();
    fs.remove(&Path::new(PATH).join(&name)).unwrap();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    let error = assert_error(db.checkpoint("copy"), ErrorKind::Corruption, Some(&name));
    assert!(error.to_string().contains("foldb repair"), "{error}");
    assert!(!fs.exists(Path::new("copy")));
    // When nothing refers to the file any more, nothing is missing.
    put_all(&db, 0..20, 1);
    db.compact(..).unwrap();
    db.checkpoint("copy").unwrap();
}

/// Hints serve repair alone. Values under damaged hints are moved without them; otherwise the dead
/// space of the file would stay for good.
#[test]
fn damaged_hints_do_not_keep_dead_space() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..300, 0);
    db.flush().unwrap();
    put_all(&db, (0..300).step_by(2), 1);
    db.compact(..).unwrap();
    drop(db);
    // The first key of each chunk of hints is stored whole; values begin otherwise.
    let mut damaged = 0;
    for (name, mut bytes) in contents(&fs) {
        let hint = bytes.windows(4).position(|bytes| bytes == b"key0");
        if let Some(at) = hint.filter(|_| name.ends_with(".seg")) {
            bytes[at] ^= 1;
            fs.create(&Path::new(PATH).join(name)).unwrap().write_at(&bytes, 0).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 2);
    let told = Arc::new(Told::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![Arc::clone(&told) as _];
    let db = Db::open(PATH, Options { listeners, ..by_hand(&fs) }).unwrap();
    db.verify().unwrap_err();
    db.with(&none_dead()).collect_garbage().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    let told = std::mem::take(&mut *told.0.lock().unwrap());
    assert!(!told.is_empty() && told.iter().all(|error| error.contains(".seg")), "{told:?}");
    let generation = |n: usize| Some(usize::from(n.is_multiple_of(2)));
    check_all(&db, 300, generation);
    // Undamaged files are collected as usual, and the damage is not reported again.
    put_all(&db, (0..300).step_by(3), 2);
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    check_all(&db, 300, |n| if n.is_multiple_of(3) { Some(2) } else { generation(n) });
}

/// A table that cannot be read fails each compaction of its keyspace. Garbage collection once
/// waited for that compaction: dead values stayed, and a caller that waited for background work
/// waited for ever.
#[test]
fn a_compaction_that_always_fails_stops_no_collection() {
    let fs = MemFs::new();
    let options = Options { max_dead_fraction: 0.01, ..separating(&fs) };
    let db = Db::open(PATH, options).unwrap();
    let tables = || {
        let names = fs.list(Path::new(PATH)).unwrap().into_iter();
        names.filter(|name| name.ends_with(".tbl")).collect::<Vec<_>>()
    };
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    other.put("key", "value").unwrap();
    db.flush().unwrap();
    let unreadable = tables();
    for n in 0..20 {
        other.put("key", n.to_string()).unwrap();
        db.flush().unwrap();
    }
    for generation in 0..2 {
        put_all(&db, 0..100, generation);
        db.flush().unwrap();
    }
    db.default_keyspace().compact(..).unwrap();
    let dead = db.stats().segments.dead_bytes;
    assert!(dead > 0);
    for name in unreadable {
        fs.inject(Fault::on(Operation::Read).path(&name).forever());
    }
    let steps = (0..50).map(|_| db.step_background());
    assert!(steps.filter(|step| step.is_err()).count() > 0, "no compaction failed");
    let left = db.stats().segments.dead_bytes;
    assert!(left < dead / 2, "{left} of {dead} bytes are dead");
    check_all(&db, 100, |_| Some(1));
}

/// A call first compacts the trees that hide dead values. A tree of another keyspace that cannot be
/// compacted once ended the call.
#[test]
fn a_compaction_that_fails_in_one_keyspace_stops_no_collection_of_another() {
    let fs = MemFs::new();
    let told = Arc::new(Told::default());
    let options = Options { listeners: vec![Arc::clone(&told) as _], ..by_hand(&fs) };
    let separated = options.default.clone();
    let db = Db::open(PATH, options).unwrap();
    let other = db.create_keyspace("other", separated).unwrap();
    for generation in 0..3 {
        for n in 0..100 {
            other.put(key(n), support::segments::value(n, generation)).unwrap();
        }
        db.flush().unwrap();
    }
    let names = fs.list(Path::new(PATH)).unwrap().into_iter();
    let unreadable: Vec<_> = names.filter(|name| name.ends_with(".tbl")).collect();
    for generation in 0..3 {
        put_all(&db, 0..100, generation);
        db.flush().unwrap();
    }
    for name in unreadable {
        fs.inject(Fault::on(Operation::Read).path(&name).forever());
    }
    let before = db.stats().segments.bytes;
    let options = GcOptions { max_dead_fraction: 0.1, ..GcOptions::default() };
    db.with(&options).collect_garbage().unwrap();
    let after = db.stats().segments.bytes;
    assert!(after <= before * 3 / 4, "{after} of {before} bytes are left");
    assert!(!told.0.lock().unwrap().is_empty(), "a listener learns of the compaction");
    check_all(&db, 100, |_| Some(2));
}

#[test]
fn a_collection_that_fails_in_one_keyspace_collects_in_the_others() {
    let fs = MemFs::new();
    let options = by_hand(&fs);
    let separated = options.default.clone();
    let db = Db::open(PATH, options).unwrap();
    for generation in 0..2 {
        put_all(&db, 0..100, generation);
        db.flush().unwrap();
    }
    db.default_keyspace().compact(..).unwrap();
    let unwritable = segment_files(&fs);
    let other = db.create_keyspace("other", separated).unwrap();
    for generation in 0..2 {
        for n in 0..100 {
            other.put(key(n), support::segments::value(n, generation)).unwrap();
        }
        db.flush().unwrap();
    }
    other.compact(..).unwrap();
    let before = db.stats().segments.dead_bytes;
    for name in unwritable {
        fs.inject(Fault::on(Operation::Read).path(&name).forever());
    }
    let error = db.with(&none_dead()).collect_garbage().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let after = db.stats().segments.dead_bytes;
    assert!(after <= before * 2 / 3, "{after} of {before} bytes are dead");
}

/// The reported errors of background work.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<String>>);

impl EventListener for Told {
    fn on_event(&self, event: &Event) {
        if let Event::BackgroundError { error } = event {
            self.0.lock().unwrap().push(error.to_string());
        }
    }
}
