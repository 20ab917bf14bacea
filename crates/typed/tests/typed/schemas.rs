//! What a table stores of its types, and which opens it refuses.

use std::cmp::Ordering;
use std::sync::Arc;

use foldb_typed::foldb::custom::Comparator;
use foldb_typed::foldb::env::MemFs;
use foldb_typed::foldb::{Db, ErrorKind, KeyspaceOptions, Options, ReadOnlyDb};
use foldb_typed::schema::Schema;
use foldb_typed::{Counter, MergeTable, Raw, Table};

use crate::support::{PATH, new, open, options};

#[test]
fn a_table_stores_its_types_and_is_opened_by_no_others() {
    let fs = MemFs::new();
    let db = open(&fs);
    let table = Table::<(String, i64), u32>::open(&db, "people").unwrap();
    table.put(("berlin", 7), 1).unwrap();
    let text = "foldb-typed/1 keys=(str,i64) values=postcard";
    assert_eq!(table.keyspace().schema(), Some(text));
    drop((table, db));
    let db = open(&fs);
    let error = Table::<(String, u64), u32>::open(&db, "people").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains(text), "{error}");
    assert!(error.to_string().contains("keys=(str,u64) values=postcard"), "{error}");
    assert!(Table::<(String, i64), Vec<u8>, Raw>::open(&db, "people").is_err());
    assert!(MergeTable::<(String, i64), Counter>::open(&db, "people").is_err());
    let table = Table::<(String, i64), u32>::open(&db, "people").unwrap();
    assert_eq!(table.get(("berlin", 7)).unwrap(), Some(1));
}

#[test]
fn a_keyspace_of_another_program_is_refused() {
    let db = new();
    db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    let error = Table::<u8, u8>::open(&db, "plain").unwrap_err();
    assert!(error.to_string().starts_with("keyspace 'plain' has no schema"), "{error}");
    assert!(Table::<u8, u8>::open(&db, "default").is_err());
}

/// The keyspace `default` gets its schema when the database is created.
#[test]
fn a_table_may_be_the_keyspace_default() {
    let fs = MemFs::new();
    let schema = Some(Table::<u8, u8>::schema().to_string());
    let default = KeyspaceOptions { schema, ..KeyspaceOptions::default() };
    let db = Db::open(PATH, Options { default, ..options(&fs) }).unwrap();
    Table::<u8, u8>::open(&db, "default").unwrap().put(1, 2).unwrap();
    drop(db);
    assert_eq!(Table::<u8, u8>::open(&open(&fs), "default").unwrap().get(1).unwrap(), Some(2));
}

#[derive(Debug)]
struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &str {
        "test.descending"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

#[test]
fn a_table_has_byte_order_whatever_default_has() {
    let fs = MemFs::new();
    let comparator = Some(Arc::new(Descending) as Arc<dyn Comparator>);
    let default = KeyspaceOptions { comparator: comparator.clone(), ..KeyspaceOptions::default() };
    let db = Db::open(PATH, Options { default, ..options(&fs) }).unwrap();
    let table = Table::<u8, u8>::open(&db, "table").unwrap();
    table.put(1, 1).unwrap();
    table.put(2, 2).unwrap();
    assert_eq!(table.iter().unwrap().next().unwrap().unwrap(), (1, 1));
    // A keyspace with the schema and another order was made by hand.
    let schema = Some(Table::<u8, u8>::schema().to_string());
    let by_hand = KeyspaceOptions { schema, comparator, ..KeyspaceOptions::default() };
    db.create_keyspace("by hand", by_hand).unwrap();
    let error = Table::<u8, u8>::open(&db, "by hand").unwrap_err();
    assert!(error.to_string().contains("the order of 'test.descending'"), "{error}");
}

#[test]
fn a_database_that_is_only_read_has_tables_to_read() {
    let fs = MemFs::new();
    let db = open(&fs);
    Table::<u8, u8>::open(&db, "table").unwrap().put(1, 2).unwrap();
    MergeTable::<u8, Counter>::open(&db, "counts").unwrap().add(1, 2).unwrap();
    db.close().unwrap();
    drop(db);
    let shown = ReadOnlyDb::open(PATH, options(&fs)).unwrap();
    let table = Table::<u8, u8>::read(&shown, "table").unwrap();
    assert_eq!(table.get(1).unwrap(), Some(2));
    assert_eq!(table.iter().unwrap().count(), 1);
    assert_eq!(MergeTable::<u8, Counter>::read(&shown, "counts").unwrap().get(1).unwrap(), Some(2));
    let error = Table::<u16, u8>::read(&shown, "table").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = Table::<u16, u8>::read(&shown, "other").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyspaceMissing);
}

#[test]
fn schemas_are_read_back() {
    let schema = Schema { keys: "(str,u8)".to_owned(), values: "max((i8,str))".to_owned() };
    assert_eq!(Schema::parse(&schema.to_string()), Some(schema));
    for other in ["", "foldb-typed/2 keys=u8 values=raw", "foldb-typed/1 keys=u8", "acme"] {
        assert_eq!(Schema::parse(other), None, "{other}");
    }
}
