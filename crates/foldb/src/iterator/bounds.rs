//! The key range of an iterator.

use std::ops::Bound;

use crate::key::{AsKeyRange, Comparator, KeyBounds};

/// Where an iterator begins and ends.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
}

impl Bounds {
    /// Makes owned bounds from a range of keys.
    pub(crate) fn of(range: &impl AsKeyRange) -> Bounds {
        let (lower, upper) = range.key_bounds();
        Bounds { lower: lower.map(<[u8]>::to_vec), upper: upper.map(<[u8]>::to_vec) }
    }

    /// Returns the bounds of the keys that begin with a prefix, in the order of the bytes.
    pub(crate) fn of_prefix(prefix: &[u8]) -> Bounds {
        // The first key after them is the prefix without its trailing 0xff bytes, with its last
        // byte raised.
        let mut end = prefix.to_vec();
        while end.last() == Some(&0xff) {
            end.pop();
        }
        let upper = match end.last_mut() {
            None => Bound::Unbounded,
            Some(last) => {
                *last += 1;
                Bound::Excluded(end)
            }
        };
        Bounds { lower: Bound::Included(prefix.to_vec()), upper }
    }

    pub(crate) fn as_refs(&self) -> KeyBounds<'_> {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }

    /// Returns whether the range begins before a key, or with it.
    #[inline]
    pub(crate) fn is_above_lower(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => comparator.compare(key, lower).is_ge(),
            Bound::Excluded(lower) => comparator.compare(key, lower).is_gt(),
        }
    }

    /// Returns whether the range ends behind a key, or with it.
    #[inline]
    pub(crate) fn is_below_upper(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => comparator.compare(key, upper).is_le(),
            Bound::Excluded(upper) => comparator.compare(key, upper).is_lt(),
        }
    }

    /// Ends the range before `key`, which lies in it.
    pub(crate) fn end_before(&mut self, key: &[u8]) {
        match &mut self.upper {
            Bound::Excluded(end) => {
                end.clear();
                end.extend_from_slice(key);
            }
            upper => *upper = Bound::Excluded(key.to_vec()),
        }
    }
}
