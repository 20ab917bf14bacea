//! Several writes that happen together or not at all, in the encoding that the log stores.
//!
//! ```text
//! operation:
//! +------+-----------+------------+---------+-----+-----------+-------+
//! | kind | keyspace  | [operator] | key len | key | value len | value |
//! | u8   | varint    | varint     | varint  |     | varint    |       |
//! +------+-----------+------------+---------+-----+-----------+-------+
//!   operator: merges only; 0 means the default operator named by the frame
//!   value:    puts (the value), merges (the operand) and range deletes (the end) only
//!
//! range delete (kind 3): the key is where the range starts, the value a byte and where it ends
//!   byte, bits 0 and 1: the start is  0 open  1 the key  2 behind the key
//!   byte, bits 2 and 3: the end is    0 open  1 the key  2 before the key
//!   an open start or end has no bytes
//! ```
//!
//! The keyspace stands in every operation because a batch is atomic across keyspaces.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::encoding::ByteReader;
use crate::encoding::put_varint;
use crate::error::{Error, Result};
use crate::fold::{Operator, Registry};
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, Kind, NO_OPERATOR, OperatorId};

/// Writes that are applied together or not at all, in the order they were added.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// let mut batch = foldb::WriteBatch::new();
/// batch.put("name", "foldb").delete("old name");
/// assert_eq!(batch.len(), 2);
/// db.write(&batch)?;
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    encoded: Vec<u8>,
    len: usize,
    /// Who gave the operators their ids, if any is named.
    registry: Option<Arc<Registry>>,
    /// The first mistake made while filling the batch; the write reports it.
    mistake: Option<Error>,
}

/// One write of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOp<'a> {
    /// The key gets this value.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// The key goes.
    Delete {
        /// The key.
        key: &'a [u8],
    },
    /// The operand is merged into the key.
    Merge {
        /// The key.
        key: &'a [u8],
        /// The operand.
        operand: &'a [u8],
    },
    /// All keys of a range go.
    DeleteRange {
        /// Where the range starts.
        start: Bound<&'a [u8]>,
        /// Where it ends.
        end: Bound<&'a [u8]>,
    },
}

/// One operation as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation<'a> {
    pub(crate) kind: Kind,
    pub(crate) keyspace: KeyspaceId,
    pub(crate) operator: OperatorId,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Operation<'a> {
    /// Appends the operation in the form drawn above.
    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
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
    }

    /// Reads the next operation.
    ///
    /// # Errors
    /// `Corruption`, naming the field.
    #[inline]
    pub(crate) fn decode(bytes: &mut ByteReader<'a>) -> Result<Operation<'a>> {
        let kind = bytes.u8("operation kind")?;
        let kind = Kind::of_operation(kind)
            .ok_or_else(|| Error::corruption(format!("operation kind {kind} is not known")))?;
        let keyspace = bytes.varint32("keyspace")?;
        let operator = match kind {
            Kind::Merge => bytes.varint32("operator")?,
            Kind::Put | Kind::Delete | Kind::DeleteRange => NO_OPERATOR,
        };
        let key = bytes.length_delimited("key")?;
        let value = match kind {
            Kind::Put | Kind::Merge | Kind::DeleteRange => bytes.length_delimited("value")?,
            Kind::Delete => &[],
        };
        let operation = Operation { kind, keyspace, operator, key, value };
        if kind == Kind::DeleteRange {
            operation.decode_range()?;
        }
        Ok(operation)
    }

    /// The range of a range delete.
    ///
    /// # Errors
    /// `Corruption` for bounds that are none.
    pub(crate) fn decode_range(&self) -> Result<(Bound<&'a [u8]>, Bound<&'a [u8]>)> {
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
            _ => Err(Error::corruption(format!("range delete: bounds {bounds:#04x} are not known"))),
        }
    }

    /// The range of a range delete that was encoded by this program or decoded by
    /// [`Operation::decode`].
    pub(crate) fn range(&self) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        self.decode_range().expect("the bounds were written or checked here")
    }
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Sets a key.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Put, NO_OPERATOR, key.as_ref(), value.as_ref())
    }

    /// Deletes a key; a missing one is no error.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Delete, NO_OPERATOR, key.as_ref(), &[])
    }

    /// Deletes all keys of a range; see [`crate::Db::delete_range`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("log/0001", "old")?;
    /// let mut batch = foldb::WriteBatch::new();
    /// // In the order in which they were added: what is put afterwards stays.
    /// batch.delete_range("log/".."log0").put("log/0002", "new");
    /// db.write(&batch)?;
    /// assert_eq!(db.get("log/0001")?, None);
    /// assert_eq!(db.get("log/0002")?.unwrap(), b"new");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, range: impl RangeBounds<K>) -> &mut Self {
        let mut value = Vec::new();
        let start = encode_range(&range, &mut value);
        self.add(Kind::DeleteRange, NO_OPERATOR, start, &value)
    }

    /// Merges an operand with the default operator of the database it is written to.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Merge, NO_OPERATOR, key.as_ref(), operand.as_ref())
    }

    /// Merges an operand with an operator of [`crate::Db::operator`]. A malformed operand, or
    /// operators of two databases in one batch, make the write of the batch fail.
    pub fn merge_with(
        &mut self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        let registry = self.registry.get_or_insert_with(|| Arc::clone(&operator.registry));
        if !operator.belongs_to(registry) {
            self.mistake.get_or_insert_with(|| {
                Error::invalid_argument("the batch holds operators of two databases")
            });
        }
        if let Err(error) = operator.check_operand(operand.as_ref()) {
            self.mistake.get_or_insert(error);
        }
        self.add(Kind::Merge, operator.id, key.as_ref(), operand.as_ref())
    }

    /// Forgets everything, keeping memory.
    pub fn clear(&mut self) {
        self.encoded.clear();
        self.len = 0;
        self.registry = None;
        self.mistake = None;
    }

    /// Number of writes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of keys, values and framing so far.
    pub fn byte_len(&self) -> usize {
        self.encoded.len()
    }

    /// The writes, in order.
    ///
    /// # Example
    /// ```
    /// use foldb::BatchOp;
    /// let mut batch = foldb::WriteBatch::new();
    /// batch.put("a", "1");
    /// assert_eq!(batch.iter().next(), Some(BatchOp::Put { key: b"a", value: b"1" }));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = BatchOp<'_>> {
        self.operations().map(|operation| match operation.kind {
            Kind::Put => BatchOp::Put { key: operation.key, value: operation.value },
            Kind::Delete => BatchOp::Delete { key: operation.key },
            Kind::Merge => BatchOp::Merge { key: operation.key, operand: operation.value },
            Kind::DeleteRange => {
                let (start, end) = operation.range();
                BatchOp::DeleteRange { start, end }
            }
        })
    }

    pub(crate) fn operations(&self) -> Operations<'_> {
        Operations { bytes: ByteReader::new(&self.encoded) }
    }

    /// The operations as the log stores them.
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// Refuses a batch that was filled wrongly or for another database.
    pub(crate) fn check(&self, registry: &Arc<Registry>) -> Result<()> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        match &self.registry {
            Some(own) if !Arc::ptr_eq(own, registry) => {
                Err(Error::invalid_argument("the batch holds operators of another database"))
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, kind: Kind, operator: OperatorId, key: &[u8], value: &[u8]) -> &mut Self {
        let keyspace = DEFAULT_KEYSPACE;
        Operation { kind, keyspace, operator, key, value }.encode(&mut self.encoded);
        self.len += 1;
        self
    }
}

/// How a range delete's start and end are stored: on disk, never renumber.
const UNBOUNDED: u8 = 0;
const INCLUDED: u8 = 1;
const EXCLUDED: u8 = 2;

/// The key and value of a range delete: answers the key, appends the value.
pub(crate) fn encode_range<'a, K: AsRef<[u8]> + 'a>(
    range: &'a impl RangeBounds<K>,
    value: &mut Vec<u8>,
) -> &'a [u8] {
    let encoded = |bound: Bound<&'a K>| -> (u8, &'a [u8]) {
        match bound {
            Bound::Unbounded => (UNBOUNDED, &[]),
            Bound::Included(key) => (INCLUDED, key.as_ref()),
            Bound::Excluded(key) => (EXCLUDED, key.as_ref()),
        }
    };
    let ((start_kind, start), (end_kind, end)) =
        (encoded(range.start_bound()), encoded(range.end_bound()));
    value.push(start_kind | end_kind << 2);
    value.extend_from_slice(end);
    start
}

/// The operations of well-formed bytes: a batch's own.
pub(crate) struct Operations<'a> {
    bytes: ByteReader<'a>,
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
mod tests;
