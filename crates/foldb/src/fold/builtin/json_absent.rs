//! `json_merge_patch` in a build without the cargo feature `json`.
//!
//! It folds nothing and takes no operand. Stored operands keep their operator's name and stay
//! unchanged. A build with the feature folds them.

use std::sync::Arc;

use crate::fold::operator::{Full, MergeOperator};

/// The cargo feature that adds the operator.
pub(super) const MISSING_FEATURE: Option<&str> = Some("json");

#[derive(Debug)]
struct Absent;

pub(super) fn make_json_merge_patch(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(Absent) as Arc<dyn MergeOperator>)
}

impl MergeOperator for Absent {
    fn name(&self) -> &str {
        "json_merge_patch"
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
        Full::Fail
    }

    fn check_operand(&self, _operand: &[u8]) -> Result<(), String> {
        Err("a build of foldb with its cargo feature `json`".to_owned())
    }
}
