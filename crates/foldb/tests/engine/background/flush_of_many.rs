//! Tests flushes and compactions of many keyspaces: each writes one table for every keyspace, and
//! the tables become durable together.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs, SystemThreads};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};

use crate::support::{PATH, assert_error, options};

/// Number of keyspaces: more than the tables that a flush syncs at once, and no multiple of that.
const KEYSPACES: usize = 150;

fn with_threads(fs: &MemFs, threads: bool) -> Options {
    let mut options = options(fs);
    if threads {
        options.env.threads = Arc::new(SystemThreads);
    }
    options
}

fn name(n: usize) -> String {
    format!("keyspace{n:03}")
}

/// Writes to all keyspaces without a log.
fn write_to_all(db: &Db, value: &str) {
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    for n in 0..KEYSPACES {
        db.keyspace(&name(n)).unwrap().with(&unlogged).put("key", value).unwrap();
    }
}

fn make(fs: &MemFs, threads: bool) -> Db {
    let db = Db::open(PATH, with_threads(fs, threads)).unwrap();
    for n in 0..KEYSPACES {
        db.create_keyspace(&name(n), KeyspaceOptions::default()).unwrap();
    }
    write_to_all(&db, "first");
    db
}

fn assert_all(fs: &MemFs, value: &str) {
    let db = Db::open(PATH, options(fs)).unwrap();
    for n in 0..KEYSPACES {
        let found = db.keyspace(&name(n)).unwrap().get("key").unwrap();
        assert_eq!(found.as_deref(), Some(value.as_bytes()), "{n}");
    }
}

fn tables(fs: &MemFs) -> usize {
    fs.list(Path::new(PATH)).unwrap().iter().filter(|name| name.ends_with(".tbl")).count()
}

/// If one table were installed before its sync, a power loss would leave a manifest that names
/// missing bytes.
#[test]
fn every_table_is_durable_before_it_is_installed() {
    for threads in [false, true] {
        let fs = MemFs::new();
        let db = make(&fs, threads);
        let before = fs.counts().syncs();
        db.flush().unwrap();
        assert!(fs.counts().syncs() >= before + KEYSPACES as u64, "each is synced");
        assert_all(&fs.crash(), "first");
        for seed in 0..5 {
            assert_all(&fs.crash_with(seed), "first");
        }
    }
}

/// Whichever sync fails, on whichever thread, the flush installs nothing and leaves no table. The
/// next flush writes all tables again.
#[test]
fn a_sync_that_fails_fails_the_flush_as_a_whole() {
    let alone = [1, 2, 63, 64, 65, 129, KEYSPACES as u64];
    for (threads, failing) in [(false, &alone[..]), (true, &alone[4..5])] {
        for &nth in failing {
            let fs = MemFs::new();
            // Only the caller's flush writes tables.
            let db = make(&fs, threads);
            db.flush().unwrap();
            write_to_all(&db, "second");
            let before = tables(&fs);
            fs.inject(Fault::on(Operation::Sync).path(".tbl").nth(nth));
            let flushed = db.flush();
            fs.clear_faults();
            if !threads {
                assert_error(flushed, ErrorKind::Io, None);
                assert_eq!(tables(&fs), before, "sync {nth}");
                assert_all(&fs.crash(), "first");
            }
            // A worker tries again after a while. Until then callers get its last error.
            let mut tries = 0;
            while let Err(error) = db.flush() {
                assert!(threads && tries < 1000, "{error}");
                std::thread::sleep(Duration::from_millis(10));
                tries += 1;
            }
            assert_all(&fs.crash(), "second");
        }
    }
}

/// The tables that an open makes of the log are synced in the same way.
#[test]
fn tables_made_of_the_log_are_durable_after_the_open() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..KEYSPACES {
        let keyspace = db.create_keyspace(&name(n), KeyspaceOptions::default()).unwrap();
        keyspace.put("key", "logged").unwrap();
    }
    db.sync().unwrap();
    let crashed = fs.crash();
    for nth in [1, 64, KEYSPACES as u64] {
        crashed.inject(Fault::on(Operation::Sync).path(".tbl").nth(nth));
        assert_error(Db::open(PATH, options(&crashed)), ErrorKind::Io, None);
        crashed.clear_faults();
        assert_eq!(tables(&crashed), 0, "sync {nth}");
    }
    let db = Db::open(PATH, with_threads(&crashed, true)).unwrap();
    assert_eq!(tables(&crashed), KEYSPACES);
    assert_all(&crashed.crash(), "logged");
    drop(db);
}

/// Makes keyspaces that a compaction must rewrite: each has two tables.
fn make_to_compact(fs: &MemFs, threads: bool) -> Db {
    let db = make(fs, threads);
    db.flush().unwrap();
    write_to_all(&db, "second");
    db.flush().unwrap();
    db
}

/// Each keyspace took a sync of its table, of the directory and of the manifest, one after the
/// other.
#[test]
fn a_compaction_of_many_keyspaces_takes_few_edits() {
    for threads in [false, true] {
        let fs = MemFs::new();
        let db = make_to_compact(&fs, threads);
        let before = fs.counts().syncs();
        db.compact(..).unwrap();
        let syncs = fs.counts().syncs() - before;
        assert!(syncs >= KEYSPACES as u64, "each table is synced");
        assert!(syncs <= KEYSPACES as u64 + 20, "{syncs} syncs");
        for keyspace in &db.stats().keyspaces[1..] {
            let runs: u64 = keyspace.levels.iter().map(|level| level.runs).sum();
            assert_eq!(runs, 1, "{}", keyspace.name);
        }
        assert_all(&fs.crash(), "second");
        for seed in 0..5 {
            assert_all(&fs.crash_with(seed), "second");
        }
    }
}

/// Whichever sync fails, the compaction leaves no table, and changes no keyspace for the worse. The
/// next one does what is left.
#[test]
fn a_compaction_whose_sync_fails_can_be_repeated() {
    for nth in [1, 2, 63, 64, 65, 129, KEYSPACES as u64] {
        let fs = MemFs::new();
        let db = make_to_compact(&fs, false);
        let before = tables(&fs);
        fs.inject(Fault::on(Operation::Sync).path(".tbl").nth(nth));
        assert_error(db.compact(..), ErrorKind::Io, None);
        fs.clear_faults();
        assert!(tables(&fs) <= before, "sync {nth}");
        assert_all(&fs.crash(), "second");
        db.compact(..).unwrap();
        assert_eq!(tables(&fs), KEYSPACES, "sync {nth}");
        assert_all(&fs.crash(), "second");
    }
}
