//! What an open and a close cost: after a clean close, only what was written meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs, SystemThreads, Thread, ThreadBody, Threads};
use foldb::repair::verify;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};
#[cfg(unix)]
use tempfile::TempDir;

use crate::support::{
    PATH, assert_error, count, number, open, options, reopen, skipped_where_files_only_grow, text,
};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

/// The operating system's threads, counted.
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl Threads for Counted {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        self.0.fetch_add(1, SeqCst);
        SystemThreads.spawn(name, body)
    }
}

/// Returns options with threads, and their count.
fn threaded(fs: &MemFs) -> (Options, Arc<Counted>) {
    let threads = Arc::new(Counted::default());
    let env = Env { threads: Arc::clone(&threads) as Arc<dyn Threads>, ..options(fs).env };
    (Options { env, ..options(fs) }, threads)
}

/// Returns the bytes of every file.
fn files(fs: &MemFs) -> BTreeMap<String, Vec<u8>> {
    let names = fs.list(PATH.as_ref()).unwrap().into_iter();
    names.map(|name| (name.clone(), fs.read(&Path::new(PATH).join(name)).unwrap())).collect()
}

fn logs(fs: &MemFs) -> usize {
    files(fs).keys().filter(|name| name.ends_with(".log")).count()
}

/// Returns the syncs of files and directories so far.
fn syncs(fs: &MemFs) -> u64 {
    let counts = fs.counts();
    counts.of(Operation::Sync) + counts.of(Operation::SyncDir)
}

/// Returns the calls that changed files or made them durable.
fn changes(fs: &MemFs) -> [u64; 8] {
    let counts = fs.counts();
    [
        Operation::Create,
        Operation::Write,
        Operation::Preallocate,
        Operation::Truncate,
        Operation::Sync,
        Operation::SyncDir,
        Operation::Rename,
        Operation::Remove,
    ]
    .map(|operation| counts.of(operation))
}

/// Returns a closed database with a table, writes in the log, and another keyspace.
fn closed() -> MemFs {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("table", "1").unwrap();
    db.merge("count", number(2)).unwrap();
    db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    db.flush().unwrap();
    db.put("log", "2").unwrap();
    db.merge("count", number(3)).unwrap();
    db.keyspace("other").unwrap().put("there", "3").unwrap();
    db.close().unwrap();
    fs
}

fn assert_whole(db: &Db) {
    assert_eq!(text(db, "table").as_deref(), Some("1"));
    assert_eq!(text(db, "log").as_deref(), Some("2"));
    assert_eq!(count(db, "count"), 5);
    let other = db.keyspace("other").unwrap();
    assert_eq!(other.get("there").unwrap().unwrap(), *b"3");
}

#[test]
fn an_open_a_get_and_a_close_change_nothing() {
    let fs = closed();
    for _ in 0..3 {
        let before = files(&fs);
        let calls = changes(&fs);
        let (options, threads) = threaded(&fs);
        let db = Db::open(PATH, options).unwrap();
        assert_whole(&db);
        db.close().unwrap();
        assert_eq!(changes(&fs), calls);
        assert_eq!(files(&fs), before);
        assert_eq!(threads.0.load(SeqCst), 0, "nothing was left to a thread");
    }
}

#[test]
fn a_write_costs_its_own_syncs_and_one() {
    if skipped_where_files_only_grow("a sync of a directory syncs a file there") {
        return;
    }
    let fs = closed();
    for round in 0..3 {
        let db = reopen(&fs).unwrap();
        let before = syncs(&fs);
        db.with(&SYNC).put("new", format!("{round}")).unwrap();
        assert_eq!(syncs(&fs) - before, 2, "of the log and of its name");
        db.close().unwrap();
        assert!(syncs(&fs) - before <= 3, "{} syncs", syncs(&fs) - before);
        // The log becomes durable in the close.
        let db = reopen(&fs).unwrap();
        let before = syncs(&fs);
        db.put("unsynced", format!("{round}")).unwrap();
        assert_eq!(syncs(&fs), before);
        db.close().unwrap();
        assert!(syncs(&fs) - before <= 3, "{} syncs", syncs(&fs) - before);
        let left = reopen(&fs.crash()).unwrap();
        assert_whole(&left);
        assert_eq!(text(&left, "new").unwrap(), format!("{round}"));
        assert_eq!(text(&left, "unsynced").unwrap(), format!("{round}"));
    }
}

/// Each open with a write adds a log. At some point tables take them over.
#[test]
fn many_opens_with_a_write_leave_few_logs() {
    let fs = closed();
    let (mut most, mut took_over) = (0, false);
    for round in 1..=100 {
        let db = reopen(&fs).unwrap();
        assert_eq!(count(&db, "rounds"), round - 1);
        db.merge("rounds", number(1)).unwrap();
        db.delete("gone").unwrap();
        db.close().unwrap();
        took_over |= logs(&fs) < most;
        most = most.max(logs(&fs));
    }
    assert!(took_over && (8..=40).contains(&most), "{most} logs");
    let db = reopen(&fs.crash()).unwrap();
    assert_whole(&db);
    assert_eq!(count(&db, "rounds"), 100);
}

/// The totals of a close are in its record if the manifest stays as it is.
#[test]
fn the_statistics_go_on_after_each_close() {
    let fs = closed();
    let puts = |fs: &MemFs| {
        let db = Db::open_read_only(PATH, Options { create_if_missing: false, ..options(fs) });
        db.unwrap().stats().puts
    };
    let first = puts(&fs);
    for round in 1..=40 {
        let db = reopen(&fs).unwrap();
        db.put("a", "b").unwrap();
        assert_eq!(db.stats().puts, first + round);
        match round % 3 {
            0 => drop(db),
            1 => db.close().unwrap(),
            _ => {
                drop(db);
                drop(reopen(&fs).unwrap());
            }
        }
        assert_eq!(puts(&fs), first + round);
    }
}

/// Whatever follows a close, at any point, with or without a power loss, opens with a prefix of the
/// writes, and with every synced one.
#[test]
fn a_stop_at_any_point_after_a_close_loses_nothing() {
    let before = closed();
    // Another open with a write, so that there are two logs.
    let db = reopen(&before).unwrap();
    db.put("second", "log").unwrap();
    db.close().unwrap();
    let run = |fs: &MemFs, reached: &mut usize| -> foldb::Result<()> {
        let db = reopen(fs)?;
        db.put("1", "a")?;
        db.with(&SYNC).put("2", "b")?;
        *reached = 1;
        db.merge("count", number(10))?;
        db.flush()?;
        *reached = 2;
        db.put("3", "c")?;
        db.close()?;
        *reached = 3;
        let db = reopen(fs)?;
        db.create_keyspace("late", KeyspaceOptions::default())?;
        db.put("4", "d")?;
        db.close()?;
        *reached = 4;
        Ok(())
    };
    let whole = before.kill();
    run(&whole, &mut 0).unwrap();
    let calls = whole.counts().mutations();
    for point in 1..=calls {
        let fs = before.kill();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let mut reached = 0;
        let outcome = run(&fs, &mut reached);
        assert_eq!(outcome.is_ok(), reached == 4);
        for seed in 0..12 {
            let left = match seed {
                0 => fs.crash(),
                1 => fs.kill(),
                seed => fs.crash_with(seed),
            };
            let db = reopen(&left).unwrap_or_else(|error| panic!("{point}, {seed}: {error}"));
            assert_eq!(text(&db, "second").as_deref(), Some("log"));
            assert_eq!(text(&db, "log").as_deref(), Some("2"));
            let written = ["1", "2", "3", "4"].map(|key| text(&db, key).is_some());
            assert!(written.is_sorted_by(|a, b| a >= b), "{point}, {seed}: {written:?}");
            let least = [0, 2, 2, 3, 4][reached];
            let found = written.iter().filter(|is_there| **is_there).count();
            assert!(found >= least, "{point}, {seed}: {found} of {least}");
            assert!(reached < 2 || count(&db, "count") == 15, "{point}, {seed}");
            db.put("after", "wards").unwrap();
            db.close().unwrap();
            assert_eq!(text(&reopen(&left).unwrap(), "after").unwrap(), "wards");
        }
    }
}

/// A power loss may keep the record of the close before, beside a log that goes on.
#[test]
fn a_record_that_a_log_follows_is_outdated() {
    let fs = closed();
    let record = Path::new(PATH).join("CLOSED");
    let old = fs.read(&record).unwrap();
    let db = reopen(&fs).unwrap();
    db.put("new", "1").unwrap();
    db.with(&SYNC).put("new", "2").unwrap();
    let left = fs.kill();
    assert!(!left.exists(&record), "the first write takes the record away");
    left.create(&record).unwrap().write_at(&old, 0).unwrap();
    let read_only = || {
        let own = Options { create_if_missing: false, ..options(&left) };
        Db::open_read_only(PATH, own).unwrap()
    };
    assert_eq!(text(&read_only(), "new").unwrap(), "2");
    assert!(verify(PATH, options(&left)).unwrap().is_sound());
    let db = reopen(&left).unwrap();
    assert_whole(&db);
    assert_eq!(text(&db, "new").unwrap(), "2");
    db.close().unwrap();
    assert_ne!(left.read(&record).unwrap(), old);
}

/// A log that lost bytes after its clean close is damage, with and without the record, and also if
/// another log follows. Each log of the first session once looked like one with a torn tail.
#[test]
fn a_log_that_is_shorter_than_at_its_close_is_noticed() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    for n in 0..50 {
        db.put(format!("{n:02}"), [b'v'; 100]).unwrap();
    }
    db.close().unwrap();
    let first: Vec<_> = files(&fs).into_keys().filter(|name| name.ends_with(".log")).collect();
    assert!(first.len() > 1, "{first:?}");
    let roomy = Options { write_buffer_size: 1 << 20, ..options(&fs) };
    let db = Db::open(PATH, roomy).unwrap();
    db.with(&SYNC).put("new", "1").unwrap();
    let killed = fs.kill();
    assert!(!killed.exists(&Path::new(PATH).join("CLOSED")));
    db.close().unwrap();
    for fs in [killed, fs] {
        let names = files(&fs);
        for name in &first {
            let copy = fs.kill();
            let bytes = &names[name];
            let file = copy.create(&Path::new(PATH).join(name)).unwrap();
            file.write_at(&bytes[..bytes.len() - 1], 0).unwrap();
            assert_error(reopen(&copy), ErrorKind::Corruption, Some(name));
        }
        assert_eq!(text(&reopen(&fs).unwrap(), "new").unwrap(), "1");
    }
}

/// Every kind of change finds the files that it needs.
#[test]
fn the_first_change_after_a_close_may_be_any() {
    type Change = fn(&Db);
    let changes: [(&str, Change); 11] = [
        ("flush", |db| db.flush().unwrap()),
        ("compact", |db| db.compact(..).unwrap()),
        ("create", |db| drop(db.create_keyspace("new", KeyspaceOptions::default()).unwrap())),
        ("drop", |db| db.drop_keyspace("other").unwrap()),
        ("operator", |db| drop(db.operator("stringappend:;").unwrap())),
        ("unlogged", |db| {
            let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };
            db.with(&unlogged).put("unlogged", "4").unwrap();
        }),
        ("range", |db| db.delete_range("x".."z").unwrap()),
        ("checkpoint", |db| assert!(db.checkpoint("copy").unwrap().logs > 0)),
        ("empty sync", |db| db.sync().unwrap()),
        ("merge", |db| db.merge("count", number(0)).unwrap()),
        ("transaction", |db| {
            db.transact(|transaction| transaction.put("transacted", "5")).unwrap();
        }),
    ];
    for (first, change) in &changes {
        for (second, other) in &changes {
            if first == second && matches!(*first, "create" | "drop" | "checkpoint") {
                continue;
            }
            let fs = closed();
            let db = reopen(&fs).unwrap();
            change(&db);
            let killed = fs.kill();
            db.close().unwrap();
            let db = reopen(&fs).unwrap();
            other(&db);
            db.put("last", "6").unwrap();
            for fs in [killed, fs.kill(), fs.clone()] {
                let db = Db::open(PATH, options(&fs));
                let db = match db {
                    // The database of the loop is still open.
                    Err(error) if error.kind() == ErrorKind::Locked => continue,
                    opened => opened.unwrap_or_else(|error| panic!("{first}, {second}: {error}")),
                };
                assert_eq!(text(&db, "table").as_deref(), Some("1"), "{first}, {second}");
                assert_eq!(text(&db, "log").as_deref(), Some("2"), "{first}, {second}");
                assert_eq!(count(&db, "count"), 5, "{first}, {second}");
                db.close().unwrap();
                assert!(verify(PATH, options(&fs)).unwrap().is_sound());
            }
            if *first == "checkpoint" {
                let copy = Db::open("copy", options(&fs)).unwrap();
                assert_whole(&copy);
            }
        }
    }
}

/// Without a flush the writes of many opens stay in memtables, folded as if no close came between.
#[test]
fn a_chain_over_several_opens_folds() {
    let fs = MemFs::new();
    for round in 0..10 {
        let db = open(&fs).unwrap();
        assert_eq!(text(&db, "list").unwrap_or_default().len(), 2 * round);
        let append = db.operator("stringappend:").unwrap();
        db.merge_with(&append, "list", "ab").unwrap();
        let snapshot = db.snapshot();
        db.merge_with(&append, "list", "cd").unwrap();
        assert_eq!(text(&snapshot, "list").unwrap().len(), 2 * round + 2);
        db.put("list", "ab".repeat(round + 1)).unwrap();
        drop(snapshot);
        db.close().unwrap();
    }
}

/// A thread starts with the first work, also if an earlier process left it.
#[test]
fn threads_start_with_the_first_work() {
    let fs = closed();
    let (options_of, threads) = threaded(&fs);
    let db = Db::open(PATH, options_of).unwrap();
    db.put("a", "1").unwrap();
    assert_eq!(threads.0.load(SeqCst), 0, "a write in a memtable is no work for a thread");
    db.flush().unwrap();
    assert!(threads.0.load(SeqCst) > 0);
    db.close().unwrap();

    // Without threads, nothing compacts the runs of level 0.
    let db = reopen(&fs).unwrap();
    for n in 0..8 {
        db.put("a", format!("{n}")).unwrap();
        db.flush().unwrap();
    }
    db.close().unwrap();
    let (options_of, threads) = threaded(&fs);
    let db = Db::open(PATH, options_of).unwrap();
    assert!(threads.0.load(SeqCst) > 0, "a compaction is due");
    db.wait_for_background().unwrap();
    let runs =
        |db: &Db| -> u64 { db.stats().keyspaces[0].levels.iter().map(|level| level.runs).sum() };
    assert_eq!(runs(&db), 1);
    db.close().unwrap();
    let (options_of, threads) = threaded(&fs);
    let db = Db::open(PATH, options_of).unwrap();
    assert_eq!(threads.0.load(SeqCst), 0, "the tree is at rest");
    assert_eq!(text(&db, "a").unwrap(), "7");
}

/// If the system starts no thread when there is work, callers do it.
#[test]
fn callers_work_where_no_thread_starts() {
    #[derive(Debug, Default)]
    struct Failing(AtomicUsize);
    impl Threads for Failing {
        fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
            match self.0.fetch_add(1, SeqCst) {
                0..100 => Err(io::Error::other("no thread today")),
                _ => SystemThreads.spawn(name, body),
            }
        }
    }
    let fs = MemFs::new();
    let threads = Arc::new(Failing::default());
    let env = Env { threads: Arc::clone(&threads) as Arc<dyn Threads>, ..options(&fs).env };
    let own = Options { env, write_buffer_size: 16 << 10, ..options(&fs) };
    let db = Db::open(PATH, own).unwrap();
    for n in 0..4000 {
        db.put(format!("{n:04}"), [b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    db.wait_for_background().unwrap();
    assert_eq!(db.iter().unwrap().count(), 4000);
    db.close().unwrap();
}

/// Returns the bytes that the files of a directory take on the disk.
#[cfg(unix)]
fn allocated(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512).sum()
}

/// The log of a new database once took 256 KiB.
#[cfg(unix)]
#[test]
fn an_empty_database_takes_less_than_64_kib() {
    let directory = TempDir::new().unwrap();
    let own = || Options { create_if_missing: true, ..Options::default() };
    for _ in 0..2 {
        let db = Db::open(directory.path(), own()).unwrap();
        assert!(allocated(directory.path()) < 64 << 10, "open: {}", allocated(directory.path()));
        db.close().unwrap();
        assert!(allocated(directory.path()) < 64 << 10, "closed: {}", allocated(directory.path()));
    }
}

/// The close cuts off what a failed append left in the log. A power loss once brought it back, and
/// the open took it for damage.
#[test]
fn what_a_failed_write_left_is_no_damage_after_a_close() {
    let fs = closed();
    let db = reopen(&fs).unwrap();
    db.with(&SYNC).put("new", "1").unwrap();
    fs.inject(Fault::on(Operation::Write).path(".log").torn_at(60));
    db.put("failed", [b'v'; 100]).unwrap_err();
    db.close().unwrap();
    for left in [fs.crash(), fs.kill()] {
        let db = reopen(&left).unwrap();
        assert_whole(&db);
        assert_eq!((text(&db, "new").as_deref(), text(&db, "failed")), (Some("1"), None));
    }
}

/// The first write removed the record of the close before it began a log. When that failed, the
/// database was left without the proof, and its close failed too.
#[test]
fn a_first_write_that_fails_leaves_the_record_of_the_close() {
    let faults: [(&str, Fault); 2] = [
        ("the log cannot be created", Fault::on(Operation::Create).path(".log").forever()),
        ("the record cannot be removed", Fault::on(Operation::Remove).path("CLOSED").forever()),
    ];
    for (name, fault) in faults {
        let fs = closed();
        let before = files(&fs);
        let db = open(&fs).unwrap();
        fs.inject(fault);
        db.put("log", "lost").unwrap_err();
        if name.contains("record") {
            db.create_keyspace("lost", KeyspaceOptions::default()).unwrap_err();
        }
        fs.clear_faults();
        if name.contains("record") {
            db.close().unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut after = files(&fs);
            after.remove("CURRENT.tmp");
            assert!(after == before, "{name}");
        }
        assert_whole(&open(&fs.kill()).unwrap());
    }
}
