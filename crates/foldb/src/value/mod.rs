//! Values that readers get: a small value is copied, a large one is pinned in the memtable or in a
//! cached block.
//!
//! Invariant (H14): the bytes of a [`Value`] never change. The engine copies values of at most 16
//! bytes. This includes every accumulator that a later write may change in place. Larger values pin
//! the memory in which they lie.

mod block_bytes;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use foldb_chains::{Chains, PinnedBytes, ValueBytes, Version};

use crate::encoding::copy_short;

pub(crate) use block_bytes::{BlockBytes, EntryValue};

/// Longest value that is copied instead of pinned.
pub(crate) const INLINE_LEN: usize = 16;

/// A value read from the database. A large one is not copied.
///
/// It dereferences to its bytes. A pinned value keeps its memtable or block in memory. So keep the
/// value only as long as needed, or copy it with [`Value::into_owned`].
///
/// # Example
/// ```
/// let value = foldb::Value::from(b"hello".as_slice());
/// assert_eq!(&*value, b"hello");
/// assert_eq!(value.into_owned(), b"hello".to_vec());
/// ```
#[derive(Clone)]
pub struct Value(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: usize, bytes: InlineBytes },
    Memtable(PinnedBytes),
    Block(BlockBytes),
    Heap(Arc<Vec<u8>>),
}

/// Bytes of a small value, aligned so that a move of the value copies whole words. Without the
/// alignment, a move soon after a write could load bytes of two words that were stored separately.
/// The processor would then stall until both stores reach the cache.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct InlineBytes([u8; INLINE_LEN]);

impl Value {
    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes.0[..*len],
            Repr::Memtable(bytes) => bytes,
            Repr::Block(bytes) => bytes,
            Repr::Heap(bytes) => bytes,
        }
    }

    /// Returns a copy that pins nothing.
    pub fn into_owned(self) -> Vec<u8> {
        self.as_slice().to_vec()
    }

    /// Returns whether the value has more than `len` bytes; `len` is at least [`INLINE_LEN`].
    #[inline]
    pub(crate) fn is_longer_than(&self, len: usize) -> bool {
        !matches!(self.0, Repr::Inline { .. }) && self.as_slice().len() > len
    }

    /// Copies a value of at most [`INLINE_LEN`] bytes.
    #[inline]
    pub(crate) fn inline(value: &[u8]) -> Option<Value> {
        if value.len() > INLINE_LEN {
            return None;
        }
        let mut bytes = InlineBytes([0; INLINE_LEN]);
        copy_short(&mut bytes.0, value);
        Some(Value(Repr::Inline { len: value.len(), bytes }))
    }

    /// Returns the value of a version in a memtable. A small value is copied, a larger one pinned.
    #[inline]
    pub(crate) fn of_version(chains: &Arc<Chains>, version: Version<'_>) -> Value {
        Value::inline(&version.value)
            .unwrap_or_else(|| Value(Repr::Memtable(PinnedBytes::new(chains, version))))
    }

    /// Sets the value to bytes that a memtable lends. Small values are copied, larger ones pinned.
    /// An existing pin of the same memtable is reused.
    #[inline]
    pub(crate) fn set_lent(&mut self, chains: &Arc<Chains>, bytes: ValueBytes<'_>) {
        if bytes.len() <= INLINE_LEN {
            self.set_small(&bytes);
        } else if let Repr::Memtable(pinned) = &mut self.0 {
            pinned.pin_other(chains, &bytes);
        } else {
            *self = Value(Repr::Memtable(PinnedBytes::pin(chains, &bytes)));
        }
    }

    /// Sets the value to bytes that a block lends. Small values are copied, larger ones pinned. An
    /// existing pin of the same block is reused.
    #[inline]
    pub(crate) fn set_entry(&mut self, entry: EntryValue<'_>) {
        let bytes = entry.as_slice();
        if bytes.len() <= INLINE_LEN {
            self.set_small(bytes);
        } else if let Repr::Block(pinned) = &mut self.0 {
            pinned.pin_other(entry);
        } else {
            *self = Value::from_block(entry.pin());
        }
    }

    /// Copies at most [`INLINE_LEN`] bytes in place. A new value moved here would stall the
    /// processor (see [`InlineBytes`]).
    #[inline(always)]
    fn set_small(&mut self, small: &[u8]) {
        if let Repr::Inline { len, bytes } = &mut self.0 {
            copy_short(&mut bytes.0, small);
            *len = small.len();
        } else {
            *self = Value::from(small);
        }
    }

    /// Shortens the value to its first `len` bytes, without a copy.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Repr::Inline { len: own, .. } => *own = len.min(*own),
            Repr::Memtable(bytes) => bytes.truncate(len),
            Repr::Block(bytes) => bytes.truncate(len),
            Repr::Heap(bytes) => Arc::make_mut(bytes).truncate(len),
        }
    }

    /// Makes a value that pins bytes of a cached block.
    #[inline]
    pub(crate) fn from_block(bytes: BlockBytes) -> Value {
        Value(Repr::Block(bytes))
    }
}

impl From<&[u8]> for Value {
    #[inline]
    fn from(value: &[u8]) -> Value {
        Value::inline(value).unwrap_or_else(|| Value(Repr::Heap(Arc::new(value.to_vec()))))
    }
}

impl From<Vec<u8>> for Value {
    #[inline]
    fn from(value: Vec<u8>) -> Value {
        Value::inline(&value).unwrap_or_else(|| Value(Repr::Heap(Arc::new(value))))
    }
}

impl Default for Value {
    /// The empty value.
    fn default() -> Value {
        Value(Repr::Inline { len: 0, bytes: InlineBytes([0; INLINE_LEN]) })
    }
}

impl Deref for Value {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value(\"{}\")", self.as_slice().escape_ascii())
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Value {}

impl PartialEq<[u8]> for Value {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_slice() == other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Value {
    fn eq(&self, other: &[u8; N]) -> bool {
        self.as_slice() == other
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<&T> for Value {
    fn eq(&self, other: &&T) -> bool {
        self.as_slice() == (*other).as_ref()
    }
}

impl PartialEq<Vec<u8>> for Value {
    fn eq(&self, other: &Vec<u8>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Orders values by their bytes.
impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

/// Hashes a value like its bytes.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl Borrow<[u8]> for Value {
    fn borrow(&self) -> &[u8] {
        self.as_slice()
    }
}

/// Converts without a copy. The `Bytes` pin the value's memtable or block.
///
/// # Example
/// ```
/// let value = foldb::Value::from(b"a value of some length".as_slice());
/// let bytes = bytes::Bytes::from(value);
/// assert_eq!(bytes.slice(2..7), b"value".as_slice());
/// ```
#[cfg(feature = "bytes")]
impl From<Value> for bytes::Bytes {
    fn from(value: Value) -> bytes::Bytes {
        bytes::Bytes::from_owner(value)
    }
}

impl From<Value> for Vec<u8> {
    /// A copy that pins nothing.
    fn from(value: Value) -> Vec<u8> {
        value.into_owned()
    }
}
