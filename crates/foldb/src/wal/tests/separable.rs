//! Tests that separable values lie where the writer notes them, and that a log may be cut while it
//! is read.

use super::*;
use crate::encoding::ByteReader;
use crate::key::{Kind, NO_OPERATOR};
use crate::operation::Operation;
use crate::separated::record_checksum;

fn put<'a>(key: &'a [u8], value: &'a [u8]) -> Operation<'a> {
    Operation { kind: Kind::Put, keyspace: 3, operator: NO_OPERATOR, key, value, stamped: false }
}

#[test]
fn a_separable_value_lies_where_it_was_noted() {
    let fs = MemFs::new();
    let (mut log, mut values) = (create(&fs), SeparableValues::default());
    let value = |n: u64| vec![n as u8; 300 + 50 * n as usize];
    for n in 0..20 {
        let place = (log.number(), log.len());
        let record = log.begin();
        BatchHeader { default_operator: 0, first_seqno: 10 + n, count: 1 }.encode(record);
        values.put(record, &put(b"key", &value(n)), 10 + n, place);
        log.append().unwrap();
    }
    log.trim().unwrap();
    let bytes = fs.read(path()).unwrap();
    for n in 0..20 {
        let address = values.address(NUMBER, 10 + n, &value(n)).unwrap();
        assert!(values.position(10 + n).is_some());
        assert_eq!(address.segment, NUMBER);
        let at = address.position as usize + 24;
        let record = &bytes[at..at + address.record_len() as usize];
        let (covered, sum) = record.split_at(record.len() - 8);
        assert!(covered.ends_with(&value(n)));
        let sum = u64::from_le_bytes(sum.try_into().unwrap());
        assert_eq!(sum, record_checksum(NUMBER, address.position, &value(n)));
        // A fold's result has the same sequence number, but is another value.
        let mut other = value(n);
        other[7] ^= 1;
        assert_eq!(values.address(NUMBER, 10 + n, &other), None);
        assert_eq!(values.address(NUMBER, 10 + n, &other[1..]), None);
    }
    for seqno in [0, 9, 30, u64::MAX] {
        assert!(values.position(seqno).is_none());
        assert_eq!(values.address(NUMBER, seqno, &value(0)), None);
    }
    let (records, _) = read(&fs).unwrap();
    for (record, n) in records.iter().zip(0..) {
        let LogRecord::Batch(header, operations) = LogRecord::decode(record).unwrap() else {
            panic!()
        };
        assert_eq!(BatchHeader::of_record(&record[..BatchHeader::LEN]).unwrap(), Some(header));
        let mut operations = ByteReader::new(operations);
        let found = Operation::decode_logged(&mut operations).unwrap();
        assert_eq!(found, put(b"key", &value(n)));
        assert!(operations.is_empty());
    }
}

#[test]
fn values_of_failed_writes_are_forgotten() {
    let (mut values, mut frame) = (SeparableValues::default(), vec![0; 100]);
    values.put(&mut frame, &put(b"a", &[1; 300]), 5, (NUMBER, 1000));
    values.begin_write();
    let bytes = values.bytes();
    values.put(&mut frame, &put(b"b", &[2; 300]), 6, (NUMBER, 1000));
    assert!(values.bytes() > bytes);
    values.forget_write();
    assert_eq!((values.len(), values.bytes()), (1, bytes));
    assert!(values.position(5).is_some() && values.position(6).is_none());
}

/// A put is separable only if it consists mostly of its value and fits a frame.
#[test]
fn small_and_huge_values_are_not_separable() {
    assert!(!is_separable(16, 200));
    assert!(is_separable(16, 250));
    assert!(!is_separable(1000, 2000));
    assert!(is_separable(16, (1 << 20) - 100));
    assert!(!is_separable(16, 1 << 20));
    assert!(!is_separable(0, LEAST_SEPARABLE - 1));
    assert!(is_separable(0, LEAST_SEPARABLE));
}

/// A flush releases the space after the last frame while a checkpoint or another process reads.
#[test]
fn a_log_that_is_cut_during_a_read_keeps_its_end() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    for n in 0..3u8 {
        append(&mut log, &[n; 1000]).unwrap();
    }
    let ends = [log.len(), log.len() + 1, log.len() + 40];
    for len in ends {
        let fs = fs.kill();
        let mut early = LogReader::open(&fs, path(), NUMBER).unwrap();
        let mut copied = LogReader::open(&fs, path(), NUMBER).unwrap();
        fs.resize(len);
        let (mut record, mut records) = (Vec::new(), 0);
        while early.next(&mut record).unwrap() {
            records += 1;
        }
        assert_eq!((records, early.end().unwrap().frames), (4, 4));
        let mut bytes = Vec::new();
        let end = copied.copy_through(4, |frames, _| {
            bytes.extend_from_slice(frames);
            Ok(())
        });
        assert_eq!(end.unwrap(), log.extent());
        assert_eq!(bytes.len() as u64, log.len());
    }
}

trait Resize {
    fn resize(&self, len: u64);
}

impl Resize for MemFs {
    /// Cuts the log as its writer would.
    fn resize(&self, len: u64) {
        let bytes = self.read(path()).unwrap();
        let file = self.create(path()).unwrap();
        file.write_at(&bytes[..len as usize], 0).unwrap();
    }
}
