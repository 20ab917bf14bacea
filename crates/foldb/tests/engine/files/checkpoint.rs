//! Tests checkpoints: their contents, that they share no file that is still written to, and what a
//! failure half-way leaves.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use foldb::backup::Backups;
use foldb::env::mem::{Fault, Operation};
use foldb::env::{AppendOnlyFs, FileSystem, MemFs, RestrictedFs, Watch};
use foldb::operators::{Full, Growth, MergeOperator, check_output};
use foldb::repair::RepairOptions;
use foldb::{
    CompactionPreset, Compression, Db, ErrorKind, KeyspaceOptions, Options, WriteBatch,
    WriteOptions,
};

use crate::support::skipped_where_files_only_grow;
use crate::support::{
    PATH, RaisedAtEnd, assert_error, count, number, open, options, reopen, steps, text, watched,
};

const COPY: &str = "copy";
const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const UNLOGGED: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };

/// Small buffers and tables, so that few writes cause much work.
fn small(fs: &MemFs) -> Options {
    Options {
        write_buffer_size: 4096,
        target_file_size: 1024,
        block_size: 256,
        level0_compaction_trigger: 2,
        max_bytes_for_level_base: 3000,
        max_bytes_for_level_multiplier: 2.0,
        ..options(fs)
    }
}

fn open_copy(fs: &MemFs) -> foldb::Result<Db> {
    Db::open(COPY, Options { create_if_missing: false, ..small(fs) })
}

fn entries(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = BTreeMap::new();
    for name in db.keyspaces() {
        for entry in db.keyspace(&name).unwrap().iter().unwrap() {
            let (key, value) = entry.unwrap();
            entries.insert([name.as_bytes(), b"/", &key].concat(), value.to_vec());
        }
    }
    entries
}

fn files(fs: &MemFs, directory: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(directory)).unwrap_or_default();
    names.sort();
    names
}

/// Writes to three keyspaces with operators, built-in ones and ones of the tests. Compactions stop
/// in the middle of jobs, so that some tables are trimmed.
fn write_much(db: &Db, round: u64) {
    let lists = db.keyspace("lists").unwrap_or_else(|_| {
        let spec = Some("stringappend:;".to_owned());
        let options = KeyspaceOptions { merge_operator: spec, ..KeyspaceOptions::default() };
        db.create_keyspace("lists", options).unwrap()
    });
    let references = db.operator("test.references").unwrap();
    for n in 0..300u64 {
        db.merge(format!("count-{:02}", n % 50), number(n)).unwrap();
        db.merge_with(&references, format!("refs-{}", n % 7), number(1)).unwrap();
        lists.merge(format!("list-{:02}", (n + round) % 40), [b'a' + (n % 26) as u8]).unwrap();
        if n % 70 == 0 {
            db.flush().unwrap();
            db.step_background().unwrap();
        }
    }
    db.delete(format!("count-{:02}", round % 50)).unwrap();
}

#[test]
fn a_checkpoint_holds_everything_and_either_side_goes_on_alone() {
    if skipped_where_files_only_grow("it counts hard links") {
        return;
    }
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    write_much(&db, 1);
    let snapshot = db.snapshot();
    write_much(&db, 2);
    let dropped = db.create_keyspace("dropped", KeyspaceOptions::default()).unwrap();
    dropped.put("key", "value").unwrap();
    db.drop_keyspace("dropped").unwrap();
    drop(dropped);
    let expected = entries(&db);
    let at_snapshot: Vec<_> = snapshot.iter().unwrap().map(|entry| entry.unwrap().0).collect();

    let report = db.checkpoint(COPY).unwrap();
    assert!(report.tables_linked > 3 && report.tables_copied == 0, "{report:?}");
    assert!(report.bytes_linked > 0 && report.logs > 0 && report.bytes_logs > 0, "{report:?}");
    assert_eq!(fs.counts().of(Operation::HardLink), report.tables_linked);

    // The database goes on, and replaces every file that it had.
    write_much(&db, 3);
    db.compact(..).unwrap();
    let later = entries(&db);
    assert_ne!(later, expected);
    let copy = open_copy(&fs).unwrap();
    assert_eq!(entries(&copy), expected);
    assert_eq!(copy.keyspaces(), ["default", "lists"]);
    assert_eq!(copy.default_operator().unwrap().spec(), "uint64add");
    let lists = copy.keyspace("lists").unwrap();
    assert_eq!(lists.default_operator().unwrap().spec(), "stringappend:;");
    copy.verify().unwrap();

    // The checkpoint goes on too, and does not affect the database.
    write_much(&copy, 4);
    copy.compact(..).unwrap();
    let written_to = entries(&copy);
    assert_eq!(entries(&db), later);
    drop((db, snapshot));
    let db = Db::open(PATH, small(&fs)).unwrap();
    assert_eq!(entries(&db), later);
    db.verify().unwrap();
    assert!(!at_snapshot.is_empty());

    // A checkpoint of the checkpoint; then the one between goes away.
    copy.checkpoint("copy of copy").unwrap();
    drop((lists, copy));
    Db::destroy(COPY, &options(&fs)).unwrap();
    assert!(!fs.exists(Path::new(COPY)));
    let third = Db::open("copy of copy", small(&fs)).unwrap();
    assert_eq!(entries(&third), written_to);
    third.verify().unwrap();
    db.verify().unwrap();
}

#[test]
fn trimmed_tables_stay_trimmed_and_are_linked_once() {
    let fs = MemFs::new();
    let sliced = |fs: &MemFs| Options {
        default: KeyspaceOptions {
            compaction: Some(CompactionPreset::Leveled),
            compression: Some(Compression::None),
            ..small(fs).default
        },
        ..small(fs)
    };
    let db = Db::open(PATH, sliced(&fs)).unwrap();
    let mut trimmed = 0;
    for round in 0..40 {
        for n in 0..200 {
            db.merge(format!("key-{n:02}"), number(1)).unwrap();
        }
        db.flush().unwrap();
        // Stops at a slice that is not the last of its job. The job's inputs reach beyond what the
        // slice took.
        let mut is_under_way = false;
        for _ in 0..round % 5 {
            let before = db.stats();
            db.step_background().unwrap();
            let after = db.stats();
            is_under_way = after.compaction_slices > before.compaction_slices
                && after.compactions == before.compactions;
        }
        trimmed += u64::from(is_under_way);
        let copy = format!("copy-{round}");
        let before = fs.counts().of(Operation::HardLink);
        let report = db.checkpoint(&copy).unwrap();
        assert_eq!(fs.counts().of(Operation::HardLink) - before, report.tables_linked);
        let copy = Db::open(&copy, sliced(&fs)).unwrap();
        for n in 0..200 {
            assert_eq!(count(&copy, &format!("key-{n:02}")), round + 1);
        }
        steps::run_background(&copy, |_| {});
        assert_eq!(count(&copy, "key-33"), round + 1);
    }
    assert!(trimmed > 3, "few checkpoints came in the middle of a job: {trimmed}");
}

/// The log grows: if it were linked, the database would go on writing into the checkpoint's log.
#[test]
fn h12_what_may_still_grow_is_copied() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    db.put("b", "2").unwrap();
    fs.inject(Fault::on(Operation::HardLink).path(".log").forever());
    fs.inject(Fault::on(Operation::HardLink).path("MANIFEST").forever());
    db.checkpoint(COPY).unwrap();
    fs.clear_faults();
    let content = |directory: &str| -> BTreeMap<String, Vec<u8>> {
        let read = |name: &String| fs.read(&Path::new(directory).join(name)).unwrap();
        files(&fs, directory).into_iter().map(|name| (name.clone(), read(&name))).collect()
    };
    let before = content(COPY);
    assert!(before.keys().any(|name| name.ends_with(".log")));
    for n in 0..100 {
        db.put(format!("later-{n}"), "value").unwrap();
    }
    db.sync().unwrap();
    assert_eq!(content(COPY), before);
    let own = content(PATH);
    let copy = Db::open(COPY, options(&fs)).unwrap();
    copy.put("b", "other").unwrap();
    copy.close().unwrap();
    assert_eq!(content(PATH), own);
    assert_eq!(text(&db, "b").as_deref(), Some("2"));
    assert_eq!(copy.verify().map_err(|error| error.kind()), Err(ErrorKind::Closed));
    let copy = Db::open(COPY, options(&fs)).unwrap();
    assert_eq!(text(&copy, "b").as_deref(), Some("other"));
    assert_eq!(text(&copy, "later-0"), None);
}

#[test]
fn a_log_of_many_frames_and_long_records_is_copied_whole() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..300 {
        db.put(format!("small-{n}"), vec![b'x'; 3000]).unwrap();
    }
    db.put("large", vec![b'y'; 3 << 20]).unwrap();
    db.put("last", "z").unwrap();
    let expected = entries(&db);
    let report = db.checkpoint(COPY).unwrap();
    assert!(report.tables_linked == 0 && report.bytes_logs > 3 << 20, "{report:?}");
    db.put("later", "z").unwrap();
    assert_eq!(entries(&Db::open(COPY, options(&fs)).unwrap()), expected);
}

#[test]
fn unlogged_writes_are_flushed_first() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    db.with(&UNLOGGED).put("active", "1").unwrap();
    db.checkpoint("first").unwrap();
    assert_eq!(text(&Db::open("first", small(&fs)).unwrap(), "active").as_deref(), Some("1"));

    // Memtables that are sealed and not flushed yet.
    let db = {
        drop(db);
        Db::open(PATH, Options { max_write_buffers: 8, ..small(&fs) }).unwrap()
    };
    db.with(&UNLOGGED).put("sealed", "2").unwrap();
    for n in 0..60 {
        db.put(format!("fill-{n}"), [b'x'; 100]).unwrap();
    }
    db.checkpoint("second").unwrap();
    let second = Db::open("second", small(&fs)).unwrap();
    assert_eq!(text(&second, "sealed").as_deref(), Some("2"));
    assert_eq!(second.iter().unwrap().count(), 62);
}

#[test]
fn an_empty_database_and_one_without_tables_can_be_checkpointed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let report = db.checkpoint("empty").unwrap();
    assert_eq!((report.tables_linked, report.logs), (0, 1));
    assert_eq!(Db::open("empty", options(&fs)).unwrap().iter().unwrap().count(), 0);
    db.merge("count", number(7)).unwrap();
    fs.create_dir_all(Path::new(COPY)).unwrap();
    db.checkpoint(COPY).unwrap();
    assert_eq!(count(&open_copy(&fs).unwrap(), "count"), 7);
    let shown = Db::open_read_only(COPY, options(&fs)).unwrap();
    assert_eq!(count(&shown, "count"), 7);
}

#[test]
fn a_directory_that_is_used_is_refused_and_left_alone() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("key", "value").unwrap();
    db.flush().unwrap();
    db.checkpoint(COPY).unwrap();
    let before = files(&fs, COPY);
    let error = assert_error(db.checkpoint(COPY), ErrorKind::DatabaseExists, Some(COPY));
    assert!(error.to_string().contains("empty or not exist"), "{error}");
    assert_error(db.checkpoint(PATH), ErrorKind::DatabaseExists, Some(PATH));
    assert_eq!(files(&fs, COPY), before);
    fs.create_dir_all(Path::new("mine")).unwrap();
    fs.create(Path::new("mine/notes")).unwrap();
    assert_error(db.checkpoint("mine"), ErrorKind::InvalidArgument, Some("mine"));
    assert_eq!(files(&fs, "mine"), ["notes"]);
    assert_error(db.checkpoint("mine/notes"), ErrorKind::InvalidArgument, Some("mine/notes"));

    db.close().unwrap();
    assert_error(db.checkpoint("other"), ErrorKind::Closed, None);
}

#[test]
fn without_links_tables_are_copied() {
    if skipped_where_files_only_grow("it counts hard links") {
        return;
    }
    for kind in [io::ErrorKind::CrossesDevices, io::ErrorKind::Unsupported] {
        let fs = MemFs::new();
        let db = Db::open(PATH, small(&fs)).unwrap();
        write_much(&db, 1);
        let expected = entries(&db);
        fs.inject(Fault::on(Operation::HardLink).forever().kind(kind));
        let report = db.checkpoint(COPY).unwrap();
        assert!(report.tables_copied > 3 && report.tables_linked == 0, "{report:?}");
        assert_eq!(fs.counts().of(Operation::HardLink), 1, "it is not tried again");
        let copy = open_copy(&fs).unwrap();
        assert_eq!(entries(&copy), expected);
        copy.verify().unwrap();
        assert_eq!(entries(&open_copy(&fs.crash()).unwrap()), expected, "synced");
    }
}

/// Whatever call fails, the checkpoint returns the error. The database is unchanged, and no file is
/// left behind.
#[test]
fn a_checkpoint_that_fails_leaves_nothing() {
    for links in [true, false] {
        let fs = MemFs::new();
        let db = Db::open(PATH, small(&fs)).unwrap();
        write_much(&db, 1);
        let expected = entries(&db);
        let no_links = Fault::on(Operation::HardLink).forever().kind(io::ErrorKind::CrossesDevices);
        for n in 1.. {
            if !links {
                fs.inject(no_links.clone());
            }
            fs.inject(Fault::on_mutation().path(COPY).nth(n));
            let outcome = db.checkpoint(COPY);
            fs.clear_faults();
            assert!(n < 300, "{outcome:?}");
            if outcome.is_ok() && n > 10 {
                break;
            }
            if outcome.is_ok() {
                // The n-th call was the link, which fails anyway.
                assert!(!links);
                Db::destroy(COPY, &options(&fs)).unwrap();
            }
            assert!(!fs.exists(Path::new(COPY)), "call {n}: {:?}", files(&fs, COPY));
        }
        db.merge("count-00", number(0)).unwrap();
        assert_eq!(entries(&open_copy(&fs).unwrap()), expected);
        assert_eq!(entries(&db), expected);
    }
}

/// A crash at any moment leaves a whole checkpoint or no database, and the origin intact.
#[test]
fn a_crash_leaves_a_whole_checkpoint_or_none() {
    let with_tables: fn(&Db) = |db| write_much(db, 1);
    // At that moment the directory has only a log.
    let with_a_log: fn(&Db) = |db| db.put("logged", "1").unwrap();
    for write in [with_tables, with_a_log] {
        let (mut whole, mut none) = (0, 0);
        for n in 1.. {
            let fs = MemFs::new();
            let db = Db::open(PATH, small(&fs)).unwrap();
            write(&db);
            db.with(&SYNC).put("last", "1").unwrap();
            let expected = entries(&db);
            // The disk stops in the middle, so the copy's files cannot be removed either.
            fs.inject(Fault::on_mutation().nth(n).forever());
            let outcome = db.checkpoint(COPY);
            fs.clear_faults();
            for left in [fs.crash(), fs.crash_with(n), fs.crash_with(n + 1000), fs.kill()] {
                let is_whole = check_left(&left, &expected);
                assert!(is_whole || outcome.is_err(), "call {n}");
                (whole, none) = (whole + u64::from(is_whole), none + u64::from(!is_whole));
                assert_eq!(entries(&reopen(&left).unwrap()), expected, "call {n}");
            }
            if outcome.is_ok() {
                break;
            }
        }
        assert!(whole >= 4 && none > 20, "{whole} {none}");
    }
}

/// Returns whether the checkpoint exists. If so, it is whole; if not, there is no database at all.
fn check_left(left: &MemFs, expected: &BTreeMap<Vec<u8>, Vec<u8>>) -> bool {
    match open_copy(left) {
        Ok(copy) => {
            assert_eq!(entries(&copy), *expected);
            copy.verify().unwrap();
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::DatabaseMissing, "{error}");
            // A new database in that directory does not begin with the remains.
            if let Ok(begun) = Db::open(COPY, small(left)) {
                assert_eq!(entries(&begun).len(), 0);
            }
            false
        }
    }
}

#[test]
fn the_checkpoint_knows_what_a_database_knows() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    write_much(&db, 1);
    let flushes = db.stats().flushes;
    db.checkpoint(COPY).unwrap();
    let copy = open_copy(&fs).unwrap();
    assert!(copy.stats().flushes >= flushes);
    assert_error(Db::open(COPY, small(&fs)), ErrorKind::Locked, None);
    // New ids follow the old ones: for an operator and for a keyspace.
    copy.operator("stringappend:|").unwrap();
    let more = copy.create_keyspace("more", KeyspaceOptions::default()).unwrap();
    more.merge_with(&copy.operator("stringappend:|").unwrap(), "key", "a").unwrap();
    more.merge_with(&copy.operator("stringappend:|").unwrap(), "key", "b").unwrap();
    drop((more, copy));
    let copy = open_copy(&fs).unwrap();
    assert_eq!(copy.keyspace("more").unwrap().get("key").unwrap().unwrap(), b"a|b");
    // Errors name unknown operators as usual (H27).
    drop(copy);
    let without = Options { operators: Vec::new(), ..small(&fs) };
    let error = assert_error(Db::open(COPY, without), ErrorKind::UnknownOperator, None);
    assert!(error.to_string().contains("test.references"), "{error}");
}

/// Batches over two keyspaces, operators defined meanwhile, flushes and compactions in the
/// background. Every checkpoint holds whole batches: a prefix with all that had returned.
#[test]
fn checkpoints_beside_busy_writers_are_moments() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        write_buffer_size: 64 << 10,
        target_file_size: 32 << 10,
        ..Options::default()
    };
    let db = Db::open(&path, options.clone()).unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    const WRITERS: u64 = 2;
    const BATCHES: u64 = 15_000;
    let returned: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let counts = |db: &Db, name: &str| -> Vec<u64> {
        let keyspace = db.keyspace(name).unwrap();
        (0..WRITERS)
            .map(|writer| {
                let entries = keyspace.prefix(format!("{writer}/")).unwrap();
                entries.map(|e| u64::from_le_bytes(e.unwrap().1[..].try_into().unwrap())).sum()
            })
            .collect()
    };
    std::thread::scope(|scope| {
        let (db, other, returned) = (&db, &other, &returned);
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for n in 0..BATCHES {
                    let mut batch = WriteBatch::new();
                    batch.merge(format!("{writer}/{}", n % 997), number(1));
                    batch.merge_in(other, format!("{writer}/{}", n % 13), number(1));
                    if n % 500 == 0 {
                        let lists = db.operator(&format!("stringappend:{writer}{n}")).unwrap();
                        batch.merge_with(&lists, format!("list/{writer}"), "x");
                    }
                    let sync = n % 128 == 0;
                    db.with(&WriteOptions { sync, ..Default::default() }).write(&batch).unwrap();
                    returned[writer as usize].store(n + 1, Ordering::Release);
                }
            });
        }
        scope.spawn(move || {
            let mut round = 0;
            while returned.iter().any(|own| own.load(Ordering::Acquire) < BATCHES) || round < 3 {
                let at_least: Vec<u64> =
                    returned.iter().map(|own| own.load(Ordering::Acquire)).collect();
                let path = dir.path().join(format!("copy-{round}"));
                db.checkpoint(&path).unwrap();
                let copy = Db::open(&path, options.clone()).unwrap();
                let (here, there) = (counts(&copy, "default"), counts(&copy, "other"));
                assert_eq!(here, there, "the checkpoint has half a batch");
                for (found, at_least) in here.iter().zip(&at_least) {
                    assert!(found >= at_least, "{here:?} after {at_least:?}");
                }
                copy.put("0/997", number(1)).unwrap();
                copy.compact(..).unwrap();
                copy.verify().unwrap();
                drop(copy);
                Db::destroy(&path, &options).unwrap();
                round += 1;
            }
        });
    });
    assert_eq!(counts(&db, "default"), [BATCHES; WRITERS as usize]);
    db.verify().unwrap();
}

/// A place where a thread waits until the test lets it go on.
#[derive(Debug)]
struct Gate {
    came: Mutex<Sender<()>>,
    goes: Mutex<Receiver<()>>,
}

impl Gate {
    fn new() -> (Gate, Receiver<()>, Sender<()>) {
        let ((came, has_come), (go, goes)) = (channel(), channel());
        (Gate { came: Mutex::new(came), goes: Mutex::new(goes) }, has_come, go)
    }

    fn wait(&self) {
        let _nobody_looks = self.came.lock().unwrap().send(());
        let _it_goes = self.goes.lock().unwrap().recv_timeout(Duration::from_secs(30));
    }
}

/// A maximum that waits in the middle of a write, when it folds in place.
#[derive(Debug)]
struct Waiting(Gate);

impl MergeOperator for Waiting {
    fn name(&self) -> &str {
        "test.waiting"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let greatest = base.into_iter().chain(operands.iter().copied()).max();
        out.extend_from_slice(greatest.unwrap_or_default());
        Full::Value
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        self.0.wait();
        Some(accumulator.max(operand))
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}

/// Once armed, the next open of a log waits.
struct SlowOpen {
    gate: Gate,
    is_armed: AtomicBool,
}

impl Watch for SlowOpen {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        if operation == Operation::Open && is_log && self.is_armed.swap(false, Ordering::SeqCst) {
            self.gate.wait();
        }
        Ok(())
    }
}

/// A checkpoint once copied the frame of a write that was in the log and not yet in the memtable. A
/// read after the checkpoint then did not show what the checkpoint had. The simulator found it when
/// it suspended a writer there.
#[test]
fn a_checkpoint_has_nothing_that_later_reads_do_not_show() {
    let fs = MemFs::new();
    let ((fold, folds, end_fold), (open, opens, end_open)) = (Gate::new(), Gate::new());
    let watch = Arc::new(SlowOpen { gate: open, is_armed: AtomicBool::new(false) });
    let mut options = Options {
        default: KeyspaceOptions::with_operator("test.waiting"),
        operators: vec![Arc::new(Waiting(fold))],
        max_write_buffers: 8,
        ..small(&fs)
    };
    options.env.fs = watched(&fs, &watch);
    let db = Db::open(PATH, options.clone()).unwrap();
    // Several logs: the checkpoint reads the end of the last one after it has opened the first.
    (0..20).for_each(|n| db.put(format!("large {n}"), [0; 400]).unwrap());
    db.merge("key", [1; 8]).unwrap();
    let logs = fs.list(Path::new(PATH)).unwrap();
    assert!(logs.iter().filter(|name| name.ends_with(".log")).count() >= 2, "{logs:?}");
    thread::scope(|scope| {
        watch.is_armed.store(true, Ordering::SeqCst);
        let copying = scope.spawn(|| {
            db.checkpoint(COPY).unwrap();
            db.get("key").unwrap().unwrap().to_vec()
        });
        opens.recv_timeout(Duration::from_secs(30)).expect("the checkpoint opens a log");
        scope.spawn(|| db.merge("key", [2; 8]).unwrap());
        folds.recv_timeout(Duration::from_secs(30)).expect("the write folds in place");
        end_open.send(()).unwrap();
        // Long enough for a checkpoint that does not wait. One that waits may take longer.
        thread::sleep(Duration::from_millis(300));
        end_fold.send(()).unwrap();
        let read_behind_it = copying.join().unwrap();
        // The replay folds too.
        drop(end_fold);
        let copy = Db::open_read_only(COPY, options.clone()).unwrap();
        // The operator keeps the greatest operand.
        assert!(*copy.get("key").unwrap().unwrap() <= read_behind_it[..]);
    });
}

/// Another thread makes an unlogged write before each logged one. A checkpoint that has the logged
/// write has the unlogged one too.
#[test]
fn a_checkpoint_beside_unlogged_writes_shows_one_moment() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let stop = AtomicBool::new(false);
    // A bound: where checkpoints are slow, the keys to count would grow from round to round.
    let bound = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                if n == bound.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                    continue;
                }
                db.with(&unlogged).put(format!("u{n}"), "").unwrap();
                db.put(format!("v{n}"), "").unwrap();
                n += 1;
            }
        });
        let _ended = RaisedAtEnd(&stop);
        for round in 0..12 {
            bound.fetch_add(4000, Ordering::Relaxed);
            let copy = format!("copy{round}");
            db.checkpoint(&copy).unwrap();
            let copy = Db::open(&copy, options(&fs)).unwrap();
            let count = |from: &str, to: &str| copy.range(from..to).unwrap().count();
            let (unlogged, logged) = (count("u", "v"), count("v", "w"));
            assert!(unlogged == logged || unlogged == logged + 1, "{unlogged}, {logged}");
        }
    });
}

/// Outputs among the files of a database or of backups, also through `..` and of another database.
#[test]
fn outputs_inside_of_databases_and_backups_are_refused() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("key", "value").unwrap();
    let backups = Backups::at("backups", &options(&fs));
    backups.create(&db).unwrap();
    let other = Db::open("other", options(&fs)).unwrap();
    let mut dump = Vec::new();
    db.dump(&mut dump).unwrap();
    for inside in ["db/new", "db/new/deeper", "other/../db/new", "backups/new", "backups/shared/x"]
    {
        let refused = |what: &str, outcome: foldb::Result<()>| {
            let error = outcome.expect_err(&format!("{what} {inside}"));
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{what} {inside}: {error}");
            assert!(error.to_string().contains("is inside of a d"), "{what} {inside}: {error}");
        };
        refused("checkpoint", other.checkpoint(inside).map(|_| ()));
        refused("backup", Backups::at(inside, &options(&fs)).create(&other).map(|_| ()));
        refused("restore of a backup", backups.restore(None, inside).map(|_| ()));
        refused("restore", Db::restore(&dump[..], inside, options(&fs)).map(|_| ()));
        let repair = RepairOptions { copy_to: Some(inside.into()), ..options(&fs).into() };
        db.close().unwrap();
        refused("repair", Db::repair(PATH, repair).map(|_| ()));
        refused("dump", check_output(inside, &options(&fs)));
        assert!(!fs.exists(Path::new(inside)), "{inside}");
    }
    backups.restore(None, "whole").unwrap();
}

/// Some file systems list a directory to know that it is one. A failed list is an error of the
/// disk, and no file in the place of the directory.
#[test]
fn a_directory_that_cannot_be_listed_is_taken_for_no_file() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    let below = RestrictedFs::new(Arc::new(fs.clone()));
    options.env.fs = Arc::new(AppendOnlyFs::new(Arc::new(below)));
    let db = Db::open(PATH, options.clone()).unwrap();
    db.put("k", "1").unwrap();
    let backups = Backups::at("backups", &options);
    backups.create(&db).unwrap();
    let mut failed = 0;
    for nth in 1..12 {
        let copies: [(&str, &dyn Fn() -> foldb::Result<()>); 3] = [
            ("copy", &|| db.checkpoint(format!("copy{nth}")).map(drop)),
            ("backups", &|| backups.create(&db).map(drop)),
            ("backups", &|| backups.list().map(drop)),
        ];
        for (what, (path, copy)) in copies.iter().enumerate() {
            fs.inject(Fault::on(Operation::List).path(path).nth(nth));
            let copied = copy();
            fs.clear_faults();
            if let Err(error) = copied {
                failed += 1;
                assert_eq!(error.kind(), ErrorKind::Io, "list {nth} of copy {what}: {error}");
            }
        }
    }
    assert!(failed > 4, "{failed} lists failed");
}
