//! Tests of the table format, one module for each kind of failure.

mod corruption;
mod faults;
mod helped;
mod memory_file;
mod model;
mod policies;
mod read_ahead;
mod references;
mod round_trip;
mod separators;
mod size;
mod slots;
mod spellings;
mod tombstones;
mod worked_example;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use memory_file::MemoryFile;

use super::*;
use crate::error::Result;
use crate::fold::Definition;
use crate::key::{
    BytewiseComparator, Comparator, GuardedPolicy, Kind, NO_OPERATOR, RecordHeader, SeqNo,
};
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::settings::Compression;

const FILE_NUMBER: u64 = 7;

/// Codecs that compress, as far as this build has them.
const CODECS: &[Compression] = &[
    Compression::Lz4,
    Compression::Snappy,
    #[cfg(feature = "zstd")]
    Compression::Zstd,
];

/// One record, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub key: Vec<u8>,
    pub header: RecordHeader,
    pub value: Vec<u8>,
}

pub(super) fn header(seqno: SeqNo, kind: Kind) -> RecordHeader {
    let operator = if kind == Kind::Merge { 3 } else { NO_OPERATOR };
    RecordHeader { seqno, kind, operator }
}

pub(super) fn put(key: impl AsRef<[u8]>, seqno: SeqNo, value: impl AsRef<[u8]>) -> Record {
    Record {
        key: key.as_ref().to_vec(),
        header: header(seqno, Kind::Put),
        value: value.as_ref().to_vec(),
    }
}

/// A tombstone of `[start, end)`; an end that begins with `>` stands for the place after that key.
pub(super) fn tombstone(start: &str, end: &str, seqno: SeqNo) -> RangeTombstone {
    let edge = |text: &str| match text.strip_prefix('>') {
        Some(key) => Edge::Behind(key.as_bytes().into()),
        None => Edge::Before(text.as_bytes().into()),
    };
    RangeTombstone { start: edge(start), end: edge(end), seqno }
}

pub(super) fn options() -> TableBuilderOptions {
    let definition = |id| Definition {
        id,
        name: format!("operator{id}"),
        version: 2,
        parameters: b",".to_vec(),
    };
    TableBuilderOptions {
        path: "/db/000007.sst".into(),
        file_number: FILE_NUMBER,
        database_id: 0xdb,
        keyspace: 5,
        comparator: Arc::new(BytewiseComparator),
        block_size: 4096,
        compression: Compression::None,
        filter_bits: 10,
        filter_policy: None,
        operators: (0..200).map(definition).collect(),
        expiry: None,
    }
}

pub(super) fn build(
    records: &[Record],
    options: TableBuilderOptions,
) -> (Arc<MemoryFile>, TableSummary) {
    build_with(records, &[], options)
}

pub(super) fn build_with(
    records: &[Record],
    tombstones: &[RangeTombstone],
    options: TableBuilderOptions,
) -> (Arc<MemoryFile>, TableSummary) {
    let file = Arc::new(MemoryFile::default());
    let mut builder = TableBuilder::new(file.clone(), options);
    for record in records {
        builder.add(&record.key, record.header, &record.value).unwrap();
    }
    tombstones.iter().for_each(|tombstone| builder.add_tombstone(tombstone.clone()));
    let summary = builder.finish(None).unwrap();
    assert_eq!(summary.file_len, file.bytes().len() as u64);
    (file, summary)
}

pub(super) fn open_with(
    file: Arc<MemoryFile>,
    comparator: Arc<dyn Comparator>,
) -> Result<Arc<TableReader>> {
    open_with_policy(file, comparator, None)
}

pub(super) fn open_with_policy(
    file: Arc<MemoryFile>,
    comparator: Arc<dyn Comparator>,
    policy: Option<GuardedPolicy>,
) -> Result<Arc<TableReader>> {
    let cache = Arc::new(BlockCache::new(1 << 20));
    TableReader::open(file, Path::new("/db/000007.sst"), FILE_NUMBER, comparator, policy, cache)
}

pub(super) fn open(file: Arc<MemoryFile>) -> Result<Arc<TableReader>> {
    open_with(file, Arc::new(BytewiseComparator))
}

/// What the cursor is on.
pub(super) fn record(cursor: &TableCursor) -> Option<Record> {
    cursor.valid().then(|| Record {
        key: cursor.key().to_vec(),
        header: cursor.header(),
        value: cursor.value().to_vec(),
    })
}

pub(super) fn scan(table: &Arc<TableReader>, options: CursorOptions) -> Result<Vec<Record>> {
    let mut cursor = TableCursor::new(table.clone(), options);
    let mut records = Vec::new();
    cursor.seek_to_first()?;
    while let Some(found) = record(&cursor) {
        records.push(found);
        cursor.next()?;
    }
    Ok(records)
}

pub(super) fn scan_back(table: &Arc<TableReader>, options: CursorOptions) -> Result<Vec<Record>> {
    let mut cursor = TableCursor::new(table.clone(), options);
    let mut records = Vec::new();
    cursor.seek_to_last()?;
    while let Some(found) = record(&cursor) {
        records.push(found);
        cursor.prev()?;
    }
    records.reverse();
    Ok(records)
}

/// All versions `get` visits.
pub(super) fn get(table: &TableReader, key: &[u8], max_seqno: SeqNo) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    table.get(key, max_seqno, CursorOptions::default(), |header, value| {
        let value = value.to_value().into_owned();
        records.push(Record { key: key.to_vec(), header, value });
        ControlFlow::Continue(())
    })?;
    Ok(records)
}
