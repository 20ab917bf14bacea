//! `sortlist`: sorted lists of whole numbers, like those of RocksDB's operator of this name.
//!
//! ```text
//! operand = partial result = value:   | number | , | number | , | … | number |
//! ```
//!
//! A number is decimal and has 32 bits. What is none is left out, as RocksDB does: blanks before a
//! number, and bytes behind its digits. A byte 00 ends the list.
//!
//! RocksDB reads an operand beyond its end, up to a byte 00, and forgets the base. This operator
//! does neither: with the base, folding in steps gives the same value.

use std::sync::Arc;

use crate::fold::operator::{Full, MergeOperator, Partial};
use crate::limits::is_too_long;

#[derive(Debug)]
struct SortList;

pub(super) fn make_sortlist(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(SortList) as Arc<dyn MergeOperator>)
}

/// Returns the number at the front of some bytes.
fn number(bytes: &[u8]) -> Option<i32> {
    let bytes = bytes.trim_ascii_start();
    let signs = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = bytes[signs..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&bytes[..signs + digits]).ok()?.parse().ok()
}

fn numbers(list: &[u8]) -> impl Iterator<Item = i32> {
    let list = list.split(|&byte| byte == 0).next().unwrap_or_default();
    list.split(|&byte| byte == b',').filter_map(number)
}

fn join<'a>(lists: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut all: Vec<i32> = lists.flat_map(numbers).collect();
    all.sort_unstable();
    for (index, one) in all.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(one.to_string().as_bytes());
    }
}

impl MergeOperator for SortList {
    fn name(&self) -> &'static str {
        "sortlist"
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        if base.is_none() && operands.len() == 1 {
            return Full::Operand(0);
        }
        if is_too_long(base, operands) {
            return Full::Fail;
        }
        join(base.into_iter().chain(operands.iter().copied()), out);
        Full::Value
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if is_too_long(None, operands) {
            return Partial::Keep;
        }
        join(operands.iter().copied(), out);
        Partial::Operand
    }
}
