//! A key assembled from the bytes that it shares with the previous key, and its suffix.

use smallvec::SmallVec;

use crate::encoding::copy_short;

/// Bytes copied at once for a short suffix.
const WIDE: usize = 16;

/// The current key of a walk over prefix-compressed records.
///
/// The buffer is a little longer than the key, so that a short suffix is one fixed-size copy. A key
/// of up to 48 bytes needs no allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyBuffer {
    bytes: SmallVec<[u8; 64]>,
    len: usize,
}

impl KeyBuffer {
    /// Returns the key.
    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the length of the key.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes the key empty.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Sets the key to `key`.
    pub(super) fn set(&mut self, key: &[u8]) {
        self.set_suffix(0, key);
    }

    /// Keeps the first `shared` bytes (at most its length) and appends `suffix`.
    #[inline]
    pub(super) fn set_suffix(&mut self, shared: usize, suffix: &[u8]) {
        debug_assert!(shared <= self.len);
        self.len = shared + suffix.len();
        if self.bytes.len() < self.len + WIDE {
            self.grow();
        }
        copy_short(&mut self.bytes[shared..], suffix);
    }

    /// Does what [`KeyBuffer::set_suffix`] does with `source[start..end]`. It is faster if `source`
    /// continues after `end`.
    #[inline(always)]
    pub(super) fn set_suffix_from(
        &mut self,
        shared: usize,
        source: &[u8],
        start: usize,
        end: usize,
    ) {
        debug_assert!(shared <= self.len);
        let wide = source.get(start..start + WIDE);
        let room = self.bytes.get_mut(shared..shared + WIDE);
        if let (true, Some(wide), Some(room)) = (end - start <= WIDE, wide, room) {
            room.copy_from_slice(wide);
            self.len = shared + (end - start);
        } else {
            self.set_suffix(shared, &source[start..end]);
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.bytes.resize((self.len + WIDE).next_power_of_two().max(64), 0);
    }
}
