//! The place of sorted loads in the order of writes, and which keys they take.

use std::sync::Arc;

use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, ReadOptions, Reader};

use crate::support::orders::Descending;
use crate::support::{
    PATH, assert_error, count, error_of, number, open, options, reopen, steps, text,
};

/// Returns the tables on disk.
pub(super) fn tables(fs: &MemFs) -> usize {
    let names = fs.list(std::path::Path::new(PATH)).unwrap();
    names.iter().filter(|name| name.ends_with(".tbl")).count()
}

/// Loads keys with one value.
pub(super) fn load(db: &Db, keys: &[&str], value: &str) -> u64 {
    let mut load = db.sorted_load().unwrap();
    keys.iter().for_each(|key| load.put(key, value).unwrap());
    load.finish().unwrap().sequence_number
}

fn all(db: &Db) -> String {
    let entries = db.iter().unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        format!("{}={}", key.escape_ascii(), value.escape_ascii())
    });
    entries.collect::<Vec<_>>().join(" ")
}

#[test]
fn keys_out_of_order_are_refused_by_name_and_the_load_goes_on() {
    let db = open(&MemFs::new()).unwrap();
    let mut load = db.sorted_load().unwrap();
    load.put("b", "1").unwrap();
    let same = assert_error(load.put("b", "2"), ErrorKind::InvalidArgument, None);
    assert!(same.to_string().contains("'b' is the same key as 'b'"), "{same}");
    let before = assert_error(load.put(b"a\xff", "2"), ErrorKind::InvalidArgument, None);
    assert!(before.to_string().contains("comes before 'b'"), "{before}");
    let long = vec![b'x'; 600 << 10];
    assert_error(load.put(&long, "2"), ErrorKind::InvalidArgument, None);
    assert_error(load.merge("c", "not 8 bytes"), ErrorKind::InvalidArgument, None);
    let long_key = assert_error(load.put([b'a'; 300], "2"), ErrorKind::InvalidArgument, None);
    assert!(long_key.to_string().len() < 400, "{long_key}");
    load.put("c", "3").unwrap();
    assert_eq!(load.entries(), 2);
    assert_eq!(load.finish().unwrap().entries, 2);
    assert_eq!(all(&db), "b=1 c=3");
}

#[test]
fn a_load_without_keys_and_a_dropped_one_change_nothing() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    let before = fs.counts().mutations();
    let report = db.sorted_load().unwrap().finish().unwrap();
    assert_eq!((report.entries, report.tables, report.sequence_number), (0, 0, 0));
    assert_eq!(fs.counts().mutations(), before);
    let mut dropped = db.sorted_load().unwrap();
    dropped.put("a", "2").unwrap();
    assert_eq!(tables(&fs), 1);
    drop(dropped);
    assert_eq!(tables(&fs), 0);
    assert_eq!(all(&db), "a=1");
}

/// ```text
/// b.PUT.1 | snapshot | load at 3: b.PUT | b.PUT.4
/// ```
#[test]
fn a_load_is_newer_than_writes_before_its_end_and_older_than_later_ones() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for key in ["a", "b", "c", "z"] {
        db.put(key, "before").unwrap();
    }
    let mut load = db.sorted_load().unwrap();
    load.put("a", "loaded").unwrap();
    load.put("b", "loaded").unwrap();
    load.put("d", "loaded").unwrap();
    db.put("b", "during").unwrap();
    db.delete("c").unwrap();
    let snapshot = db.snapshot();
    let held = db.iter().unwrap();
    assert_eq!(all(&db), "a=before b=during z=before");
    load.finish().unwrap();
    assert_eq!(all(&db), "a=loaded b=loaded d=loaded z=before");
    db.put("b", "after").unwrap();
    db.delete("a").unwrap();
    let check = |db: &Db| {
        assert_eq!(all(db), "b=after d=loaded z=before");
        assert_eq!(text(db, "d").unwrap(), "loaded");
        assert_eq!(text(db, "a"), None);
        let found = db.multi_get(["a", "b", "d"]).unwrap();
        assert_eq!(found.into_iter().flatten().flatten().count(), 2);
    };
    check(&db);
    assert_eq!(held.count(), 3);
    let old = |key: &str| snapshot.get(key).unwrap().map(|value| value.to_vec());
    assert_eq!(old("a").unwrap(), b"before");
    assert_eq!(old("b").unwrap(), b"during");
    assert_eq!(old("d"), None);
    db.compact(..).unwrap();
    check(&db);
    assert_eq!(old("a").unwrap(), b"before");
    assert_eq!(old("d"), None);
    let as_of = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    assert_eq!(db.default_keyspace().with(&as_of).range(..).unwrap().count(), 3);
    drop((snapshot, as_of));
    db.compact(..).unwrap();
    check(&db);
    drop(db);
    check(&reopen(&fs).unwrap());
    check(&reopen(&fs.kill()).unwrap());
    check(&reopen(&fs.crash()).unwrap_or_else(|error| panic!("{error}")));
}

#[test]
fn operands_fold_over_loaded_bases_and_loaded_operands_over_earlier_ones() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let append = db.operator("append").unwrap();
    db.merge("a", number(1)).unwrap();
    db.flush().unwrap();
    db.merge("a", number(2)).unwrap();
    db.merge_with(&append, "list", "x").unwrap();
    let mut load = db.sorted_load().unwrap();
    load.merge("a", number(10)).unwrap();
    load.put("b", number(100)).unwrap();
    let late = db.operator("stringappend:;").unwrap();
    load.merge_with(&late, "joined", "p").unwrap();
    load.merge_with(&append, "list", "y").unwrap();
    load.finish().unwrap();
    db.merge("a", number(20)).unwrap();
    db.merge("b", number(5)).unwrap();
    db.merge_with(&append, "list", "z").unwrap();
    db.merge_with(&late, "joined", "q").unwrap();
    let check = |db: &Db| {
        assert_eq!((count(db, "a"), count(db, "b")), (33, 105));
        assert_eq!(text(db, "list").unwrap(), "xyz");
        assert_eq!(text(db, "joined").unwrap(), "p;q");
    };
    check(&db);
    check(&reopen(&fs.kill()).unwrap());
    db.flush().unwrap();
    check(&db);
    db.compact(..).unwrap();
    check(&db);
    check(&reopen(&fs.kill()).unwrap());
}

#[test]
fn range_deletes_delete_loaded_keys_only_if_they_are_later() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("c", "1").unwrap();
    db.delete_range("a".."m").unwrap();
    load(&db, &["b", "c", "d"], "2");
    db.delete_range("d"..).unwrap();
    assert_eq!(all(&db), "b=2 c=2");
    db.flush().unwrap();
    assert_eq!(all(&db), "b=2 c=2");
    load(&db, &["c", "d", "e"], "3");
    assert_eq!(all(&db), "b=2 c=3 d=3 e=3");
    steps::run_background(&db, |_| assert_eq!(all(&db), "b=2 c=3 d=3 e=3"));
    db.compact(..).unwrap();
    assert_eq!(all(&db), "b=2 c=3 d=3 e=3");
}

/// Writes to other keys stay in the memtable, with smaller numbers than the load.
#[test]
fn a_load_beside_the_keys_of_the_memtable_flushes_nothing() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.put("z", "1").unwrap();
    let flushes = db.stats().flushes;
    load(&db, &["b", "c"], "2");
    db.put("b", "3").unwrap();
    assert_eq!(db.stats().flushes, flushes);
    assert_eq!(all(&db), "a=1 b=3 c=2 z=1");
    let crashed = reopen(&fs.crash()).unwrap();
    assert_eq!((text(&crashed, "a"), text(&crashed, "c")), (Some("1".into()), Some("2".into())));
    for db in [reopen(&fs.kill()).unwrap(), db] {
        db.flush().unwrap();
        assert_eq!(all(&db), "a=1 b=3 c=2 z=1");
        load(&db, &["a", "b"], "4");
        assert_eq!(all(&db), "a=4 b=4 c=2 z=1");
        db.compact(..).unwrap();
        assert_eq!(all(&db), "a=4 b=4 c=2 z=1");
    }
}

#[test]
fn loads_finish_in_any_order_and_the_last_to_finish_is_the_newest() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let mut first = db.sorted_load().unwrap();
    let mut second = db.sorted_load().unwrap();
    for key in ["a", "b"] {
        second.put(key, "second").unwrap();
        first.put(key, "first").unwrap();
    }
    second.put("c", "second").unwrap();
    let second = second.finish().unwrap();
    let first = first.finish().unwrap();
    assert!(first.sequence_number > second.sequence_number);
    assert_eq!(all(&db), "a=first b=first c=second");
    db.compact(..).unwrap();
    assert_eq!(all(&db), "a=first b=first c=second");
}

fn key(n: u32) -> String {
    format!("key {n:05}")
}

/// Small tables, so a load has many.
fn small(fs: &MemFs) -> Options {
    Options { target_file_size: 2048, block_size: 256, write_buffer_size: 64 << 10, ..options(fs) }
}

#[test]
fn a_load_of_many_tables_is_one_run_that_everything_reads() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    let mut load = db.sorted_load().unwrap();
    for n in 0..2000 {
        load.put(key(n), n.to_le_bytes()).unwrap();
    }
    let report = load.finish().unwrap();
    assert!(report.tables > 5, "{report:?}");
    assert_eq!(report.tables as usize, tables(&fs));
    assert_eq!(db.stats().puts, 2000);
    fn check(db: &impl Reader) {
        assert_eq!(db.iter().unwrap().count(), 2000);
        for n in (0..2000).step_by(97) {
            assert_eq!(db.get(key(n)).unwrap().unwrap(), n.to_le_bytes());
        }
    }
    check(&db);
    assert!(db.verify().unwrap() > 0);
    check(&Db::open_read_only(PATH, options(&fs)).unwrap());
    db.checkpoint("copy").unwrap();
    check(&Db::open("copy", options(&fs)).unwrap());
    steps::run_background(&db, |_| {});
    check(&db);
    db.compact(..).unwrap();
    check(&db);
    check(&reopen(&fs.kill()).unwrap());
}

#[test]
fn large_values_stay_in_the_tables_until_a_compaction() {
    let fs = MemFs::new();
    let with = Options {
        default: KeyspaceOptions { value_separation_min: Some(100), ..options(&fs).default },
        ..options(&fs)
    };
    let db = Db::open(PATH, with).unwrap();
    let value = "v".repeat(5000);
    load(&db, &["a", "b", "c"], &value);
    assert_eq!(text(&db, "b").unwrap(), value);
    db.put("b", "small").unwrap();
    db.compact(..).unwrap();
    assert_eq!(text(&db, "c").unwrap(), value);
    assert_eq!(text(&db, "b").unwrap(), "small");
    assert!(db.verify().unwrap() > 0);
}

#[test]
fn a_load_follows_the_order_of_its_keyspace() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let backwards =
        KeyspaceOptions { comparator: Some(Arc::new(Descending)), ..KeyspaceOptions::default() };
    let keyspace = db.create_keyspace("backwards", backwards).unwrap();
    keyspace.put("b", "before").unwrap();
    let mut load = keyspace.sorted_load().unwrap();
    load.put("c", "1").unwrap();
    load.put("b", "1").unwrap();
    let error = error_of(load.put("z", "1"));
    assert!(error.to_string().contains("'z' comes before 'b'"), "{error}");
    load.put("a", "1").unwrap();
    load.finish().unwrap();
    let keys: Vec<_> = keyspace.iter().unwrap().map(|entry| entry.unwrap().0.to_vec()).collect();
    assert_eq!(keys, [b"c", b"b", b"a"]);
    assert_eq!(keyspace.get("b").unwrap().unwrap(), b"1");
    assert_eq!(db.iter().unwrap().count(), 0);
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let gone = db.create_keyspace("gone", KeyspaceOptions::default()).unwrap();
    let mut before = gone.sorted_load().unwrap();
    before.put("a", "1").unwrap();
    let mut meanwhile = gone.sorted_load().unwrap();
    db.drop_keyspace("gone").unwrap();
    assert_error(gone.sorted_load(), ErrorKind::KeyspaceDropped, None);
    assert_error(before.finish(), ErrorKind::KeyspaceDropped, None);
    assert_error(meanwhile.put("a", "1"), ErrorKind::KeyspaceDropped, None);
    drop(meanwhile);
    assert_eq!(tables(&fs), 0);
    let mut load = db.sorted_load().unwrap();
    load.put("a", "1").unwrap();
    let other = open(&MemFs::new()).unwrap().operator("append").unwrap();
    assert_error(load.merge_with(&other, "b", "1"), ErrorKind::InvalidArgument, None);
    db.close().unwrap();
    assert_error(db.sorted_load(), ErrorKind::Closed, None);
    assert_error(load.finish(), ErrorKind::Closed, None);
    drop(reopen(&fs).unwrap());
    assert_eq!(tables(&fs), 0);
}
