//! What expires when, on small histories.

use std::time::{Duration, SystemTime};

use foldb::env::MemFs;
use foldb::expiry::{Expires, Expiry};
use foldb::operators::Base;
use foldb::{
    ErrorKind, Keyspace, KeyspaceOptions, ReadOptions, TransactionOptions, WriteBatch, WriteOptions,
};

use crate::expiry::support::{START, clock, lists, open, read, seconds, set, settle, table_bytes};

/// How records move before they are read.
const MOVES: [fn(&foldb::Db); 4] = [
    |_| {},
    |db| db.flush().unwrap(),
    |db| db.compact(..).unwrap(),
    |db| {
        db.flush().unwrap();
        settle(db);
    },
];

fn expiring(expires: Expires) -> WriteOptions {
    WriteOptions { expires: Some(expires), ..WriteOptions::default() }
}

/// `a.PUT@0 MERGE@9 MERGE@12` keeps its base at 13; `a.PUT@0 MERGE@11 MERGE@12` does not.
#[test]
fn a_merge_in_time_keeps_its_base_and_a_late_one_does_not() {
    for between in MOVES {
        for (first, expected) in [(9, "0,9,12"), (10, "10,12"), (11, "11,12")] {
            let (fs, clock) = (MemFs::new(), clock());
            let db = open(&fs, &clock);
            let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
            own.put("a", "0").unwrap();
            between(&db);
            own.compact(..).unwrap();
            set(&clock, first);
            own.merge("a", first.to_string()).unwrap();
            between(&db);
            set(&clock, 12);
            own.merge("a", "12").unwrap();
            between(&db);
            set(&clock, 13);
            assert_eq!(read(&own, "a").as_deref(), Some(expected));
            own.compact(..).unwrap();
            assert_eq!(read(&own, "a").as_deref(), Some(expected));
            set(&clock, 21);
            assert_eq!(read(&own, "a").as_deref(), Some(expected));
            set(&clock, 22);
            assert_eq!(read(&own, "a"), None);
            own.compact(..).unwrap();
            assert_eq!(read(&own, "a"), None);
            own.merge("a", "22").unwrap();
            assert_eq!(read(&own, "a").as_deref(), Some("22"));
        }
    }
}

/// An update is a put, and a put is a first write. A rate limiter that counts by updates never let
/// its caller through again.
#[test]
fn an_update_that_keeps_the_end_renews_nothing() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_first_write(seconds(10)));
    let keeping = WriteOptions { keep_end: true, ..WriteOptions::default() };
    let longer = |old: Option<&[u8]>| Some([old.unwrap_or_default(), b"."].concat());
    for (now, kept, renewed) in
        [(0, ".", "."), (6, "..", ".."), (9, "...", "..."), (12, ".", "....")]
    {
        set(&clock, now);
        own.with(&keeping).update("kept", longer).unwrap();
        own.update("renewed", longer).unwrap();
        assert_eq!(read(&own, "kept").as_deref(), Some(kept), "{now}");
        assert_eq!(read(&own, "renewed").as_deref(), Some(renewed), "{now}");
    }
    // An end of the options is for a key that was absent.
    let late = WriteOptions { keep_end: true, ..expiring(Expires::After(seconds(100))) };
    let end = own.expires_at("kept").unwrap();
    let swapped = own.with(&late).compare_and_swap("kept", Some(b"."), Some(b"x"));
    assert!(swapped.unwrap().is_swapped());
    assert_eq!(own.expires_at("kept").unwrap(), end);
    assert!(own.with(&late).put_if_absent("new", "1").unwrap());
    assert_eq!(own.expires_at("new").unwrap(), Some(SystemTime::UNIX_EPOCH + seconds(START + 112)));
    // A value that never expires stays so, and a keyspace without expiry has no ends.
    own.with(&expiring(Expires::Never)).put("for ever", "1").unwrap();
    own.with(&keeping).update("for ever", longer).unwrap();
    assert_eq!(own.expires_at("for ever").unwrap(), None);
    let default = db.default_keyspace();
    default.put("a", "1").unwrap();
    default.with(&keeping).update("a", longer).unwrap();
    assert_eq!(read(default, "a").as_deref(), Some("1."));
}

/// A write that does not read its key does not know when its value expires.
#[test]
fn a_blind_write_cannot_keep_an_end() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_first_write(seconds(10)));
    own.put("a", "1").unwrap();
    let kept = WriteOptions { keep_end: true, ..WriteOptions::default() };
    let mut batch = WriteBatch::new();
    batch.put_in(&own, "a", "2");
    let in_commit = TransactionOptions { write: kept, ..TransactionOptions::default() };
    for (call, outcome) in [
        ("put", own.with(&kept).put("a", "2")),
        ("delete", own.with(&kept).delete("a")),
        ("delete_range", own.with(&kept).delete_range("a".."b")),
        ("clear", own.with(&kept).clear()),
        ("merge", own.with(&kept).merge("a", "2")),
        ("write", db.with(&kept).write(&batch)),
        ("an empty write", db.with(&kept).write(&WriteBatch::new())),
        ("begin", db.with(&in_commit).begin().map(drop)),
    ] {
        let error = outcome.expect_err(call);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{call}");
        assert!(error.to_string().contains("keep_end"), "{call}: {error}");
    }
    assert_eq!(read(&own, "a").as_deref(), Some("1"));
    assert!(own.with(&kept).take("a").unwrap().is_some());
}

#[test]
fn an_entry_that_is_not_renewed_expires_after_its_first_write() {
    for between in MOVES {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "lists", Expiry::after_first_write(seconds(10)));
        own.put("put", "0").unwrap();
        own.merge("merged", "0").unwrap();
        between(&db);
        set(&clock, 9);
        for key in ["put", "merged"] {
            own.merge(key, "9").unwrap();
            assert_eq!(read(&own, key).as_deref(), Some("0,9"));
        }
        between(&db);
        set(&clock, 10);
        for key in ["put", "merged"] {
            assert_eq!(read(&own, key), None);
        }
        set(&clock, 12);
        own.merge("put", "12").unwrap();
        between(&db);
        set(&clock, 21);
        own.merge("put", "21").unwrap();
        between(&db);
        assert_eq!(read(&own, "put").as_deref(), Some("12,21"));
        set(&clock, 22);
        assert_eq!(read(&own, "put"), None);
    }
}

#[test]
fn a_write_may_say_when_it_expires() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::per_write());
    own.put("stays", "1").unwrap();
    own.with(&expiring(Expires::After(seconds(10)))).put("goes", "1").unwrap();
    // A merge keeps the end of its entry, unless it says otherwise.
    own.merge("goes", "2").unwrap();
    let at = SystemTime::UNIX_EPOCH + seconds(START + 20);
    own.with(&expiring(Expires::At(at))).merge("stays longer", "1").unwrap();
    let mut batch = WriteBatch::new();
    batch.set_expires(Some(Expires::After(Duration::from_millis(4500))));
    batch.put_in(&own, "in a batch", "1").merge_in(&own, "in a batch", "2");
    db.write(&batch).unwrap();
    assert_eq!(own.expires_at("goes").unwrap(), Some(at - seconds(10)));
    assert_eq!(own.expires_at("stays").unwrap(), None);
    assert_eq!(own.expires_at("in a batch").unwrap(), Some(at - seconds(15)));
    set(&clock, 4);
    assert_eq!(read(&own, "in a batch").as_deref(), Some("1,2"));
    set(&clock, 5);
    assert_eq!(read(&own, "in a batch"), None);
    set(&clock, 9);
    assert_eq!(read(&own, "goes").as_deref(), Some("1,2"));
    own.with(&expiring(Expires::Never)).merge("goes", "3").unwrap();
    set(&clock, 1000);
    assert_eq!(read(&own, "goes").as_deref(), Some("1,2,3"));
    assert_eq!(read(&own, "stays").as_deref(), Some("1"));
    assert_eq!(read(&own, "stays longer"), None);
    // A moment in the past is now.
    own.with(&expiring(Expires::At(at))).put("goes", "4").unwrap();
    assert_eq!(read(&own, "goes"), None);
}

#[test]
fn all_readers_see_the_same_entries() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    for (second, key) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        set(&clock, second as u64);
        own.put(key, key).unwrap();
        if second % 2 == 0 {
            db.flush().unwrap();
        }
    }
    let keys = |found: Vec<foldb::Result<(Vec<u8>, foldb::Value)>>| {
        let pairs = found.into_iter().map(|entry| entry.unwrap());
        let pairs = pairs.inspect(|(key, value)| assert_eq!(key, &value[..]));
        pairs.map(|(key, _)| String::from_utf8(key).unwrap()).collect::<String>()
    };
    set(&clock, 12);
    let snapshot = db.snapshot();
    let before = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    for _ in 0..2 {
        assert_eq!(keys(own.iter().unwrap().collect()), "de");
        assert_eq!(keys(own.iter().unwrap().rev().collect()), "ed");
        assert_eq!(own.first().unwrap().unwrap().0, b"d");
        assert_eq!(own.last().unwrap().unwrap().0, b"e");
        let several = own.multi_get(["a", "d", "x"]).unwrap();
        let several: Vec<_> = several.into_iter().map(Result::unwrap).collect();
        assert!(several[0].is_none() && several[2].is_none());
        assert_eq!(several[1].as_ref().unwrap(), b"d");
        assert!(!own.contains_key("a").unwrap() && own.contains_key("e").unwrap());
        assert!(matches!(own.get_operands("a").unwrap().base(), Base::Nothing));
        assert!(matches!(own.get_operands("e").unwrap().base(), Base::Put(e) if e == b"e"));
        db.compact(..).unwrap();
        own.compact(..).unwrap();
    }
    // A snapshot sees the time of its making.
    set(&clock, 100);
    own.compact(..).unwrap();
    assert!(own.is_empty().unwrap());
    assert_eq!(keys(own.with(&before).range(..).unwrap().collect()), "de");
    assert_eq!(own.with(&before).get("e").unwrap().unwrap(), "e");
    drop((snapshot, before));
    own.compact(..).unwrap();
    assert_eq!(table_bytes(&db), 0, "nothing is left");
}

/// The database's time never falls, not even over a crash with a clock that was set back.
#[test]
fn the_time_never_falls() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "0").unwrap();
    db.sync().unwrap();
    set(&clock, 10);
    assert_eq!(read(&own, "a"), None);
    set(&clock, 3);
    assert_eq!(read(&own, "a"), None);
    for seed in 0..5 {
        let crashed = fs.crash_with(seed);
        let db = open(&crashed, &clock);
        let own = db.keyspace("lists").unwrap();
        assert_eq!(read(&own, "a"), None, "seed {seed}");
        own.put("a", "1").unwrap();
        drop((own, db));
        let db = open(&crashed, &clock);
        let own = db.keyspace("lists").unwrap();
        assert_eq!(read(&own, "a").as_deref(), Some("1"));
        let end = own.expires_at("a").unwrap().unwrap();
        assert_eq!(end, SystemTime::UNIX_EPOCH + seconds(START + 20));
    }
}

fn assert_refused<T: std::fmt::Debug>(outcome: foldb::Result<T>, why: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn bad_input_is_refused() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let soon = expiring(Expires::After(seconds(1)));
    assert_refused(db.with(&soon).put("a", "1"), "has no expiry");
    let mut batch = WriteBatch::new();
    batch.set_expires(soon.expires).put("a", "1");
    assert_refused(db.write(&batch), "has no expiry");
    let own = lists(&db, "lists", Expiry::per_write());
    batch.clear();
    batch.put_in(&own, "a", "1");
    assert_refused(db.with(&soon).write(&batch), "set_expires");
    let mut load = own.sorted_load().unwrap();
    assert_refused(load.merge("a", "1"), "puts only");
    assert!(own.is_empty().unwrap() && db.is_empty().unwrap());
}

/// Counters, whose operands fold in place elsewhere.
#[test]
fn counters_expire_too() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let options = KeyspaceOptions {
        merge_operator: Some("uint64add".to_owned()),
        expiry: Some(Expiry::after_last_write(seconds(10))),
        ..KeyspaceOptions::default()
    };
    let own: Keyspace = db.create_keyspace("counters", options).unwrap();
    for second in 0..200 {
        set(&clock, second);
        if second % 25 < 15 {
            own.merge("a", 1u64.to_le_bytes()).unwrap();
        }
        let expected = match second % 25 {
            at @ 0..15 => Some(at + 1),
            at => (at < 24).then_some(15),
        };
        let found = own.get("a").unwrap();
        assert_eq!(found.map(|own| u64::from_le_bytes(own[..].try_into().unwrap())), expected);
    }
}

/// Tables and memtables count entries that have expired.
#[test]
fn an_approximate_count_promises_no_entry_that_may_have_expired() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "1").unwrap();
    db.flush().unwrap();
    own.put("b", "1").unwrap();
    assert_eq!(own.approximate_count(..).unwrap().at_most, 2);
    set(&clock, 10);
    assert!(own.is_empty().unwrap());
    assert_eq!(own.approximate_count(..).unwrap().at_least, 0);
}
