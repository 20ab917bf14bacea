//! Compactions give back the space of expired entries without new writes.

use std::sync::Arc;

use foldb::env::{Env, MemFs};
use foldb::expiry::Expiry;
use foldb::internals::Knobs;
use foldb::{Db, ErrorKind, KeyspaceOptions, LogAdoption, Options};

use crate::expiry::support::{clock, lists, open, read, seconds, set, settle, table_bytes};
use crate::support::{PATH, only_appends, options};

#[test]
fn the_space_of_expired_entries_comes_back_without_writes() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    for round in 0..4 {
        for key in 0..500 {
            own.put(format!("key {key}"), [round; 100]).unwrap();
        }
        db.flush().unwrap();
        settle(&db);
    }
    own.put("later", "1").unwrap();
    db.flush().unwrap();
    settle(&db);
    assert!(table_bytes(&db) > 50_000);
    set(&clock, 9);
    settle(&db);
    assert!(table_bytes(&db) > 50_000);
    set(&clock, 10);
    settle(&db);
    assert_eq!(table_bytes(&db), 0);
}

/// Operands in newer places hold back the values that they came to in time, and no longer.
#[test]
fn a_merge_in_time_holds_back_its_base_until_they_fold() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    for key in 0..500 {
        own.put(format!("key {key}"), [b'x'; 100]).unwrap();
    }
    own.compact(..).unwrap();
    set(&clock, 9);
    own.merge("key 7", "y").unwrap();
    set(&clock, 12);
    settle(&db);
    assert!(table_bytes(&db) > 10_000, "the memtable has an operand of second 9");
    db.flush().unwrap();
    own.compact(..).unwrap();
    assert!(table_bytes(&db) < 2000);
    assert_eq!(read(&own, "key 7").unwrap(), "x".repeat(100) + ",y");
    set(&clock, 19);
    assert_eq!(read(&own, "key 7"), None);
    settle(&db);
    assert_eq!(table_bytes(&db), 0);
}

/// A failed merge keeps its base, which expires before it. The table is not rewritten for that
/// base, because a rewrite would leave it.
#[test]
fn a_base_below_a_failed_merge_does_not_ask_for_rewrites() {
    let first = Expiry::after_first_write(seconds(10));
    for (expiry, is_alive) in [(first, false), (Expiry::after_last_write(seconds(10)), true)] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = db.keyspace_or_create(
            "counters",
            KeyspaceOptions {
                merge_operator: Some("uint64add".to_owned()),
                expiry: Some(expiry),
                ..KeyspaceOptions::default()
            },
        );
        let own = own.unwrap();
        own.put("a", "not a counter").unwrap();
        set(&clock, 9);
        own.merge("a", 1_u64.to_le_bytes()).unwrap();
        db.flush().unwrap();
        set(&clock, 12);
        let mut steps = 0;
        while db.step_background().unwrap() {
            steps += 1;
            assert!(steps < 10, "background work does not end");
        }
        let failed = own.get("a").err().map(|error| error.kind());
        assert_eq!(failed, is_alive.then_some(ErrorKind::MergeFailed));
    }
}

/// The workers of an idle database store no seconds before something expires.
#[test]
fn an_idle_database_stores_its_time_only_when_records_expire() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(1000)));
    own.put("a", "1").unwrap();
    db.flush().unwrap();
    let idle_until = |second| {
        for now in second - 3..=second {
            set(&clock, now);
            clock.advance(seconds(1));
            settle(&db);
        }
        db.stats().bytes_manifest
    };
    let before = idle_until(10);
    for second in 11..50 {
        assert_eq!(idle_until(10 * second), before);
    }
    assert!(table_bytes(&db) > 0);
    idle_until(1010);
    assert_eq!(table_bytes(&db), 0);
}

/// Frames of one log hold separated values and entries that expire.
#[test]
fn a_log_with_entries_that_expire_can_be_a_value_segment() {
    let (fs, clock) = (MemFs::new(), clock());
    let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(fs.clone()) };
    let separating = Options {
        env,
        default: KeyspaceOptions { value_separation_min: Some(500), ..options(&fs).default },
        knobs: Knobs { segment_size: 64 << 10, ..Knobs::default() },
        adopt_logs: LogAdoption::Always,
        ..options(&fs)
    };
    let db = Db::open(PATH, separating).unwrap();
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "1").unwrap();
    own.merge("a", "2").unwrap();
    for n in 0..40u8 {
        db.put([n], [n; 5000]).unwrap();
    }
    db.flush().unwrap();
    assert!(db.stats().bytes_adopted > 0 || only_appends(), "no log was adopted");
    db.verify().unwrap();
    for n in 0..30u8 {
        db.put([n], "").unwrap();
    }
    db.flush().unwrap();
    db.compact(..).unwrap();
    db.collect_garbage().unwrap();
    db.verify().unwrap();
    assert_eq!(db.get([35]).unwrap().unwrap(), [35; 5000]);
}
