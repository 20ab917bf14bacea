//! Tests of the log: a read returns a prefix of the appended records, or an error that says what is
//! wrong.

mod damage;
mod round_trip;
mod separable;
mod sync;
mod worked_example;

use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, MemFs};

use super::*;
use crate::error::Result;

const NUMBER: u64 = 7;
const DATABASE: u64 = 0xdb;

fn path() -> &'static Path {
    Path::new("000007.log")
}

fn handle(fs: &MemFs) -> Arc<dyn FileSystem> {
    Arc::new(fs.clone())
}

fn create(fs: &MemFs) -> LogWriter {
    LogWriter::create(&handle(fs), path(), NUMBER, DATABASE, None).unwrap()
}

fn append(log: &mut LogWriter, record: &[u8]) -> Result<()> {
    log.begin().extend_from_slice(record);
    log.append()
}

/// Makes a file system with one file.
fn file_of(bytes: &[u8]) -> MemFs {
    let fs = MemFs::new();
    fs.create(path()).unwrap().write_at(bytes, 0).unwrap();
    fs
}

/// Returns the records after the header, and how the log ends.
fn read(fs: &MemFs) -> Result<(Vec<Vec<u8>>, LogEnd)> {
    let mut reader = LogReader::open(fs, path(), NUMBER)?;
    let (mut records, mut record) = (Vec::new(), Vec::new());
    while reader.next(&mut record)? {
        records.push(record.clone());
    }
    let end = reader.end()?;
    if !records.is_empty() {
        assert!(matches!(LogRecord::decode(&records.remove(0))?, LogRecord::Header(_)));
    }
    Ok((records, end))
}

/// A small, trimmed log. `ends` holds the end of each record, the header's first.
struct SmallLog {
    bytes: Vec<u8>,
    records: Vec<Vec<u8>>,
    ends: Vec<u64>,
    /// The largest "synced through" of the frames up to each record.
    synced: Vec<u64>,
}

/// Makes a log of six records, synced after the header, the second and the fourth. Frames 3 and 5
/// say so.
fn small_log() -> SmallLog {
    let fs = MemFs::new();
    let mut log = create(&fs);
    log.sync_handle().sync_all().unwrap();
    let (mut ends, mut synced) = (vec![log.len()], vec![0]);
    let records: Vec<Vec<u8>> =
        (0..6u8).map(|i| vec![b'a' + i; 3 + 7 * usize::from(i % 3)]).collect();
    let mut last_synced = log.frames();
    for (i, record) in records.iter().enumerate() {
        append(&mut log, record).unwrap();
        ends.push(log.len());
        synced.push(last_synced);
        if i == 1 || i == 3 {
            log.sync_handle().sync_all().unwrap();
            last_synced = log.frames();
        }
    }
    log.trim().unwrap();
    let bytes = fs.read(path()).unwrap();
    assert_eq!(bytes.len() as u64, log.len());
    SmallLog { bytes, records, ends, synced }
}
