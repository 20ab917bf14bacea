//! Keyspaces: several ordered maps over one log.

use std::path::Path;
use std::sync::Arc;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::{
    BatchOp, CompactionPreset, Compression, Db, ErrorKind, Keyspace, KeyspaceOptions, Options,
    ReadOptions, WriteBatch, WriteOptions,
};

use crate::support::orders::Descending;
use crate::support::{PATH, assert_error, error_of, number, open, options, reopen, steps};

fn with_operator(spec: &str) -> KeyspaceOptions {
    KeyspaceOptions::with_operator(spec)
}

fn create(db: &Db, name: &str) -> Keyspace {
    db.create_keyspace(name, KeyspaceOptions::default()).expect("a keyspace")
}

fn text(keyspace: &Keyspace, key: &str) -> Option<String> {
    let value = keyspace.get(key).expect("the key can be read");
    value.map(|value| String::from_utf8(value.to_vec()).expect("text"))
}

fn keys(keyspace: &Keyspace) -> Vec<String> {
    let entries = keyspace.iter().unwrap().map(|entry| entry.unwrap().0);
    entries.map(|key| String::from_utf8(key.to_vec()).unwrap()).collect()
}

fn files(fs: &MemFs, extension: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    names
}

fn unlogged() -> WriteOptions {
    WriteOptions { disable_wal: true, ..WriteOptions::default() }
}

#[test]
fn keyspaces_are_apart() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let (left, right) = (create(&db, "left"), create(&db, "right"));
    db.put("key", "default").unwrap();
    left.put("key", "left").unwrap();
    right.put("other", "right").unwrap();
    right.delete("key").unwrap();
    let check = |db: &Db| {
        let (left, right) = (db.keyspace("left").unwrap(), db.keyspace("right").unwrap());
        assert_eq!(text(db.default_keyspace(), "key").as_deref(), Some("default"));
        assert_eq!(text(&left, "key").as_deref(), Some("left"));
        assert_eq!(text(&right, "key"), None);
        assert_eq!((keys(&left), keys(&right)), (vec!["key".into()], vec!["other".into()]));
        assert_eq!(right.multi_get(["key", "other"]).unwrap().len(), 2);
        assert_eq!(left.approximate_count(..).unwrap().at_most, 1);
        assert!(left.get_operands("key").unwrap().is_empty());
    };
    check(&db);
    check(&open(&fs.kill()).unwrap());
    db.flush().unwrap();
    check(&db);
    left.compact(..).unwrap();
    check(&db);
    db.compact(..).unwrap();
    check(&db);
    assert!(db.verify().unwrap() > 0);
    drop((left, right));
    db.close().unwrap();
    check(&reopen(&fs).unwrap());
}

#[test]
fn keyspaces_are_listed_found_and_created_once() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    assert_eq!(db.keyspaces(), ["default"]);
    assert_eq!(db.keyspace("default").unwrap().name(), "default");
    create(&db, "zoë");
    create(&db, "a b");
    assert_eq!(db.keyspaces(), ["a b", "default", "zoë"]);
    for taken in ["zoë", "default"] {
        let again = db.create_keyspace(taken, KeyspaceOptions::default());
        assert_error(again, ErrorKind::KeyspaceExists, None);
    }
    assert_error(db.keyspace("nobody"), ErrorKind::KeyspaceMissing, None);
    assert_error(db.drop_keyspace("nobody"), ErrorKind::KeyspaceMissing, None);
    assert_error(db.drop_keyspace("default"), ErrorKind::InvalidArgument, None);
    for name in ["", "line\nbreak", "nul\0", &"x".repeat(256)] {
        let refused = db.create_keyspace(name, KeyspaceOptions::default());
        assert_error(refused, ErrorKind::InvalidArgument, None);
    }
    create(&db, &"x".repeat(255));
    let too_many = KeyspaceOptions { bloom_bits: Some(65), ..KeyspaceOptions::default() };
    let error = error_of(db.create_keyspace("bits", too_many));
    assert_eq!(error.to_string(), "bloom_bits is 65, but must be between 0 and 64");
    let error = error_of(db.create_keyspace("operator", with_operator("nobody's")));
    assert_eq!(error.kind(), ErrorKind::UnknownOperator);
    assert_eq!(db.keyspaces().len(), 4);
    assert_eq!(open(&fs.crash()).unwrap().keyspaces(), db.keyspaces());
    db.close().unwrap();
    assert_error(db.keyspace("zoë"), ErrorKind::Closed, None);
    let late = db.create_keyspace("late", KeyspaceOptions::default());
    assert_error(late, ErrorKind::Closed, None);
    assert_error(db.drop_keyspace("zoë"), ErrorKind::Closed, None);
}

#[test]
fn each_has_its_own_operator() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let lists = db.create_keyspace("lists", with_operator("stringappend:;")).unwrap();
    let most = db.create_keyspace("most", with_operator("max")).unwrap();
    let as_database = create(&db, "as database");
    let merge_all = |db: &Db, lists: &Keyspace, most: &Keyspace, counters: &Keyspace| {
        db.merge("key", number(1)).unwrap();
        counters.merge("key", number(10)).unwrap();
        lists.merge("key", "x").unwrap();
        most.merge("key", "x").unwrap();
    };
    merge_all(&db, &lists, &most, &as_database);
    db.flush().unwrap();
    merge_all(&db, &lists, &most, &as_database);
    db.compact(..).unwrap();
    let db = open(&fs.kill()).unwrap();
    let [lists, most, counters] =
        ["lists", "most", "as database"].map(|name| db.keyspace(name).unwrap());
    assert_eq!(lists.default_operator().unwrap().spec(), "stringappend:;");
    merge_all(&db, &lists, &most, &counters);
    assert_eq!(db.get("key").unwrap().unwrap(), number(3));
    assert_eq!(counters.get("key").unwrap().unwrap(), number(30));
    assert_eq!(text(&lists, "key").as_deref(), Some("x;x;x"));
    assert_eq!(text(&most, "key").as_deref(), Some("x"));
    // Operators belong to the database: every keyspace may use any of them.
    let list = lists.operator("stringappend:;").unwrap();
    most.merge_with(&list, "key", "y").unwrap();
    assert_eq!(text(&most, "key").as_deref(), Some("x;y"));
    assert_error(counters.merge("key", "no number"), ErrorKind::InvalidArgument, None);
}

#[test]
fn without_an_operator_a_merge_is_refused() {
    let fs = MemFs::new();
    let db =
        Db::open(PATH, Options { default: KeyspaceOptions::default(), ..options(&fs) }).unwrap();
    let plain = create(&db, "plain");
    let error = error_of(plain.merge("key", "x"));
    assert_eq!(error.to_string(), "keyspace 'plain' has no default merge operator: use merge_with");
    let mut batch = WriteBatch::new();
    batch.put("key", "x").merge_in(&plain, "key", "x");
    assert_eq!(error_of(db.write(&batch)).to_string(), error.to_string());
    assert_eq!(db.get("key").unwrap(), None);
}

#[test]
fn each_has_its_own_order() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let descending =
        KeyspaceOptions { comparator: Some(Arc::new(Descending)), ..KeyspaceOptions::default() };
    let newest = db.create_keyspace("newest", descending).unwrap();
    let plain = create(&db, "plain");
    for key in ["a", "c", "b"] {
        newest.put(key, key).unwrap();
        plain.put(key, key).unwrap();
    }
    assert_error(newest.prefix("a"), ErrorKind::InvalidArgument, None);
    for round in 0..2 {
        assert_eq!(keys(&newest), ["c", "b", "a"], "round {round}");
        assert_eq!(keys(&plain), ["a", "b", "c"]);
        assert_eq!(newest.range("b"..).unwrap().count(), 2);
        assert_eq!(text(&newest, "b").as_deref(), Some("b"));
        db.compact(..).unwrap();
    }
    newest.put("d", "logged").unwrap();
    drop((db, newest, plain));

    let error = assert_error(reopen(&fs), ErrorKind::UnknownComparator, None);
    assert!(error.to_string().contains("'test.descending'"), "{error}");
    assert!(error.to_string().contains("'newest'"), "{error}");
    let given = Options { comparators: vec![Arc::new(Descending)], ..options(&fs) };
    let db = Db::open(PATH, given).unwrap();
    assert_eq!(keys(&db.keyspace("newest").unwrap()), ["d", "c", "b", "a"]);
}

/// The database's default order may differ from a keyspace's. The keyspace then keeps its own.
#[test]
fn a_keyspace_may_be_bytewise_where_the_database_is_not() {
    let fs = MemFs::new();
    let descending = || Options {
        default: KeyspaceOptions { comparator: Some(Arc::new(Descending)), ..options(&fs).default },
        ..options(&fs)
    };
    let db = Db::open(PATH, descending()).unwrap();
    let bytewise = KeyspaceOptions {
        comparator: Some(Arc::new(foldb::custom::BytewiseComparator)),
        ..KeyspaceOptions::default()
    };
    let up = db.create_keyspace("up", bytewise).unwrap();
    let down = create(&db, "down");
    for key in ["a", "b"] {
        up.put(key, "").unwrap();
        down.put(key, "").unwrap();
    }
    drop((db, up, down));
    let db = Db::open(PATH, descending()).unwrap();
    assert_eq!(keys(&db.keyspace("up").unwrap()), ["a", "b"]);
    assert_eq!(keys(&db.keyspace("down").unwrap()), ["b", "a"]);
}

/// A keyspace keeps its settings, whatever the options of later opens say.
#[test]
fn each_has_its_own_compression_and_shape() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let own = KeyspaceOptions {
        compression: Some(Compression::None),
        bloom_bits: Some(0),
        compaction: Some(CompactionPreset::Leveled),
        ..KeyspaceOptions::default()
    };
    let raw = db.create_keyspace("raw", own).unwrap();
    let small = create(&db, "small");
    drop((raw, small));
    db.close().unwrap();
    let other = Options {
        default: KeyspaceOptions { compression: Some(Compression::Snappy), ..options(&fs).default },
        ..options(&fs)
    };
    let db = Db::open(PATH, other).unwrap();
    for name in ["raw", "small"] {
        let keyspace = db.keyspace(name).unwrap();
        for n in 0..200 {
            keyspace.put(format!("{n:04}"), "to be or not to be, ".repeat(10)).unwrap();
        }
    }
    db.flush().unwrap();
    let stats = db.stats();
    let bytes = |name: &str| {
        let own = stats.keyspaces.iter().find(|own| own.name == name).unwrap();
        own.levels.iter().map(|level| level.bytes).sum::<u64>()
    };
    assert!(bytes("raw") > 40_000 && bytes("small") < 10_000, "{stats:?}");
}

/// One database, two shapes: leveled goes down level by level, lazy leveled gathers runs and skips
/// to the last level.
#[test]
fn each_has_its_own_compaction_preset() {
    let fs = MemFs::new();
    let small = Options {
        write_buffer_size: 16 << 10,
        target_file_size: 8 << 10,
        max_bytes_for_level_base: 1 << 20,
        ..options(&fs)
    };
    let db = Db::open(PATH, small.clone()).unwrap();
    let leveled = KeyspaceOptions {
        compaction: Some(CompactionPreset::Leveled),
        ..KeyspaceOptions::default()
    };
    db.create_keyspace("leveled", leveled).unwrap();
    create(&db, "lazy");
    db.close().unwrap();
    let db = Db::open(PATH, small).unwrap();
    let all = ["leveled", "lazy"].map(|name| db.keyspace(name).unwrap());
    for n in 0..6000u64 {
        let key = format!("{:06}", n * 7919 % 10_007);
        all.iter().for_each(|own| own.put(&key, "x".repeat(50)).unwrap());
    }
    db.wait_for_background().unwrap();
    let stats = db.stats();
    let runs = |name: &str, level: usize| {
        stats.keyspaces.iter().find(|own| own.name == name).unwrap().levels[level].runs
    };
    assert_eq!((runs("leveled", 1), runs("lazy", 1)), (1, 0), "{:?}", stats.keyspaces);
    assert_eq!((runs("leveled", 6), runs("lazy", 6)), (0, 1), "{:?}", stats.keyspaces);
}

/// A batch over three keyspaces, half of each, through every way to stop.
#[test]
fn batches_are_atomic_across_keyspaces() {
    for logged in [true, false] {
        let fs = MemFs::new();
        let small = Options { write_buffer_size: 4096, ..options(&fs) };
        let db = Db::open(PATH, small).unwrap();
        let (left, right) = (create(&db, "left"), create(&db, "right"));
        let options = if logged { WriteOptions::default() } else { unlogged() };
        for n in 0..400u64 {
            let mut batch = WriteBatch::new();
            batch.merge("sum", number(1)).merge_in(&left, "sum", number(1));
            batch.merge_in(&right, "sum", number(1)).put_in(&right, format!("{n}"), "x");
            db.with(&options).write(&batch).unwrap();
            if n % 23 == 0 {
                db.step_background().unwrap();
            }
            if n % 7 == 0 {
                for crashed in [fs.crash(), fs.crash_with(n), fs.kill()] {
                    let db = open(&crashed).unwrap();
                    let sum = |keyspace: &Keyspace| {
                        keyspace.get("sum").unwrap().map(|sum| sum.into_owned())
                    };
                    let sums = [sum(db.default_keyspace()), sum(&db.keyspace("left").unwrap())];
                    let right = db.keyspace("right").unwrap();
                    assert_eq!(sums[0], sums[1], "logged: {logged}, after {n}");
                    assert_eq!(sums[0], sum(&right), "logged: {logged}, after {n}");
                    let count = right.iter().unwrap().count().saturating_sub(1) as u64;
                    assert_eq!(sums[0].clone().unwrap_or(number(0).to_vec()), number(count));
                }
            }
        }
        let stats = db.stats();
        assert!(stats.flushes > 30, "{stats:?}");
    }
}

#[test]
fn a_batch_says_what_it_writes_where() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let lists = db.create_keyspace("lists", with_operator("stringappend:;")).unwrap();
    let count = db.operator("uint64add").unwrap();
    let mut batch = WriteBatch::new();
    batch.put("a", "1").put_in(&lists, "b", "2").delete_in(&lists, "c").merge_in(&lists, "d", "3");
    batch.merge_with_in(&count, &lists, "e", number(4)).put_in(db.default_keyspace(), "f", "5");
    let (default, keyspace) = ("default", "lists");
    let expected = [
        BatchOp::Put { keyspace: default, key: b"a", value: b"1" },
        BatchOp::Put { keyspace, key: b"b", value: b"2" },
        BatchOp::Delete { keyspace, key: b"c" },
        BatchOp::Merge { keyspace, key: b"d", operand: b"3" },
        BatchOp::Merge { keyspace, key: b"e", operand: &number(4) },
        BatchOp::Put { keyspace: default, key: b"f", value: b"5" },
    ];
    assert_eq!(batch.iter().collect::<Vec<_>>(), expected);
    db.write(&batch).unwrap();
    assert_eq!(keys(&lists), ["b", "d", "e"]);
    assert_eq!(keys(db.default_keyspace()), ["a", "f"]);
    batch.clear();
    assert_eq!(batch.iter().count(), 0);
}

/// A batch that cannot be applied whole does not reach the log.
#[test]
fn batches_for_missing_keyspaces_are_refused() {
    let (fs, other_fs) = (MemFs::new(), MemFs::new());
    let (db, other) = (open(&fs).unwrap(), open(&other_fs).unwrap());
    let gone = create(&db, "gone");
    let foreign = create(&other, "foreign");
    let mut of_gone = WriteBatch::new();
    of_gone.put("key", "x").put_in(&gone, "key", "x");
    db.write(&of_gone).unwrap();
    db.drop_keyspace("gone").unwrap();
    db.put("key", "y").unwrap();
    let mut of_foreign = WriteBatch::new();
    of_foreign.put("key", "x").put_in(&foreign, "key", "x");
    let mut of_both = WriteBatch::new();
    of_both.put_in(&gone, "key", "x").put_in(&foreign, "key", "x");
    let logged = db.stats().bytes_log;
    let error = assert_error(db.write(&of_gone), ErrorKind::KeyspaceDropped, None);
    assert!(error.to_string().contains("'gone'"), "{error}");
    assert_error(db.write(&of_foreign), ErrorKind::InvalidArgument, None);
    assert_error(db.write(&of_both), ErrorKind::InvalidArgument, None);
    assert_eq!(db.stats().bytes_log, logged);
    assert_eq!(db.get("key").unwrap().unwrap(), b"y");
    assert_eq!(open(&fs.kill()).unwrap().get("key").unwrap().unwrap(), b"y");
}

/// An idle keyspace's memtable is sealed and flushed with the others, and its log is released.
#[test]
fn an_idle_keyspace_does_not_pin_the_log() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 16 << 10, wal_limit: 64 << 10, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let idle = create(&db, "idle");
    let busy = create(&db, "busy");
    idle.put("once", "and never again").unwrap();
    let first = files(&fs, ".log");
    for n in 0..5000 {
        busy.put(format!("{:04}", n % 100), "x".repeat(50)).unwrap();
    }
    assert!(files(&fs, ".log").len() <= 12, "{:?}", files(&fs, ".log"));
    assert!(!files(&fs, ".log").contains(&first[0]));
    assert_eq!(text(&idle, "once").as_deref(), Some("and never again"));
    assert_eq!(
        text(&open(&fs.kill()).unwrap().keyspace("idle").unwrap(), "once"),
        text(&idle, "once")
    );
}

/// The limit covers all keyspaces together, however many and however small their memtables are.
#[test]
fn the_log_limit_holds_over_many_keyspaces() {
    let fs = MemFs::new();
    let limit = 1 << 20;
    let hot = Options { write_buffer_size: 64 << 20, wal_limit: limit, ..options(&fs) };
    let db = Db::open(PATH, hot).unwrap();
    let all: Vec<Keyspace> = (0..20).map(|n| create(&db, &format!("{n}"))).collect();
    let mut most = 0;
    for n in 0..20_000u64 {
        let own = &all[(n % 20) as usize];
        own.put("padding", [0; 500]).unwrap();
        own.merge("sum", number(1)).unwrap();
        if n % 500 == 0 {
            let logs = files(&fs, ".log");
            let len = |name: &String| fs.len(&Path::new(PATH).join(name)).unwrap();
            most = most.max(logs.iter().map(len).sum::<u64>());
            while db.step_background().unwrap() {}
        }
    }
    // With the blocks reserved ahead in the active log.
    assert!(limit / 4 < most && most <= 3 * limit, "{most}");
    assert!(db.stats().bytes_log > 10 * limit);
    let sum: u64 = all
        .iter()
        .map(|own| u64::from_le_bytes(own.get("sum").unwrap().unwrap()[..].try_into().unwrap()))
        .sum();
    assert_eq!(sum, 20_000);
}

/// All keyspaces share one write buffer.
#[test]
fn the_write_buffer_is_shared() {
    let fs = MemFs::new();
    let buffer = 1 << 20;
    let db = Db::open(PATH, Options { write_buffer_size: buffer, ..options(&fs) }).unwrap();
    let all: Vec<Keyspace> = (0..8).map(|n| create(&db, &format!("{n}"))).collect();
    for n in 0..40_000u64 {
        let own = if n % 3 == 0 { db.default_keyspace() } else { &all[(n % 8) as usize] };
        own.put(format!("{n:08}"), [7; 40]).unwrap();
    }
    // A record takes 64 bytes and its value, or a little more with its slot in the index.
    let logs = files(&fs, ".log").len();
    assert!((4..=7).contains(&logs), "{logs} memtables' worth, {:?}", db.stats());
    let entries = |own: &Keyspace| own.iter().unwrap().count();
    assert_eq!(all.iter().map(entries).sum::<usize>() + entries(db.default_keyspace()), 40_000);
}

/// One value larger than every memtable, and a batch larger than the write buffer.
#[test]
fn large_writes_find_room() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    let (left, right) = (create(&db, "left"), create(&db, "right"));
    left.put("small", "x").unwrap();
    left.put("large", vec![1; 100_000]).unwrap();
    let mut batch = WriteBatch::new();
    for n in 0..500 {
        batch.put(format!("{n}"), [2; 30]).put_in(&left, format!("{n}"), [3; 100]);
        batch.put_in(&right, format!("{n}"), [4; 200]);
    }
    db.write(&batch).unwrap();
    left.put("after", "y").unwrap();
    for db in [db.clone(), open(&fs.kill()).unwrap()] {
        let left = db.keyspace("left").unwrap();
        assert_eq!(left.get("large").unwrap().unwrap().len(), 100_000);
        assert_eq!(left.iter().unwrap().count(), 503);
        assert_eq!(db.keyspace("right").unwrap().iter().unwrap().count(), 500);
        assert_eq!(db.iter().unwrap().count(), 500);
    }
}

#[test]
fn a_snapshot_holds_all_keyspaces() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let (left, right) = (create(&db, "left"), create(&db, "right"));
    let step = || {
        let mut batch = WriteBatch::new();
        batch.merge("sum", number(1)).merge_in(&left, "sum", number(1));
        batch.merge_in(&right, "sum", number(1));
        db.write(&batch).unwrap();
    };
    step();
    let snapshot = db.snapshot();
    let then = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    for round in 0..3 {
        step();
        if round > 0 {
            db.compact(..).unwrap();
        }
        for own in [db.default_keyspace(), &left, &right] {
            assert_eq!(own.with(&then).get("sum").unwrap().unwrap(), number(1));
            assert_eq!(own.get("sum").unwrap().unwrap(), number(2 + round));
            let mut iter = own.with(&then).range(..).unwrap();
            assert_eq!(iter.next().unwrap().unwrap().1, number(1));
        }
    }
    let later = create(&db, "later");
    later.put("sum", "x").unwrap();
    assert_eq!(
        later.with(&then).get("sum").unwrap(),
        None,
        "the key did not exist at that snapshot"
    );
    let other = open(&MemFs::new()).unwrap();
    let foreign = other.default_keyspace().with(&then).get("sum");
    assert_error(foreign, ErrorKind::InvalidArgument, None);
}

/// The engine removes the files of a dropped keyspace after the last iterator over them is dropped.
/// Until then the iterator works.
#[test]
fn a_keyspace_is_dropped_under_its_iterators() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let gone = create(&db, "gone");
    for n in 0..1000 {
        gone.put(format!("{n:04}"), "in a table").unwrap();
    }
    db.put("stays", "here").unwrap();
    db.flush().unwrap();
    for n in 0..1000 {
        gone.put(format!("{n:04}b"), "in a memtable").unwrap();
    }
    assert_eq!(files(&fs, ".tbl").len(), 2);
    let mut iter = gone.iter().unwrap();
    let snapshot = db.snapshot();
    assert!(iter.advance().unwrap());
    db.drop_keyspace("gone").unwrap();

    let dropped = ErrorKind::KeyspaceDropped;
    assert_error(gone.get("0000"), dropped, None);
    assert_error(gone.put("0000", "x"), dropped, None);
    assert_error(gone.delete("0000"), dropped, None);
    assert_error(gone.merge("0000", number(1)), dropped, None);
    assert_error(gone.iter(), dropped, None);
    assert_error(gone.prefix("0"), dropped, None);
    assert_error(gone.multi_get(["0000"]), dropped, None);
    assert_error(gone.get_operands("0000"), dropped, None);
    assert_error(gone.approximate_size(..), dropped, None);
    assert_error(gone.approximate_count(..), dropped, None);
    assert_error(gone.compact(..), dropped, None);
    let then = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_error(gone.with(&then).get("0000"), dropped, None);
    assert_error(db.keyspace("gone"), ErrorKind::KeyspaceMissing, None);
    assert_error(db.drop_keyspace("gone"), ErrorKind::KeyspaceMissing, None);

    assert_eq!(files(&fs, ".tbl").len(), 2, "the iterator needs the table");
    let mut count = 1;
    while iter.advance().unwrap() {
        count += 1;
    }
    assert_eq!(count, 2000);
    drop(iter);
    steps::run_background(&db, |_| {});
    assert_eq!(files(&fs, ".tbl").len(), 1, "the table is not needed any more");
    db.flush().unwrap();
    db.compact(..).unwrap();
    db.verify().unwrap();
    for db in [db.clone(), open(&fs.kill()).unwrap(), open(&fs.crash()).unwrap()] {
        assert_eq!(db.keyspaces(), ["default"]);
        assert_eq!(db.get("stays").unwrap().unwrap(), b"here");
    }
}

/// A name may come back; records of its old keyspace in an old log do not.
#[test]
fn ids_of_dropped_keyspaces_are_never_reused() {
    let mut fs = MemFs::new();
    for round in 0..6 {
        let db = open(&fs).unwrap();
        assert_eq!(db.keyspaces(), ["default"], "round {round}");
        let own = create(&db, "again");
        assert_eq!(keys(&own), [""; 0], "round {round}");
        own.put(format!("{round}"), "logged").unwrap();
        assert_eq!(
            keys(&open(&fs.kill()).unwrap().keyspace("again").unwrap()),
            [round.to_string()]
        );
        db.drop_keyspace("again").unwrap();
        let anew = create(&db, "again");
        assert_eq!(keys(&anew), [""; 0], "round {round}");
        if round % 2 == 0 {
            db.flush().unwrap();
        }
        anew.put("anew", "logged").unwrap();
        assert_eq!(keys(&open(&fs.kill()).unwrap().keyspace("again").unwrap()), ["anew"]);
        db.drop_keyspace("again").unwrap();
        fs = fs.kill();
    }
}

/// Creation and drop are durable when they return, and a drop loses no earlier write.
#[test]
fn creation_and_drop_survive_power_loss() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let from = create(&db, "from");
    from.put("key", "precious").unwrap();
    let to = create(&db, "to");
    to.put("key", &*from.get("key").unwrap().unwrap()).unwrap();
    db.drop_keyspace("from").unwrap();
    let survivor = open(&fs.crash()).unwrap();
    assert_eq!(survivor.keyspaces(), ["default", "to"]);
    assert_eq!(text(&survivor.keyspace("to").unwrap(), "key").as_deref(), Some("precious"));
}

/// An edit that finds no space changes nothing, and may be tried again.
#[test]
fn a_full_disk_neither_creates_nor_drops() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let kept = create(&db, "kept");
    kept.put("key", "x").unwrap();
    let full =
        || Fault::on(Operation::Write).path("MANIFEST").kind(std::io::ErrorKind::StorageFull);
    fs.inject(full());
    let refused = db.create_keyspace("new", KeyspaceOptions::default());
    assert_error(refused, ErrorKind::NoSpace, None);
    fs.inject(full());
    assert_error(db.drop_keyspace("kept"), ErrorKind::NoSpace, None);
    assert_eq!(db.keyspaces(), ["default", "kept"]);
    kept.put("key", "y").unwrap();
    create(&db, "new").put("key", "z").unwrap();
    let db = open(&fs.kill()).unwrap();
    assert_eq!(text(&db.keyspace("kept").unwrap(), "key").as_deref(), Some("y"));
    assert_eq!(text(&db.keyspace("new").unwrap(), "key").as_deref(), Some("z"));
}

/// A drop comes while its keyspace is being compacted or waits to be flushed.
#[test]
fn work_under_way_ends_with_its_keyspace() {
    let fs = MemFs::new();
    let small = Options {
        write_buffer_size: 4096,
        target_file_size: 2048,
        level0_compaction_trigger: 2,
        ..options(&fs)
    };
    let db = Db::open(PATH, small).unwrap();
    for steps_before in 0..12 {
        let gone = create(&db, "gone");
        for n in 0..600 {
            gone.put(format!("{:04}", n * 7919 % 1000), "x".repeat(20)).unwrap();
            db.put(format!("{:03}", n % 50), format!("{n}")).unwrap();
        }
        for _ in 0..steps_before {
            db.step_background().unwrap();
        }
        drop(gone);
        db.drop_keyspace("gone").unwrap();
        steps::run_background(&db, |_| {});
        db.flush().unwrap();
        steps::run_background(&db, |_| {});
        let tables: u64 = db.stats().levels.iter().map(|level| level.tables).sum();
        assert_eq!(files(&fs, ".tbl").len() as u64, tables, "after {steps_before} steps");
    }
    assert_eq!(db.iter().unwrap().count(), 50);
}

/// Each keyspace that needs work gets some, the most urgent first, however busy another is.
#[test]
fn compaction_serves_every_keyspace() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 4096, target_file_size: 4096, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let all: Vec<Keyspace> = (0..5).map(|n| create(&db, &format!("{n}"))).collect();
    for n in 0..6000u64 {
        // The first keyspace gets half of all writes.
        let own = if n % 2 == 0 { &all[0] } else { &all[(n / 2 % 5) as usize] };
        own.put(format!("{:05}", n * 7919 % 3001), "x".repeat(30)).unwrap();
        db.step_background().unwrap();
    }
    db.wait_for_background().unwrap();
    let stats = db.stats();
    for own in &stats.keyspaces {
        assert!(own.levels[0].runs < 12, "{own:?}");
    }
    assert_eq!(stats.compaction_debt, 0);
}

/// Threads find keyspaces through any handle and write, while other keyspaces are dropped.
#[test]
fn threads_create_write_and_drop() {
    let fs = MemFs::new();
    let env = foldb::env::Env {
        threads: Arc::new(foldb::env::SystemThreads),
        ..foldb::env::Env::in_memory(fs.clone())
    };
    let small = Options { env, write_buffer_size: 16 << 10, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let shared = create(&db, "shared");
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (db, shared) = (db.clone(), shared.clone());
            scope.spawn(move || {
                for round in 0..30u64 {
                    let own = create(&db, &format!("own {thread}"));
                    for n in 0..50u64 {
                        let mut batch = WriteBatch::new();
                        batch.merge("sum", number(1)).merge_in(&shared, "sum", number(1));
                        batch.put_in(&own, format!("{n}"), "x".repeat(20));
                        db.write(&batch).unwrap();
                    }
                    assert_eq!(own.iter().unwrap().count(), 50, "{thread} {round}");
                    db.drop_keyspace(&format!("own {thread}")).unwrap();
                    assert_error(own.get("1"), ErrorKind::KeyspaceDropped, None);
                }
            });
        }
    });
    let expected = number(3 * 30 * 50);
    assert_eq!(db.get("sum").unwrap().unwrap(), expected);
    assert_eq!(shared.get("sum").unwrap().unwrap(), expected);
    drop(shared);
    db.close().unwrap();
    let db = reopen(&fs).unwrap();
    assert_eq!(db.keyspaces(), ["default", "shared"]);
    assert_eq!(db.keyspace("shared").unwrap().get("sum").unwrap().unwrap(), expected);
    db.verify().unwrap();
}
