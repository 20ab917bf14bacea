//! What `Profile::Small` promises: little disk, little memory, one background thread.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use foldb::env::{Env, SystemThreads, Thread, ThreadBody, Threads};
use foldb::{Db, Options};

const KIB: u64 = 1 << 10;

/// The operating system's threads, counted.
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl Threads for Counted {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        self.0.fetch_add(1, SeqCst);
        SystemThreads.spawn(name, body)
    }
}

fn small() -> Options {
    Options { create_if_missing: true, ..Options::small() }
}

fn counted() -> (Options, Arc<Counted>) {
    let threads = Arc::new(Counted::default());
    let env = Env { threads: Arc::clone(&threads) as Arc<dyn Threads>, ..Env::system() };
    (Options { env, ..small() }, threads)
}

/// Returns the bytes of all files, and the bytes of their blocks on the disk.
fn disk(path: &Path) -> (u64, u64) {
    let files = std::fs::read_dir(path).unwrap().map(|file| file.unwrap().metadata().unwrap());
    files.fold((0, 0), |(bytes, blocks), file| (bytes + file.len(), blocks + on_disk(&file)))
}

#[cfg(unix)]
fn on_disk(file: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    file.blocks() * 512
}

#[cfg(not(unix))]
fn on_disk(file: &std::fs::Metadata) -> u64 {
    file.len()
}

fn assert_little_disk(path: &Path, when: &str) {
    let (bytes, blocks) = disk(path);
    assert!(bytes.max(blocks) <= 64 * KIB, "{when}: {bytes} bytes in {blocks} bytes of blocks");
}

#[test]
fn a_store_with_little_in_it_takes_64_kib_of_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Db::open(&path, small()).unwrap();
    assert_little_disk(&path, "created");
    for n in 0..100_u32 {
        db.put(n.to_be_bytes(), [7; 50]).unwrap();
    }
    db.sync().unwrap();
    assert_little_disk(&path, "written");
    db.close().unwrap();
    assert_little_disk(&path, "closed");
    let db = Db::open(&path, small()).unwrap();
    assert_eq!(db.get(99_u32.to_be_bytes()).unwrap().unwrap().len(), 50);
    db.put("more", "1").unwrap();
    assert_little_disk(&path, "opened again");
    db.flush().unwrap();
    assert_little_disk(&path, "flushed");
    // Settings that change all the time do not grow the store.
    for n in 0..20_000_u32 {
        db.put("setting", n.to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    assert_little_disk(&path, "changed often");
}

#[test]
fn a_short_use_starts_no_thread_and_a_long_one_starts_one() {
    let dir = tempfile::tempdir().unwrap();
    let (options, threads) = counted();
    let db = Db::open(dir.path(), options.clone()).unwrap();
    db.put("a", "1").unwrap();
    db.sync().unwrap();
    db.close().unwrap();
    let db = Db::open(dir.path(), options).unwrap();
    assert_eq!(&*db.get("a").unwrap().unwrap(), b"1");
    assert_eq!(threads.0.load(SeqCst), 0);
    fill(&db, 20_000);
    db.wait_for_background().unwrap();
    assert_eq!(threads.0.load(SeqCst), 1);
    assert!(db.stats().compactions > 0, "the one thread also compacts");
    db.close().unwrap();
    assert_eq!(threads.0.load(SeqCst), 1);
}

/// A tool that had run a hundred times had two small tables or more. An idle database joins them,
/// so each run started a thread, and ended before the thread had a look.
#[test]
fn a_store_of_many_short_uses_starts_no_thread() {
    let dir = tempfile::tempdir().unwrap();
    let (options, threads) = counted();
    for run in 0..110 {
        let db = Db::open(dir.path(), options.clone()).unwrap();
        db.put(format!("{}", run % 10), "1").unwrap();
        db.close().unwrap();
    }
    let db = Db::open(dir.path(), options).unwrap();
    assert!(db.stats().levels[0].tables > 1, "{:?}", db.stats().levels);
    assert_eq!(threads.0.load(SeqCst), 0);
}

/// Writes entries of 100 bytes in no order.
fn fill(db: &Db, entries: u64) {
    for n in 0..entries {
        let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        db.put(key, [n as u8; 92]).unwrap();
    }
}

#[test]
fn memory_stays_at_a_mebibyte_beside_background_work() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), small()).unwrap();
    let mut most = 0;
    for _ in 0..40 {
        fill(&db, 1000);
        for n in (0..1000_u64).step_by(50) {
            db.get(n.to_be_bytes()).unwrap();
        }
        let memory = db.memory();
        most = most.max(memory.total() - memory.background);
        assert!(memory.background <= 1024 * KIB + 256 * KIB, "{memory:?}");
    }
    assert!(most <= 1024 * KIB, "{most}");
    let entries = db.iter().unwrap().count();
    assert_eq!(entries, 1000, "the same keys each time");
    db.close().unwrap();
}
