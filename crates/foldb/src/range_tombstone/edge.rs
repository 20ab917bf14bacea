//! Places between keys: where a range begins or ends.
//!
//! Under a user's comparator the key that follows a given key is unknown. So no exclusive end key
//! can express an end that includes its key. A place directly *behind* a key can: behind means
//! after the key and before every greater key. All ranges are then half open: `a..=k` is the range
//! from "before a" to "behind k".

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use crate::key::Comparator;

/// A key that many fragments share.
pub(crate) type Key = Arc<[u8]>;

/// A place between two neighbouring keys, or at either end of all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Before every key.
    Lowest,
    /// Directly before this key.
    Before(Key),
    /// Directly behind this key.
    Behind(Key),
    /// Behind every key.
    Highest,
}

impl Edge {
    /// Returns the place where a range with this start begins.
    pub(crate) fn at_start(start: Bound<&[u8]>) -> Edge {
        match start {
            Bound::Unbounded => Edge::Lowest,
            Bound::Included(key) => Edge::Before(key.into()),
            Bound::Excluded(key) => Edge::Behind(key.into()),
        }
    }

    /// Returns the place where a range with this end ends.
    pub(crate) fn at_end(end: Bound<&[u8]>) -> Edge {
        match end {
            Bound::Unbounded => Edge::Highest,
            Bound::Included(key) => Edge::Behind(key.into()),
            Bound::Excluded(key) => Edge::Before(key.into()),
        }
    }

    /// Returns whether a key lies behind this place.
    #[inline]
    pub(crate) fn is_before(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        match self {
            Edge::Lowest => true,
            Edge::Before(edge) => comparator.compare(edge, key) != Ordering::Greater,
            Edge::Behind(edge) => comparator.compare(edge, key) == Ordering::Less,
            Edge::Highest => false,
        }
    }

    pub(crate) fn compare(&self, comparator: &dyn Comparator, other: &Edge) -> Ordering {
        match (self.key(), other.key()) {
            (Some(a), Some(b)) => comparator.compare(a, b).then(self.rank().cmp(&other.rank())),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// Returns the key at this place; `None` at either end of all keys.
    pub(crate) fn key(&self) -> Option<&Key> {
        match self {
            Edge::Before(key) | Edge::Behind(key) => Some(key),
            Edge::Lowest | Edge::Highest => None,
        }
    }

    pub(crate) fn key_len(&self) -> usize {
        self.key().map_or(0, |key| key.len())
    }

    pub(crate) fn later<'a>(comparator: &dyn Comparator, a: &'a Edge, b: &'a Edge) -> &'a Edge {
        if a.compare(comparator, b).is_lt() { b } else { a }
    }

    pub(crate) fn earlier<'a>(comparator: &dyn Comparator, a: &'a Edge, b: &'a Edge) -> &'a Edge {
        if a.compare(comparator, b).is_gt() { b } else { a }
    }

    fn rank(&self) -> u8 {
        match self {
            Edge::Lowest => 0,
            Edge::Before(_) => 1,
            Edge::Behind(_) => 2,
            Edge::Highest => 3,
        }
    }
}
