//! Real file systems that fill up. Reads go on, writes return `NoSpace`, and no acknowledged write
//! is lost. Writing goes on by itself when there is space. No panic or abort may end the process.
//!
//! `ci/small_disks.sh` makes small file systems of several kinds and names them in
//! `FOLDB_SMALL_DISKS`; without it nothing is checked. The script finds the executable by its name,
//! so this is a program of its own. The script mounts disks as Linux does.

#![cfg(unix)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use foldb::env::{FileSystem, PosixFs};
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::{Db, Error, ErrorKind, KeyspaceOptions, Options, Reader, WriteOptions};

const DISKS_VARIABLE: &str = "FOLDB_SMALL_DISKS";
const SYNCED: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
/// Limit for the time until writing works after space is freed.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn disks_that_fill_up() {
    let Some(disks) = env::var_os(DISKS_VARIABLE) else {
        eprintln!("skipped: {DISKS_VARIABLE} names no file systems; see ci/small_disks.sh");
        return;
    };
    type Scenario = fn(&Disk);
    let scenarios: [(&str, Scenario); 7] = [
        ("puts, rolls, flushes and compactions", fill_by_writing),
        ("deletes that empty the disk", empty_by_deleting),
        ("synced puts on a disk with nothing left", write_with_nothing_left),
        ("a log that shares its blocks with a copy", write_to_shared_blocks),
        ("opens", open_with_nothing_left),
        ("checkpoints", checkpoint_with_nothing_left),
        ("garbage collections of value segments", gc_with_nothing_left),
    ];
    for root in env::split_paths(&disks) {
        for (name, scenario) in scenarios {
            let start = Instant::now();
            let disk = Disk { root: root.clone() };
            disk.clear();
            scenario(&disk);
            disk.clear();
            println!("{}: {name}: held, {:.1?}", root.display(), start.elapsed());
        }
    }
}

/// A small file system.
struct Disk {
    root: PathBuf,
}

impl Disk {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn clear(&self) {
        for entry in fs::read_dir(&self.root).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        self.settle();
    }

    /// Some file systems give space back only when they are synced.
    fn settle(&self) {
        let synced = Command::new("sync").arg("-f").arg(&self.root).status().unwrap();
        assert!(synced.success());
    }

    /// Takes all space and gives about this many bytes back. The free space that file systems
    /// report is no promise.
    fn fill(&self, leave: u64) {
        self.settle();
        let file = PosixFs.create(&self.path("fill")).unwrap();
        let mut at: u64 = 0;
        for size in [1 << 20, 64 << 10, 4096, 512] {
            let piece = vec![0xa5; size];
            while file.write_at(&piece, at).is_ok() {
                at += size as u64;
            }
            let _full = file.sync();
        }
        if leave > 0 {
            file.truncate(at.checked_sub(leave).unwrap()).unwrap();
            self.settle();
        }
    }

    /// Removes the files of [`Disk::fill`].
    fn make_room(&self) {
        fs::remove_file(self.path("fill")).unwrap();
        self.settle();
    }

    fn open(&self, name: &str) -> foldb::Result<Db> {
        Db::open(self.path(name), options())
    }
}

fn options() -> Options {
    Options { create_if_missing: true, write_buffer_size: 256 << 10, ..Options::default() }
}

fn key(n: usize) -> String {
    format!("{n:08}")
}

/// Returns a value of its own for each key, which does not compress.
fn value(n: usize, len: usize) -> Vec<u8> {
    let mut state = n as u64 | 1 << 40;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(next).collect()
}

fn assert_no_space(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
}

/// Puts keys from `from` on until a put is refused. Returns how many keys there are then.
fn put_until_full(db: &Db, from: usize, len: usize, options: &WriteOptions) -> usize {
    for n in from..1_000_000 {
        if let Err(error) = db.with(options).put(key(n), value(n, len)) {
            assert_no_space(&error);
            return n;
        }
    }
    panic!("the disk did not fill up");
}

/// Checks that all `count` keys exist, and no other.
fn check(db: &impl Reader, count: usize, len: usize) {
    let mut n = 0;
    for entry in db.iter().unwrap() {
        let (found, bytes) = entry.unwrap();
        assert_eq!(found, key(n).as_bytes());
        assert!(*bytes == *value(n, len), "{}", key(n));
        n += 1;
    }
    assert_eq!(n, count, "every acknowledged write is there");
}

/// Repeats an action until it works.
fn resume(what: &str, mut act: impl FnMut() -> foldb::Result<()>) {
    let start = Instant::now();
    while let Err(error) = act() {
        assert_no_space(&error);
        assert!(start.elapsed() < SOON, "{what} still fails: {error}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the bytes and the number of files of a database. Its workers may remove some meanwhile.
fn size(path: &Path) -> (u64, usize) {
    let lens = fs::read_dir(path).unwrap().filter_map(|entry| match entry.unwrap().metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        metadata => Some(metadata.unwrap().len()),
    });
    let lens: Vec<u64> = lens.collect();
    (lens.iter().sum(), lens.len())
}

fn fill_by_writing(disk: &Disk) {
    let db = disk.open("db").unwrap();
    disk.fill(12 << 20);
    let mut count = put_until_full(&db, 0, 2000, &WriteOptions::default());
    assert!(count > 500, "{count}");
    for _ in 0..200 {
        // Small writes may still find space.
        count = put_until_full(&db, count, 2000, &WriteOptions::default());
    }
    check(&db, count, 2000);
    let (_, files) = size(&disk.path("db"));
    assert!(files < 100, "{files} files");
    disk.make_room();
    resume("a write", || db.put(key(count), value(count, 2000)));
    resume("a flush", || db.flush());
    resume("a compaction", || db.compact(..));
    check(&db, count + 1, 2000);
    db.close().unwrap();
    drop(db);
    check(&disk.open("db").unwrap(), count + 1, 2000);
}

/// Deletes pass on the full disk, also after a reopen, and their space comes back. Flushes,
/// compactions and logs compete for it, so one round may pass by luck.
fn empty_by_deleting(disk: &Disk) {
    for _ in 0..4 {
        disk.clear();
        fill_and_empty(disk);
    }
}

fn fill_and_empty(disk: &Disk) {
    let db = disk.open("db").unwrap();
    disk.fill(40 << 20);
    let count = put_until_full(&db, 0, 700, &WriteOptions::default());
    for n in 0..count / 2 {
        db.delete(key(n)).unwrap_or_else(|error| panic!("delete {n} of {count}: {error}"));
    }
    drop(db);
    let db = disk.open("db").unwrap();
    for n in 0..count {
        db.delete(key(n)).unwrap_or_else(|error| panic!("delete {n} of {count}: {error}"));
    }
    println!("  {count} deletes passed");
    assert!(db.is_empty().unwrap());
    resume("a put", || db.put(key(0), value(0, 700)));
    for again in 1..count / 2 {
        resume("a put", || db.put(key(again), value(again, 700)));
    }
    check(&db, count / 2, 700);
}

fn write_with_nothing_left(disk: &Disk) {
    let db = disk.open("db").unwrap();
    for n in 0..10 {
        db.with(&SYNCED).put(key(n), value(n, 100)).unwrap();
    }
    disk.fill(0);
    let count = put_until_full(&db, 10, 100, &SYNCED);
    println!("  {} puts of 100 bytes found space in the log", count - 10);
    check(&db, count, 100);
    disk.make_room();
    resume("a synced write", || db.with(&SYNCED).put(key(count), value(count, 100)));
    drop(db);
    check(&disk.open("db").unwrap(), count + 1, 100);
}

/// Makes a copy as backup programs do where the file system can share blocks. Stores into shared
/// blocks need new ones.
fn write_to_shared_blocks(disk: &Disk) {
    let db = disk.open("db").unwrap();
    for n in 0..2000 {
        db.put(key(n), value(n, 50)).unwrap();
    }
    db.sync().unwrap();
    let copied = Command::new("cp")
        .args(["--reflink=always", "-r"])
        .args([disk.path("db"), disk.path("copy")])
        .output()
        .unwrap();
    if !copied.status.success() {
        println!("  this file system shares no blocks");
        return;
    }
    disk.fill(0);
    let count = put_until_full(&db, 2000, 50, &WriteOptions::default());
    check(&db, count, 50);
    disk.make_room();
    resume("a write", || db.put(key(count), value(count, 50)));
    drop(db);
    check(&disk.open("db").unwrap(), count + 1, 50);
}

fn open_with_nothing_left(disk: &Disk) {
    let path = disk.path("db");
    let db = disk.open("db").unwrap();
    for n in 0..1500 {
        db.put(key(n), value(n, 1000)).unwrap();
    }
    drop(db);
    disk.fill(0);
    let before = size(&path);
    let mut refused = 0;
    for _ in 0..50 {
        match disk.open("db") {
            Ok(db) => check(&db, 1500, 1000),
            Err(error) => {
                assert_no_space(&error);
                refused += 1;
            }
        }
        let shown = Db::open_read_only(&path, Options::default()).unwrap();
        check(&shown, 1500, 1000);
    }
    let after = size(&path);
    println!("  {refused} of 50 opens refused; {before:?} bytes and files, then {after:?}");
    assert!(after.1 <= before.1 + 2 && after.0 <= before.0 + (1 << 20));
    disk.make_room();
    check(&disk.open("db").unwrap(), 1500, 1000);
}

fn checkpoint_with_nothing_left(disk: &Disk) {
    let db = disk.open("db").unwrap();
    for n in 0..1500 {
        db.put(key(n), value(n, 1000)).unwrap();
    }
    disk.fill(0);
    for _ in 0..20 {
        let copy = disk.path("copy");
        match db.checkpoint(&copy) {
            Ok(_) => {
                check(&Db::open_read_only(&copy, Options::default()).unwrap(), 1500, 1000);
                fs::remove_dir_all(&copy).unwrap();
            }
            Err(error) => {
                assert_no_space(&error);
                assert!(!copy.exists());
            }
        }
    }
    check(&db, 1500, 1000);
    disk.make_room();
    resume("a checkpoint", || db.checkpoint(disk.path("copy")).map(drop));
    check(&Db::open(disk.path("copy"), Options::default()).unwrap(), 1500, 1000);
}

fn gc_with_nothing_left(disk: &Disk) {
    let separating = Options {
        default: KeyspaceOptions { value_separation_min: Some(512), ..KeyspaceOptions::default() },
        knobs: Knobs { segment_size: 512 << 10, ..Knobs::default() },
        max_dead_fraction: 1.0,
        ..options()
    };
    let all_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    let db = Db::open(disk.path("db"), separating).unwrap();
    for round in 0..3 {
        for n in (0..1500).filter(|n| round == 2 || (n + round) % 2 == 0) {
            db.put(key(n), value(n, 1000)).unwrap();
        }
        db.flush().unwrap();
    }
    disk.fill(0);
    for _ in 0..20 {
        if let Err(error) = db.with(&all_dead).collect_garbage() {
            assert_no_space(&error);
        }
        if let Err(error) = db.compact(..) {
            assert_no_space(&error);
        }
    }
    check(&db, 1500, 1000);
    disk.make_room();
    resume("a compaction", || db.compact(..));
    resume("a garbage collection", || db.with(&all_dead).collect_garbage().map(drop));
    check(&db, 1500, 1000);
}
