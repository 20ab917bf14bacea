//! Bytes in a memtable that outlive every borrow of it.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::bytes::{ValueBytes, WordBytes};
use crate::chains::Chains;
use crate::versions::Version;

/// Bytes in a memtable's arena. They keep the arena alive. A value of 8 bytes may be an
/// accumulator, so it is a copy instead; cloning copies no other bytes.
#[derive(Clone)]
pub struct PinnedBytes(Repr);

#[derive(Clone)]
enum Repr {
    Word(WordBytes),
    Pinned { bytes: NonNull<[u8]>, chains: Arc<Chains> },
}

// SAFETY: the bytes are immutable and live as long as the `Chains`, which is Send and Sync.
unsafe impl Send for PinnedBytes {}
// SAFETY: as above.
unsafe impl Sync for PinnedBytes {}

impl PinnedBytes {
    /// Pins the value of a version of this memtable.
    ///
    /// # Panics
    /// Panics if the version is another memtable's.
    #[inline]
    pub fn new(chains: &Arc<Chains>, version: Version<'_>) -> PinnedBytes {
        match version.value {
            ValueBytes::Word(word) => PinnedBytes(Repr::Word(word)),
            ValueBytes::Lent(bytes) => PinnedBytes::pin(chains, bytes),
        }
    }

    /// Pins bytes that are borrowed from this memtable, a key or a value.
    ///
    /// # Panics
    /// Panics if the bytes are not in this memtable.
    #[inline]
    pub fn pin(chains: &Arc<Chains>, bytes: &[u8]) -> PinnedBytes {
        let (bytes, chains) = (within(chains, bytes), Arc::clone(chains));
        PinnedBytes(Repr::Pinned { bytes, chains })
    }

    /// Keeps the first `len` bytes only. A copied value of 8 bytes stays whole.
    pub fn truncate(&mut self, len: usize) {
        if let Repr::Pinned { bytes, .. } = &mut self.0 {
            *bytes = NonNull::slice_from_raw_parts(bytes.cast(), len.min(bytes.len()));
        }
    }

    /// Pins other bytes instead, as [`PinnedBytes::pin`] does. It is cheaper than a new pin if
    /// these bytes are of the same memtable as the previous ones.
    ///
    /// # Panics
    /// As [`PinnedBytes::pin`].
    #[inline]
    pub fn pin_other(&mut self, chains: &Arc<Chains>, bytes: &[u8]) {
        match &mut self.0 {
            Repr::Pinned { bytes: pinned, chains: kept } if Arc::ptr_eq(kept, chains) => {
                *pinned = within(chains, bytes);
            }
            _ => *self = PinnedBytes::pin(chains, bytes),
        }
    }
}

/// Returns the address of bytes of this memtable.
#[inline]
fn within(chains: &Chains, bytes: &[u8]) -> NonNull<[u8]> {
    let bytes: &[u8] = if bytes.is_empty() { &[] } else { bytes };
    assert!(
        bytes.is_empty() || chains.arena.contains(bytes),
        "only bytes of this memtable can be pinned in it"
    );
    NonNull::from(bytes)
}

impl Deref for PinnedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Word(WordBytes(bytes)) => bytes,
            // SAFETY: a reference to them existed, so they were written and published, and are not
            // an accumulator; other memory inside the arena is never written twice, and is freed
            // only after the last `Arc<Chains>`.
            Repr::Pinned { bytes, .. } => unsafe { bytes.as_ref() },
        }
    }
}

impl AsRef<[u8]> for PinnedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for PinnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBytes(\"{}\")", self.escape_ascii())
    }
}
