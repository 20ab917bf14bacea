//! Tests that the worked example in the format page of the log is what the engine writes and reads.

use super::*;
use crate::ErrorKind;
use crate::encoding::ByteReader;
use crate::fold::Definition;
use crate::key::Kind;
use crate::operation::Operation;
use crate::testing::worked_example::{assert_page_shows, bytes_on_the_page};

const PAGE: &str = include_str!("../../../../../docs/format/log.md");

/// Offsets of the example's frames.
const FRAMES: [usize; 5] = [0, 85, 136, 202, 309];

fn definition() -> Definition {
    Definition { id: 128, name: "stringappend".to_owned(), version: 0, parameters: b";".to_vec() }
}

fn operation<'a>(kind: Kind, operator: u32, key: &'a [u8], value: &'a [u8]) -> Operation<'a> {
    Operation { kind, keyspace: 0, operator, key, value, stamped: false }
}

fn first_batch() -> (BatchHeader, Vec<Operation<'static>>) {
    let header = BatchHeader { default_operator: 0, first_seqno: 300, count: 1 };
    (header, vec![operation(Kind::Merge, 1, b"hits", &[1, 0, 0, 0, 0, 0, 0, 0])])
}

fn second_batch() -> (BatchHeader, Vec<Operation<'static>>) {
    let header = BatchHeader { default_operator: 1, first_seqno: 301, count: 5 };
    let operations = vec![
        operation(Kind::Put, 0, b"pear", b"10"),
        operation(Kind::Delete, 0, b"plum", b""),
        operation(Kind::Merge, 0, b"hits", &[2, 0, 0, 0, 0, 0, 0, 0]),
        operation(Kind::Merge, 128, b"kinds", b"pear"),
        operation(Kind::DeleteRange, 0, b"pa", b"\x09pz"),
    ];
    (header, operations)
}

/// Returns a separable put.
fn third_batch() -> (BatchHeader, Operation<'static>) {
    let header = BatchHeader { default_operator: 1, first_seqno: 306, count: 1 };
    (header, operation(Kind::Put, 0, b"plum", b"violet"))
}

fn append_batch(log: &mut LogWriter, (header, operations): (BatchHeader, Vec<Operation<'_>>)) {
    let record = log.begin();
    header.encode(record);
    operations.iter().for_each(|operation| operation.encode(record));
    log.append().unwrap();
}

/// Writes log 7, whose predecessor is log 4 with 2 frames. Frame 1 is the header, frame 2 the
/// definition. The log is synced after frame 3 and after frame 4, the first two batches.
fn example() -> Vec<u8> {
    let fs = MemFs::new();
    let before = Path::new("000004.log");
    let mut before = LogWriter::create(&handle(&fs), before, 4, DATABASE, None).unwrap();
    append(&mut before, b"something").unwrap();
    let mut log = LogWriter::create(&handle(&fs), path(), NUMBER, DATABASE, Some(&before)).unwrap();
    encode_definition(&definition(), log.begin());
    log.append().unwrap();
    append_batch(&mut log, first_batch());
    log.sync_handle().sync_all().unwrap();
    append_batch(&mut log, second_batch());
    log.sync_handle().sync_all().unwrap();
    let ((header, operation), place) = (third_batch(), (log.number(), log.len()));
    let record = log.begin();
    header.encode(record);
    SeparableValues::default().put(record, &operation, header.first_seqno, place);
    log.append().unwrap();
    log.trim().unwrap();
    fs.read(path()).unwrap()
}

/// Format version 1, byte for byte. If this fails, the format changed: raise its version.
#[test]
fn page_shows_what_is_written() {
    assert_page_shows(PAGE, &example());
}

#[test]
fn page_can_be_read() {
    let fs = file_of(&bytes_on_the_page(PAGE));
    let mut reader = LogReader::open(&fs, path(), NUMBER).unwrap();
    let mut record = Vec::new();

    assert!(reader.next(&mut record).unwrap());
    let LogRecord::Header(header) = LogRecord::decode(&record).unwrap() else { panic!() };
    assert_eq!((header.database, header.log), (DATABASE, NUMBER));
    assert_eq!((header.predecessor, header.predecessor_frames), (4, 2));
    assert_eq!(header.predecessor_len, 126);

    assert!(reader.next(&mut record).unwrap());
    let LogRecord::Definition(read) = LogRecord::decode(&record).unwrap() else { panic!() };
    assert_eq!(read, definition());

    for (header, operations) in [first_batch(), second_batch()] {
        assert!(reader.next(&mut record).unwrap());
        let LogRecord::Batch(read, bytes) = LogRecord::decode(&record).unwrap() else { panic!() };
        assert_eq!(read, header);
        let mut bytes = ByteReader::new(bytes);
        for operation in operations {
            assert_eq!(Operation::decode_logged(&mut bytes).unwrap(), operation);
        }
        assert!(bytes.is_empty());
    }
    assert!(reader.next(&mut record).unwrap());
    let LogRecord::Batch(read, bytes) = LogRecord::decode(&record).unwrap() else { panic!() };
    let (header, operation) = third_batch();
    assert_eq!(read, header);
    assert_eq!(Operation::decode_logged(&mut ByteReader::new(bytes)).unwrap(), operation);
    assert!(
        Operation::decode(&mut ByteReader::new(bytes)).is_err(),
        "only logs store separable puts"
    );
    assert!(!reader.next(&mut record).unwrap());
    let end = reader.end().unwrap();
    assert_eq!((end.offset, end.frames, end.max_synced), (380, 5, 4));
}

/// As the page says, broken bytes in the last frame are a torn tail, and in any other frame damage.
#[test]
fn page_says_what_broken_bytes_mean() {
    let page = bytes_on_the_page(PAGE);
    for (number, start) in FRAMES.into_iter().enumerate() {
        let end = FRAMES.get(number + 1).copied().unwrap_or(page.len());
        for at in start..end {
            let mut broken = page.clone();
            broken[at] ^= 1;
            let fs = file_of(&broken);
            let mut reader = LogReader::open(&fs, path(), NUMBER).unwrap();
            let mut record = Vec::new();
            while reader.next(&mut record).unwrap() {}
            match reader.end() {
                Ok(end) => assert_eq!((number, end.frames, end.offset), (4, 4, start as u64)),
                Err(error) => {
                    assert!(number < 4, "{error}");
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    assert_eq!(error.offset(), Some(start as u64));
                }
            }
        }
    }
}
