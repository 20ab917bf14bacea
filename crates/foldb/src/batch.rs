//! Several writes that happen together or not at all, in the encoding that the log stores.
//!
//! ```text
//! operation:
//! +------+-----------+------------+---------+-----+-----------+-------+
//! | kind | keyspace  | [operator] | key len | key | value len | value |
//! | u8   | varint    | varint     | varint  |     | varint    |       |
//! +------+-----------+------------+---------+-----+-----------+-------+
//!   operator: merges only; 0 means the default operator named by the frame
//!   value:    puts (the value) and merges (the operand) only
//! ```
//!
//! The keyspace stands in every operation because a batch is atomic across keyspaces.

use std::sync::Arc;

use crate::db::{DEFAULT_NAME, Keyspace};
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
///
/// Writes to several keyspaces are as atomic:
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// let index = db.create_keyspace("by colour", Default::default())?;
/// let mut batch = foldb::WriteBatch::new();
/// batch.put("apple", "red").put_in(&index, "red apple", "");
/// db.write(&batch)?;
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    encoded: Vec<u8>,
    len: usize,
    /// Who gave operators and keyspaces their ids, if any is named.
    registry: Option<Arc<Registry>>,
    /// The keyspaces named, by id, and what they are called.
    keyspaces: Vec<(KeyspaceId, Arc<str>)>,
    /// The first mistake made while filling the batch; the write reports it.
    mistake: Option<Error>,
}

/// One write of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOp<'a> {
    /// The key gets this value.
    Put {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// The key goes.
    Delete {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
    },
    /// The operand is merged into the key.
    Merge {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// The operand.
        operand: &'a [u8],
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
        let kind = Kind::from_u8(kind)
            .ok_or_else(|| Error::corruption(format!("operation kind {kind} is not known")))?;
        let keyspace = bytes.varint32("keyspace")?;
        let operator = match kind {
            Kind::Merge => bytes.varint32("operator")?,
            Kind::Put | Kind::Delete => NO_OPERATOR,
        };
        let key = bytes.length_delimited("key")?;
        let value = match kind {
            Kind::Put | Kind::Merge => bytes.length_delimited("value")?,
            Kind::Delete => &[],
        };
        Ok(Operation { kind, keyspace, operator, key, value })
    }
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Sets a key.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Put, DEFAULT_KEYSPACE, NO_OPERATOR, key.as_ref(), value.as_ref())
    }

    /// Sets a key of a keyspace.
    pub fn put_in(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> &mut Self {
        let keyspace = self.name_keyspace(keyspace);
        self.add(Kind::Put, keyspace, NO_OPERATOR, key.as_ref(), value.as_ref())
    }

    /// Deletes a key; a missing one is no error.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Delete, DEFAULT_KEYSPACE, NO_OPERATOR, key.as_ref(), &[])
    }

    /// Deletes a key of a keyspace; a missing one is no error.
    pub fn delete_in(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> &mut Self {
        let keyspace = self.name_keyspace(keyspace);
        self.add(Kind::Delete, keyspace, NO_OPERATOR, key.as_ref(), &[])
    }

    /// Merges an operand with the default operator of the database it is written to.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Merge, DEFAULT_KEYSPACE, NO_OPERATOR, key.as_ref(), operand.as_ref())
    }

    /// Merges an operand with the default operator of a keyspace.
    pub fn merge_in(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        match keyspace.state().default_operator() {
            Ok(operator) => self.merge_with_in(operator, keyspace, key, operand),
            Err(error) => {
                self.mistake.get_or_insert(error);
                self
            }
        }
    }

    /// Merges an operand with an operator of [`crate::Db::operator`]. A malformed operand, or
    /// operators of two databases in one batch, make the write of the batch fail.
    pub fn merge_with(
        &mut self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        self.add_merge(operator, DEFAULT_KEYSPACE, key.as_ref(), operand.as_ref())
    }

    /// Merges an operand into a key of a keyspace, as [`WriteBatch::merge_with`] does.
    pub fn merge_with_in(
        &mut self,
        operator: &Operator,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        let keyspace = self.name_keyspace(keyspace);
        self.add_merge(operator, keyspace, key.as_ref(), operand.as_ref())
    }

    fn add_merge(
        &mut self,
        operator: &Operator,
        keyspace: KeyspaceId,
        key: &[u8],
        operand: &[u8],
    ) -> &mut Self {
        self.is_for(&operator.registry, "operators");
        if let Err(error) = operator.check_operand(operand) {
            self.mistake.get_or_insert(error);
        }
        self.add(Kind::Merge, keyspace, operator.id, key, operand)
    }

    /// Notes that the batch writes to a keyspace.
    fn name_keyspace(&mut self, keyspace: &Keyspace) -> KeyspaceId {
        let keyspace = keyspace.state();
        self.is_for(&keyspace.registry, "keyspaces");
        if keyspace.id != DEFAULT_KEYSPACE
            && let Err(at) = self.find_keyspace(keyspace.id)
        {
            self.keyspaces.insert(at, (keyspace.id, Arc::clone(&keyspace.name)));
        }
        keyspace.id
    }

    fn find_keyspace(&self, id: KeyspaceId) -> Result<usize, usize> {
        self.keyspaces.binary_search_by_key(&id, |keyspace| keyspace.0)
    }

    /// Whether there are writes to other keyspaces than the default one.
    #[inline]
    pub(crate) fn names_keyspaces(&self) -> bool {
        !self.keyspaces.is_empty()
    }

    /// What a keyspace of the batch is called.
    pub(crate) fn keyspace_name(&self, id: KeyspaceId) -> &str {
        self.find_keyspace(id).map_or(DEFAULT_NAME, |at| &self.keyspaces[at].1)
    }

    /// Notes whose ids the batch holds: all must be of one database.
    fn is_for(&mut self, registry: &Arc<Registry>, what: &str) {
        let own = self.registry.get_or_insert_with(|| Arc::clone(registry));
        if !Arc::ptr_eq(own, registry) {
            self.mistake.get_or_insert_with(|| {
                Error::invalid_argument(format!("the batch holds {what} of two databases"))
            });
        }
    }

    /// Forgets everything, keeping memory.
    pub fn clear(&mut self) {
        self.encoded.clear();
        self.len = 0;
        self.registry = None;
        self.keyspaces.clear();
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
    /// let put = BatchOp::Put { keyspace: "default", key: b"a", value: b"1" };
    /// assert_eq!(batch.iter().next(), Some(put));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = BatchOp<'_>> {
        self.operations().map(|Operation { kind, keyspace, key, value, .. }| {
            let keyspace = self.keyspace_name(keyspace);
            match kind {
                Kind::Put => BatchOp::Put { keyspace, key, value },
                Kind::Delete => BatchOp::Delete { keyspace, key },
                Kind::Merge => BatchOp::Merge { keyspace, key, operand: value },
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
            Some(own) if !Arc::ptr_eq(own, registry) => Err(Error::invalid_argument(
                "the batch holds operators or keyspaces of another database",
            )),
            _ => Ok(()),
        }
    }

    fn add(
        &mut self,
        kind: Kind,
        keyspace: KeyspaceId,
        operator: OperatorId,
        key: &[u8],
        value: &[u8],
    ) -> &mut Self {
        Operation { kind, keyspace, operator, key, value }.encode(&mut self.encoded);
        self.len += 1;
        self
    }
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
