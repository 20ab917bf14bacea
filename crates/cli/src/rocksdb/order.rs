//! The order of the keys of a column family.

use std::cmp::Ordering;

/// The order of the keys of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// That of their bytes.
    Bytewise,
    /// The other way round.
    Reverse,
}

impl Order {
    pub(super) fn compare(self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => one.cmp(other),
            Order::Reverse => other.cmp(one),
        }
    }
}
