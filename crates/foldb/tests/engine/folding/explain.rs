//! Tests what `explain` reports about a key.

use foldb::env::MemFs;
use foldb::explain::{Explained, Place, RecordKind, Unfolded};
use foldb::{Db, Options};

use crate::support::{PATH, number, open, options};

fn drawn(explained: &Explained) -> Vec<String> {
    let draw = |record: &foldb::explain::ExplainedRecord| {
        let place = match record.place {
            Place::Memtable { age } => format!("m{age}"),
            Place::Table { level, .. } => format!("L{level}"),
            _ => "?".to_owned(),
        };
        let why = record.unfolded.map(|why| format!("{why:?}")).unwrap_or_default();
        let (kind, seqno) = (record.kind, record.sequence_number);
        format!("{place} {kind}.{seqno} {why}").trim_end().to_owned()
    };
    explained.records.iter().map(draw).collect()
}

#[test]
fn a_chain_is_reported_with_place_and_reason() {
    let db = open(&MemFs::new()).unwrap();
    let list = db.operator("stringappend:,").unwrap();
    db.put("k", number(1)).unwrap();
    db.flush().unwrap();
    db.merge("k", number(1)).unwrap();
    let snapshot = db.snapshot();
    db.merge("k", number(1)).unwrap();
    db.flush().unwrap();
    db.merge("k", number(1)).unwrap();
    db.merge_with(&list, "k", "x").unwrap();

    let explained = db.explain("k").unwrap();
    assert_eq!(
        drawn(&explained),
        [
            "m0 merge.5 NotFlushed",
            "m0 merge.4 Apart",
            "L0 merge.3 Snapshot(2)",
            "L0 merge.2 Apart",
            "L0 put.0",
        ]
    );
    assert_eq!(explained.snapshots, [snapshot.sequence_number()]);
    assert_eq!((explained.operands(), explained.places), (4, 3));
    assert_eq!(explained.records[0].operator.as_deref(), Some("stringappend:,"));
    assert_eq!(explained.failure, None);
}

/// A range delete stands where its sequence number puts it. The records that it deleted are still
/// listed.
#[test]
fn range_deletes_are_part_of_the_chain() {
    let db = open(&MemFs::new()).unwrap();
    db.put("k", number(1)).unwrap();
    db.flush().unwrap();
    db.delete_range("a".."z").unwrap();
    db.merge("k", number(1)).unwrap();
    let explained = db.explain("k").unwrap();
    let kinds: Vec<_> = explained.records.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [RecordKind::Merge, RecordKind::DeleteRange, RecordKind::Put]);
}

#[test]
fn failures_and_missing_operators_are_reported() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    db.put("bad", "x").unwrap();
    db.merge_with(&fussy, "bad", "!").unwrap();
    db.flush().unwrap();
    let explained = db.explain("bad").unwrap();
    assert_eq!(explained.records[0].unfolded, Some(Unfolded::Failed), "{explained:?}");
    assert!(explained.failure.unwrap().contains("'test.fussy' rejects"));
    drop(db);

    let without = Options { operators: Vec::new(), ..options(&fs) };
    let db = Db::open(PATH, Options { allow_unresolved_operators: true, ..without }).unwrap();
    let explained = db.explain("bad").unwrap();
    assert_eq!(explained.records[0].unfolded, Some(Unfolded::OperatorMissing));
    assert_eq!(db.explain("no such key").unwrap().records, []);
}
