//! The comparator with a fast path: bytewise order needs no dynamic call.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::key::Comparator;

/// The order of user keys as tables use it.
#[derive(Clone, Debug)]
pub(super) struct KeyOrder {
    comparator: Arc<dyn Comparator>,
    bytewise: bool,
}

impl KeyOrder {
    /// Makes the order of `comparator`.
    pub(super) fn new(comparator: Arc<dyn Comparator>) -> KeyOrder {
        let bytewise = comparator.bytewise_order();
        KeyOrder { comparator, bytewise }
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
