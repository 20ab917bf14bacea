//! One write, in the encoding of batches and logs.
//!
//! ```text
//! operation:
//! +------+-----------+------------+---------+-----+-----------+-------+
//! | kind | keyspace  | [operator] | key len | key | value len | value |
//! | u8   | varint    | varint     | varint  |     | varint    |       |
//! +------+-----------+------------+---------+-----+-----------+-------+
//!   kind:     plus 0x80 if the value or operand ends with a stamp (`fold::stamp`)
//!   operator: merges only; 0 means the default operator named by the frame
//!   value:    puts (the value), merges (the operand) and range deletes (the end) only
//!
//! range delete (kind 3): the key is where the range starts, the value a byte and where it ends
//!   byte, bits 0 and 1: the start is  0 open  1 the key  2 behind the key
//!   byte, bits 2 and 3: the end is    0 open  1 the key  2 before the key
//!   an open start or end has no bytes
//! ```
//!
//! Every operation contains its keyspace, because a batch is atomic across keyspaces.

use std::ops::Bound;

use crate::counters::{Total, Totals};
use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};
use crate::fold::stamp::STAMP_LEN;
use crate::key::{
    Comparator, KeyBounds, KeyspaceId, Kind, NO_OPERATOR, OperatorId, check_ends, shown,
};
use crate::limits;
use crate::user_code::guarded;

/// One operation in its encoded form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation<'a> {
    pub(crate) kind: Kind,
    pub(crate) keyspace: KeyspaceId,
    pub(crate) operator: OperatorId,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    /// Whether the value or operand ends with a stamp, because the keyspace has an expiry.
    pub(crate) stamped: bool,
}

/// The bit of a stamped operation beside its kind.
pub(crate) const STAMPED: u8 = 0x80;

impl<'a> Operation<'a> {
    /// Appends the encoding drawn above.
    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(self.kind as u8 | if self.stamped { STAMPED } else { 0 });
        put_varint(out, u64::from(self.keyspace));
        if self.kind == Kind::Merge {
            put_varint(out, u64::from(self.operator));
        }
        put_varint(out, self.key.len() as u64);
        out.extend_from_slice(self.key);
        if self.kind != Kind::Delete {
            put_varint(out, self.value.len() as u64);
            out.extend_from_slice(self.value);
        }
        debug_assert!(
            Operation::decode(&mut ByteReader::new(&out[start..])).is_ok_and(|read| read == *self),
            "a replay reads the write that was encoded"
        );
    }

    /// Reads the next operation.
    ///
    /// # Errors
    /// `Corruption` if a field is malformed. The message names the field.
    #[inline]
    pub(crate) fn decode(bytes: &mut ByteReader<'a>) -> Result<Operation<'a>> {
        let kind = bytes.u8("operation kind")?;
        let stamped = kind & STAMPED != 0;
        let kind = Kind::of_operation(kind & !STAMPED)
            .ok_or_else(|| Error::corruption(format!("operation kind {kind} is not known")))?;
        let keyspace = bytes.varint32("keyspace")?;
        let operator = match kind {
            Kind::Merge => bytes.varint32("operator")?,
            Kind::Put | Kind::Separated | Kind::Delete | Kind::DeleteRange => NO_OPERATOR,
        };
        let key = bytes.length_delimited("key")?;
        let value = match kind {
            Kind::Put | Kind::Separated | Kind::Merge | Kind::DeleteRange => {
                bytes.length_delimited("value")?
            }
            Kind::Delete => &[],
        };
        if stamped && value.len() < STAMP_LEN {
            return Err(Error::corruption("a stamped operation has no stamp"));
        }
        let operation = Operation { kind, keyspace, operator, key, value, stamped };
        if kind == Kind::DeleteRange {
            operation.decode_range()?;
        }
        Ok(operation)
    }

    /// Returns the value or operand as the caller gave it.
    pub(crate) fn payload(&self) -> &'a [u8] {
        let stamp = if self.stamped { STAMP_LEN } else { 0 };
        &self.value[..self.value.len().saturating_sub(stamp)]
    }

    /// Checks that key and value are short enough to store.
    ///
    /// # Errors
    /// `InvalidArgument` if one of them is too long. The message names the limit.
    #[inline]
    pub(crate) fn check_limits(&self) -> Result<()> {
        if self.kind == Kind::DeleteRange {
            return self.check_range_limits();
        }
        limits::check_key("a key", self.key)?;
        // What the engine adds to a value does not count against the caller.
        limits::check_value(self.payload())
    }

    #[cold]
    fn check_range_limits(&self) -> Result<()> {
        limits::check_key("the start of a range", self.key)?;
        limits::check_key("the end of a range", self.value.get(1..).unwrap_or_default())
    }

    /// Counts the operation as an accepted write. Returns its bytes of key and value. One thread at
    /// a time may call it.
    #[inline]
    pub(crate) fn count(&self, totals: &Totals) -> u64 {
        let counted = match self.kind {
            Kind::Put | Kind::Separated => Total::Puts,
            Kind::Delete => Total::Deletes,
            Kind::Merge => Total::Merges,
            Kind::DeleteRange => Total::RangeDeletes,
        };
        let bytes = (self.key.len() + self.value.len()) as u64;
        totals.add_exclusive(counted, 1);
        totals.add_exclusive(Total::BytesUser, bytes);
        bytes
    }

    /// Decodes the range of a range delete.
    ///
    /// # Errors
    /// `Corruption` for malformed bounds.
    pub(crate) fn decode_range(&self) -> Result<KeyBounds<'a>> {
        let Some((&bounds, end)) = self.value.split_first() else {
            return Err(Error::corruption("range delete: expected an end, found nothing"));
        };
        let bound = |kind: u8, key: &'a [u8]| match kind {
            UNBOUNDED if key.is_empty() => Some(Bound::Unbounded),
            INCLUDED => Some(Bound::Included(key)),
            EXCLUDED => Some(Bound::Excluded(key)),
            _ => None,
        };
        match (bound(bounds & 3, self.key), bound(bounds >> 2, end)) {
            (Some(start), Some(end)) => Ok((start, end)),
            _ => {
                Err(Error::corruption(format!("range delete: bounds {bounds:#04x} are not known")))
            }
        }
    }

    /// Returns the range of a range delete that this program encoded or [`Operation::decode`]
    /// decoded.
    pub(crate) fn range(&self) -> KeyBounds<'a> {
        self.decode_range().expect("the bounds were written or checked here")
    }
}

/// The stored forms of a range delete's start and end. They are on disk: never renumber.
const UNBOUNDED: u8 = 0;
const INCLUDED: u8 = 1;
const EXCLUDED: u8 = 2;

/// Encodes a range: returns the key of the range delete and appends its value.
pub(crate) fn encode_range<'a>((start, end): KeyBounds<'a>, value: &mut Vec<u8>) -> &'a [u8] {
    let encoded = |bound: Bound<&'a [u8]>| -> (u8, &'a [u8]) {
        match bound {
            Bound::Unbounded => (UNBOUNDED, &[]),
            Bound::Included(key) => (INCLUDED, key),
            Bound::Excluded(key) => (EXCLUDED, key),
        }
    };
    let ((start_kind, start), (end_kind, end)) = (encoded(start), encoded(end));
    value.push(start_kind | end_kind << 2);
    value.extend_from_slice(end);
    start
}

/// Returns whether a range to delete can contain any key.
///
/// # Errors
/// `InvalidArgument` for a range that ends before it starts, or whose ends cannot be compared.
pub(crate) fn check_range(
    comparator: &dyn Comparator,
    (start, end): KeyBounds<'_>,
) -> Result<bool> {
    check_ends(comparator, (start, end))?;
    let (
        Bound::Included(first) | Bound::Excluded(first),
        Bound::Included(last) | Bound::Excluded(last),
    ) = (start, end)
    else {
        return Ok(true);
    };
    let order = guarded(|| comparator.compare(first, last)).map_err(|panic| {
        Error::invalid_argument(format!(
            "comparator '{}' cannot compare the keys '{}' and '{}': it panicked: {panic}",
            comparator.name(),
            shown(first),
            shown(last)
        ))
    })?;
    if order.is_gt() {
        return Err(Error::invalid_argument(format!(
            "the range to delete ends at '{}', before its start '{}': swap them",
            shown(last),
            shown(first)
        )));
    }
    let has_the_key = matches!((start, end), (Bound::Included(_), Bound::Included(_)));
    Ok(order.is_lt() || has_the_key)
}

/// Iterates over the operations of well-formed bytes: those of a batch.
#[derive(Clone)]
pub(crate) struct Operations<'a> {
    pub(crate) bytes: ByteReader<'a>,
}

impl<'a> Iterator for Operations<'a> {
    type Item = Operation<'a>;

    #[inline]
    fn next(&mut self) -> Option<Operation<'a>> {
        if self.bytes.is_empty() {
            return None;
        }
        Some(Operation::decode(&mut self.bytes).expect("a batch holds what it encoded"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::DEFAULT_KEYSPACE;
    use crate::limits::MAX_VALUE_BYTES;

    /// A put of the longest value once failed in a keyspace with expiry, and the error named 9
    /// bytes more than the caller had passed.
    #[test]
    fn the_limit_of_a_value_is_what_the_caller_passes() {
        let value = vec![0; MAX_VALUE_BYTES + STAMP_LEN + 1];
        let check = |value, stamped| {
            let (keyspace, operator) = (DEFAULT_KEYSPACE, NO_OPERATOR);
            let put = Operation { kind: Kind::Put, keyspace, operator, key: b"k", value, stamped };
            put.check_limits().map_err(|error| error.to_string())
        };
        assert_eq!(check(&value[..MAX_VALUE_BYTES], false), Ok(()));
        assert_eq!(check(&value[..MAX_VALUE_BYTES + STAMP_LEN], true), Ok(()));
        let named = format!("{} bytes", MAX_VALUE_BYTES + 1);
        assert!(check(&value[..MAX_VALUE_BYTES + 1], false).unwrap_err().contains(&named));
        assert!(check(&value, true).unwrap_err().contains(&named));
    }
}
