//! A full disk can be emptied by deleting: deletes, range deletes and drops pass in the space of
//! the reserve, their space comes back, and then all writes pass again.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldb::backup::Backups;
use foldb::env::{Env, FileSystem, MemFs};
use foldb::events::{Event, EventListener};
use foldb::{Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteBatch};

use crate::support::PATH;

const MIB: u64 = 1 << 20;
pub(super) const DISK: u64 = 32 * MIB;
/// Limit for the time until space comes back.
const SOON: Duration = Duration::from_secs(30);
pub(super) const VALUE: usize = 700;

/// Keeps the names of the events about the disk.
#[derive(Debug, Default)]
struct Told(std::sync::Mutex<Vec<&'static str>>);

impl EventListener for Told {
    fn on_event(&self, event: &Event) {
        if matches!(event, Event::DiskFull { .. } | Event::DiskHasSpace) {
            self.0.lock().unwrap().push(event.name());
        }
    }
}

/// A database with real workers on a disk of memory.
pub(super) fn options(fs: &MemFs) -> Options {
    let env = Env { fs: Arc::new(fs.clone()), ..Env::system() };
    Options { create_if_missing: true, write_buffer_size: MIB as usize, env, ..Options::default() }
}

pub(super) fn small_disk() -> MemFs {
    let fs = MemFs::new();
    fs.set_capacity(Some(DISK));
    fs
}

pub(super) fn key(n: usize) -> String {
    format!("{n:08}")
}

/// Returns a value of its own for each key, which does not compress.
pub(super) fn value(n: usize) -> Vec<u8> {
    let mut state = n as u64 | 1 << 40;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..VALUE).map(next).collect()
}

/// Puts keys until the disk is full. Returns how many there are then.
fn fill(keyspace: &Keyspace) -> usize {
    for n in 0.. {
        if let Err(error) = keyspace.put(key(n), value(n)) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            let message = error.to_string();
            assert!(message.contains("delete keys, ranges or keyspaces"), "{message}");
            return n;
        }
    }
    unreachable!("the disk fills up")
}

/// Fails if something takes too long, and names the files.
fn check_time(start: Instant, what: &str, db: &Db, fs: &MemFs) {
    let files = || {
        let list = fs.list(PATH.as_ref()).unwrap().into_iter();
        list.map(|name| (fs.len(&Path::new(PATH).join(&name)), name)).collect::<Vec<_>>()
    };
    let is_full = db.stats().disk_is_full;
    assert!(start.elapsed() < SOON, "no {what}, full {is_full}, {:?}", files());
    std::thread::sleep(Duration::from_millis(10));
}

fn wait_for_puts(db: &Db, fs: &MemFs) {
    let start = Instant::now();
    while db.put("probe", "1").is_err() {
        check_time(start, "put works", db, fs);
    }
}

/// Waits until puts work again, and then until at least half of the disk is free.
fn wait_for_space(db: &Db, fs: &MemFs) {
    wait_for_puts(db, fs);
    let (start, file) = (Instant::now(), fs.create("probe".as_ref()).unwrap());
    // Work that was under way may have met the full disk after the first put.
    while file.free_space() < Some(DISK / 2) || db.stats().disk_is_full {
        check_time(start, "space is back", db, fs);
    }
    for n in 0..1000 {
        db.put(key(n), value(n)).unwrap();
    }
    assert_eq!(*db.get(key(7)).unwrap().unwrap(), *value(7));
}

fn delete_first(db: &Db, count: usize) {
    for n in 0..count {
        db.delete(key(n)).unwrap_or_else(|error| panic!("delete {n} of {count}: {error}"));
    }
}

fn delete_all(db: &Db, count: usize) {
    delete_first(db, count);
    let left = db.iter().unwrap().next().map(|entry| entry.unwrap().0.to_vec());
    assert_eq!(left, None);
}

#[test]
fn a_full_disk_is_emptied_by_deletes_of_single_keys() {
    let fs = small_disk();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let count = fill(&db.keyspace("default").unwrap());
    assert!(count > 20_000, "{count}");
    assert!(db.stats().reserved_space >= MIB);
    delete_all(&db, count);
    wait_for_space(&db, &fs);
}

/// A batch may come first in a new log, and is longer than the block that such a log has.
#[test]
fn batches_of_deletes_pass_on_a_full_disk_until_puts_work_again() {
    for batch_len in [100, 333, 1000] {
        let fs = small_disk();
        let db = Db::open(PATH, options(&fs)).unwrap();
        let count = fill(&db.keyspace("default").unwrap());
        for first in (0..count).step_by(batch_len) {
            let mut batch = WriteBatch::new();
            (first..count.min(first + batch_len)).for_each(|n| {
                batch.delete(key(n));
            });
            db.write(&batch).unwrap_or_else(|error| panic!("delete {first} of {count}: {error}"));
        }
        wait_for_puts(&db, &fs);
    }
}

#[test]
fn a_full_disk_is_emptied_by_a_range_delete() {
    let fs = small_disk();
    let db = Db::open(PATH, options(&fs)).unwrap();
    fill(&db.keyspace("default").unwrap());
    db.delete_range(..).unwrap();
    assert!(db.is_empty().unwrap());
    wait_for_space(&db, &fs);
}

#[test]
fn a_full_disk_is_emptied_by_the_drop_of_a_keyspace() {
    let fs = small_disk();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let old = db.create_keyspace("old", KeyspaceOptions::default()).unwrap();
    fill(&old);
    drop(old);
    db.drop_keyspace("old").unwrap();
    wait_for_space(&db, &fs);
}

/// While the snapshot lives, every compaction takes space and gives none back.
#[test]
fn a_full_disk_is_emptied_once_the_snapshot_of_its_data_is_gone() {
    let fs = small_disk();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let count = fill(&db.keyspace("default").unwrap());
    let snapshot = db.snapshot();
    db.delete_range(..).unwrap();
    let before = db.stats().bytes_compaction;
    std::thread::sleep(Duration::from_secs(2));
    let tried = db.stats().bytes_compaction - before;
    assert!(tried < 200 * MIB, "{tried} bytes: trials of compactions pause between rounds");
    assert_eq!(*snapshot.get(key(count - 1)).unwrap().unwrap(), *value(count - 1));
    drop(snapshot);
    wait_for_space(&db, &fs);
}

/// Dead values show only as compactions drop the references to them.
#[test]
fn a_full_disk_of_separated_values_is_emptied_by_deletes_between_keys_that_stay() {
    let fs = small_disk();
    let separated = KeyspaceOptions { value_separation_min: Some(512), ..Default::default() };
    let db = Db::open(PATH, Options { default: separated, ..options(&fs) }).unwrap();
    let count = fill(&db.keyspace("default").unwrap());
    for n in (0..count).filter(|n| !n.is_multiple_of(4)) {
        db.delete(key(n)).unwrap_or_else(|error| panic!("delete {n} of {count}: {error}"));
    }
    wait_for_space(&db, &fs);
    assert_eq!(*db.get(key(count / 8 * 4)).unwrap().unwrap(), *value(count / 8 * 4));
}

/// Small buffers make many logs and tables. All of them want the last space at the same time:
/// flushes, compactions and the logs of the deletes.
#[test]
fn a_disk_of_many_small_tables_is_emptied_and_filled_again() {
    for _ in 0..3 {
        let fs = small_disk();
        let small = Options { write_buffer_size: 128 << 10, ..options(&fs) };
        let db = Db::open(PATH, small.clone()).unwrap();
        let count = fill(&db.keyspace("default").unwrap());
        delete_first(&db, count / 2);
        drop(db);
        let db = Db::open(PATH, small).unwrap();
        delete_all(&db, count);
        let start = Instant::now();
        for n in 0..count / 2 {
            while let Err(error) = db.put(key(n), value(n)) {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                assert!(start.elapsed() < SOON, "put {n} of {count}: {error}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        assert_eq!(db.iter().unwrap().count(), count / 2);
    }
}

/// Closes a database with a reserve, whose keyspace `old` has overlapping tables, and opens it when
/// the disk has no free byte.
fn reopened_on_a_full_disk(fs: &MemFs) -> (Db, Arc<Told>) {
    let db = Db::open(PATH, Options { disable_auto_compactions: true, ..options(fs) }).unwrap();
    let old = db.create_keyspace("old", KeyspaceOptions::default()).unwrap();
    let mut count = 0;
    while db.stats().reserved_space == 0 {
        (count..count + 500).for_each(|n| old.put(key(n % 5000), value(n)).unwrap());
        count += 500;
        db.flush().unwrap();
    }
    db.wait_for_background().unwrap();
    db.close().unwrap();
    drop(old);
    let used = DISK - fs.create("probe".as_ref()).unwrap().free_space().unwrap();
    fs.set_capacity(Some(used));
    let told = Arc::new(Told::default());
    let db = Db::open(PATH, Options { listeners: vec![told.clone()], ..options(fs) }).unwrap();
    (db, told)
}

/// An open after a clean close has no log of its own, through which it would see free space.
#[test]
fn a_drop_after_a_clean_close_empties_a_full_disk() {
    let fs = small_disk();
    let (db, told) = reopened_on_a_full_disk(&fs);
    db.drop_keyspace("old").unwrap();
    // Workers may end the shortage at once.
    assert_eq!(told.0.lock().unwrap()[0], "disk_full");
    fs.set_capacity(Some(DISK));
    wait_for_space(&db, &fs);
}

#[test]
fn a_compaction_after_a_clean_close_has_the_space_of_the_reserve() {
    let fs = small_disk();
    let (db, told) = reopened_on_a_full_disk(&fs);
    let old = db.keyspace("old").unwrap();
    let compacted = old.compact(..);
    let start = Instant::now();
    // A worker may have opened the reserve, and tells of it a moment later.
    while told.0.lock().unwrap().is_empty() {
        assert!(start.elapsed() < SOON, "{compacted:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(told.0.lock().unwrap()[0], "disk_full");
    old.delete_range(..).unwrap();
    fs.set_capacity(Some(DISK));
    wait_for_space(&db, &fs);
}

/// Half of the keys lie between those that stay, so compactions have to write the others again.
#[test]
fn a_full_disk_is_emptied_by_deletes_between_keys_that_stay() {
    let fs = small_disk();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let count = fill(&db.keyspace("default").unwrap());
    let stays = |n: usize| n.is_multiple_of(4);
    for n in (0..count).filter(|n| !stays(*n)) {
        db.delete(key(n)).unwrap();
    }
    for n in (0..count).step_by(97) {
        assert_eq!(db.get(key(n)).unwrap().is_some(), stays(n), "{n}");
    }
    wait_for_space(&db, &fs);
    assert_eq!(*db.get(key(count / 8 * 4)).unwrap().unwrap(), *value(count / 8 * 4));
}

/// The deletes survive kills, also one in their middle.
#[test]
fn a_full_disk_is_emptied_after_kills_and_reopens() {
    let fs = small_disk();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let count = fill(&db.keyspace("default").unwrap());
    let fs = killed(&fs);
    drop(db);
    let db = Db::open(PATH, options(&fs)).unwrap();
    assert_eq!(*db.get(key(count - 1)).unwrap().unwrap(), *value(count - 1));
    for n in 0..count / 2 {
        db.delete(key(n)).unwrap_or_else(|error| panic!("delete {n} of {count}: {error}"));
    }
    let fs = killed(&fs);
    drop(db);
    let db = Db::open(PATH, options(&fs)).unwrap();
    assert_eq!(db.iter().unwrap().count(), count - count / 2);
    delete_all(&db, count);
    wait_for_space(&db, &fs);
}

fn killed(fs: &MemFs) -> MemFs {
    let image = fs.kill();
    image.set_capacity(Some(DISK));
    image
}

/// A batch passes only if it deletes and nothing else.
#[test]
fn other_writes_fail_at_once_while_deletes_use_the_reserve() {
    let fs = small_disk();
    let merge_operator = Some("uint64add".to_owned());
    let told = Arc::new(Told::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![told.clone()];
    // No work frees space meanwhile.
    let env = Env { threads: Env::in_memory(MemFs::new()).threads, ..options(&fs).env };
    let db = Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
            listeners,
            env,
            ..options(&fs)
        },
    )
    .unwrap();
    let default = db.keyspace("default").unwrap();
    for n in 0.. {
        // Most bytes go to tables.
        if n % 1000 == 0 && db.flush().is_err() || default.put(key(n), value(n)).is_err() {
            break;
        }
    }
    let mut n = 0;
    while !db.stats().disk_is_full {
        db.delete(key(n)).unwrap();
        n += 1;
    }
    let refused = |outcome: foldb::Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        assert!(error.to_string().contains("nothing was written: the disk is full"), "{error}");
    };
    refused(db.put("a", "1"));
    refused(db.merge("a", 1u64.to_le_bytes()));
    let mut batch = WriteBatch::new();
    batch.delete(key(1));
    db.write(&batch).unwrap();
    batch.put("a", "1");
    refused(db.write(&batch));
    assert_eq!(db.get("a").unwrap(), None);
    // Another program frees space.
    fs.set_capacity(Some(2 * DISK));
    let start = Instant::now();
    while let Err(error) = db.put("a", "1") {
        assert!(start.elapsed() < SOON, "{error}");
        while db.step_background().unwrap() {}
    }
    assert_eq!(*told.0.lock().unwrap(), ["disk_full", "disk_has_space"]);
}

/// Another program takes the space that the reserve gave back: deletes fail, and lose nothing.
#[test]
fn deletes_fail_when_others_take_the_reserve() {
    let fs = small_disk();
    let env = Env { threads: Env::in_memory(MemFs::new()).threads, ..options(&fs).env };
    let db = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
    for n in 0..20_000 {
        db.put(key(n), value(n)).unwrap();
    }
    db.flush().unwrap();
    let other = fs.create("other".as_ref()).unwrap();
    take_all(&*other);
    let mut deleted = 0;
    while !db.stats().disk_is_full {
        db.delete(key(deleted)).unwrap();
        deleted += 1;
    }
    take_all(&*other);
    let error = loop {
        match db.delete(key(deleted)) {
            Ok(()) => deleted += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert_eq!(db.iter().unwrap().count(), 20_000 - deleted);
    let fs = fs.kill();
    drop(db);
    let db = Db::open(PATH, options(&fs)).unwrap();
    assert_eq!(db.iter().unwrap().count(), 20_000 - deleted);
}

fn take_all(file: &dyn foldb::env::WritableFile) {
    let mut len = 0;
    while let Some(free) = file.free_space().filter(|free| *free > 0) {
        file.write_at(&[1], len + free - 1).unwrap();
        len += free;
    }
}

/// The reserve is no part of a copy, and belongs to the database when it is destroyed.
#[test]
fn copies_leave_the_reserve_out_and_a_destroy_removes_it() {
    let fs = MemFs::new();
    fs.set_capacity(Some(256 * MIB));
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..10_000 {
        db.put(key(n), value(n)).unwrap();
    }
    db.flush().unwrap();
    let reserve = Path::new(PATH).join("RESERVE");
    let start = Instant::now();
    // A worker makes the file, and makes it anew when the database has grown.
    let is_whole = || fs.len(&reserve).is_ok_and(|len| len > 0 && len == db.stats().reserved_space);
    while !is_whole() {
        assert!(start.elapsed() < SOON);
        std::thread::sleep(Duration::from_millis(10));
    }
    db.checkpoint("copy").unwrap();
    assert!(!fs.exists("copy/RESERVE".as_ref()));
    let backups = Backups::at("backups", &options(&fs));
    backups.create(&db).unwrap();
    db.close().unwrap();
    drop(db);
    assert!(fs.exists(&reserve), "it serves the next open on a full disk");
    assert!(foldb::repair::verify(PATH, options(&fs)).unwrap().leftovers.is_empty());
    Db::open_read_only(PATH, options(&fs)).unwrap();
    Db::destroy(PATH, &options(&fs)).unwrap();
    assert!(!fs.exists(&reserve));
}

/// A user's file of the same name stays as it is.
#[test]
fn a_file_of_another_origin_is_no_reserve() {
    let fs = MemFs::new();
    fs.set_capacity(Some(256 * MIB));
    drop(Db::open(PATH, options(&fs)).unwrap());
    let path = Path::new(PATH).join("RESERVE");
    fs.create(&path).unwrap().write_at(b"a seat by the window", 0).unwrap();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..10_000 {
        db.put(key(n), value(n)).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(db.stats().reserved_space, 0);
    assert_eq!(fs.read(&path).unwrap(), b"a seat by the window");
}

#[test]
fn no_reserve_is_made_when_the_option_is_0() {
    let fs = small_disk();
    let db = Db::open(PATH, Options { space_reserve: 0, ..options(&fs) }).unwrap();
    for n in 0.. {
        if db.put(key(n), value(n)).is_err() {
            break;
        }
    }
    assert!(!fs.exists(&Path::new(PATH).join("RESERVE")));
    assert_eq!(db.stats().reserved_space, 0);
    assert!(!db.stats().disk_is_full);
}
