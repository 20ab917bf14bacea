//! Tests logs with torn, flipped, misplaced or overwritten bytes.

use foldb_env::mem::{Fault, Operation};
use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::wal::tests::format::{FrameHeader, HEADER_LEN, MAX_PAYLOAD, Part};
use crate::wal::tests::reader::{SEARCH_AT_LEAST, SEARCH_PER_BYTE};

#[test]
fn a_torn_tail_is_cut_at_every_length() {
    let log = small_log();
    for len in 0..=log.bytes.len() {
        let (records, end) = read(&file_of(&log.bytes[..len])).unwrap();
        let whole = log.ends.iter().filter(|&&end| end <= len as u64).count();
        assert_eq!(records, log.records[..whole.saturating_sub(1)], "cut to {len} bytes");
        assert_eq!(end.frames, whole as u64);
        assert_eq!(end.offset, whole.checked_sub(1).map_or(0, |last| log.ends[last]));
        assert_eq!(end.max_synced, whole.checked_sub(1).map_or(0, |last| log.synced[last]));
    }
}

/// Preallocated blocks after the end read as zeroes, which are no records.
#[test]
fn zeroes_after_the_end_are_ignored() {
    let log = small_log();
    for zeroes in [1, 31, 32, 33, 1 << 20] {
        let mut bytes = log.bytes.clone();
        bytes.resize(bytes.len() + zeroes, 0);
        let (records, end) = read(&file_of(&bytes)).unwrap();
        assert_eq!(records, log.records);
        assert_eq!(end.offset, log.bytes.len() as u64);
    }
}

/// With a flipped bit, a read returns the records before it, or an error. It always returns an
/// error if a later frame says that the damaged frame was synced.
#[test]
fn a_flipped_bit_is_a_torn_tail_or_damage() {
    let log = small_log();
    for at in 0..log.bytes.len() {
        let broken = log.ends.iter().position(|&end| (at as u64) < end).unwrap();
        let later = &log.synced[broken + 1..];
        let said_synced = later.iter().any(|&synced| synced > broken as u64);
        for bit in 0..8 {
            let mut bytes = log.bytes.clone();
            bytes[at] ^= 1 << bit;
            match read(&file_of(&bytes)) {
                Ok((records, end)) => {
                    assert!(!said_synced, "byte {at} bit {bit}: damage passed for a torn tail");
                    assert_eq!(records, log.records[..broken.saturating_sub(1)], "byte {at}");
                    assert_eq!(end.frames, broken as u64);
                }
                Err(error) => {
                    assert!(said_synced, "byte {at} bit {bit}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    let start = broken.checked_sub(1).map_or(0, |before| log.ends[before]);
                    assert_eq!(error.offset(), Some(start), "{error}");
                    assert_eq!(error.path(), Some(path()));
                }
            }
        }
    }
}

/// A repair reads every intact record, and says where the damage lies. Only the last record can
/// pass for a torn tail.
#[test]
fn every_intact_record_is_read_past_a_flipped_bit() {
    let log = small_log();
    for at in 0..log.bytes.len() {
        let broken = log.ends.iter().position(|&end| (at as u64) < end).unwrap();
        let start = broken.checked_sub(1).map_or(0, |before| log.ends[before]);
        for bit in 0..8 {
            let mut bytes = log.bytes.clone();
            bytes[at] ^= 1 << bit;
            let fs = file_of(&bytes);
            let mut reader = LogReader::open(&fs, path(), NUMBER).unwrap();
            let (mut records, mut gaps) = (Vec::new(), Vec::new());
            let (mut record, mut gap) = (Vec::new(), None);
            loop {
                let is_read = reader.next_intact(&mut record, &mut gap).unwrap();
                gaps.extend(gap);
                if !is_read {
                    break;
                }
                if reader.frames() > 1 {
                    records.push(record.clone());
                }
            }
            let mut intact = log.records.clone();
            if broken > 0 {
                intact.remove(broken - 1);
            }
            assert_eq!(records, intact, "byte {at} bit {bit}");
            let expected = LogGap { offset: start, bytes: log.ends[broken] - start, frames: 1 };
            let is_last = broken + 1 == log.ends.len();
            assert_eq!(gaps, if is_last { vec![] } else { vec![expected] }, "byte {at} bit {bit}");
        }
    }
}

/// H11: pages 2 and 3 were never synced. Page 3 reached the medium and page 2 did not. That is a
/// torn tail.
#[test]
fn h11_a_hole_that_was_never_synced_is_the_tail() {
    let log = small_log();
    for broken in 0..log.records.len() {
        let mut bytes = log.bytes.clone();
        let (start, end) = (log.ends[broken] as usize, log.ends[broken + 1] as usize);
        bytes[start..end].fill(0);
        let said_synced = log.synced[broken + 2..].iter().any(|&s| s > broken as u64 + 1);
        match read(&file_of(&bytes)) {
            Ok((records, _)) => {
                assert!(!said_synced);
                assert_eq!(records, log.records[..broken]);
            }
            Err(error) => assert!(said_synced, "{error}"),
        }
    }
}

/// The reader skips a hole of any width, and finds the frames after it.
#[test]
fn damage_is_found_after_a_large_hole() {
    for hole in [7usize, 8, 9, 40, 4096, 3 << 20] {
        let fs = MemFs::new();
        let mut log = create(&fs);
        append(&mut log, &vec![b'x'; hole]).unwrap();
        log.sync_handle().sync_all().unwrap();
        let end = log.len() as usize;
        append(&mut log, b"later").unwrap();
        let mut bytes = fs.read(path()).unwrap();
        bytes[create(&MemFs::new()).len() as usize..end].fill(0);
        let error = read(&file_of(&bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "a hole of {hole} bytes");
        assert!(error.to_string().contains("frame 2 is damaged"), "{error}");
    }
}

/// Old frames in reused blocks belong to another log, so a reader ignores them.
#[test]
fn recycled_garbage_is_not_read() {
    let fs = MemFs::new();
    let other = Path::new("000003.log");
    let mut old = LogWriter::create(&handle(&fs), other, 3, DATABASE, None).unwrap();
    for i in 0..30u8 {
        append(&mut old, &[i; 50]).unwrap();
        old.sync_handle().sync_all().unwrap();
    }
    let mut bytes = fs.read(other).unwrap();
    let log = small_log();
    bytes[..log.bytes.len()].copy_from_slice(&log.bytes);
    let (records, end) = read(&file_of(&bytes)).unwrap();
    assert_eq!(records, log.records);
    assert_eq!(end.offset, log.bytes.len() as u64);
}

/// An intact frame counts only at the offset for which it was written.
#[test]
fn a_frame_belongs_to_its_offset() {
    let log = small_log();
    let frame = &log.bytes[log.ends[5] as usize..];
    let bytes = [&log.bytes[..], frame].concat();
    let (records, end) = read(&file_of(&bytes)).unwrap();
    assert_eq!(records, log.records);
    assert_eq!(end.frames, 7);
}

/// After a failed append nothing was appended. The next record goes to the same offset, whichever
/// parts of the failed record are on disk. The last part has 41 bytes.
#[test]
fn a_partly_written_record_is_ignored() {
    for failing_write in 1..=3 {
        for next in [0, 10, MAX_PAYLOAD + 5] {
            let fs = MemFs::new();
            let mut log = create(&fs);
            append(&mut log, b"before").unwrap();
            let (len, frames) = (log.len(), log.frames());
            fs.inject(Fault::on(Operation::Write).nth(failing_write).torn_at(40));
            append(&mut log, &vec![b'f'; 2 * MAX_PAYLOAD + 9]).unwrap_err();
            assert_eq!((log.len(), log.frames()), (len, frames));

            // A reader sees no part of the failed record, neither now nor after the next append.
            assert!(read(&fs).unwrap().0 == [b"before".to_vec()]);
            let next = vec![b'n'; next];
            append(&mut log, &next).unwrap();
            log.sync_handle().sync_all().unwrap();
            assert!(read(&fs).unwrap().0 == [b"before".to_vec(), next.clone()]);
            append(&mut log, b"after").unwrap();
            assert!(read(&fs).unwrap().0 == [b"before".to_vec(), next, b"after".to_vec()]);
        }
    }
}

/// A record of several parts that is torn between two parts is ignored and is no damage.
#[test]
fn a_torn_record_of_parts_is_ignored() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    append(&mut log, b"before").unwrap();
    log.sync_handle().sync_all().unwrap();
    let start = log.len() as usize;
    append(&mut log, &vec![b'p'; 2 * MAX_PAYLOAD + 9]).unwrap();
    let bytes = fs.read(path()).unwrap();
    let part = HEADER_LEN + MAX_PAYLOAD;
    for end in [start + 1, start + part, start + part + 40, start + 2 * part, start + 2 * part + 40]
    {
        let (records, log_end) = read(&file_of(&bytes[..end])).unwrap();
        assert_eq!(records, [b"before".to_vec()], "torn at {end}");
        assert_eq!((log_end.offset, log_end.frames), (start as u64, 2));
    }
    // The first part is lost and the others are on disk: a hole that was never synced.
    let mut hole = bytes.clone();
    hole[start..start + 64].fill(0);
    assert_eq!(read(&file_of(&hole)).unwrap().0, [b"before".to_vec()]);
    // If the record was synced, the same hole is damage.
    log.sync_handle().sync_all().unwrap();
    append(&mut log, b"after").unwrap();
    let mut damaged = fs.read(path()).unwrap();
    damaged[start + part + 40] ^= 1;
    assert_eq!(read(&file_of(&damaged)).unwrap_err().kind(), ErrorKind::Corruption);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A reader handles any bytes, and never returns a record that was not written.
    #[test]
    fn any_bytes_are_a_prefix_or_an_error(
        garbage in prop::collection::vec(any::<u8>(), 0..300),
        at: prop::sample::Index,
        replace: bool,
    ) {
        let log = small_log();
        let at = at.index(log.bytes.len() + 1);
        let behind = if replace { (at + garbage.len()).min(log.bytes.len()) } else { at };
        let bytes = [&log.bytes[..at], &garbage[..], &log.bytes[behind..]].concat();
        match read(&file_of(&bytes)) {
            Ok((records, _)) => prop_assert_eq!(&records[..], &log.records[..records.len()]),
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corruption),
        }
    }
}

/// Makes a value full of headers. Each claims a frame of the longest length, and says that the
/// frames before it were synced.
fn fake_headers(len: usize) -> Vec<u8> {
    let header = FrameHeader { part: Part::Whole, frame: 900, synced_through: 899, log: NUMBER };
    let mut fake = vec![0; HEADER_LEN + 1];
    header.seal(&mut fake, 0);
    fake[4..8].copy_from_slice(&(MAX_PAYLOAD as u32).to_le_bytes());
    fake[..HEADER_LEN].iter().copied().cycle().take(len).collect()
}

/// After a torn frame, the search once hashed a megabyte for each such header. A tail of 64 MiB
/// took minutes.
#[test]
fn values_full_of_fake_headers_bound_the_search_behind_a_torn_tail() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    append(&mut log, b"kept").unwrap();
    let end = log.len();
    for _ in 0..4 {
        append(&mut log, &fake_headers(MAX_PAYLOAD)).unwrap();
    }
    log.trim().unwrap();
    let mut bytes = fs.read(path()).unwrap();
    // No header says where the next frame begins.
    bytes[end as usize..][..HEADER_LEN].fill(0);
    let fs = file_of(&bytes);
    let mut reader = LogReader::open(&fs, path(), NUMBER).unwrap();
    while reader.next(&mut Vec::new()).unwrap() {}
    let found = reader.end().unwrap();
    assert_eq!((found.offset, found.frames), (end, 2));
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    assert_eq!(found.tail.bytes, last as u64 + 1 - end);
    let most = SEARCH_AT_LEAST + SEARCH_PER_BYTE * (bytes.len() as u64 - end);
    assert!(reader.hashed() <= most, "{} bytes hashed", reader.hashed());
    assert!(reader.hashed() > 32 << 20, "the headers did not look like any: nothing was proved");
}

/// The same values, in a damaged frame that was synced. The header of that frame leads to the next
/// frame, which proves the damage.
#[test]
fn damage_among_fake_headers_is_found() {
    let fs = MemFs::new();
    let mut log = create(&fs);
    let end = log.len() as usize;
    append(&mut log, &fake_headers(MAX_PAYLOAD)).unwrap();
    log.sync_handle().sync_all().unwrap();
    append(&mut log, b"later").unwrap();
    log.trim().unwrap();
    let mut bytes = fs.read(path()).unwrap();
    bytes[end + HEADER_LEN] ^= 1;
    let error = read(&file_of(&bytes)).unwrap_err();
    assert!(error.to_string().contains("says it was synced"), "{error}");
}
