//! Snapshots stay exact while folds and compactions go on, and folds catch up afterwards.

use foldb::env::MemFs;

use crate::support::{count, number, open, reopen};
use crate::{everywhere, scan};

/// After a compaction a snapshot missed a key, or saw merges of later writes.
/// (slatedb/slatedb#1054, #1060 and #1769, facebook/rocksdb#3475)
#[test]
fn snapshots_between_merges_stay_exact_through_compactions() {
    let db = open(&MemFs::new()).unwrap();
    let mut snapshots = Vec::new();
    for n in 1..=40u64 {
        db.merge("key", number(1)).unwrap();
        if n % 3 == 0 {
            snapshots.push((db.snapshot(), n));
        }
        if n % 10 == 0 {
            db.flush().unwrap();
        }
    }
    everywhere(&db, |db| {
        assert_eq!(count(db, "key"), 40);
        for (snapshot, expected) in &snapshots {
            assert_eq!(count(snapshot, "key"), *expected);
        }
    });
}

/// Chains that a snapshot had kept apart were never folded after its release.
/// (facebook/rocksdb#4828)
#[test]
fn chains_are_folded_after_the_release_of_a_snapshot() {
    let db = open(&MemFs::new()).unwrap();
    let records = || db.tables().unwrap().iter().map(|table| table.records).sum::<u64>();
    let mut snapshots = Vec::new();
    for _ in 0..8 {
        db.merge("key", number(1)).unwrap();
        snapshots.push(db.snapshot());
    }
    db.compact(..).unwrap();
    assert_eq!(records(), 8, "one for each snapshot");
    snapshots.clear();
    while db.step_background().unwrap() {}
    db.compact(..).unwrap();
    assert_eq!(records(), 1);
    assert_eq!(count(&db, "key"), 8);
}

/// A snapshot that stays open for long kept everything: also versions that no snapshot can see.
/// (facebook/rocksdb#10536, #5541)
#[test]
fn an_old_snapshot_keeps_one_version_and_not_all() {
    let db = open(&MemFs::new()).unwrap();
    db.put("key", "first").unwrap();
    let old = db.snapshot();
    for n in 0..1000 {
        db.put("key", format!("{n}")).unwrap();
        if n % 100 == 0 {
            db.flush().unwrap();
        }
    }
    db.compact(..).unwrap();
    let records: u64 = db.tables().unwrap().iter().map(|table| table.records).sum();
    assert_eq!(records, 2);
    assert_eq!(scan(&old), "key=first");
    assert_eq!(scan(&db), "key=999");
}

/// Batches were visible in part: a reader saw the first half of one.
/// (google/leveldb#251 tells of halves after a power loss)
#[test]
fn a_batch_is_whole_after_every_cut_of_the_log() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..30u64 {
        let mut batch = foldb::WriteBatch::new();
        batch.merge("a", number(1)).put(format!("filler-{n}"), [7; 300]).merge("b", number(1));
        db.write(&batch).unwrap();
    }
    drop(db);
    for seed in 0..40 {
        let db = reopen(&fs.crash_with(seed)).unwrap();
        assert_eq!(count(&db, "a"), count(&db, "b"), "seed {seed}");
        assert_eq!(db.prefix("filler-").unwrap().count() as u64, count(&db, "a"), "seed {seed}");
    }
}
