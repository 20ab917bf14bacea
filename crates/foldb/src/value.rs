//! Bytes that stay where they are: a small value inline, a large one pinned in the memtable or in
//! a cached block.
//!
//! Invariant (H14): what a [`Value`] shows never changes. Values of at most 16 bytes, among them
//! every accumulator that a later write may change in place, are copied out; larger ones pin the
//! memory they lie in.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use foldb_chains::{Chains, PinnedBytes, ValueBytes, Version};

use crate::table::BlockBytes;

/// Longest value that is copied instead of pinned.
pub(crate) const INLINE_LEN: usize = 16;

/// A value as read from the database, without a copy where it is large.
///
/// It dereferences to its bytes. A pinned one keeps the memtable or block it lies in alive, so
/// keep it as long as you need it and no longer, or take a copy with [`Value::into_owned`].
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
    Inline { len: u8, bytes: [u8; INLINE_LEN] },
    Memtable(PinnedBytes),
    Block(BlockBytes),
    Heap(Arc<Vec<u8>>),
}

impl Value {
    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Memtable(bytes) => bytes,
            Repr::Block(bytes) => bytes,
            Repr::Heap(bytes) => bytes,
        }
    }

    /// A copy that pins nothing.
    pub fn into_owned(self) -> Vec<u8> {
        self.as_slice().to_vec()
    }

    /// The value of at most [`INLINE_LEN`] bytes, copied.
    #[inline]
    pub(crate) fn inline(value: &[u8]) -> Option<Value> {
        if value.len() > INLINE_LEN {
            return None;
        }
        let mut bytes = [0; INLINE_LEN];
        bytes[..value.len()].copy_from_slice(value);
        Some(Value(Repr::Inline { len: value.len() as u8, bytes }))
    }

    /// The value of a version in a memtable: pinned, or copied if small.
    #[inline]
    pub(crate) fn of_version(chains: &Arc<Chains>, version: Version<'_>) -> Value {
        Value::inline(&version.value)
            .unwrap_or_else(|| Value(Repr::Memtable(PinnedBytes::new(chains, version))))
    }

    /// Bytes in a cached block: pinned.
    #[inline]
    pub(crate) fn from_block(bytes: BlockBytes) -> Value {
        Value(Repr::Block(bytes))
    }
}

/// A value that a memtable lends for a moment, or one that was made meanwhile. It becomes a
/// [`Value`], and pins the memtable, only when somebody keeps it.
#[derive(Clone, Debug)]
pub(crate) enum LentValue<'a> {
    Lent(ValueBytes<'a>),
    Made(Value),
}

impl LentValue<'_> {
    /// To keep, where it was lent by this memtable.
    #[inline]
    pub(crate) fn keep(self, chains: &Arc<Chains>) -> Value {
        match self {
            LentValue::Lent(bytes) => Value::inline(&bytes)
                .unwrap_or_else(|| Value(Repr::Memtable(PinnedBytes::pin(chains, &bytes)))),
            LentValue::Made(value) => value,
        }
    }
}

impl Deref for LentValue<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            LentValue::Lent(bytes) => bytes,
            LentValue::Made(value) => value,
        }
    }
}

impl From<Value> for LentValue<'_> {
    fn from(value: Value) -> Self {
        LentValue::Made(value)
    }
}

impl Default for LentValue<'_> {
    #[inline]
    fn default() -> Self {
        LentValue::Lent(ValueBytes::Lent(&[]))
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
        Value(Repr::Inline { len: 0, bytes: [0; INLINE_LEN] })
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
