//! Log records: a header, operator definitions, batches, and the records of the change feed.
//!
//! ```text
//! header:     0 | magic u64 | version u32 | database u64 | log u64
//!               | predecessor u64 | its length u64 | its last frame u64
//! batch:      1 | default operator u32 | first seqno u64 | count u32 | operations (see `batch`)
//! definition: 2 | definition (see `fold::definition`)
//! lineage, created, dropped: 3, 4, 5 (see `lineage`)
//! ```
//!
//! Operations are encoded as in batches, except for puts whose values are encoded as in a value
//! segment (`separable`).
//!
//! The header is the first frame of every log. It contains the number of the log before it (0 for
//! none) and the length of that log. So a reader notices if the end of that log is missing. A
//! definition comes before the first batch that uses its operator, so a log can be read without the
//! manifest (H27).

use crate::encoding::format::{FORMAT_VERSION, FileFormat, LOG, MAGIC_LEN};
use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};
use crate::fold::Definition;
use crate::key::{KeyspaceId, MAX_SEQNO, OperatorId, SeqNo};
use crate::wal::lineage::{Lineage, NamedKeyspace};

const TAG_HEADER: u8 = 0;
const TAG_BATCH: u8 = 1;
const TAG_DEFINITION: u8 = 2;
const TAG_LINEAGE: u8 = 3;
const TAG_CREATED: u8 = 4;
const TAG_DROPPED: u8 = 5;

/// The header that a log or a manifest stores about itself and its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub(crate) database: u64,
    pub(crate) log: u64,
    /// Number of the preceding log; 0 for none.
    pub(crate) predecessor: u64,
    pub(crate) predecessor_len: u64,
    /// Whether a clean close ended the preceding log, so that all of it was durable.
    pub(crate) predecessor_closed: bool,
    pub(crate) predecessor_frames: u64,
}

/// The fields of a batch before its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchHeader {
    /// Operator of merges that name operator 0.
    pub(crate) default_operator: OperatorId,
    /// Sequence number of the first operation. Each later operation has the next number.
    pub(crate) first_seqno: SeqNo,
    pub(crate) count: u32,
}

/// A record of the log.
#[derive(Debug)]
pub(crate) enum LogRecord<'a> {
    Header(LogHeader),
    Definition(Definition),
    Batch(BatchHeader, &'a [u8]),
    /// The place of the log among the logs of the database.
    Lineage(Lineage),
    /// A keyspace was created.
    Created(NamedKeyspace),
    /// A keyspace was dropped.
    Dropped(KeyspaceId),
}

/// The bit of the predecessor's length that says that a clean close ended the predecessor.
const PREDECESSOR_CLOSED: u64 = 1 << 63;

impl LogHeader {
    /// Bytes of one, its tag included.
    pub(crate) const LEN: usize = 53;

    pub(crate) fn encode(&self, format: &FileFormat, out: &mut Vec<u8>) {
        let start = out.len();
        debug_assert!(self.predecessor_len < PREDECESSOR_CLOSED, "no log has so many bytes");
        let closed = if self.predecessor_closed { PREDECESSOR_CLOSED } else { 0 };
        out.push(TAG_HEADER);
        out.extend_from_slice(format.magic());
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        for word in [
            self.database,
            self.log,
            self.predecessor,
            self.predecessor_len | closed,
            self.predecessor_frames,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        debug_assert_eq!(
            out.len() - start,
            LogHeader::LEN,
            "the header of a log has a fixed length"
        );
    }

    /// Reads the first record of a file of this format.
    ///
    /// # Errors
    /// `Corruption` if the record is not a header; `Unsupported` for another version.
    pub(crate) fn of_record(record: &[u8], format: &FileFormat) -> Result<LogHeader> {
        let mut bytes = ByteReader::new(record);
        match bytes.u8("record tag")? {
            TAG_HEADER => LogHeader::decode(&mut bytes, format),
            tag => {
                Err(Error::corruption(format!("expected a header, found a record of tag {tag}")))
            }
        }
    }

    fn decode(bytes: &mut ByteReader<'_>, format: &FileFormat) -> Result<LogHeader> {
        format.check_magic(bytes.take(MAGIC_LEN, "magic")?)?;
        format.check_version(bytes.u32("format version")?)?;
        let (database, log) = (bytes.u64("database")?, bytes.u64("log number")?);
        let predecessor = bytes.u64("predecessor")?;
        let len = bytes.u64("predecessor length")?;
        Ok(LogHeader {
            database,
            log,
            predecessor,
            predecessor_len: len & !PREDECESSOR_CLOSED,
            predecessor_closed: len & PREDECESSOR_CLOSED != 0,
            predecessor_frames: bytes.u64("predecessor frames")?,
        })
    }
}

impl BatchHeader {
    /// Bytes of one, its tag included.
    pub(crate) const LEN: usize = 17;

    /// Reads the header of a batch from the first bytes of a record; `None` for another record.
    ///
    /// # Errors
    /// `Corruption` if the record is too short for the header of a batch, or its sequence numbers
    /// exceed [`MAX_SEQNO`].
    pub(crate) fn of_record(record: &[u8]) -> Result<Option<BatchHeader>> {
        let mut bytes = ByteReader::new(record);
        match bytes.u8("record tag")? {
            TAG_BATCH => BatchHeader::decode(&mut bytes).map(Some),
            _ => Ok(None),
        }
    }

    fn decode(bytes: &mut ByteReader<'_>) -> Result<BatchHeader> {
        let header = BatchHeader {
            default_operator: bytes.u32("default operator")?,
            first_seqno: bytes.u64("first seqno")?,
            count: bytes.u32("operation count")?,
        };
        if header.first_seqno > MAX_SEQNO - SeqNo::from(header.count) {
            return Err(Error::corruption(format!(
                "expected sequence numbers of at most {MAX_SEQNO}, found {} from {} on",
                header.count, header.first_seqno
            )));
        }
        Ok(header)
    }

    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(TAG_BATCH);
        out.extend_from_slice(&self.default_operator.to_le_bytes());
        out.extend_from_slice(&self.first_seqno.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
    }
}

/// Appends a definition record.
pub(crate) fn encode_definition(definition: &Definition, out: &mut Vec<u8>) {
    out.push(TAG_DEFINITION);
    definition.encode(out);
}

/// Appends a lineage record.
pub(crate) fn encode_lineage(lineage: &Lineage, out: &mut Vec<u8>) {
    out.push(TAG_LINEAGE);
    lineage.encode(out);
}

/// Appends the record of a created keyspace.
pub(crate) fn encode_created(keyspace: &NamedKeyspace, out: &mut Vec<u8>) {
    out.push(TAG_CREATED);
    keyspace.encode(out);
}

/// Appends the record of a dropped keyspace.
pub(crate) fn encode_dropped(keyspace: KeyspaceId, out: &mut Vec<u8>) {
    out.push(TAG_DROPPED);
    put_varint(out, u64::from(keyspace));
}

impl<'a> LogRecord<'a> {
    /// Returns whether a record that begins with these bytes is a batch.
    pub(crate) fn is_batch(record: &[u8]) -> bool {
        record.first() == Some(&TAG_BATCH)
    }

    /// Reads a record of a log.
    ///
    /// # Errors
    /// `Corruption` if the record is malformed; `Unsupported` for the header of another format
    /// version.
    pub(crate) fn decode(record: &'a [u8]) -> Result<LogRecord<'a>> {
        let mut bytes = ByteReader::new(record);
        match bytes.u8("record tag")? {
            TAG_HEADER => LogHeader::decode(&mut bytes, &LOG).map(LogRecord::Header),
            TAG_DEFINITION => Definition::decode(&mut bytes).map(LogRecord::Definition),
            TAG_BATCH => {
                let header = BatchHeader::decode(&mut bytes)?;
                let operations = bytes.take(bytes.remaining(), "operations")?;
                Ok(LogRecord::Batch(header, operations))
            }
            TAG_LINEAGE => Lineage::decode(&mut bytes).map(LogRecord::Lineage),
            TAG_CREATED => NamedKeyspace::decode(&mut bytes).map(LogRecord::Created),
            TAG_DROPPED => bytes.varint32("keyspace").map(LogRecord::Dropped),
            tag => Err(Error::corruption(format!("unknown log record tag {tag}"))),
        }
    }
}
