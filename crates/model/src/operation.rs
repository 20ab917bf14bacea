//! Operations, and which keys they touch.

use std::ops::{Bound, RangeBounds};

use crate::operator::Operator;

/// A range of keys: its lower and its upper bound.
pub type Keys = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// One change of one keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Number of the keyspace, as the test counts them.
    pub keyspace: usize,
    /// What the operation does.
    pub change: Change,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A key gets a value.
    Put(Vec<u8>, Vec<u8>),
    /// A key is deleted.
    Delete(Vec<u8>),
    /// An operand is merged into a key's value.
    Merge(Operator, Vec<u8>, Vec<u8>),
    /// The keys of a range are deleted.
    DeleteRange(Keys),
}

impl Change {
    /// Returns the delete of a range.
    pub fn delete_range(range: impl RangeBounds<Vec<u8>>) -> Change {
        Change::DeleteRange((range.start_bound().cloned(), range.end_bound().cloned()))
    }

    /// Returns the key that the change is made to; `None` for a range.
    pub fn key(&self) -> Option<&Vec<u8>> {
        match self {
            Change::Put(key, _) | Change::Delete(key) | Change::Merge(_, key, _) => Some(key),
            Change::DeleteRange(_) => None,
        }
    }

    /// Returns whether the change may change this key.
    pub fn touches(&self, key: &[u8]) -> bool {
        match self {
            Change::DeleteRange(range) => is_between(key, range),
            _ => self.key().is_some_and(|own| own == key),
        }
    }

    /// Returns whether this change and another one of the same keyspace must not both commit under
    /// snapshot isolation, because of this key. Two merges never exclude each other.
    pub fn excludes(&self, other: &Change, key: &[u8]) -> bool {
        let are_merges = matches!((self, other), (Change::Merge(..), Change::Merge(..)));
        !are_merges && self.touches(key) && other.touches(key)
    }
}

/// Returns whether a key lies in a range.
pub fn is_between(key: &[u8], (lower, upper): &Keys) -> bool {
    (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)).contains(key)
}
