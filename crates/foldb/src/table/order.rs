//! The comparator with its fast way taken out: bytewise order needs no dynamic call.

use std::cmp::Ordering;
use std::sync::Arc;

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
