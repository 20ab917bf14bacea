//! `bytesxor`, `bitor` and `bitand` combine values byte by byte; `bytesxor` works like RocksDB's.
//! If one side is shorter, the bytes of the other side stay. A missing byte is neutral: zeros for
//! xor and or, ones for and.

use std::sync::Arc;

use crate::fold::operator::{Full, Growth, MergeOperator, Partial};

#[derive(Debug)]
struct Bits {
    name: &'static str,
    combine: fn(u8, u8) -> u8,
}

pub(super) fn make_bytesxor(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    make(Bits { name: "bytesxor", combine: |a, b| a ^ b }, parameter)
}

pub(super) fn make_bitor(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    make(Bits { name: "bitor", combine: |a, b| a | b }, parameter)
}

pub(super) fn make_bitand(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    make(Bits { name: "bitand", combine: |a, b| a & b }, parameter)
}

fn make(operator: Bits, parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(operator) as Arc<dyn MergeOperator>)
}

impl Bits {
    fn apply(&self, operands: &[&[u8]], out: &mut Vec<u8>) {
        for operand in operands {
            let shared = out.len().min(operand.len());
            for (byte, other) in out.iter_mut().zip(*operand) {
                *byte = (self.combine)(*byte, *other);
            }
            out.extend_from_slice(&operand[shared..]);
        }
    }
}

impl MergeOperator for Bits {
    fn name(&self) -> &str {
        self.name
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        out.extend_from_slice(base.unwrap_or_default());
        self.apply(operands, out);
        Full::Value
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        self.apply(operands, out);
        Partial::Operand
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        Some(std::array::from_fn(|index| (self.combine)(accumulator[index], operand[index])))
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
