//! Databases that are only read: what they show, that they write nothing, and what a concurrent
//! writer can do to them.

use std::collections::BTreeMap;
#[cfg(unix)]
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldb::env::mem::Fault;
use foldb::env::{Env, FileSystem, MemFs};
use foldb::{
    Db, ErrorKind, KeyspaceOptions, Options, ReadOnlyDb, ReadOptions, WriteBatch, WriteOptions,
};

use crate::support::deeds::BeforeLooks;
use crate::support::{
    AnyDb, PATH, RaisedAtEnd, assert_error, count, error_of, number, open, options, reopen, steps,
    text, watched,
};

const UNLOGGED: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };

fn look(fs: &MemFs) -> foldb::Result<ReadOnlyDb> {
    ReadOnlyDb::open(PATH, options(fs))
}

/// Small buffers and tables, so that few writes cause much work.
fn small(fs: &MemFs) -> Options {
    Options {
        write_buffer_size: 4096,
        target_file_size: 1024,
        block_size: 256,
        level0_compaction_trigger: 2,
        max_bytes_for_level_base: 4000,
        ..options(fs)
    }
}

fn entries(db: &impl AnyDb) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = BTreeMap::new();
    for name in db.names() {
        for entry in db.reader(&name).unwrap().iter().unwrap() {
            let (key, value) = entry.unwrap();
            entries.insert([name.as_bytes(), b"/", &key].concat(), value.to_vec());
        }
    }
    entries
}

/// Writes a database with tables in several levels, a log, keyspaces, and operators of the tests.
fn write_much(db: &Db) {
    let other = KeyspaceOptions::with_operator("stringappend:;");
    let words = db.create_keyspace("words", other).unwrap();
    let references = db.operator("test.references").unwrap();
    for n in 0..400u64 {
        db.merge(format!("count-{}", n % 50), number(n)).unwrap();
        db.merge_with(&references, format!("refs-{}", n % 7), number(1)).unwrap();
        words.merge(format!("w{}", n % 20), [b'a' + (n % 26) as u8]).unwrap();
        if n % 90 == 0 {
            db.flush().unwrap();
        }
    }
    steps::run_background(db, |_| {});
    for n in 0..20u64 {
        db.merge(format!("count-{n}"), number(n)).unwrap();
        words.put(format!("w{n}"), "put").unwrap();
    }
}

#[test]
fn a_read_only_database_shows_tables_and_logs_of_all_keyspaces() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    write_much(&db);
    let expected = entries(&db);
    assert_eq!(entries(&look(&fs).unwrap()), expected, "beside the writer");
    assert_eq!(entries(&look(&fs.kill()).unwrap()), expected, "after a kill");
    let snapshot = db.snapshot();
    db.put("later", "x").unwrap();
    let shown = look(&fs).unwrap();
    assert_eq!(text(&shown, "later").as_deref(), Some("x"));
    drop(snapshot);
    drop(shown);
    db.close().unwrap();
    assert_eq!(look(&fs).unwrap().get("later").unwrap().unwrap(), b"x");
}

#[test]
fn every_kind_of_read_works() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    write_much(&db);
    let shown = look(&fs).unwrap();
    drop(db);

    let forwards: Vec<_> = shown.iter().unwrap().map(|entry| entry.unwrap().0).collect();
    let mut iter = shown.iter().unwrap();
    let mut backwards = Vec::new();
    while iter.retreat().unwrap() {
        backwards.push(iter.key().to_vec());
    }
    backwards.reverse();
    assert_eq!(forwards, backwards);
    assert_eq!(forwards.len(), 57);

    let counts = shown.multi_get(["count-1", "nothing", "count-2"]).unwrap();
    let counts: Vec<_> = counts.into_iter().map(|answer| answer.unwrap().is_some()).collect();
    assert_eq!(counts, [true, false, true]);
    assert!(!shown.get_operands("count-1").unwrap().is_empty());
    assert!(!shown.explain("count-1").unwrap().records.is_empty());
    assert_eq!(shown.list_failed_merges().unwrap().count(), 0);
    let count = shown.approximate_count(..).unwrap();
    assert!((count.at_least..=count.at_most).contains(&57), "{count:?}");
    assert!(shown.approximate_size(..).unwrap() > 0);
    assert!(shown.verify().unwrap() > 0);
    let stats = shown.stats();
    assert!(stats.levels.iter().any(|level| level.tables > 0) && stats.memtable_bytes > 0);
    assert!(stats.to_prometheus().contains("foldb"));

    let snapshot = shown.snapshot();
    let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    let at_snapshot = shown.default_keyspace().with(&options);
    assert_eq!(at_snapshot.get("count-3").unwrap(), shown.get("count-3").unwrap());
    assert_eq!(shown.first().unwrap().unwrap().0, forwards[0]);
    assert_eq!(shown.last().unwrap().unwrap().0, forwards[56]);
    assert!(!shown.is_empty().unwrap());
    assert_eq!(shown.default_operator().unwrap().spec(), "uint64add");
    shown.close().unwrap();
    assert_error(shown.get("count-1"), ErrorKind::Closed, None);
}

#[test]
fn nothing_is_written() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    write_much(&db);
    let expected = entries(&db);
    // A reserved log, half a frame at its end, and no LOCK: the worst state without damage.
    let left = fs.kill();
    left.remove(Path::new("db/LOCK")).unwrap();
    let log = left.list(Path::new(PATH)).unwrap().into_iter().filter(|n| n.ends_with(".log")).max();
    let path = Path::new(PATH).join(log.unwrap());
    let bytes = left.read(&path).unwrap();
    left.create(&path).unwrap().write_at(&bytes, 0).unwrap();
    left.inject(Fault::on_mutation().forever());
    let before = left.counts().mutations();
    let shown = look(&left).unwrap();
    assert_eq!(entries(&shown), expected);
    shown.verify().unwrap();
    drop(shown.snapshot());
    shown.close().unwrap();
    drop(shown);
    drop(look(&left).unwrap());
    assert_eq!(left.counts().mutations(), before, "a look tries no change");
}

#[cfg(unix)]
#[test]
fn a_directory_without_write_permission_can_be_looked_at() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let options = Options { create_if_missing: true, ..Options::default() };
    let db = Db::open(&path, options.clone()).unwrap();
    db.put("flushed", "1").unwrap();
    db.flush().unwrap();
    db.put("logged", "2").unwrap();
    db.close().unwrap();
    let files = || {
        let mut files: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let changed = entry.metadata().unwrap().modified().unwrap();
                (entry.file_name(), fs::read(entry.path()).unwrap(), changed)
            })
            .collect();
        files.sort();
        files
    };
    let permit = |bits| fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
    for file in fs::read_dir(&path).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o444)).unwrap();
    }
    permit(0o555);
    let before = files();
    let shown = Db::open_read_only(&path, options).unwrap();
    assert_eq!(text(&shown, "flushed").as_deref(), Some("1"));
    assert_eq!(text(&shown, "logged").as_deref(), Some("2"));
    drop(shown);
    assert_eq!(files(), before);
    permit(0o755);
}

#[test]
fn a_read_only_database_never_changes_whatever_the_writer_removes() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    write_much(&db);
    // One open table at a time: if a read-only open kept only this number, tables would be missing.
    let shown = Db::open_read_only(PATH, Options { max_open_files: 1, ..options(&fs) }).unwrap();
    let expected = entries(&shown);
    let half_way = shown.iter().unwrap();
    let tables = |fs: &MemFs| {
        let mut names = fs.list(Path::new(PATH)).unwrap();
        names.retain(|name| name.ends_with(".tbl") || name.ends_with(".log"));
        names.sort();
        names
    };
    let before = tables(&fs);
    for n in 0..300 {
        db.put(format!("count-{}", n % 60), vec![b'x'; 100]).unwrap();
    }
    db.drop_keyspace("words").unwrap();
    db.compact(..).unwrap();
    db.close().unwrap();
    drop(db);
    reopen(&fs).unwrap().compact(..).unwrap();
    let after = tables(&fs);
    assert!(before.iter().all(|name| !after.contains(name)), "{before:?} {after:?}");
    assert_eq!(entries(&shown), expected);
    assert_eq!(half_way.count(), 57);
    shown.verify().unwrap();
}

#[test]
fn h05_replay_into_memory_counts_each_merge_once() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 1..=30u64 {
        db.merge("hits", number(1)).unwrap();
        if n % 11 == 0 {
            db.flush().unwrap();
        }
        assert_eq!(count(&look(&fs).unwrap(), "hits"), n);
        assert_eq!(count(&look(&fs.kill()).unwrap(), "hits"), n);
    }
    drop(db);
    assert_eq!(count(&reopen(&fs).unwrap(), "hits"), 30);
}

/// A read-only open shows what a recovery would make of the files: a prefix of the log. It reports
/// damage.
#[test]
fn h11_a_torn_log_is_shown_as_far_as_it_goes_and_damage_is_told() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { max_write_buffers: 8, ..small(&fs) }).unwrap();
    for n in 0..150u64 {
        db.with(&WriteOptions { sync: n % 40 == 20, ..Default::default() })
            .put(format!("key-{n:03}"), [b'v'; 90])
            .unwrap();
    }
    for seed in 0..40 {
        let left = fs.crash_with(seed);
        let shown = look(&left).unwrap();
        let keys = shown.iter().unwrap().count();
        assert!(keys >= 141, "{keys}");
        assert_eq!(entries(&shown), entries(&reopen(&left).unwrap()), "seed {seed}");
    }
    let left = fs.kill();
    let names = left.list(Path::new(PATH)).unwrap();
    let log = names.iter().filter(|name| name.ends_with(".log")).min().unwrap();
    let path = Path::new(PATH).join(log);
    let mut bytes = left.read(&path).unwrap();
    bytes[300] ^= 1;
    left.create(&path).unwrap().write_at(&bytes, 0).unwrap();
    assert_error(look(&left), ErrorKind::Corruption, Some(log));

    let (left, mut tables) = (fs.kill(), names.clone());
    tables.retain(|name| name.ends_with(".tbl"));
    if let Some(table) = tables.first() {
        left.remove(&Path::new(PATH).join(table)).unwrap();
        let error = assert_error(look(&left), ErrorKind::Corruption, Some(table));
        assert!(error.to_string().contains("is missing"), "{error}");
    }
}

#[test]
fn options_hold_as_far_as_they_make_sense() {
    let fs = MemFs::new();
    let error = assert_error(look(&fs), ErrorKind::DatabaseMissing, None);
    assert!(error.to_string().contains("does not create one"), "{error}");
    assert_eq!(fs.counts().mutations(), 0);
    fs.create_dir_all(Path::new(PATH)).unwrap();
    assert_error(look(&fs), ErrorKind::DatabaseMissing, None);
    fs.create(Path::new("file")).unwrap();
    assert_error(Db::open_read_only("file", options(&fs)), ErrorKind::InvalidArgument, None);

    let db = open(&fs).unwrap();
    db.merge_with(&db.operator("test.references").unwrap(), "key", number(1)).unwrap();
    drop(db);
    let with = |change: fn(&mut Options)| {
        let mut options = options(&fs);
        change(&mut options);
        Db::open_read_only(PATH, options)
    };
    let unknown = with(|options| options.operators.clear());
    let error = assert_error(unknown, ErrorKind::UnknownOperator, None);
    assert!(error.to_string().contains("test.references"), "{error}");
    let new = with(|options| options.default.merge_operator = Some("stringappend:-".to_owned()));
    let error = assert_error(new, ErrorKind::ReadOnly, None);
    assert!(error.to_string().contains("stringappend:-"), "{error}");
    assert_error(with(|options| options.error_if_exists = true), ErrorKind::DatabaseExists, None);
    assert_error(with(|options| options.num_levels = 0), ErrorKind::InvalidArgument, None);
    let kept = with(|options| options.default.merge_operator = None).unwrap();
    assert_eq!(kept.default_operator().unwrap().spec(), "uint64add");
}

/// A writer that works while another process looks. Its writes are 1, 2, 3 … in order, each with a
/// key of its own.
struct Writer {
    db: Db,
    written: u64,
}

fn key(n: u64) -> String {
    format!("{n:06}")
}

impl Writer {
    fn new(fs: &MemFs) -> Writer {
        let mut writer = Writer { db: Db::open(PATH, small(fs)).unwrap(), written: 0 };
        for _ in 0..3 {
            writer.put(20);
            writer.db.flush().unwrap();
        }
        writer.put(20);
        writer
    }

    fn put(&mut self, times: u64) {
        self.put_with(times, &WriteOptions::default());
    }

    fn put_with(&mut self, times: u64, options: &WriteOptions) {
        for _ in 0..times {
            self.written += 1;
            self.db.with(options).put(key(self.written), [b'x'; 60]).unwrap();
        }
    }

    /// Asserts that the database shows a prefix of the writes. Returns its length.
    fn check(shown: &ReadOnlyDb) -> u64 {
        let mut last = 0;
        for entry in shown.iter().unwrap() {
            let (found, _) = entry.unwrap();
            last += 1;
            assert_eq!(found, key(last).as_bytes(), "the database shows no prefix of the writes");
        }
        last
    }
}

/// Opens read-only, with `deed` done before the n-th look, for each n. Returns how many looks an
/// open takes.
fn meddle(deed: fn(&mut Writer, &MemFs), check: fn(&ReadOnlyDb)) -> u64 {
    meddle_after(|_| {}, deed, check)
}

/// Does [`meddle`] with `prepare` run before the first look.
fn meddle_after(
    prepare: fn(&mut Writer),
    deed: fn(&mut Writer, &MemFs),
    check: fn(&ReadOnlyDb),
) -> u64 {
    for at in 1.. {
        let fs = MemFs::new();
        let mut writer = Writer::new(&fs);
        prepare(&mut writer);
        let before = writer.written;
        let (reading, own) = (fs.clone(), fs.clone());
        let meddler = BeforeLooks::new(move |look| {
            if look == at {
                deed(&mut writer, &own);
            }
        });
        let env = Env { fs: watched(&fs, &meddler), ..Env::in_memory(fs) };
        let shown = Db::open_read_only(PATH, Options { env, ..options(&reading) })
            .unwrap_or_else(|error| panic!("look {at}: {error}"));
        let looks = meddler.looks();
        assert!(Writer::check(&shown) >= before, "look {at}");
        check(&shown);
        if looks < at {
            return looks;
        }
    }
    unreachable!("opens end")
}

#[test]
fn a_writer_may_flush_and_compact_between_any_two_looks() {
    let looks = meddle(
        |writer, _| {
            writer.put(10);
            writer.db.compact(..).unwrap();
            writer.put(1);
        },
        |_| {},
    );
    assert!(looks > 20, "{looks}");
}

#[test]
fn a_writer_may_begin_logs_between_any_two_looks() {
    meddle(|writer, _| writer.put(200), |_| {});
}

#[test]
fn a_writer_may_close_and_open_between_any_two_looks() {
    meddle(
        |writer, fs| {
            writer.put(10);
            writer.db.close().unwrap();
            writer.db = Db::open(PATH, small(fs)).unwrap();
            writer.put(1);
        },
        |_| {},
    );
}

/// a.PUT.n without a log, a flush, b.PUT.n+1 with one: a reader that sees b sees a. The flush does
/// not replace a log without writes. So b goes to the file that exists when the reader reads the
/// manifest.
#[test]
fn flushed_writes_without_a_log_are_seen_before_later_ones() {
    let prepared: [fn(&mut Writer); 2] = [|_| {}, |writer| writer.db.flush().unwrap()];
    for prepare in prepared {
        meddle_after(
            prepare,
            |writer, _| {
                writer.put_with(2, &UNLOGGED);
                writer.db.flush().unwrap();
                writer.put(2);
            },
            |_| {},
        );
    }
}

/// x/word.PUT, word copied out of x, x dropped: a reader sees the word, in one place or the other.
#[test]
fn a_keyspace_dropped_meanwhile_does_not_take_what_was_copied_out_of_it() {
    meddle(
        |writer, _| {
            let x = writer.db.create_keyspace("x", KeyspaceOptions::default()).unwrap();
            x.put("word", "1").unwrap();
            let y = writer.db.create_keyspace("y", KeyspaceOptions::default()).unwrap();
            y.put("word", "1").unwrap();
            writer.db.drop_keyspace("x").unwrap();
            writer.put(1);
        },
        |shown| {
            if let Ok(y) = shown.keyspace("y")
                && shown.keyspace("x").is_err()
            {
                assert!(y.get("word").unwrap().is_some(), "the word is lost");
            }
        },
    );
    // The drop itself happens between any two looks, after everything before it.
    for at in 1..60 {
        let fs = MemFs::new();
        let writer = open(&fs).unwrap();
        let x = writer.create_keyspace("x", KeyspaceOptions::default()).unwrap();
        x.put("word", "1").unwrap();
        let (own, reading) = (writer.clone(), fs.clone());
        let meddler = BeforeLooks::new(move |look| {
            if look == at {
                own.put("word", "1").unwrap();
                own.drop_keyspace("x").unwrap();
            }
        });
        let env = Env { fs: watched(&fs, &meddler), ..Env::in_memory(fs) };
        let shown = Db::open_read_only(PATH, Options { env, ..options(&reading) }).unwrap();
        let in_x = shown.keyspace("x").is_ok_and(|x| x.get("word").unwrap().is_some());
        assert!(in_x || shown.get("word").unwrap().is_some(), "look {at}: the word is lost");
    }
}

#[test]
fn operators_and_keyspaces_may_come_between_any_two_looks() {
    meddle(
        |writer, _| {
            let spec = Some("stringappend:;".to_owned());
            let options = KeyspaceOptions { merge_operator: spec, ..KeyspaceOptions::default() };
            let lists = writer.db.create_keyspace("lists", options).unwrap();
            lists.merge("list", "a").unwrap();
            lists.merge("list", "b").unwrap();
            writer.put(1);
        },
        |shown| {
            if let Ok(lists) = shown.keyspace("lists") {
                let list = lists.get("list").unwrap().map(|value| value.to_vec());
                let lists = [None, Some(b"a".to_vec()), Some(b"a;b".to_vec())];
                assert!(lists.contains(&list), "{list:?}");
            }
        },
    );
}

/// No reader can catch a writer that replaces everything before every look. The open says so.
#[test]
fn an_open_of_a_database_that_always_changes_fails_with_a_reason() {
    let fs = MemFs::new();
    let mut writer = Writer::new(&fs);
    let reading = fs.clone();
    let meddler = BeforeLooks::new(move |_| {
        writer.put(1);
        writer.db.flush().unwrap();
    });
    let env = Env { fs: watched(&fs, &meddler), ..Env::in_memory(fs) };
    let error = error_of(Db::open_read_only(PATH, Options { env, ..options(&reading) }));
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    assert!(error.to_string().contains("try again"), "{error}");
}

/// One thread writes to two keyspaces at once, with syncs, flushes and compactions in the
/// background. The others open and look.
#[test]
fn readers_of_a_busy_writer_see_whole_batches_and_all_that_returned() {
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
    let (returned, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let sum = |db: &ReadOnlyDb, name: &str| {
        let mut sum = 0;
        for entry in db.keyspace(name).unwrap().iter().unwrap() {
            sum += u64::from_le_bytes(entry.unwrap().1[..].try_into().unwrap());
        }
        sum
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _done = RaisedAtEnd(&done);
            for n in 0..30_000u64 {
                let mut batch = WriteBatch::new();
                batch.merge(format!("{}", n % 997), number(1));
                batch.merge_in(&other, format!("{}", n % 13), number(1));
                let sync = n % 64 == 0;
                db.with(&WriteOptions { sync, ..Default::default() }).write(&batch).unwrap();
                returned.store(n + 1, Ordering::Release);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut last, mut opens) = (0, 0);
                while !done.load(Ordering::Acquire) || opens < 3 {
                    let at_least = returned.load(Ordering::Acquire);
                    let shown = Db::open_read_only(&path, options.clone()).unwrap();
                    let (here, there) = (sum(&shown, "default"), sum(&shown, "other"));
                    assert_eq!(here, there, "the reader saw half a batch");
                    assert!(here >= at_least.max(last), "{here} after {at_least} and {last}");
                    assert_eq!(sum(&shown, "other"), there, "a read-only database never changes");
                    (last, opens) = (here, opens + 1);
                }
            });
        }
    });
    assert_eq!(sum(&ReadOnlyDb::open(&path, options).unwrap(), "default"), 30_000);
}
