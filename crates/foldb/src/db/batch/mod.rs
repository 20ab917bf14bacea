//! Batches: several writes that are applied together or not at all.
//!
//! A batch holds its writes as the log stores them: see [`crate::operation`].

pub(crate) mod stamping;
pub(crate) mod writes;

use std::ops::Bound;
use std::sync::Arc;

use crate::db::batch::stamping::{resolve_last, with_pending_stamp};
use crate::db::state::keyspace::{DEFAULT_NAME, KeyspaceState};
use crate::encoding::ByteReader;
use crate::error::{Error, Result};
use crate::fold::stamp::{Bucket, CommitTime, STAMP_LEN, round_to};
use crate::fold::{Operator, Registry};
use crate::key::{AsKeyRange, DEFAULT_KEYSPACE, KeyspaceId, Kind, NO_OPERATOR, OperatorId};
use crate::memtable::bytes_needed;
use crate::operation::{Operation, Operations, encode_range};
use crate::settings::Expires;

/// Writes that are applied together or not at all, in the order in which they were added.
///
/// [`crate::limits`] gives the largest size; the write of a larger batch fails.
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
/// Writes to several keyspaces are atomic too:
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
    /// Bytes of the largest value put.
    largest_put: usize,
    /// See [`WriteBatch::memtable_bytes`].
    memtable_bytes: usize,
    /// The registry whose ids the batch holds, if it names an operator or a keyspace.
    registry: Option<NamedAt<Arc<Registry>>>,
    /// The keyspaces that the batch names, by id.
    keyspaces: Vec<(KeyspaceId, NamedAt<Arc<str>>)>,
    /// Where the stored values and operands with pending stamps end in `encoded`, and the buckets
    /// of their keyspaces.
    stamped: Vec<(usize, Bucket)>,
    /// When the next puts and merges expire, if the caller says so.
    expires: Option<Expires>,
    /// The first mistake made while filling the batch; the write reports it.
    mistake: Option<Error>,
}

/// What a write of a batch was the first to name.
#[derive(Clone, Debug)]
struct NamedAt<T> {
    named: T,
    /// Where the write begins in the batch.
    at: usize,
}

/// The end of a batch at an earlier moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchMark {
    bytes: usize,
    len: usize,
    largest_put: usize,
    memtable_bytes: usize,
}

/// One write of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchOp<'a> {
    /// Sets a key.
    Put {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// The new value.
        value: &'a [u8],
    },
    /// Deletes a key.
    Delete {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
    },
    /// Merges an operand into a key.
    Merge {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// The operand.
        operand: &'a [u8],
    },
    /// Deletes all keys of a range.
    DeleteRange {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The start of the range.
        start: Bound<&'a [u8]>,
        /// The end of the range.
        end: Bound<&'a [u8]>,
    },
}

impl BatchMark {
    /// Returns the encoded bytes of the writes before the mark.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl WriteBatch {
    /// Returns an empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Sets a key.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Put, DEFAULT_KEYSPACE, NO_OPERATOR, key.as_ref(), value.as_ref())
    }

    /// Deletes a key. A missing key is no error.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Delete, DEFAULT_KEYSPACE, NO_OPERATOR, key.as_ref(), &[])
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
    /// // Writes apply in the order in which they were added, so a later put stays.
    /// batch.delete_range("log/".."log0").put("log/0002", "new");
    /// db.write(&batch)?;
    /// assert_eq!(db.get("log/0001")?, None);
    /// assert_eq!(db.get("log/0002")?.unwrap(), b"new");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn delete_range(&mut self, range: impl AsKeyRange) -> &mut Self {
        let mut value = Vec::new();
        let start = encode_range(range.key_bounds(), &mut value);
        self.add(Kind::DeleteRange, DEFAULT_KEYSPACE, NO_OPERATOR, start, &value)
    }

    /// Adds an encoded range delete of a keyspace, whose bounds were checked.
    pub(crate) fn add_range_delete(
        &mut self,
        keyspace: &KeyspaceState,
        start: &[u8],
        value: &[u8],
    ) -> &mut Self {
        let keyspace = self.name_keyspace(keyspace);
        self.add(Kind::DeleteRange, keyspace, NO_OPERATOR, start, value)
    }

    /// Merges an operand with the default operator of the database that the batch is written to.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> &mut Self {
        self.add(Kind::Merge, DEFAULT_KEYSPACE, NO_OPERATOR, key.as_ref(), operand.as_ref())
    }

    /// Merges an operand with an operator from [`crate::Db::operator`]. A malformed operand, or
    /// operators of two databases in one batch, make the write of the batch fail.
    pub fn merge_with(
        &mut self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> &mut Self {
        self.check_operand(operator, operand.as_ref());
        self.add(Kind::Merge, DEFAULT_KEYSPACE, operator.id, key.as_ref(), operand.as_ref())
    }

    /// Adds a value or operand as a database stored it before, stamp included, under an operator's
    /// id in the database that the batch is written to. The operator need not be registered, and
    /// does not check the operand again.
    pub(crate) fn add_as_stored(
        &mut self,
        (kind, operator): (Kind, OperatorId),
        keyspace: &KeyspaceState,
        key: &[u8],
        value: &[u8],
    ) {
        debug_assert!(kind.may_expire(), "only a put or a merge is stored with a stamp");
        let id = self.name_keyspace_of(keyspace, key);
        let Some(expiry) = &keyspace.expiry() else {
            self.add_stored(kind, id, operator, key, value, false);
            return;
        };
        self.add_stored(kind, id, operator, key, value, true);
        if let Some(stamp) = self.encoded.last_chunk_mut::<STAMP_LEN>() {
            // The copy may have another bucket than the original.
            round_to(stamp, Bucket::of(expiry));
        }
    }

    /// Sets when the puts and merges that are added from now on expire. `None`: as their keyspace
    /// says. A write with an expiry to a keyspace without one makes the write of the batch fail.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb::expiry::{Expires, Expiry};
    /// use foldb::{KeyspaceOptions, WriteBatch};
    ///
    /// let expiry = Some(Expiry::per_write());
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let tokens = db.create_keyspace("tokens", options)?;
    /// let mut batch = WriteBatch::new();
    /// batch.set_expires(Some(Expires::After(Duration::from_secs(60)))).put_in(&tokens, "a", "");
    /// batch.set_expires(None).put_in(&tokens, "b", "");
    /// db.write(&batch)?;
    /// assert!(tokens.expires_at("a")?.is_some() && tokens.expires_at("b")?.is_none());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn set_expires(&mut self, expires: Option<Expires>) -> &mut Self {
        self.expires = expires;
        self
    }

    /// Returns when the writes that follow expire, if the caller said so.
    pub(crate) fn expires(&self) -> Option<Expires> {
        self.expires
    }

    /// Returns whether some stamps are pending.
    #[inline]
    pub(crate) fn has_pending_stamps(&self) -> bool {
        !self.stamped.is_empty()
    }

    /// Gives the pending stamps the time of the commit.
    pub(crate) fn resolve_stamps(&mut self, now: CommitTime) {
        for (end, bucket) in std::mem::take(&mut self.stamped) {
            resolve_last(&mut self.encoded[..end], now, bucket);
        }
    }

    pub(crate) fn check_operand(&mut self, operator: &Operator, operand: &[u8]) {
        self.is_for(&operator.registry, "operators");
        if let Err(error) = operator.check_operand(operand) {
            self.mistake.get_or_insert(error);
        }
    }

    /// Adds a write to a key of a keyspace, which may have an expiry.
    pub(crate) fn add_in(
        &mut self,
        keyspace: &KeyspaceState,
        (kind, operator): (Kind, OperatorId),
        key: &[u8],
        value: &[u8],
    ) -> &mut Self {
        let id = self.name_keyspace_of(keyspace, key);
        let expires = self.expires;
        match &keyspace.expiry() {
            Some(expiry) if kind.may_expire() => {
                let stored = with_pending_stamp(value, kind, expiry, expires);
                self.add_stored(kind, id, operator, key, &stored, true);
                self.stamped.push((self.encoded.len(), Bucket::of(expiry)));
                self
            }
            None if expires.is_some() && kind.may_expire() => {
                self.mistake.get_or_insert_with(|| no_expiry(&keyspace.name));
                self
            }
            _ => self.add(kind, id, operator, key, value),
        }
    }

    /// Notes that the batch writes to a key of a keyspace, and checks the key.
    fn name_keyspace_of(&mut self, keyspace: &KeyspaceState, key: &[u8]) -> KeyspaceId {
        if let Err(error) = keyspace.check_key_to_write(key) {
            self.mistake.get_or_insert(error);
        }
        self.name_keyspace(keyspace)
    }

    /// Notes that the batch writes to a keyspace.
    fn name_keyspace(&mut self, keyspace: &KeyspaceState) -> KeyspaceId {
        self.is_for(&keyspace.registry, "keyspaces");
        if keyspace.id != DEFAULT_KEYSPACE
            && let Err(at) = self.find_keyspace(keyspace.id)
        {
            let named = NamedAt { named: Arc::clone(&keyspace.name), at: self.encoded.len() };
            self.keyspaces.insert(at, (keyspace.id, named));
        }
        keyspace.id
    }

    fn find_keyspace(&self, id: KeyspaceId) -> Result<usize, usize> {
        self.keyspaces.binary_search_by_key(&id, |keyspace| keyspace.0)
    }

    /// Returns whether the batch writes to keyspaces other than the default one.
    #[inline]
    pub(crate) fn names_keyspaces(&self) -> bool {
        !self.keyspaces.is_empty()
    }

    /// Returns the bytes of the largest value put.
    #[inline]
    pub(crate) fn largest_put(&self) -> usize {
        self.largest_put
    }

    /// Returns the keyspaces that the batch names. The batch may also write to the default
    /// keyspace.
    pub(crate) fn named_keyspaces(&self) -> impl Iterator<Item = KeyspaceId> {
        self.keyspaces.iter().map(|(id, _)| *id)
    }

    /// Returns the name of a keyspace of the batch.
    pub(crate) fn keyspace_name(&self, id: KeyspaceId) -> &str {
        self.find_keyspace(id).map_or(DEFAULT_NAME, |at| &self.keyspaces[at].1.named)
    }

    /// Notes the registry of the ids in the batch. All ids must come from one database.
    fn is_for(&mut self, registry: &Arc<Registry>, what: &str) {
        let at = self.encoded.len();
        let first = || NamedAt { named: Arc::clone(registry), at };
        let own = self.registry.get_or_insert_with(first);
        if !Arc::ptr_eq(&own.named, registry) {
            self.mistake.get_or_insert_with(|| {
                Error::invalid_argument(format!("the batch holds {what} of two databases"))
            });
        }
    }

    /// Removes all writes and keeps the memory. Later writes expire as their keyspace says.
    pub fn clear(&mut self) {
        self.encoded.clear();
        self.len = 0;
        self.largest_put = 0;
        self.memtable_bytes = 0;
        self.registry = None;
        self.keyspaces.clear();
        self.stamped.clear();
        self.expires = None;
        self.mistake = None;
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the batch has no writes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of keys, values and framing so far.
    pub fn byte_len(&self) -> usize {
        self.encoded.len()
    }

    /// Returns the largest number of memtable bytes that the writes so far can take. A write takes
    /// 64 bytes, plus its key and value if they exceed 32 bytes together.
    /// [`crate::limits::max_batch_bytes`] limits the sum.
    ///
    /// # Example
    /// ```
    /// let mut batch = foldb::WriteBatch::new();
    /// batch.put("key", [0; 1000]);
    /// assert_eq!(batch.memtable_bytes(), 1064);
    /// ```
    pub fn memtable_bytes(&self) -> usize {
        self.memtable_bytes
    }

    /// Returns the writes, in order.
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
        self.operations().map(|operation| {
            let keyspace = self.keyspace_name(operation.keyspace);
            let (kind, key, value) = (operation.kind, operation.key, operation.payload());
            match kind {
                Kind::Put | Kind::Separated => BatchOp::Put { keyspace, key, value },
                Kind::Delete => BatchOp::Delete { keyspace, key },
                Kind::Merge => BatchOp::Merge { keyspace, key, operand: value },
                Kind::DeleteRange => {
                    let (start, end) = operation.range();
                    BatchOp::DeleteRange { keyspace, start, end }
                }
            }
        })
    }

    pub(crate) fn operations(&self) -> Operations<'_> {
        self.operations_from(0)
    }

    /// Returns the operations from a byte position on, at which one begins.
    pub(crate) fn operations_from(&self, byte: usize) -> Operations<'_> {
        Operations { bytes: ByteReader::new(&self.encoded[byte..]) }
    }

    /// Returns the bytes of memory that the writes take.
    pub(crate) fn capacity(&self) -> usize {
        self.encoded.capacity()
    }

    /// Returns the writes between two places that are ends of writes.
    pub(crate) fn operations_between(&self, start: usize, end: usize) -> Operations<'_> {
        Operations { bytes: ByteReader::new(&self.encoded[start..end]) }
    }

    /// Notes a mistake, unless the batch has one already.
    pub(crate) fn note_mistake(&mut self, mistake: Error) {
        self.mistake.get_or_insert(mistake);
    }

    /// Returns the first mistake made while filling the batch.
    pub(crate) fn mistake(&self) -> Option<&Error> {
        self.mistake.as_ref()
    }

    /// Notes the end of the batch, for [`WriteBatch::cut`].
    pub(crate) fn mark(&self) -> BatchMark {
        let WriteBatch { encoded, len, largest_put, memtable_bytes, .. } = self;
        BatchMark {
            bytes: encoded.len(),
            len: *len,
            largest_put: *largest_put,
            memtable_bytes: *memtable_bytes,
        }
    }

    /// Removes all writes and mistakes after a mark, and what only these writes named.
    pub(crate) fn cut(&mut self, mark: BatchMark) {
        assert!(
            mark.bytes <= self.encoded.len() && mark.len <= self.len,
            "a batch is cut back to what it once was"
        );
        debug_assert!(
            self.stamped.is_sorted_by_key(|(end, _)| *end),
            "stamps lie in the order of writes"
        );
        self.encoded.truncate(mark.bytes);
        self.len = mark.len;
        self.largest_put = mark.largest_put;
        self.memtable_bytes = mark.memtable_bytes;
        self.stamped.truncate(self.stamped.partition_point(|(end, _)| *end <= mark.bytes));
        debug_assert_eq!(self.operations().count(), self.len, "a batch is cut between two writes");
        self.registry.take_if(|registry| registry.at >= mark.bytes);
        self.keyspaces.retain(|(_, name)| name.at < mark.bytes);
        self.mistake = None;
    }

    /// Returns the operations as the log stores them.
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// # Errors
    /// The first mistake made while filling the batch; `InvalidArgument` for a batch of another
    /// database.
    pub(crate) fn check(&self, registry: &Arc<Registry>) -> Result<()> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        match &self.registry {
            Some(own) if !Arc::ptr_eq(&own.named, registry) => Err(Error::invalid_argument(
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
        if self.expires.is_some() && keyspace == DEFAULT_KEYSPACE && kind.may_expire() {
            self.mistake.get_or_insert_with(|| no_expiry(DEFAULT_NAME));
        }
        self.add_stored(kind, keyspace, operator, key, value, false)
    }

    fn add_stored(
        &mut self,
        kind: Kind,
        keyspace: KeyspaceId,
        operator: OperatorId,
        key: &[u8],
        value: &[u8],
        stamped: bool,
    ) -> &mut Self {
        let stamped = stamped && kind.may_expire();
        let operation = Operation { kind, keyspace, operator, key, value, stamped };
        operation.encode(&mut self.encoded);
        self.len += 1;
        self.memtable_bytes += bytes_needed(&operation);
        if kind == Kind::Put {
            self.largest_put = self.largest_put.max(value.len());
        }
        self
    }
}

/// Returns the error of a write with an expiry to a keyspace without one.
fn no_expiry(keyspace: &str) -> Error {
    Error::invalid_argument(format!(
        "the write expires, but keyspace '{keyspace}' has no expiry: create the keyspace with \
         KeyspaceOptions::expiry"
    ))
}

/// Collects puts, in the order of the iterator.
///
/// ```
/// let batch: foldb::WriteBatch = [("a", "1"), ("b", "2")].into_iter().collect();
/// assert_eq!(batch.len(), 2);
/// ```
impl<K: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(K, V)> for WriteBatch {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(puts: I) -> WriteBatch {
        let mut batch = WriteBatch::new();
        batch.extend(puts);
        batch
    }
}

/// Adds puts, in the order of the iterator.
impl<K: AsRef<[u8]>, V: AsRef<[u8]>> Extend<(K, V)> for WriteBatch {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, puts: I) {
        for (key, value) in puts {
            self.put(key, value);
        }
    }
}

#[cfg(test)]
mod tests;
