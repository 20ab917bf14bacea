//! `max` and `min` in the order of the bytes, like RocksDB's `max`. They copy nothing: the answer
//! is always the base or one of the operands.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::fold::operator::{Full, Growth, MergeOperator, Partial};

#[derive(Debug)]
struct Extremum {
    name: &'static str,
    /// How a later operand must compare to replace the current value.
    wins: Ordering,
}

pub(super) fn make_max(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    make(Extremum { name: "max", wins: Ordering::Greater }, parameter)
}

pub(super) fn make_min(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    make(Extremum { name: "min", wins: Ordering::Less }, parameter)
}

fn make(operator: Extremum, parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(operator) as Arc<dyn MergeOperator>)
}

impl MergeOperator for Extremum {
    fn name(&self) -> &str {
        self.name
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        _out: &mut Vec<u8>,
    ) -> Full {
        let mut best = base;
        let mut answer = Full::Existing;
        for (index, operand) in operands.iter().enumerate() {
            if best.is_none_or(|best| operand.cmp(&best) == self.wins) {
                best = Some(operand);
                answer = Full::Operand(index);
            }
        }
        answer
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if let Full::Operand(index) = self.full(key, None, operands, out) {
            out.extend_from_slice(operands[index]);
        }
        Partial::Operand
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        Some(if operand.cmp(&accumulator) == self.wins { operand } else { accumulator })
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
