//! Tests that a reader returns the appended records, including records larger than a frame.

use proptest::prelude::*;

use super::*;
use crate::encoding::ByteReader;
use crate::encoding::format::LOG;
use crate::fold::Definition;
use crate::key::{Kind, MAX_SEQNO};
use crate::operation::Operation;
use crate::wal::tests::format::{HEADER_LEN, MAX_PAYLOAD};

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(31) ^ (i >> 8) ^ seed) as u8).collect()
}

#[test]
fn records_of_every_size_come_back() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    let sizes = [
        0,
        1,
        MAX_PAYLOAD - 1,
        MAX_PAYLOAD,
        MAX_PAYLOAD + 1,
        2 * MAX_PAYLOAD,
        2 * MAX_PAYLOAD + 3,
        5,
        0,
    ];
    let records: Vec<_> = sizes.iter().map(|&len| pattern(len, len)).collect();
    let mut frames = 1;
    for record in &records {
        append(&mut log, record).unwrap();
        frames += record.len().div_ceil(MAX_PAYLOAD).max(1) as u64;
        assert_eq!(log.frames(), frames);
    }
    let (read_back, end) = read(&fs).unwrap();
    assert!(read_back == records);
    assert_eq!((end.offset, end.frames, end.max_synced), (log.len(), frames, 0));
    assert_eq!((end.digest, end.tail), (log.extent().digest, Tail::default()));
    let payload: usize = sizes.iter().sum::<usize>();
    let header = log_header_len();
    assert_eq!(log.len(), header + payload as u64 + (frames - 1) * HEADER_LEN as u64);
}

fn log_header_len() -> u64 {
    let fs = MemFs::new();
    create(&fs).len()
}

#[test]
fn an_empty_file_is_an_empty_log() {
    let (records, end) = read(&file_of(b"")).unwrap();
    assert!(records.is_empty());
    assert_eq!((end.offset, end.frames, end.max_synced), (0, 0, 0));
}

#[test]
fn a_header_names_its_predecessor() {
    let fs = MemFs::new();
    let mut first = create(&fs);
    append(&mut first, b"record").unwrap();
    let next = Path::new("000009.log");
    LogWriter::create(&handle(&fs), next, 9, DATABASE, Some(&first)).unwrap();
    let mut reader = LogReader::open(&fs, next, 9).unwrap();
    let mut record = Vec::new();
    assert!(reader.next(&mut record).unwrap());
    let LogRecord::Header(header) = LogRecord::decode(&record).unwrap() else {
        panic!("a log begins with its header");
    };
    let expected = LogHeader {
        database: DATABASE,
        log: 9,
        predecessor: NUMBER,
        predecessor_len: first.len(),
        predecessor_closed: false,
        predecessor_frames: 2,
    };
    assert_eq!(header, expected);
}

#[test]
fn log_header_and_definition_round_trip() {
    let header = LogHeader {
        database: u64::MAX,
        log: 1,
        predecessor: 2,
        predecessor_len: 3,
        predecessor_closed: true,
        predecessor_frames: 4,
    };
    let mut bytes = Vec::new();
    header.encode(&LOG, &mut bytes);
    assert!(matches!(LogRecord::decode(&bytes).unwrap(), LogRecord::Header(h) if h == header));

    let definition =
        Definition { id: u32::MAX, name: "näme".to_owned(), version: 9, parameters: vec![0, 255] };
    let mut bytes = Vec::new();
    encode_definition(&definition, &mut bytes);
    let decoded = LogRecord::decode(&bytes).unwrap();
    assert!(matches!(decoded, LogRecord::Definition(d) if d == definition));
}

#[test]
fn other_formats_are_refused() {
    let mut bytes = Vec::new();
    LogHeader::default().encode(&LOG, &mut bytes);
    let refused = |at: usize, new: &[u8]| {
        let mut other = bytes.clone();
        other[at..at + new.len()].copy_from_slice(new);
        let error = LogRecord::decode(&other).unwrap_err();
        (error.kind(), error.to_string())
    };
    let (kind, message) = refused(9, &[2]);
    assert_eq!(kind, crate::ErrorKind::Unsupported);
    assert!(message.starts_with("log of format version 2, expected version 1: use"), "{message}");
    let (kind, message) = refused(1, b"foldblog");
    assert_eq!(kind, crate::ErrorKind::Unsupported);
    assert!(
        message.starts_with("log of the format \"foldblog\", expected \"log/fold\""),
        "{message}"
    );
    for other in [&b"foldblo"[..], b"man/fold"] {
        assert_eq!(refused(1, other).0, crate::ErrorKind::Corruption);
    }
    let tag = LogRecord::decode(&[99]).unwrap_err();
    assert_eq!(tag.to_string(), "corruption: unknown log record tag 99");
}

#[test]
fn sequence_numbers_stay_in_their_bits() {
    let batch = |first_seqno, count| {
        let mut bytes = Vec::new();
        BatchHeader { default_operator: 1, first_seqno, count }.encode(&mut bytes);
        LogRecord::decode(&bytes).map(|_| ())
    };
    assert!(batch(MAX_SEQNO - 3, 3).is_ok());
    assert_eq!(batch(MAX_SEQNO - 2, 3).unwrap_err().kind(), crate::ErrorKind::Corruption);
    assert_eq!(batch(u64::MAX, 1).unwrap_err().kind(), crate::ErrorKind::Corruption);
}

/// Kind, keyspace, operator, key and value.
type Drawn = (u8, u32, u32, Vec<u8>, Vec<u8>);

fn operations() -> impl Strategy<Value = Vec<Drawn>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    proptest::collection::vec((0..3u8, any::<u32>(), any::<u32>(), bytes(), bytes()), 0..5)
}

proptest! {
    #[test]
    fn records_come_back(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..12)) {
        let fs = MemFs::new();
        let mut log = create(&fs);
        for record in &records {
            append(&mut log, record).unwrap();
        }
        let (read_back, end) = read(&fs).unwrap();
        prop_assert_eq!(read_back, records);
        prop_assert_eq!(end.offset, log.len());
    }

    #[test]
    fn operations_come_back(operations in operations()) {
        let operations: Vec<_> = operations
            .iter()
            .map(|(kind, keyspace, operator, key, value)| {
                let kind = Kind::from_u8(*kind).unwrap();
                let operator = if kind == Kind::Merge { *operator } else { 0 };
                let value = if kind == Kind::Delete { &[][..] } else { value };
                Operation { kind, keyspace: *keyspace, operator, key, value, stamped: false }
            })
            .collect();
        let mut bytes = Vec::new();
        operations.iter().for_each(|operation| operation.encode(&mut bytes));
        let mut reader = ByteReader::new(&bytes);
        for operation in &operations {
            prop_assert_eq!(&Operation::decode(&mut reader).unwrap(), operation);
        }
        prop_assert!(reader.is_empty());
    }

    /// Decoders return a result or an error for any bytes.
    #[test]
    fn decoders_are_total(tag in 0..4u8, mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Some(first) = bytes.first_mut() {
            *first = tag;
        }
        if let Ok(LogRecord::Batch(_, operations)) = LogRecord::decode(&bytes) {
            let mut reader = ByteReader::new(operations);
            while !reader.is_empty() && Operation::decode(&mut reader).is_ok() {}
        }
        let _either = Definition::decode(&mut ByteReader::new(&bytes));
    }
}

#[test]
fn records_of_the_change_feed_come_back() {
    let keyspace = |id, operator: &str| NamedKeyspace {
        id,
        name: format!("keyspace {id}"),
        comparator: "foldb.bytewise".to_owned(),
        operator: operator.to_owned(),
        expiry: if id == 0 { String::new() } else { "per-write/60".to_owned() },
    };
    let mut bytes = Vec::new();
    for predecessor in [None, Some(Predecessor { log: 7, id: u64::MAX, frames: 12 })] {
        let keyspaces = vec![keyspace(0, ""), keyspace(300, "stringappend:,")];
        let lineage = Lineage { id: 0xfeed, predecessor, last_seqno: 99, keyspaces };
        bytes.clear();
        encode_lineage(&lineage, &mut bytes);
        let read = LogRecord::decode(&bytes).unwrap();
        assert!(matches!(read, LogRecord::Lineage(read) if read == lineage));
        for len in 0..bytes.len() {
            assert!(LogRecord::decode(&bytes[..len]).is_err(), "{len} bytes are not a record");
        }
    }
    bytes.clear();
    encode_created(&keyspace(5, "uint64add"), &mut bytes);
    let read = LogRecord::decode(&bytes).unwrap();
    assert!(matches!(read, LogRecord::Created(read) if read == keyspace(5, "uint64add")));
    bytes.clear();
    encode_dropped(5, &mut bytes);
    assert!(matches!(LogRecord::decode(&bytes).unwrap(), LogRecord::Dropped(5)));
}
