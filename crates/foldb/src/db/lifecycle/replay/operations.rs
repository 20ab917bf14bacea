//! The operations of a logged batch, read frame by frame. A batch may be longer than the memory
//! budget, so a replay holds only the frames of the next operation.

use crate::encoding::ByteReader;
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::wal::{BatchHeader, LogReader, LogRecord};

/// The operations of the batch that a log reader has begun to read.
pub(super) struct Operations<'a> {
    /// The frames read last, from the next operation on or from before it.
    frames: &'a mut Vec<u8>,
    /// Where the next operation begins in them.
    at: usize,
    log: &'a mut LogReader,
}

/// Reads the next record; of a batch, only the first frames. Returns `false` at the end of the log.
pub(crate) fn begin_record(log: &mut LogReader, record: &mut Vec<u8>) -> Result<bool> {
    if !log.begin(record)? {
        return Ok(false);
    }
    while record.len() < BatchHeader::LEN && log.more(record)? {}
    if !LogRecord::is_batch(record) {
        while log.more(record)? {}
    }
    Ok(true)
}

impl<'a> Operations<'a> {
    /// Returns the operations of a batch, from this offset in its record on.
    pub(super) fn new(
        record: &'a mut Vec<u8>,
        at: usize,
        log: &'a mut LogReader,
    ) -> Operations<'a> {
        Operations { frames: record, at, log }
    }

    /// Returns the next operation.
    ///
    /// # Errors
    /// `Corruption` if there is none, or it is malformed; `Io` if a read fails.
    pub(super) fn next(&mut self) -> Result<Operation<'_>> {
        while self.log.has_more() && !self.has_whole_operation() {
            self.frames.drain(..self.at);
            self.at = 0;
            self.log.more(self.frames)?;
        }
        let mut bytes = ByteReader::new(&self.frames[self.at..]);
        let operation = Operation::decode_logged(&mut bytes)?;
        self.at = self.frames.len() - bytes.remaining();
        Ok(operation)
    }

    fn has_whole_operation(&self) -> bool {
        Operation::decode_logged(&mut ByteReader::new(&self.frames[self.at..])).is_ok()
    }

    /// Checks that the batch has no bytes after its operations.
    ///
    /// # Errors
    /// `Corruption` if it has some.
    pub(super) fn finish(self, count: u32) -> Result<()> {
        let left = self.frames.len() - self.at;
        if left == 0 && !self.log.has_more() {
            return Ok(());
        }
        let more = if self.log.has_more() { "more than " } else { "" };
        Err(Error::corruption(format!(
            "expected {count} operations in the batch, found {more}{left} bytes after them"
        )))
    }
}
