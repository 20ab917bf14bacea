//! The decoders of logs, for fuzzing: see [`crate::decoders`].

use crate::encoding::ByteReader;
use crate::encoding::format::LOG;
use crate::operation::Operation;
use crate::wal::format::{FrameHeader, HEADER_LEN};
use crate::wal::record::{LogRecord, encode_lineage};

pub(crate) fn log_frame(bytes: &[u8]) {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return };
    if let Some((header, len)) = FrameHeader::parse(header)
        && let Some(frame) = bytes.get(..HEADER_LEN + len)
    {
        let _is_whole = header.verify(frame, 0);
    }
}

pub(crate) fn log_record(bytes: &[u8]) {
    match LogRecord::decode(bytes) {
        Ok(LogRecord::Batch(_, operations)) => logged_operations(operations),
        Ok(LogRecord::Header(header)) => {
            let mut again = Vec::new();
            header.encode(&LOG, &mut again);
            assert!(bytes.starts_with(&again), "a log's header comes back as it was");
        }
        Ok(LogRecord::Lineage(lineage)) => {
            let mut again = Vec::new();
            encode_lineage(&lineage, &mut again);
            assert!(
                matches!(LogRecord::decode(&again), Ok(LogRecord::Lineage(it)) if it == lineage)
            );
        }
        Ok(LogRecord::Definition(_) | LogRecord::Created(_) | LogRecord::Dropped(_)) | Err(_) => {}
    }
}

fn logged_operations(operations: &[u8]) {
    let mut reader = ByteReader::new(operations);
    while !reader.is_empty() {
        let Ok(operation) = Operation::decode_logged(&mut reader) else { return };
        let _bounds = operation.decode_range();
    }
}

/// Returns the records of a whole log or manifest.
#[cfg(test)]
pub(crate) fn records(
    fs: &foldb_env::MemFs,
    path: &std::path::Path,
    number: u64,
) -> impl Iterator<Item = Vec<u8>> {
    let mut reader = super::LogReader::open(fs, path, number).unwrap();
    std::iter::from_fn(move || {
        let mut record = Vec::new();
        reader.next(&mut record).unwrap().then_some(record)
    })
}
