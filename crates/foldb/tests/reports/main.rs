//! Public bug reports of other stores, each as a test of this one.
//!
//! Users of other engines reported these symptoms. Each could happen in any engine of this kind, so
//! each has a test here. The comment of a test describes the symptom in our own words and names the
//! repository and the number of the report. The number says where to look. It does not say that
//! the fault still exists there.
//!
//! Reports whose test needs a process, a full disk or many threads have their test elsewhere.

mod deletes;
mod files;
mod iterators;
mod keyspaces;
mod merges;
mod snapshots;
mod space;
#[path = "../support/mod.rs"]
mod support;
mod transactions;

use foldb::{Db, Iter, Reader};

/// Returns all entries as text, forwards, after checking that they are the same backwards.
fn scan(reader: &impl Reader) -> String {
    let show = |entry: foldb::Result<(Vec<u8>, foldb::Value)>| {
        let (key, value) = entry.unwrap();
        format!("{}={}", key.escape_ascii(), value.escape_ascii())
    };
    let forwards: Vec<_> = reader.iter().unwrap().map(show).collect();
    let mut backwards: Vec<_> = reader.iter().unwrap().rev().map(show).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    forwards.join(" ")
}

/// Returns the key and value below an iterator as text, or `-` if it is not at an entry.
fn here(iter: &Iter) -> String {
    if !iter.valid() {
        return "-".to_owned();
    }
    format!("{}={}", iter.key().escape_ascii(), iter.value().unwrap().escape_ascii())
}

/// Checks one fact with the records in the memtable, in tables, and after a compaction.
fn everywhere(db: &Db, check: impl Fn(&Db)) {
    check(db);
    db.flush().unwrap();
    check(db);
    db.compact(..).unwrap();
    check(db);
}
