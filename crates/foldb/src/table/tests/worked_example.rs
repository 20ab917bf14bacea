//! The format's page tells the truth, and old tables stay readable.

use super::*;
use crate::testing::worked_example::{assert_page_shows, bytes_on_the_page};

const PAGE: &str = include_str!("../../../../../docs/format/table.md");

fn example() -> (Vec<Record>, TableBuilderOptions) {
    let merge = RecordHeader { seqno: 300, kind: Kind::Merge, operator: 1 };
    let records = vec![
        Record { key: b"apple".to_vec(), header: merge, value: b"+1".to_vec() },
        put("apple", 2, "10"),
        Record { key: b"apply".to_vec(), header: header(5, Kind::Delete), value: Vec::new() },
    ];
    let operators =
        [Definition { id: 1, name: "uint64add".to_owned(), version: 0, parameters: Vec::new() }];
    (records, TableBuilderOptions { operators: Arc::new(operators), ..options() })
}

fn deleted() -> RangeTombstone {
    tombstone("apricot", ">fig", 6)
}

/// Format version 1, byte for byte. If this fails the format changed: raise its version.
#[test]
fn page_shows_what_is_written() {
    let (records, options) = example();
    let (file, _) = build_with(&records, &[deleted()], options);
    assert_page_shows(PAGE, &file.bytes());
}

#[test]
fn page_can_be_read() {
    let table = open(Arc::new(MemoryFile::of(bytes_on_the_page(PAGE)))).unwrap();
    assert_eq!(scan(&table, CursorOptions::default()).unwrap(), example().0);
    assert_eq!(table.range_tombstones().unwrap().to_vec(), [deleted()]);
    assert_eq!(table.properties().operators[0].name, "uint64add");
    table.verify().unwrap();
}
