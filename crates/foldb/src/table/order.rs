//! The comparator with fast paths: bytewise order needs no dynamic call, and equality of bytes
//! needs no comparison.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::key::Comparator;
use crate::table::separator::short_separator;

/// The order of user keys as tables use it.
#[derive(Clone, Debug)]
pub(super) struct KeyOrder {
    comparator: Arc<dyn Comparator>,
    bytewise: bool,
    /// Whether equal keys have the same bytes.
    same_bytes: bool,
}

impl KeyOrder {
    /// Makes the order of `comparator`.
    pub(super) fn new(comparator: Arc<dyn Comparator>) -> KeyOrder {
        let bytewise = comparator.bytewise_order();
        let same_bytes = bytewise || comparator.bytewise_equality();
        KeyOrder { comparator, bytewise, same_bytes }
    }

    /// Returns whether equal keys have the same bytes.
    #[inline]
    pub(super) fn is_equality_of_bytes(&self) -> bool {
        self.same_bytes
    }

    /// Returns whether two keys are one key. Each key is equal to itself.
    #[inline]
    pub(super) fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || (!self.same_bytes && self.comparator.compare(a, b).is_eq())
    }

    /// Writes to `out` a key that is at or after `last` and before `next`: as short as it can be
    /// made. If both are one key, it is `last`.
    pub(super) fn separate(&self, last: &[u8], next: &[u8], out: &mut Vec<u8>) {
        if self.bytewise && last != next {
            return short_separator(last, next, out);
        }
        out.clear();
        if !self.bytewise && self.compare(last, next).is_lt() {
            self.comparator.separator(last, next, out);
            if out.len() < last.len()
                && self.compare(last, out).is_le()
                && self.compare(out, next).is_lt()
            {
                return;
            }
            out.clear();
        }
        out.extend_from_slice(last);
    }

    /// Writes to `out` a key at or after `last`, the last key of all.
    pub(super) fn succeed(&self, last: &[u8], out: &mut Vec<u8>) {
        out.clear();
        if !self.bytewise {
            self.comparator.successor(last, out);
            if out.len() < last.len() && self.compare(last, out).is_le() {
                return;
            }
            out.clear();
        }
        out.extend_from_slice(last);
    }

    /// Compares two user keys.
    #[inline]
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.bytewise { a.cmp(b) } else { self.comparator.compare(a, b) }
    }

    /// Returns the comparator itself.
    #[inline]
    pub(super) fn comparator(&self) -> &dyn Comparator {
        &*self.comparator
    }

    /// Makes the error for keys that are stored in another order than this one. Their checksum
    /// holds. In bytewise order the keys are damaged all the same. With another comparator, the
    /// comparator contradicts itself, or is not the one that wrote the table: a repair must keep
    /// the table.
    #[cold]
    pub(super) fn disorder(&self, message: String) -> Error {
        if self.bytewise {
            return Error::corruption(message);
        }
        let name = self.comparator.name();
        Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "{message}: comparator '{name}' is not a total order, or did not write the table"
            ),
        )
    }

    /// Returns whether the order is bytewise.
    #[inline]
    pub(super) fn is_bytewise(&self) -> bool {
        self.bytewise
    }

    /// Returns the comparator's name.
    pub(super) fn name(&self) -> &str {
        self.comparator.name()
    }
}
