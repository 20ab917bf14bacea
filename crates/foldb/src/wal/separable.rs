//! Separable values: values that a log stores with the encoding of a value segment. A flush can
//! turn such a log into a segment instead of copying its values.
//!
//! ```text
//! separable put:
//! +------+-----------+---------+-----+--------------------------------------------------+
//! | 4    | keyspace  | key len | key | record: value length + 1 varint | value | checksum |
//! | u8   | varint    | varint  |     |                                          u64      |
//! +------+-----------+---------+-----+--------------------------------------------------+
//!   record: as in a value segment (`segment::format`). Its segment is the log's number, its
//!           position is where it begins in the file, less the bytes of a section's header
//! ```
//!
//! Only logs have this operation. A batch in memory has a put instead. A log record with a
//! separable put is always one whole frame, so no frame header splits the bytes of a value.

use std::sync::Arc;

use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::key::{Kind, NO_OPERATOR, SeqNo};
use crate::operation::Operation;
use crate::separated::{Address, put_record, record_checksum};
use crate::wal::format::{HEADER_LEN, longest_payload};
use crate::wal::record::BatchHeader;

/// The number of a separable put among the kinds of operations. It is on disk: never renumber.
pub(crate) const SEPARABLE_PUT: u8 = 4;

/// Bytes of a log that accompany a value: the headers of frame and batch, and the operation's
/// fields. Together with the key, these bytes may be at most a quarter of the whole. With smaller
/// values, a log that becomes a segment would have too many dead bytes from the start.
const OVERHEAD: usize = 64;
const LEAST_SHARE: usize = 3;

/// Length from which a value makes up nineteen twentieths of its part of a log.
pub(crate) const LEAST_BY_DEFAULT: usize = 19 * OVERHEAD;

/// Smallest value that is separable.
pub(crate) const LEAST_SEPARABLE: usize = LEAST_SHARE * OVERHEAD;

/// Returns whether a put of these lengths, alone in its record, should be written as separable.
#[inline]
pub(crate) fn is_separable(key: usize, value: usize) -> bool {
    value >= LEAST_SHARE * (OVERHEAD + key) && key + value + OVERHEAD <= longest_payload()
}

/// The place of a value in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeparableValue {
    seqno: SeqNo,
    position: u64,
    /// The checksum of the value's record.
    checksum: u64,
}

/// The separable values of a log, in the order of their sequence numbers.
#[derive(Debug, Default)]
pub(crate) struct SeparableValues {
    values: Vec<SeparableValue>,
    /// Bytes of their records.
    bytes: u64,
    /// How many values there were before the newest write with values, and their bytes.
    before_newest: (usize, u64),
}

impl SeparableValues {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the bytes of their records.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.values.capacity() * size_of::<SeparableValue>()
    }

    /// Appends a put to a frame that will begin at `offset` of log `log`, and notes its value.
    pub(crate) fn put(
        &mut self,
        frame: &mut Vec<u8>,
        operation: &Operation<'_>,
        seqno: SeqNo,
        (log, offset): (u64, u64),
    ) {
        debug_assert_eq!(operation.kind, Kind::Put);
        frame.push(SEPARABLE_PUT);
        put_varint(frame, u64::from(operation.keyspace));
        put_length_delimited(frame, operation.key);
        let start = frame.len();
        let position = Address::position_in_log(offset + start as u64);
        let checksum = put_record(frame, log, position, operation.value);
        debug_assert!(
            self.values.last().is_none_or(|last| (last.seqno, last.position) < (seqno, position)),
            "the values of a log are found by their sequence numbers, which rise"
        );
        self.bytes += (frame.len() - start) as u64;
        self.values.push(SeparableValue { seqno, position, checksum });
    }

    /// Begins a write: the values noted from now on belong to it.
    pub(crate) fn begin_write(&mut self) {
        self.before_newest = (self.values.len(), self.bytes);
    }

    /// Forgets the values of the newest write, because it failed.
    pub(crate) fn forget_write(&mut self) {
        let (len, bytes) = self.before_newest;
        debug_assert!(
            len <= self.values.len() && bytes <= self.bytes,
            "only values of the newest write are forgotten"
        );
        self.values.truncate(len);
        self.bytes = bytes;
    }

    /// Forgets the values of a write that the log had, and that was taken back. Its first sequence
    /// number is `first`, and the next write gets it.
    pub(crate) fn take_back(&mut self, first: SeqNo) {
        if self.values.last().is_some_and(|newest| newest.seqno >= first) {
            self.forget_write();
        }
        debug_assert!(
            self.values.last().is_none_or(|newest| newest.seqno < first),
            "a log has values of writes that are in it"
        );
    }

    /// Returns the position of a write's value, if the value lies in this log.
    pub(crate) fn position(&self, seqno: SeqNo) -> Option<u64> {
        self.find(seqno).map(|value| value.position)
    }

    fn find(&self, seqno: SeqNo) -> Option<&SeparableValue> {
        let (first, last) = (self.values.first()?.seqno, self.values.last()?.seqno);
        if !(first..=last).contains(&seqno) {
            return None;
        }
        let at = self.values.binary_search_by_key(&seqno, |value| value.seqno).ok()?;
        Some(&self.values[at])
    }

    /// Returns the address of a write's value in log `log`, if the log holds this value for the
    /// write. A fold may have replaced the value under the sequence number of the put.
    pub(crate) fn address(&self, log: u64, seqno: SeqNo, value: &[u8]) -> Option<Address> {
        let SeparableValue { position, checksum, .. } = *self.find(seqno)?;
        let is_it = record_checksum(log, position, value) == checksum;
        let len = value.len() as u64;
        is_it.then_some(Address { segment: log, position, len, key_part: 0 })
    }
}

/// A sealed log, and the values that it would hold as a value segment.
#[derive(Debug)]
pub(crate) struct SealedLog {
    pub(crate) number: u64,
    /// Where the log's last frame ends.
    pub(crate) len: u64,
    pub(crate) sync: Arc<crate::wal::LogSync>,
    pub(crate) values: Arc<SeparableValues>,
}

impl<'a> Operation<'a> {
    /// Reads the next operation of a log.
    ///
    /// # Errors
    /// `Corruption` if a field is malformed. The message names the field.
    pub(crate) fn decode_logged(bytes: &mut ByteReader<'a>) -> Result<Operation<'a>> {
        let mut ahead = bytes.clone();
        if ahead.u8("operation kind")? != SEPARABLE_PUT {
            return Operation::decode(bytes);
        }
        let keyspace = ahead.varint32("keyspace")?;
        let key = ahead.length_delimited("key")?;
        let len = ahead.varint("length of a separable value")?.checked_sub(1);
        let len = len.ok_or_else(|| Error::corruption("expected a separable value, found none"))?;
        let value = ahead.take(usize::try_from(len).unwrap_or(usize::MAX), "separable value")?;
        // Only readers of the single value check this checksum. Here the frame's checksum covers
        // the value.
        ahead.u64("checksum of a separable value")?;
        *bytes = ahead;
        Ok(Operation {
            kind: Kind::Put,
            keyspace,
            operator: NO_OPERATOR,
            key,
            value,
            stamped: false,
        })
    }
}

/// Returns whether a record fits into one frame. `frame` holds space for the frame's header, then
/// the record.
pub(crate) fn is_one_frame(frame: &[u8]) -> bool {
    frame.len() - HEADER_LEN <= longest_payload()
}

const _: () = assert!(OVERHEAD >= HEADER_LEN + BatchHeader::LEN);
