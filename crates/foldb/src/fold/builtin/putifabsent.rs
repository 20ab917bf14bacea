//! `putifabsent`: the first value stays. A program can store a claim or a creation time without
//! reading the key first.

use std::sync::Arc;

use crate::fold::operator::{Full, Growth, MergeOperator, Partial};

#[derive(Debug)]
struct PutIfAbsent;

pub(super) fn make_putifabsent(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(PutIfAbsent) as Arc<dyn MergeOperator>)
}

impl MergeOperator for PutIfAbsent {
    fn name(&self) -> &str {
        "putifabsent"
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        _operands: &[&[u8]],
        _out: &mut Vec<u8>,
    ) -> Full {
        if base.is_some() { Full::Existing } else { Full::Operand(0) }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        out.extend_from_slice(operands[0]);
        Partial::Operand
    }

    fn fold_word(&self, accumulator: [u8; 8], _operand: [u8; 8]) -> Option<[u8; 8]> {
        Some(accumulator)
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
