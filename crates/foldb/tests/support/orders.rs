//! Orders of keys that the black-box tests share.

use std::cmp::Ordering;

use foldb::custom::Comparator;

/// The order of the bytes, descending.
#[derive(Debug)]
pub(crate) struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &'static str {
        "test.descending"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}
