//! The order of keys, as a cursor holds it.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::key::{BytewiseComparator, Comparator};

/// The order of keys. Byte order needs no comparator, so a cursor in byte order counts no reference
/// that other threads share, and makes no dynamic call to compare.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Bytewise,
    Other(Arc<dyn Comparator>),
}

impl Order {
    pub(crate) fn of(comparator: &Arc<dyn Comparator>) -> Order {
        match comparator.bytewise_order() {
            true => Order::Bytewise,
            false => Order::Other(Arc::clone(comparator)),
        }
    }

    #[inline]
    pub(crate) fn is_bytewise(&self) -> bool {
        matches!(self, Order::Bytewise)
    }

    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => a.cmp(b),
            Order::Other(comparator) => comparator.compare(a, b),
        }
    }

    /// Returns a comparator of this order.
    #[inline]
    pub(crate) fn comparator(&self) -> &dyn Comparator {
        match self {
            Order::Bytewise => &BytewiseComparator,
            Order::Other(comparator) => &**comparator,
        }
    }
}
