//! Merge operators for tests.

use std::sync::Arc;

use foldb::operators::{Full, MergeOperator, Partial};

/// Returns all of them, for `Options::operators`.
pub(crate) fn all() -> Vec<Arc<dyn MergeOperator>> {
    vec![Arc::new(References), Arc::new(Register), Arc::new(Fussy)]
}

/// A reference count: 8-byte operands add up, and the key goes when the sum is 0.
#[derive(Debug)]
pub(crate) struct References;

/// A register: an operand replaces the value, an empty one deletes the key. The fold of two
/// operands does not depend on the base.
#[derive(Debug)]
pub(crate) struct Register;

/// Appends, except that it rejects the operand `!` and panics over the operand `?`.
#[derive(Debug)]
pub(crate) struct Fussy;

fn sum(start: u64, operands: &[&[u8]]) -> Option<u64> {
    operands.iter().try_fold(start, |sum, operand| {
        Some(sum.wrapping_add(u64::from_le_bytes((*operand).try_into().ok()?)))
    })
}

impl MergeOperator for References {
    fn name(&self) -> &str {
        "test.references"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let Some(start) = sum(0, base.as_slice()) else { return Full::Fail };
        // The key goes whenever the count is 0 on the way, which does not change the sum.
        match sum(start, operands) {
            None => Full::Fail,
            Some(0) => Full::Delete,
            Some(sum) => {
                out.extend_from_slice(&sum.to_le_bytes());
                Full::Value
            }
        }
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let Some(sum) = sum(0, operands) else { return Partial::Keep };
        out.extend_from_slice(&sum.to_le_bytes());
        Partial::Operand
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if operand.len() == 8 { Ok(()) } else { Err(format!("8 bytes, not {}", operand.len())) }
    }
}

impl MergeOperator for Register {
    fn name(&self) -> &str {
        "test.register"
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, operands: &[&[u8]], _: &mut Vec<u8>) -> Full {
        let last = operands.len() - 1;
        if operands[last].is_empty() { Full::Delete } else { Full::Operand(last) }
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let last = operands[operands.len() - 1];
        if last.is_empty() {
            return Partial::Delete;
        }
        out.extend_from_slice(last);
        Partial::Value
    }
}

impl MergeOperator for Fussy {
    fn name(&self) -> &str {
        "test.fussy"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        for operand in base.iter().chain(operands) {
            match *operand {
                b"!" => return Full::Fail,
                b"?" => panic!("the operator panics"),
                operand => out.extend_from_slice(operand),
            }
        }
        Full::Value
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if operands.iter().any(|operand| matches!(*operand, b"!" | b"?")) {
            return Partial::Keep;
        }
        operands.iter().for_each(|operand| out.extend_from_slice(operand));
        Partial::Operand
    }
}
