//! The key range of an iterator.

use std::ops::Bound;

use smallvec::SmallVec;

use crate::key::{AsKeyRange, KeyBounds, Order};

/// A key that an iterator holds. Most keys lie inside the iterator.
pub(crate) type HeldKey = SmallVec<[u8; 32]>;

/// Where an iterator begins and ends.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: Bound<HeldKey>,
    pub(crate) upper: Bound<HeldKey>,
}

impl Bounds {
    /// Makes owned bounds from a range of keys.
    pub(crate) fn of(range: &impl AsKeyRange) -> Bounds {
        Bounds::between(range.key_bounds())
    }

    pub(crate) fn between((lower, upper): KeyBounds<'_>) -> Bounds {
        Bounds { lower: lower.map(HeldKey::from_slice), upper: upper.map(HeldKey::from_slice) }
    }

    /// Returns the bounds of the keys that begin with a prefix, in the order of the bytes.
    pub(crate) fn of_prefix(prefix: &[u8]) -> Bounds {
        // The first key after them is the prefix without its trailing 0xff bytes, with its last
        // byte raised.
        let mut end = HeldKey::from_slice(prefix);
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
        Bounds { lower: Bound::Included(HeldKey::from_slice(prefix)), upper }
    }

    pub(crate) fn as_refs(&self) -> KeyBounds<'_> {
        (self.lower.as_ref().map(HeldKey::as_slice), self.upper.as_ref().map(HeldKey::as_slice))
    }

    /// Returns whether the range begins before a key, or with it.
    #[inline]
    pub(crate) fn is_above_lower(&self, order: &Order, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => order.compare(key, lower).is_ge(),
            Bound::Excluded(lower) => order.compare(key, lower).is_gt(),
        }
    }

    /// Returns whether the range ends behind a key, or with it.
    #[inline]
    pub(crate) fn is_below_upper(&self, order: &Order, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => order.compare(key, upper).is_le(),
            Bound::Excluded(upper) => order.compare(key, upper).is_lt(),
        }
    }

    /// Ends the range before `key`, which lies in it.
    pub(crate) fn end_before(&mut self, key: &[u8]) {
        match &mut self.upper {
            Bound::Excluded(end) => {
                end.clear();
                end.extend_from_slice(key);
            }
            upper => *upper = Bound::Excluded(HeldKey::from_slice(key)),
        }
    }
}
