//! An operator and a comparator of the program's own, of the kind that shows where an engine relies
//! on more than they promise.

use std::cmp::Ordering;

use foldb::{Comparator, Full, Growth, MergeOperator, Partial};

/// Panics with this at their start are part of the test, and not printed.
pub const BY_DESIGN: &str = "by design";

/// Like the built-in `stringappend:,`, but it panics when it is asked whether it grows.
#[derive(Debug)]
pub struct OwnAppend;

impl OwnAppend {
    pub const NAME: &str = "stress.append";
}

fn join(parts: &[&[u8]], out: &mut Vec<u8>) {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(part);
    }
}

impl MergeOperator for OwnAppend {
    fn name(&self) -> &str {
        OwnAppend::NAME
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter().copied()).collect();
        join(&parts, out);
        Full::Value
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        join(operands, out);
        Partial::Operand
    }

    fn growth(&self) -> Growth {
        panic!("{BY_DESIGN}: an operator may panic wherever it is asked");
    }
}

/// The order of keys that end in a check byte. It panics over all others: nothing but such keys was
/// ever written, or asked for.
#[derive(Debug)]
pub struct CheckedOrder;

impl Comparator for CheckedOrder {
    fn name(&self) -> &str {
        "stress.checked"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        content(a).cmp(content(b))
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

fn check_byte(content: &[u8]) -> u8 {
    content.iter().fold(0x5a, |check, byte| check.rotate_left(1) ^ byte)
}

/// A key without its check byte.
fn content(key: &[u8]) -> &[u8] {
    match key.split_last() {
        Some((&last, content)) if last == check_byte(content) => content,
        _ => panic!("{BY_DESIGN}: the key {key:?} has no check byte"),
    }
}

/// The key of some content.
pub fn with_check_byte(content: &[u8]) -> Vec<u8> {
    [content, &[check_byte(content)]].concat()
}

/// The content of a key.
pub fn without_check_byte(key: &[u8]) -> Vec<u8> {
    content(key).to_vec()
}
