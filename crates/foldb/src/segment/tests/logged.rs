//! Tests walks over logs that became segments. Each value comes with its key and number, and the
//! walk reports all damage.

use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, MemFs};
use proptest::prelude::*;

use crate::error::{ErrorKind, Result};
use crate::key::{KeyspaceId, Kind, NO_OPERATOR};
use crate::operation::Operation;
use crate::segment::logged::LoggedValues;
use crate::segment::map::Placement;
use crate::segment::open::in_memory;
use crate::separated::address::Address;
use crate::wal::{BatchHeader, LogWriter, SeparableValues};

const LOG: u64 = 7;

/// A value of the walk: keyspace, key, sequence number, length, position.
type Met = (KeyspaceId, Vec<u8>, u64, u64, u64);

/// The writes of one record.
#[derive(Clone, Debug)]
enum Record {
    Batch(Vec<(Kind, bool, KeyspaceId, Vec<u8>, usize)>),
    Other(usize),
}

/// Returns the bytes of a log, and its separable values.
fn logged(records: &[Record]) -> (Vec<u8>, Vec<Met>) {
    logged_from(100, records)
}

/// Returns the same for writes whose sequence numbers begin with `seqno`.
fn logged_from(mut seqno: u64, records: &[Record]) -> (Vec<u8>, Vec<Met>) {
    let fs = MemFs::new();
    let handle: Arc<dyn FileSystem> = Arc::new(fs.clone());
    let path = Path::new("000007.log");
    let mut log = LogWriter::create(&handle, path, LOG, 0xdb, None).unwrap();
    let (mut values, mut met) = (SeparableValues::default(), Vec::new());
    for record in records {
        let place = (log.number(), log.len());
        let frame = log.begin();
        match record {
            // A batch longer than a frame, or a definition.
            Record::Other(len) => {
                frame.push(2);
                frame.resize(frame.len() + len, 9);
            }
            Record::Batch(operations) => {
                let count = operations.len() as u32;
                BatchHeader { default_operator: 0, first_seqno: seqno, count }.encode(frame);
                for (kind, is_separable, keyspace, key, len) in operations {
                    let mut value = vec![*len as u8; *len];
                    if *kind == Kind::DeleteRange {
                        value = b"\x09z".to_vec();
                    }
                    let (kind, keyspace, operator) = (*kind, *keyspace, NO_OPERATOR);
                    let value = if kind == Kind::Delete { &[] } else { &value[..] };
                    let operation =
                        Operation { kind, keyspace, operator, key, value, stamped: false };
                    if *is_separable && kind == Kind::Put {
                        values.put(frame, &operation, seqno, place);
                        let Address { position, len, .. } =
                            values.address(LOG, seqno, value).unwrap();
                        met.push((keyspace, key.clone(), seqno, len, position));
                    } else {
                        operation.encode(frame);
                    }
                    seqno += 1;
                }
            }
        }
        log.append().unwrap();
    }
    log.trim().unwrap();
    (fs.read(path).unwrap(), met)
}

fn walk(bytes: &[u8], step: usize) -> Result<Vec<Met>> {
    let file = in_memory(bytes);
    let placement = Placement::adopted(LOG, bytes.len() as u64, 0);
    let (mut values, mut met) = (LoggedValues::new(&file, &placement, step), Vec::new());
    while let Some(found) = values.next()? {
        let hint = &found.hint;
        let key = hint.key.clone();
        met.push((found.keyspace, key, hint.seqno, hint.value_len, hint.position));
    }
    assert!(values.memory_bytes() <= 2 * step.max(64) + 100);
    Ok(met)
}

fn record() -> impl Strategy<Value = Record> {
    let kind = prop_oneof![
        4 => Just(Kind::Put),
        1 => Just(Kind::Delete),
        1 => Just(Kind::Merge),
        1 => Just(Kind::DeleteRange),
    ];
    let key = proptest::collection::vec(any::<u8>(), 0..20);
    let operation = (kind, any::<bool>(), 0..300u32, key, 0..400usize);
    prop_oneof![
        8 => proptest::collection::vec(operation, 0..6).prop_map(Record::Batch),
        1 => (0..50usize).prop_map(Record::Other),
    ]
}

proptest! {
    /// With any read size, the walk returns all values in order. It reports any changed bit, at the
    /// latest at the end of the frame.
    #[test]
    fn every_value_of_a_log_is_met_and_no_damage_passes(
        records in proptest::collection::vec(record(), 0..12),
        step in prop_oneof![Just(1), 1..100usize, Just(1 << 20)],
        flip in any::<proptest::sample::Index>(),
        bit in 0..8u8,
    ) {
        let (bytes, expected) = logged(&records);
        prop_assert_eq!(&walk(&bytes, step).unwrap(), &expected);
        let mut damaged = bytes.clone();
        damaged[flip.index(bytes.len())] ^= 1 << bit;
        let error = walk(&damaged, step).unwrap_err();
        prop_assert_eq!(error.kind(), ErrorKind::Corruption);
        prop_assert!(error.path().is_some() && error.offset().is_some(), "{}", error);
        let cut = flip.index(bytes.len());
        let cut = walk(&bytes[..cut.max(24)], step);
        prop_assert!(cut.is_err() || cut.unwrap().len() <= expected.len());
    }
}

/// No writer begins with sequence number 0, but a damaged frame may contain it.
#[test]
fn a_frame_may_begin_with_sequence_number_zero() {
    let put = |key: &[u8]| (Kind::Put, true, 0, key.to_vec(), 300);
    let (bytes, expected) = logged_from(0, &[Record::Batch(vec![put(b"a"), put(b"b")])]);
    assert_eq!(expected.iter().map(|met| met.2).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(walk(&bytes, 64).unwrap(), expected);
}

#[test]
fn a_walk_skips_records_of_several_frames() {
    let large = |key: &[u8]| Record::Batch(vec![(Kind::Put, true, 0, key.to_vec(), 5000)]);
    let (bytes, expected) = logged(&[large(b"a"), Record::Other(3 << 20), large(b"b")]);
    assert_eq!(expected.len(), 2);
    for step in [4 << 10, 1 << 20] {
        assert_eq!(walk(&bytes, step).unwrap(), expected);
    }
}
