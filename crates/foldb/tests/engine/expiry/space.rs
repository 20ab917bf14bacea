//! Compactions give back the space of expired entries without new writes.

use foldb::Expiry;
use foldb::env::MemFs;

use crate::expiry::support::{clock, lists, open, read, seconds, set, settle, table_bytes};

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
