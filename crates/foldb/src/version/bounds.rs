//! Key ranges: what a table reference shows and what a slice covers.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::key::Comparator;
use crate::range_tombstone::Edge;

pub(crate) use crate::range_tombstone::Key;

/// Where something ends: with a record's key, or, as a sentinel of which nothing is there, before
/// the key where a range tombstone ends or a slice cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Upper {
    /// With this key.
    Included(Key),
    /// Before this key.
    Excluded(Key),
}

impl Upper {
    pub(crate) fn key(&self) -> &Key {
        match self {
            Upper::Included(key) | Upper::Excluded(key) => key,
        }
    }

    /// The end at a place between keys; `None` below or above all of them.
    pub(crate) fn of(edge: &Edge) -> Option<Upper> {
        match edge {
            Edge::Before(key) => Some(Upper::Excluded(Arc::clone(key))),
            Edge::Behind(key) => Some(Upper::Included(Arc::clone(key))),
            Edge::Lowest | Edge::Highest => None,
        }
    }

    /// The place between keys where it ends.
    pub(crate) fn edge(&self) -> Edge {
        match self {
            Upper::Included(key) => Edge::Behind(Arc::clone(key)),
            Upper::Excluded(key) => Edge::Before(Arc::clone(key)),
        }
    }

    /// Whether `key` lies at or below this end.
    pub(crate) fn admits(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        match self {
            Upper::Included(end) => comparator.compare(key, end) != Ordering::Greater,
            Upper::Excluded(end) => comparator.compare(key, end) == Ordering::Less,
        }
    }

    /// Orders two ends: at the same key, the one that leaves it out comes first.
    pub(crate) fn compare(&self, comparator: &dyn Comparator, other: &Upper) -> Ordering {
        let rank = |upper: &Upper| matches!(upper, Upper::Included(_));
        comparator.compare(self.key(), other.key()).then(rank(self).cmp(&rank(other)))
    }
}

impl Default for Upper {
    /// The end of what has no keys.
    fn default() -> Upper {
        Upper::Included(Key::default())
    }
}

/// A range of keys, `[lo, hi)`; `None` is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) lo: Option<Key>,
    pub(crate) hi: Option<Upper>,
}

impl KeyRange {
    /// Every key.
    pub(crate) fn all() -> KeyRange {
        KeyRange::default()
    }

    /// Where it starts, as a place between keys.
    pub(crate) fn start(&self) -> Edge {
        self.lo.as_ref().map_or(Edge::Lowest, |lo| Edge::Before(Arc::clone(lo)))
    }

    /// Where it ends, as a place between keys.
    pub(crate) fn end(&self) -> Edge {
        self.hi.as_ref().map_or(Edge::Highest, Upper::edge)
    }

    /// Whether a key is at or above the lower end.
    fn starts_by(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.lo.as_ref().is_none_or(|lo| comparator.compare(lo, key) != Ordering::Greater)
    }

    /// Whether a key lies inside.
    pub(crate) fn contains(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.starts_by(comparator, key)
            && self.hi.as_ref().is_none_or(|hi| hi.admits(comparator, key))
    }

    /// Whether `[lo, hi]` has a key in common with this range.
    pub(crate) fn overlaps(&self, comparator: &dyn Comparator, lo: &[u8], hi: &Upper) -> bool {
        let starts_before_end = self.hi.as_ref().is_none_or(|end| end.admits(comparator, lo));
        let ends_after_start = self.lo.as_ref().is_none_or(|start| hi.admits(comparator, start));
        starts_before_end && ends_after_start
    }
}
