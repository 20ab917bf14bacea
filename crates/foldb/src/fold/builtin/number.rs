//! `float64add`, `uint64max` and `uint64min`: 8-byte little-endian numbers other than counters.
//!
//! ```text
//! operand = partial result = value:   | f64 or u64 LE |
//! ```
//!
//! A sum of fractions depends on the order of its terms. So `float64add` never folds without the
//! base (H7). It adds from the oldest operand to the newest, so a flush changes no answer. A sum
//! that is not a number (NaN) has one bit pattern on every machine.
//!
//! ```text
//! PUT.1(1e16) +1 +1   reads 1e16; folding 1+1 first would read 1e16+2
//! ```

use std::sync::Arc;

use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};

/// The single bit pattern for a sum that is not a number (NaN).
const NOT_A_NUMBER: u64 = 0x7ff8_0000_0000_0000;

#[derive(Debug)]
struct Number {
    name: &'static str,
    text: TextForm,
    combine: fn(u64, u64) -> u64,
    composes: bool,
}

pub(super) fn make_float64add(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let text = TextForm::F64;
    make(Number { name: "float64add", text, combine: add_fractions, composes: false }, parameter)
}

pub(super) fn make_uint64max(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let text = TextForm::U64;
    make(Number { name: "uint64max", text, combine: u64::max, composes: true }, parameter)
}

pub(super) fn make_uint64min(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let text = TextForm::U64;
    make(Number { name: "uint64min", text, combine: u64::min, composes: true }, parameter)
}

fn make(operator: Number, parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(operator) as Arc<dyn MergeOperator>)
}

fn add_fractions(a: u64, b: u64) -> u64 {
    let sum = f64::from_bits(a) + f64::from_bits(b);
    if sum.is_nan() { NOT_A_NUMBER } else { sum.to_bits() }
}

impl Number {
    fn combined<'a>(&self, mut numbers: impl Iterator<Item = &'a [u8]>) -> Option<[u8; 8]> {
        let decode = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
        let first = decode(numbers.next()?)?;
        let all = numbers.try_fold(first, |all, next| Some((self.combine)(all, decode(next)?)));
        all.map(u64::to_le_bytes)
    }
}

impl MergeOperator for Number {
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
        match self.combined(base.into_iter().chain(operands.iter().copied())) {
            Some(number) => {
                out.extend_from_slice(&number);
                Full::Value
            }
            None => Full::Fail,
        }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        match self.combined(operands.iter().copied()) {
            Some(number) if self.composes => {
                out.extend_from_slice(&number);
                Partial::Operand
            }
            _ => Partial::Keep,
        }
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        let (a, b) = (u64::from_le_bytes(accumulator), u64::from_le_bytes(operand));
        self.composes.then(|| (self.combine)(a, b).to_le_bytes())
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if operand.len() == 8 {
            Ok(())
        } else {
            Err(format!("8 bytes, little-endian, not {}", operand.len()))
        }
    }

    fn text(&self) -> TextForm {
        self.text
    }
}
