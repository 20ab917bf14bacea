//! Orders for tests: one in which different bytes may be one key, and one that counts.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::key::Comparator;

/// Orders keys by their bytes, but takes each capital letter for the small one.
#[derive(Debug)]
pub(crate) struct CaseBlind;

impl Comparator for CaseBlind {
    fn name(&self) -> &'static str {
        "test.case_blind"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        false
    }
}

/// Orders keys by their bytes, and counts the comparisons. `Relaxed`: a test reads the count after
/// the calls have returned.
#[derive(Debug, Default)]
pub(crate) struct Counting(pub(crate) AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "test.counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Relaxed);
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}
