//! Key ranges: the part that a table reference shows, and the part that a slice covers.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::key::Comparator;
use crate::range_tombstone::Edge;

pub(crate) use crate::range_tombstone::Key;

/// The end of a range. It includes a record's key, or lies before the key at which a range
/// tombstone ends or a slice was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Upper {
    /// Ends with this key.
    Included(Key),
    /// Ends before this key.
    Excluded(Key),
}

impl Upper {
    pub(crate) fn key(&self) -> &Key {
        match self {
            Upper::Included(key) | Upper::Excluded(key) => key,
        }
    }

    /// Returns the end at an edge; `None` for an edge below or above all keys.
    pub(crate) fn of(edge: &Edge) -> Option<Upper> {
        match edge {
            Edge::Before(key) => Some(Upper::Excluded(Arc::clone(key))),
            Edge::Behind(key) => Some(Upper::Included(Arc::clone(key))),
            Edge::Lowest | Edge::Highest => None,
        }
    }

    /// Returns the edge at this end.
    pub(crate) fn edge(&self) -> Edge {
        match self {
            Upper::Included(key) => Edge::Behind(Arc::clone(key)),
            Upper::Excluded(key) => Edge::Before(Arc::clone(key)),
        }
    }

    /// Returns whether `key` lies at or below this end.
    pub(crate) fn admits(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        match self {
            Upper::Included(end) => comparator.compare(key, end) != Ordering::Greater,
            Upper::Excluded(end) => comparator.compare(key, end) == Ordering::Less,
        }
    }

    /// Orders two ends: at the same key, the one that excludes it comes first.
    pub(crate) fn compare(&self, comparator: &dyn Comparator, other: &Upper) -> Ordering {
        let rank = |upper: &Upper| matches!(upper, Upper::Included(_));
        comparator.compare(self.key(), other.key()).then(rank(self).cmp(&rank(other)))
    }
}

impl Default for Upper {
    /// Returns the end of an empty range.
    fn default() -> Upper {
        Upper::Included(Key::default())
    }
}

/// A range of keys, `[lo, hi)`. `None` means that the range is open at that end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) lo: Option<Key>,
    pub(crate) hi: Option<Upper>,
}

impl KeyRange {
    /// Returns the range of all keys.
    pub(crate) fn all() -> KeyRange {
        KeyRange::default()
    }

    /// Returns the edge at which the range starts.
    pub(crate) fn start(&self) -> Edge {
        self.lo.as_ref().map_or(Edge::Lowest, |lo| Edge::Before(Arc::clone(lo)))
    }

    /// Returns the edge at which the range ends.
    pub(crate) fn end(&self) -> Edge {
        self.hi.as_ref().map_or(Edge::Highest, Upper::edge)
    }

    /// Returns whether a key is at or above the lower end.
    fn starts_by(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.lo.as_ref().is_none_or(|lo| comparator.compare(lo, key) != Ordering::Greater)
    }

    /// Returns whether a key lies inside the range.
    pub(crate) fn contains(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.starts_by(comparator, key)
            && self.hi.as_ref().is_none_or(|hi| hi.admits(comparator, key))
    }

    /// Returns whether `[lo, hi]` has a key in common with this range.
    pub(crate) fn overlaps(&self, comparator: &dyn Comparator, lo: &[u8], hi: &Upper) -> bool {
        let starts_before_end = self.hi.as_ref().is_none_or(|end| end.admits(comparator, lo));
        let ends_after_start = self.lo.as_ref().is_none_or(|start| hi.admits(comparator, start));
        starts_before_end && ends_after_start
    }
}
