//! Bytes in a memtable that outlive every borrow of it.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::chains::Chains;
use crate::versions::Version;

/// Bytes in a memtable's arena, which they keep alive. Cloning copies no bytes.
#[derive(Clone)]
pub struct PinnedBytes {
    bytes: NonNull<[u8]>,
    _chains: Arc<Chains>,
}

// SAFETY: the bytes are immutable and live as long as the `Chains`, which is Send and Sync.
unsafe impl Send for PinnedBytes {}
// SAFETY: as above.
unsafe impl Sync for PinnedBytes {}

impl PinnedBytes {
    /// Pins the value of a version of this memtable.
    ///
    /// # Panics
    /// If the version is another memtable's.
    #[inline]
    pub fn new(chains: &Arc<Chains>, version: Version<'_>) -> PinnedBytes {
        PinnedBytes::pin(chains, version.value)
    }

    /// Pins bytes that are borrowed from this memtable, a key or a value.
    ///
    /// # Panics
    /// If they are not.
    #[inline]
    pub fn pin(chains: &Arc<Chains>, bytes: &[u8]) -> PinnedBytes {
        let bytes: &[u8] = if bytes.is_empty() { &[] } else { bytes };
        assert!(
            bytes.is_empty() || chains.arena.contains(bytes),
            "only bytes of this memtable can be pinned in it"
        );
        PinnedBytes { bytes: NonNull::from(bytes), _chains: Arc::clone(chains) }
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: a reference to them existed, so they were written and published; memory inside
        // the arena is never written twice, and freed only after the last `Arc<Chains>`.
        unsafe { self.bytes.as_ref() }
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
