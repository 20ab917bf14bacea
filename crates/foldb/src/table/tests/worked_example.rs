//! The format's page tells the truth, and old tables stay readable.

use super::*;

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

/// The bytes between a line's colon and its bar, in the page's `hex` fences.
fn bytes_on_the_page() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        match (inside, line.strip_prefix("```")) {
            (_, Some(language)) => inside = language == "hex",
            (true, None) => {
                let (_, hex) = line.split_once(':').unwrap();
                let hex = hex.split('|').next().unwrap().split_whitespace();
                bytes.extend(hex.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
            }
            (false, None) => {}
        }
    }
    bytes
}

/// Format version 0, byte for byte. If this fails the format changed: raise its version.
#[test]
fn page_shows_what_is_written() {
    let (records, options) = example();
    let (file, _) = build(&records, options);
    let dump = |bytes: &[u8]| {
        let lines = bytes.chunks(16).enumerate();
        lines.map(|(i, line)| format!("{:3}: {line:02x?}\n", 16 * i)).collect::<String>()
    };
    assert_eq!(dump(&file.bytes()), dump(&bytes_on_the_page()));
}

#[test]
fn page_can_be_read() {
    let table = open(Arc::new(MemoryFile::of(bytes_on_the_page()))).unwrap();
    assert_eq!(scan(&table, CursorOptions::default()).unwrap(), example().0);
    assert_eq!(table.properties().operators[0].name, "uint64add");
    table.verify().unwrap();
}
