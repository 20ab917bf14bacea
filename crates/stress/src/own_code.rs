//! Operators and a comparator of this program. They do no more than their traits promise. So an
//! engine that relies on more fails.

use std::cmp::Ordering;

use foldb::custom::Comparator;
use foldb::operators::{Full, Growth, MergeOperator, Partial};
use foldb_model::Operator;

/// Panics whose message begins with this are part of the test and not printed.
const BY_DESIGN: &str = "by design";

/// Stops printing panics that are part of the test.
pub fn quiet_panics_by_design() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>();
        if !text.is_some_and(|text| text.starts_with(BY_DESIGN)) {
            print(panic);
        }
    }));
}

/// Like the built-in `stringappend:,`, but it panics if the engine asks whether values grow.
#[derive(Debug)]
pub struct OwnAppend;

fn join(parts: &[&[u8]], out: &mut Vec<u8>) {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(part);
    }
}

fn append(base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
    let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter().copied()).collect();
    join(&parts, out);
    Full::Value
}

impl MergeOperator for OwnAppend {
    fn name(&self) -> &str {
        "stress.append"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        append(base, operands, out)
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        join(operands, out);
        Partial::Operand
    }

    fn growth(&self) -> Growth {
        panic!("{BY_DESIGN}: an operator may panic wherever it is asked");
    }
}

/// Like the built-in `stringappend:,`, but its operands do not fold without a base, so its operand
/// chains stay long.
#[derive(Debug)]
pub struct WholeAppend;

impl MergeOperator for WholeAppend {
    fn name(&self) -> &str {
        "stress.whole-append"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        append(base, operands, out)
    }
}

/// The newest operand is the value. An empty operand deletes the key, and [`Operator::PASS`]
/// changes nothing. So it has outcomes of every kind.
#[derive(Debug)]
pub struct Replace;

impl Replace {
    fn newest(operands: &[&[u8]]) -> Option<usize> {
        operands.iter().rposition(|operand| *operand != Operator::PASS)
    }
}

impl MergeOperator for Replace {
    fn name(&self) -> &str {
        "stress.replace"
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        // What an operator writes before it decides does not count.
        out.extend_from_slice(b"scraps");
        match Replace::newest(operands) {
            None => Full::Existing,
            Some(newest) if operands[newest].is_empty() => Full::Delete,
            Some(newest) => Full::Operand(newest),
        }
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        match Replace::newest(operands) {
            None => {
                out.extend_from_slice(Operator::PASS);
                Partial::Operand
            }
            Some(newest) if operands[newest].is_empty() => Partial::Delete,
            Some(newest) => {
                out.extend_from_slice(operands[newest]);
                Partial::Value
            }
        }
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}

/// An order of keys that end in a check byte. It panics over all other keys: the program never
/// writes or asks for any.
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

/// Returns a key without its check byte.
fn content(key: &[u8]) -> &[u8] {
    match key.split_last() {
        Some((&last, content)) if last == check_byte(content) => content,
        _ => panic!("{BY_DESIGN}: the key {key:?} has no check byte"),
    }
}

/// Returns the key of some content.
pub fn with_check_byte(content: &[u8]) -> Vec<u8> {
    [content, &[check_byte(content)]].concat()
}

/// Returns the content of a key.
pub fn without_check_byte(key: &[u8]) -> Vec<u8> {
    content(key).to_vec()
}
