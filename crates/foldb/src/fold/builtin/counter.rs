//! `uint64add` and `int64add`: 8-byte little-endian counters that wrap, like RocksDB's `uint64add`.
//!
//! ```text
//! operand = partial result = value:   | number LE, 8 bytes |
//! ```
//!
//! Both add the same bits; only their text forms differ. The strict operators reject a base that is
//! not 8 bytes (reads of that key fail). `rocksdb_lenient` counts a value of another width as 0, as
//! RocksDB does.

use std::sync::Arc;

use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};

const WIDTH: usize = 8;

#[derive(Debug)]
struct Counter {
    name: &'static str,
    text: TextForm,
    lenient: bool,
}

pub(super) fn make_uint64add(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let lenient = match parameter {
        None => false,
        Some(LENIENT) => true,
        Some(_) => return None,
    };
    Some(Arc::new(Counter { name: "uint64add", text: TextForm::U64, lenient }))
}

pub(super) fn make_int64add(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let counter = Counter { name: "int64add", text: TextForm::I64, lenient: false };
    parameter.is_none().then(|| Arc::new(counter) as Arc<dyn MergeOperator>)
}

const LENIENT: &[u8] = b"rocksdb_lenient";

impl Counter {
    #[inline]
    fn decode(&self, bytes: &[u8]) -> Option<u64> {
        match <[u8; WIDTH]>::try_from(bytes) {
            Ok(bytes) => Some(u64::from_le_bytes(bytes)),
            Err(_) => self.lenient.then_some(0),
        }
    }

    #[inline]
    fn sum(&self, start: u64, operands: &[&[u8]]) -> Option<u64> {
        operands
            .iter()
            .try_fold(start, |sum, operand| Some(sum.wrapping_add(self.decode(operand)?)))
    }
}

impl MergeOperator for Counter {
    fn name(&self) -> &str {
        self.name
    }

    fn parameters(&self) -> &[u8] {
        if self.lenient { LENIENT } else { &[] }
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        let base = match base {
            Some(base) => self.decode(base),
            None => Some(0),
        };
        match base.and_then(|base| self.sum(base, operands)) {
            Some(sum) => {
                out.extend_from_slice(&sum.to_le_bytes());
                Full::Value
            }
            None => Full::Fail,
        }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        match self.sum(0, operands) {
            Some(sum) => {
                out.extend_from_slice(&sum.to_le_bytes());
                Partial::Operand
            }
            None => Partial::Keep,
        }
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        let sum = u64::from_le_bytes(accumulator).wrapping_add(u64::from_le_bytes(operand));
        Some(sum.to_le_bytes())
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if self.lenient || operand.len() == WIDTH {
            Ok(())
        } else {
            Err(format!("{WIDTH} bytes, little-endian, not {}", operand.len()))
        }
    }

    fn text(&self) -> TextForm {
        self.text
    }
}
