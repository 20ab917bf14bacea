//! The records of a log, of which each is a batch. Their framing is in
//! `foldb_leveldb_format::records`.
//!
//! ```text
//! a record of kind 9:   compression u32: records after it are frames of zstd, if it is 7
//! a record of kind 10:  family u32 | bytes of a timestamp u16, for each family with timestamps
//! ```

use foldb_leveldb_format::encoding::Fields;
use foldb_leveldb_format::records::{COMPRESSION, Records, TIMESTAMP_SIZES};

use crate::compression::{NONE, ZSTD, of_zstd};
use crate::{Fault, Read};

/// The batches of a log.
#[derive(Debug)]
pub struct Wal<'a> {
    records: Records<'a>,
    is_compressed: bool,
    contents: Vec<u8>,
}

/// What is wrong at an offset of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The offset.
    pub at: usize,
    /// What is wrong.
    pub fault: Fault,
}

impl<'a> Wal<'a> {
    /// Returns the batches of the log with this number.
    pub fn new(bytes: &'a [u8], number: u64) -> Wal<'a> {
        // Parts hold the low half of the number.
        let records = Records::of_rocksdb(bytes, number as u32);
        Wal { records, is_compressed: false, contents: Vec::new() }
    }

    /// Returns the offset of the present batch.
    pub fn offset(&self) -> usize {
        self.records.offset()
    }

    /// Returns the number of bytes behind the last whole record. Call it at the end.
    pub fn tail(&self) -> u64 {
        self.records.tail()
    }

    /// Moves to the next batch, and returns it. `None` at the end, or at a tail.
    ///
    /// # Errors
    /// Fails for damage, and for records that this crate does not read.
    #[expect(clippy::should_implement_trait, reason = "the batch is borrowed from the reader")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Bad> {
        loop {
            let advanced = self.records.next().map(|record| record.is_some());
            let is_record = advanced.map_err(|damage| Bad {
                at: damage.at,
                fault: Fault::damaged(damage.reason.to_string()),
            })?;
            if !is_record {
                return Ok(None);
            }
            let bad = |fault| Bad { at: self.records.offset(), fault };
            let record = self.records.record();
            match self.records.kind() {
                COMPRESSION => self.is_compressed = is_compressed(record).map_err(bad)?,
                TIMESTAMP_SIZES => check_timestamps(record).map_err(bad)?,
                _ => break,
            }
        }
        if !self.is_compressed {
            return Ok(Some(self.records.record()));
        }
        let contents = of_zstd(self.records.record(), None, &[]);
        self.contents = contents.map_err(|why| Bad {
            at: self.records.offset(),
            fault: Fault::damaged(format!("a record cannot be decompressed: {why}")),
        })?;
        Ok(Some(&self.contents))
    }
}

fn is_compressed(record: &[u8]) -> Read<bool> {
    match Fields(record).u32() {
        Some(kind) if kind == u32::from(NONE) => Ok(false),
        Some(kind) if kind == u32::from(ZSTD) => Ok(true),
        Some(other) => Err(Fault::unsupported(format!(
            "the log is compressed with compression {other}: expected {ZSTD}, which is zstd"
        ))),
        None => Err(Fault::damaged("the record of the compression is cut")),
    }
}

fn check_timestamps(record: &[u8]) -> Read<()> {
    let mut fields = Fields(record);
    while !fields.is_empty() {
        let cut = || Fault::damaged("the record of the sizes of timestamps is cut");
        let family = fields.u32().ok_or_else(cut)?;
        let size = fields.take(2).ok_or_else(cut)?;
        if size != [0, 0] {
            return Err(Fault::unsupported(format!(
                "keys of column family {family} have user-defined timestamps, which foldb does \
                 not read"
            )));
        }
    }
    Ok(())
}
