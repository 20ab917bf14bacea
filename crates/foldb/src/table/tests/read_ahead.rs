//! Scans read ahead; searches read no more than their blocks; an open reads the end of the file.

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::encoding::key_hash;

type Move = fn(&mut TableCursor) -> Result<()>;

/// Returns records of about 120 bytes, in some hundred blocks.
fn numbered() -> Vec<Record> {
    (0..5000).map(|n| put(format!("{n:016}"), n, [n as u8; 96])).collect()
}

/// Returns an open table, and its file without a read so far.
fn table() -> (Arc<TableReader>, Arc<MemoryFile>, Vec<Record>) {
    let records = numbered();
    let (file, _) = build(&records, options());
    let table = open(file.clone()).unwrap();
    file.reads.store(0, Relaxed);
    file.read_bytes.store(0, Relaxed);
    (table, file, records)
}

#[test]
fn a_scan_in_either_direction_reads_many_blocks_at_once() {
    for is_forward in [true, false] {
        let (table, file, records) = table();
        let scanned = match is_forward {
            true => scan(&table, CursorOptions::default()),
            false => scan_back(&table, CursorOptions::default()),
        };
        assert_eq!(scanned.unwrap(), records);
        let (reads, bytes) = (file.reads.load(Relaxed), file.read_bytes.load(Relaxed));
        let len = file.bytes().len() as u64;
        assert!(reads < len / 4096 / 8, "{reads} reads of {len} bytes");
        assert!(bytes < len + len / 8, "{bytes} read of {len}");
    }
}

/// Each search begins with a few reads of single blocks, however often it was asked before.
#[test]
fn searches_and_short_scans_read_their_blocks_alone() {
    let (table, file, records) = table();
    let mut cursor = TableCursor::new(table, CursorOptions::default());
    for n in (0..records.len()).step_by(500) {
        let (reads, bytes) = (file.reads.load(Relaxed), file.read_bytes.load(Relaxed));
        cursor.seek(&records[n].key).unwrap();
        (0..10).for_each(|_| cursor.next().unwrap());
        let read = file.read_bytes.load(Relaxed) - bytes;
        assert!(file.reads.load(Relaxed) - reads <= 3 && read <= 3 * 4300, "{n}: {read} bytes");
    }
}

/// A part of the file that cannot be read, on either side of the blocks that a scan has come to.
#[test]
fn a_scan_reads_all_records_before_a_part_that_cannot_be_read() {
    let (table, file, records) = table();
    let middle = file.bytes().len() as u64 / 2;
    *file.unreadable.lock().unwrap() = middle..middle + 1;
    let until_error = |seek: Move, step: Move| {
        let mut cursor = TableCursor::new(table.clone(), CursorOptions::default());
        seek(&mut cursor).unwrap();
        let mut records = Vec::new();
        while let Some(found) = record(&cursor) {
            records.push(found);
            if step(&mut cursor).is_err() {
                break;
            }
        }
        records
    };
    let first = until_error(TableCursor::seek_to_first, TableCursor::next);
    let mut last = until_error(TableCursor::seek_to_last, TableCursor::prev);
    last.reverse();
    assert_eq!(first, records[..first.len()]);
    assert_eq!(last, records[records.len() - last.len()..]);
    let lost = records.len() - first.len() - last.len();
    assert!((1..=4096 / 96).contains(&lost), "{lost} records are lost with one block");
}

/// A get of a table that is not open waits for the device twice: for the end of the file, and for
/// the block.
#[test]
fn a_table_of_large_values_opens_with_one_read() {
    let records: Vec<Record> =
        (0..2000).map(|n| put(format!("{n:016}"), n, vec![n as u8; 4096])).collect();
    let uncompressed = TableBuilderOptions { compression: Compression::None, ..options() };
    let (file, summary) = build(&records, uncompressed);
    assert!(summary.file_len > 8_000_000);
    file.reads.store(0, Relaxed);
    let table = open(file.clone()).unwrap();
    let key = &records[1000].key;
    assert!(table.may_contain(key_hash(key), key).unwrap());
    assert_eq!(file.reads.load(Relaxed), 1, "footer, properties, index and filter");
    assert!(file.read_bytes.load(Relaxed) <= 64 << 10);
    let mut cursor = TableCursor::new(table, CursorOptions::default());
    cursor.seek(key).unwrap();
    assert_eq!(cursor.key(), &key[..]);
    assert_eq!(file.reads.load(Relaxed), 2);
}

/// What the end of the file does not hold, or cannot be read together, is read alone.
#[test]
fn a_table_opens_whatever_its_end_holds() {
    for (count, len) in [(0_u64, 0_usize), (1, 1), (100, 10), (50_000, 8), (300, 20_000)] {
        let records: Vec<Record> =
            (0..count).map(|n| put(format!("{n:016}"), n, vec![n as u8; len])).collect();
        let (file, summary) = build(&records, options());
        let table = open(file.clone()).unwrap();
        assert_eq!(scan(&table, CursorOptions::default()).unwrap(), records);
        if count < 100 {
            continue;
        }
        // A byte before the index is within the tail, or before it.
        let start = table.footer.filter.map_or(0, |handle| handle.offset);
        *file.unreadable.lock().unwrap() = start..start + 1;
        let table = open(file.clone()).expect("only the filter cannot be read");
        let key = &records[0].key;
        assert!(table.may_contain(key_hash(key), key).is_err(), "{}", summary.file_len);
        *file.unreadable.lock().unwrap() = 0..0;
        assert!(table.may_contain(key_hash(key), key).unwrap(), "it is tried again");
    }
}
