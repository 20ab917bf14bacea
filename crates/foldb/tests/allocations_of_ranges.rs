//! How often a short range allocates. A range of ten entries in memory takes one or two
//! microseconds, of which ten allocations would be a quarter.
//!
//! This is a program of its own: its global allocator counts.

#[path = "support/allocations.rs"]
mod allocations;

use allocations::count_during;
use foldb::env::{Env, MemFs};
use foldb::{Db, Options, Reader};

fn key(n: u64) -> Vec<u8> {
    format!("key/{n:020}").into_bytes()
}

fn open() -> Db {
    let env = Env::in_memory(MemFs::new());
    Db::open("db", Options { create_if_missing: true, env, ..Options::default() }).unwrap()
}

/// Puts every second key of a thousand, beginning with `first`.
fn fill(db: &Db, first: u64) {
    for n in (first..1000).step_by(2) {
        db.put(key(n), [b'v'; 150]).unwrap();
    }
}

/// Returns how often a range of ten entries allocates once blocks and tables are in memory.
fn of_ten(reader: &impl Reader, end: Option<u64>) -> usize {
    let (start, end) = (key(400), end.map(key));
    let ten = || {
        let mut entries = match &end {
            None => reader.range(&start[..]..).unwrap(),
            Some(end) => reader.range(&start[..]..&end[..]).unwrap(),
        };
        for _ in 0..10 {
            assert!(entries.advance().unwrap());
            assert_eq!(entries.value().unwrap().len(), 150);
        }
    };
    ten();
    count_during(ten).1
}

#[test]
fn a_range_of_a_table_allocates_three_times() {
    let db = open();
    fill(&db, 0);
    fill(&db, 1);
    db.flush().unwrap();
    db.compact(..).unwrap();
    // The origin, the cursor, and its place in the table.
    assert_eq!(of_ten(&db, None), 3);
    assert_eq!(of_ten(&db, Some(800)), 3);
    assert_eq!(of_ten(&db.snapshot(), None), 3);
}

#[test]
fn a_range_of_a_memtable_and_a_table_allocates_once_more() {
    let db = open();
    fill(&db, 0);
    db.flush().unwrap();
    fill(&db, 1);
    assert_eq!(of_ten(&db, None), 4);
}

#[test]
fn a_range_of_a_memtable_allocates_three_times() {
    let db = open();
    fill(&db, 0);
    fill(&db, 1);
    assert_eq!(of_ten(&db, None), 3);
}
