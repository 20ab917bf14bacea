//! `put`: the last operand wins. It is a blind write in the form of a merge, for code that only
//! merges.

use std::sync::Arc;

use crate::fold::operator::{Full, Growth, MergeOperator, Partial};

#[derive(Debug)]
struct Put;

pub(super) fn make_put(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(Put) as Arc<dyn MergeOperator>)
}

impl MergeOperator for Put {
    fn name(&self) -> &str {
        "put"
    }

    fn full(
        &self,
        _key: &[u8],
        _base: Option<&[u8]>,
        operands: &[&[u8]],
        _out: &mut Vec<u8>,
    ) -> Full {
        Full::Operand(operands.len() - 1)
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        out.extend_from_slice(operands[operands.len() - 1]);
        Partial::Value
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
