//! References to value segments: those of one segment are found and read alone, and damage is
//! noticed.

use super::*;
use crate::ErrorKind;
use crate::separated::{Address, Extent, SegmentId};
use crate::table::ReferencesReader;

/// A table whose records lie scattered over segments 10, 20, ...: the records of one are every
/// other one, so that each is a stretch of its own. Segment 30 has more than one piece.
fn scattered(segments: u64, each: u64) -> (Vec<u8>, u64) {
    let mut records = Vec::new();
    let record_len = Address { segment: 1, position: 0, len: 100, key_part: 0 }.record_len();
    for segment in 1..=segments {
        let many = if segment == 3 { 20 * each } else { each };
        for n in 0..many {
            let address = Address {
                segment: 10 * segment,
                position: 2 * n * record_len,
                len: 100,
                key_part: 0,
            };
            let mut value = Vec::new();
            address.encode(&mut value);
            let key = format!("{segment:05}-{n:08}");
            records.push(Record { key: key.into(), header: header(7, Kind::Separated), value });
        }
    }
    let (file, _) = build_with(&records, &[], options());
    (file.bytes(), record_len)
}

fn stretches(bytes: &[u8], segment: SegmentId, skipped: usize) -> Result<(Vec<Extent>, u64)> {
    let table = open(Arc::new(MemoryFile::of(bytes.to_vec())))?;
    let mut reader = ReferencesReader::new(&table)?;
    let mut found = Vec::new();
    reader.stretches(segment, skipped, |stretch| found.push(stretch))?;
    Ok((found, reader.read))
}

#[test]
fn references_to_one_segment_are_found_alone() {
    let (bytes, record_len) = scattered(50, 40);
    let table = open(Arc::new(MemoryFile::of(bytes.clone()))).unwrap();
    table.verify().unwrap();
    let all = table.references().unwrap();
    assert_eq!(all.iter().count(), 50);
    for (skipped, (segment, extents)) in all.iter().enumerate() {
        let count = if segment == 30 { 800 } else { 40 };
        let (found, read) = stretches(&bytes, segment, skipped).unwrap();
        assert_eq!(found, extents.iter().collect::<Vec<_>>(), "{segment}");
        assert_eq!(extents.bytes(), count * record_len);
        // Three bytes a stretch, and some beside; a few looks at entries where others have several.
        assert!(read < 4 * count + 400, "{read} bytes for {count} stretches");
    }
    for missing in [0, 5, 15, 501] {
        let error = stretches(&bytes, missing, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{missing}");
    }
}

#[test]
fn a_table_without_separated_values_refers_to_nothing() {
    let (file, _) = build_with(&[put("key", 7, "value")], &[], options());
    let table = open(Arc::new(MemoryFile::of(file.bytes()))).unwrap();
    assert_eq!(table.references().unwrap(), Default::default());
}

/// A reader of a segment's frames notices each flipped bit, and the error says where.
#[test]
fn damaged_references_are_noticed() {
    let (bytes, _) = scattered(4, 10);
    let table = open(Arc::new(MemoryFile::of(bytes.clone()))).unwrap();
    let frames = table.reference_frames().unwrap();
    assert_eq!(frames.len(), 8, "a piece and an entry each");
    for (frame, segment) in frames.iter().zip([10, 20, 30, 40, 10, 20, 30, 40]) {
        for at in frame.offset..frame.end() {
            let mut changed = bytes.clone();
            changed[at as usize] ^= 0x10;
            let error = stretches(&changed, segment, (segment / 10 - 1) as usize).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Unsupported));
            assert_eq!(error.offset(), Some(frame.offset), "{error}");
            let table = open(Arc::new(MemoryFile::of(changed))).unwrap();
            assert!(table.references().is_err() && table.verify().is_err());
        }
    }
}
