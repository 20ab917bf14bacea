//! The comparator with its fast way taken out: bytewise order needs no dynamic call.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::key::Comparator;

/// The order of user keys as tables use it.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    comparator: Arc<dyn Comparator>,
    bytewise: bool,
}

impl KeyOrder {
    /// The order of `comparator`.
    pub fn new(comparator: Arc<dyn Comparator>) -> KeyOrder {
        let bytewise = comparator.bytewise_order();
        KeyOrder { comparator, bytewise }
    }

    /// Compares two user keys.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.bytewise { a.cmp(b) } else { self.comparator.compare(a, b) }
    }

    /// The comparator itself.
    #[inline]
    pub fn comparator(&self) -> &dyn Comparator {
        &*self.comparator
    }

    /// The error for keys that are stored in another order than this. Their checksum is right. In
    /// the order of the bytes they are damaged all the same; else the comparator contradicts itself
    /// or the one that wrote them, and a repair must not throw the table away.
    #[cold]
    pub fn disorder(&self, message: String) -> Error {
        if self.bytewise {
            return Error::corruption(message);
        }
        let name = self.comparator.name();
        Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "{message}: comparator '{name}' is no total order, or another than wrote the table"
            ),
        )
    }

    /// Whether the order is that of the bytes.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        self.bytewise
    }

    /// The comparator's name.
    pub fn name(&self) -> &str {
        self.comparator.name()
    }
}
