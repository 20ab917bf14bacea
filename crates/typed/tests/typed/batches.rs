//! Batches over several tables, counts, keys of indexes, and the change feed.

use std::ops::Bound;

use foldb_typed::foldb::env::MemFs;
use foldb_typed::foldb::feed::{Change, Position};
use foldb_typed::foldb::{Db, ErrorKind, Options, WriteOptions};
use foldb_typed::{
    Batch, Bounds, Counter, Index, IndexedTable, MergeTable, Result, Set, Table, TableUpdate,
};

use crate::support::{PATH, new, options};

static BY_LENGTH: Index<u32, String, u32> =
    Index::new("by_length", |_, text| Some(text.len() as u32));
static BY_TEXT: Index<u32, String, String> = Index::unique("by_text", |_, text| Some(text.clone()));

type Texts = IndexedTable<u32, String>;

#[test]
fn a_batch_writes_several_tables_at_one_moment() {
    let db = new();
    let table = Table::<u32, String>::open(&db, "table").unwrap();
    let counts = MergeTable::<u32, Counter>::open(&db, "counts").unwrap();
    let tags = MergeTable::<u32, Set<String>>::open(&db, "tags").unwrap();
    for key in 0..5 {
        table.put(key, "old").unwrap();
    }
    counts.add(1, 5).unwrap();
    let batch = Batch::new();
    let own = table.in_batch(&batch);
    own.delete_range(1..).unwrap();
    own.put(2, "new").unwrap();
    own.delete(0).unwrap();
    counts.in_batch(&batch).add(1, 2).unwrap();
    counts.in_batch(&batch).delete(2).unwrap();
    tags.in_batch(&batch).insert(1, "red").unwrap();
    assert_eq!((batch.len(), table.count(..).unwrap()), (6, 5));
    let before = db.snapshot();
    batch.write(&db).unwrap();
    assert_eq!(table.iter().unwrap().collect::<Result<Vec<_>>>().unwrap(), [(2, "new".to_owned())]);
    assert_eq!((counts.get(1).unwrap(), counts.iter().unwrap().count()), (Some(7), 1));
    assert!(tags.get(1).unwrap().unwrap().contains("red"));
    assert_eq!(before.keyspace(table.keyspace()).iter().unwrap().count(), 5);
    // Again, with options.
    let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    db.with(&durable).write(&batch.into_inner()).unwrap();
    assert_eq!(counts.get(1).unwrap(), Some(9));
    assert!(Batch::new().is_empty());
}

#[test]
fn a_batch_does_not_pass_the_indexes_of_a_table() {
    let db = new();
    let indexed = Texts::open(&db, "indexed", &[&BY_LENGTH]).unwrap();
    indexed.put(1, "one".to_owned()).unwrap();
    let plain = Table::<u32, String>::open(&db, "indexed").unwrap();
    let batch = Batch::new();
    for refused in [
        plain.in_batch(&batch).put(1, "other"),
        plain.in_batch(&batch).delete(1),
        plain.in_batch(&batch).delete_range(..),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert!(batch.is_empty());
}

#[test]
fn keys_of_an_index_come_without_their_rows() {
    let db = new();
    let table = Texts::open(&db, "table", &[&BY_LENGTH, &BY_TEXT]).unwrap();
    for (key, text) in [(1, "bb"), (2, "a"), (3, "cc"), (4, "dddd")] {
        table.put(key, text.to_owned()).unwrap();
    }
    let lengths = |range: std::ops::Range<u32>| {
        table.by(&BY_LENGTH).unwrap().keys(range).unwrap().collect::<Result<Vec<_>>>().unwrap()
    };
    assert_eq!(lengths(0..9), [(1, 2), (2, 1), (2, 3), (4, 4)]);
    assert_eq!(lengths(2..4), [(2, 1), (2, 3)]);
    let texts = table.by(&BY_TEXT).unwrap().keys("b"..).unwrap().rev();
    let texts: Vec<_> = texts.collect::<Result<_>>().unwrap();
    assert_eq!(texts, [("dddd".to_owned(), 4), ("cc".to_owned(), 3), ("bb".to_owned(), 1)]);
    assert_eq!(table.by(&BY_LENGTH).unwrap().count(2..).unwrap(), 3);
    assert_eq!(table.count(2..=3).unwrap(), 2);
    db.transact(|transaction| {
        let own = table.within(transaction);
        own.put(5, "ee".to_owned())?;
        assert_eq!(own.by(&BY_LENGTH)?.count(2..=2)?, 3);
        assert_eq!(own.by(&BY_TEXT)?.keys("e"..)?.next().unwrap()?, ("ee".to_owned(), 5));
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_feed_is_decoded_by_the_table_that_it_is_of() {
    let feed = Options { wal_retention_bytes: 1 << 20, ..options(&MemFs::new()) };
    let db = Db::open(PATH, feed).unwrap();
    let table = Texts::open(&db, "table", &[&BY_LENGTH]).unwrap();
    let other = Table::<u32, String>::open(&db, "other").unwrap();
    let counts = MergeTable::<u32, Counter>::open(&db, "counts").unwrap();
    table.put(1, "one".to_owned()).unwrap();
    other.put(2, "two").unwrap();
    counts.add(3, 3).unwrap();
    table.delete(1).unwrap();
    other.delete_range(Bounds(Bound::Excluded(2), Bound::Included(7))).unwrap();
    let (mut of_table, mut of_other) = (Vec::new(), Vec::new());
    db.sync().unwrap();
    for update in db.updates_since(&Position::BEGINNING).unwrap() {
        let Change::Batch(batch) = update.unwrap().change else { continue };
        for op in batch.iter() {
            of_table.extend(table.decode(&op).unwrap());
            of_other.extend(other.decode(&op).unwrap());
        }
    }
    let one = TableUpdate::Put { key: 1, value: "one".to_owned(), expires: None };
    assert_eq!(of_table, [one, TableUpdate::Delete { key: 1 }]);
    let two = TableUpdate::Put { key: 2, value: "two".to_owned(), expires: None };
    assert_eq!(of_other[0], two);
    let TableUpdate::DeleteRange(range) = &of_other[1] else { panic!("{of_other:?}") };
    assert!(!range.contains::<u32>(2) && range.contains::<u32>(3) && range.contains::<u32>(7));
    assert!(!range.contains::<u32>(8));
}
