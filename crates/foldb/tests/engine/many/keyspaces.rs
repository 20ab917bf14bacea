//! Keyspaces: several ordered maps over one log, each with its own operator, order and shape.

use std::sync::Arc;
use std::time::Duration;

use foldb::env::MemFs;
use foldb::expiry::Expiry;
use foldb::{
    CompactionPreset, Compression, Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteBatch,
};

use crate::support::orders::Descending;
use crate::support::{PATH, assert_error, error_of, number, open, options, reopen};

pub(super) fn with_operator(spec: &str) -> KeyspaceOptions {
    KeyspaceOptions::with_operator(spec)
}

pub(super) fn create(db: &Db, name: &str) -> Keyspace {
    db.create_keyspace(name, KeyspaceOptions::default()).expect("a keyspace")
}

pub(super) fn text(keyspace: &Keyspace, key: &str) -> Option<String> {
    let value = keyspace.get(key).expect("the key can be read");
    value.map(|value| String::from_utf8(value.to_vec()).expect("text"))
}

pub(super) fn keys(keyspace: &Keyspace) -> Vec<String> {
    let entries = keyspace.iter().unwrap().map(|entry| entry.unwrap().0);
    entries.map(|key| String::from_utf8(key.to_vec()).unwrap()).collect()
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

#[test]
fn keyspace_or_create_names_the_options_that_differ() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let hour = Expiry::after_last_write(Duration::from_secs(3600));
    let lists = || KeyspaceOptions {
        expiry: Some(hour),
        bloom_bits: Some(12),
        ..KeyspaceOptions::with_operator("stringappend")
    };
    let own = db.keyspace_or_create("lists", lists()).unwrap();
    own.merge("a", "1").unwrap();
    let spelled = KeyspaceOptions { merge_operator: Some("stringappend:,".to_owned()), ..lists() };
    for same in [lists(), spelled, KeyspaceOptions::default(), own.options()] {
        db.keyspace_or_create("lists", same).unwrap();
    }
    let differing = [
        (
            KeyspaceOptions { merge_operator: Some("uint64add".to_owned()), ..lists() },
            "merge_operator is \"stringappend:,\", and \"uint64add\" is asked for",
        ),
        (
            KeyspaceOptions { expiry: Some(Expiry::per_write()), ..lists() },
            "expiry is after-last-write:3600, and per-write is asked for",
        ),
        (
            KeyspaceOptions { bloom_bits: Some(0), ..lists() },
            "bloom_bits is 12, and 0 is asked for",
        ),
    ];
    for (options, expected) in differing {
        let error = db.keyspace_or_create("lists", options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(expected), "{error}");
    }
    db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    let error = db.keyspace_or_create("plain", lists()).unwrap_err();
    for expected in ["bloom_bits is 10", "expiry is none", "Db::keyspace"] {
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(own.get("a").unwrap().unwrap(), b"1");
}
