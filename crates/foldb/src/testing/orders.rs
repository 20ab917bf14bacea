//! An order in which different bytes may be one key.

use std::cmp::Ordering;

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
