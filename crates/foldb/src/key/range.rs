//! Ranges of keys, as callers give them.
//!
//! The crate has its own trait instead of [`std::ops::RangeBounds`]. That trait has a type
//! parameter for the key. The range `..` leaves this type open, and for `..b"z"` two types fit. The
//! compiler would ask for an annotation. [`AsKeyRange`] has no type parameter.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// The two ends of a range of keys.
pub(crate) type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A range of keys: the argument of [`Db::range`](crate::Db::range),
/// [`Db::compact`](crate::Db::compact), [`Db::delete_range`](crate::Db::delete_range) and similar
/// calls.
///
/// The trait is implemented for Rust's range types and for pairs of [`Bound`]s. Keys are of any
/// type with bytes: `&str`, `&[u8]`, `b"…"`, `String`, `Vec<u8>`.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use std::ops::Bound;
///
/// for key in ["a", "b", "c"] {
///     db.put(key, "")?;
/// }
/// assert_eq!(db.range(..)?.count(), 3);
/// assert_eq!(db.range(..b"b")?.count(), 1);
/// assert_eq!(db.range("a"..="b")?.count(), 2);
/// assert_eq!(db.range((Bound::Excluded("a"), Bound::Unbounded))?.count(), 2);
/// # Ok::<(), foldb::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of keys",
    note = "give `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b` or two `Bound`s; keys are `&str`, `&[u8]` or similar"
)]
pub trait AsKeyRange {
    /// Returns the start and the end of the range.
    fn key_bounds(&self) -> KeyBounds<'_>;
}

impl<R: AsKeyRange + ?Sized> AsKeyRange for &R {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (**self).key_bounds()
    }
}

impl AsKeyRange for RangeFull {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> AsKeyRange for Range<K> {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (Bound::Included(self.start.as_ref()), Bound::Excluded(self.end.as_ref()))
    }
}

impl<K: AsRef<[u8]>> AsKeyRange for RangeInclusive<K> {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (Bound::Included(self.start().as_ref()), Bound::Included(self.end().as_ref()))
    }
}

impl<K: AsRef<[u8]>> AsKeyRange for RangeFrom<K> {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (Bound::Included(self.start.as_ref()), Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> AsKeyRange for RangeTo<K> {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (Bound::Unbounded, Bound::Excluded(self.end.as_ref()))
    }
}

impl<K: AsRef<[u8]>> AsKeyRange for RangeToInclusive<K> {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (Bound::Unbounded, Bound::Included(self.end.as_ref()))
    }
}

impl<K: AsRef<[u8]>> AsKeyRange for (Bound<K>, Bound<K>) {
    fn key_bounds(&self) -> KeyBounds<'_> {
        (bytes_of(&self.0), bytes_of(&self.1))
    }
}

fn bytes_of<K: AsRef<[u8]>>(bound: &Bound<K>) -> Bound<&[u8]> {
    bound.as_ref().map(K::as_ref)
}
