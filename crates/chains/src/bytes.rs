//! The value of a version as readers get it.

use std::fmt;
use std::ops::Deref;

/// Bytes of a value: lent where they can never change, copied where a later write may change them.
///
/// Values of 8 bytes are read by one atomic load: they may be accumulators (H14), and a reference
/// to memory that changes would be undefined behaviour.
#[derive(Clone, Copy)]
pub enum ValueBytes<'a> {
    /// A value of 8 bytes, as it was when the reader loaded it.
    Word(WordBytes),
    /// Any other value.
    Lent(&'a [u8]),
}

/// The 8 bytes of a word, which is read and written whole. A plain array would lie at an odd
/// address after the tag of [`ValueBytes`]. A copy of a value that was just written would then wait
/// until both of the words that it overlaps are in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(8))]
pub struct WordBytes(pub [u8; 8]);

impl Deref for ValueBytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            ValueBytes::Word(WordBytes(bytes)) => bytes,
            ValueBytes::Lent(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for ValueBytes<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for ValueBytes<'_> {
    #[inline]
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for ValueBytes<'_> {}

impl fmt::Debug for ValueBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}
