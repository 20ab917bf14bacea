//! `sum`, `min` and `max`: signed 64-bit integers, big-endian, as Kafka's `LongSerializer` writes
//! them. A sum wraps at 2^63, as Java's `long` does.

use std::sync::Arc;

use foldb::operators::{Full, Growth, MergeOperator, Partial};

use super::{STAMP, split};

/// The length of an operand and of a value: the timestamp and the integer.
const WIDTH: usize = STAMP + size_of::<i64>();

#[derive(Debug)]
struct Number {
    name: &'static str,
    combine: fn(i64, i64) -> i64,
}

pub(super) fn sum() -> Arc<dyn MergeOperator> {
    Arc::new(Number { name: "streams.sum", combine: i64::wrapping_add })
}

pub(super) fn min() -> Arc<dyn MergeOperator> {
    Arc::new(Number { name: "streams.min", combine: i64::min })
}

pub(super) fn max() -> Arc<dyn MergeOperator> {
    Arc::new(Number { name: "streams.max", combine: i64::max })
}

impl Number {
    /// Combines the pieces, oldest first. Returns `None` if a piece has another length.
    #[inline]
    fn combined<'a>(&self, mut pieces: impl Iterator<Item = &'a [u8]>) -> Option<[u8; WIDTH]> {
        let (mut stamp, mut number) = decode(pieces.next()?)?;
        for piece in pieces {
            let (piece_stamp, piece_number) = decode(piece)?;
            stamp = stamp.max(piece_stamp);
            number = (self.combine)(number, piece_number);
        }
        let mut out = [0; WIDTH];
        out[..STAMP].copy_from_slice(&stamp.to_be_bytes());
        out[STAMP..].copy_from_slice(&number.to_be_bytes());
        Some(out)
    }
}

#[inline]
fn decode(bytes: &[u8]) -> Option<(i64, i64)> {
    let (stamp, payload) = split(bytes)?;
    Some((stamp, i64::from_be_bytes(payload.try_into().ok()?)))
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
            Some(value) => {
                out.extend_from_slice(&value);
                Full::Value
            }
            None => Full::Fail,
        }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        match self.combined(operands.iter().copied()) {
            Some(operand) => {
                out.extend_from_slice(&operand);
                Partial::Operand
            }
            None => Partial::Keep,
        }
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if operand.len() == WIDTH {
            Ok(())
        } else {
            Err(format!(
                "{WIDTH} bytes (a timestamp and a big-endian 64-bit integer), not {}: give the \
                 store Serdes.Long() for its values, or register another operator than {}",
                operand.len(),
                self.name
            ))
        }
    }
}
