//! The engine's own operators behind a timestamp. The serialized value has the format of the
//! engine's operator, and the timestamps before it fold to the greatest.
//!
//! A set that loses its last member stays as a timestamp and an empty payload. A delete would lose
//! the timestamp: `put@10(+x) -x@5 +y@3` must have timestamp 10 however the engine groups it.

use std::sync::Arc;

use foldb::operators::{Full, Growth, MergeOperator, Partial, builtins};

use super::{STAMP, split};

#[derive(Debug)]
struct Stamped {
    name: &'static str,
    payload: Arc<dyn MergeOperator>,
}

/// Returns the operator that applies the built-in operator to what follows the timestamp.
pub(super) fn over_builtin(name: &'static str, builtin: &str) -> Option<Arc<dyn MergeOperator>> {
    let info = builtins().iter().find(|info| info.name == builtin)?;
    let payload = info.instantiate(None).ok()?;
    Some(Arc::new(Stamped { name, payload }))
}

/// Returns the greatest timestamp and the payloads. Returns `None` if a piece is too short.
fn split_all<'a>(pieces: &[&'a [u8]]) -> Option<(i64, Vec<&'a [u8]>)> {
    let mut greatest = i64::MIN;
    let mut payloads = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (stamp, payload) = split(piece)?;
        greatest = greatest.max(stamp);
        payloads.push(payload);
    }
    Some((greatest, payloads))
}

/// Inserts the timestamp before a payload.
fn put_stamp(stamp: i64, out: &mut Vec<u8>) {
    out.splice(..0, stamp.to_be_bytes());
}

impl MergeOperator for Stamped {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> u32 {
        self.payload.version()
    }

    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let base = match base.map(split) {
            Some(None) => return Full::Fail,
            other => other.flatten(),
        };
        let Some((newest, payloads)) = split_all(operands) else { return Full::Fail };
        let stamp = base.map_or(newest, |(stamp, _)| stamp.max(newest));
        match self.payload.full(key, base.map(|(_, payload)| payload), &payloads, out) {
            Full::Value => put_stamp(stamp, out),
            Full::Operand(index) => {
                out.clear();
                out.extend_from_slice(&stamp.to_be_bytes());
                out.extend_from_slice(payloads[index]);
            }
            Full::Existing => {
                let Some((_, payload)) = base else { return Full::Existing };
                out.clear();
                out.extend_from_slice(&stamp.to_be_bytes());
                out.extend_from_slice(payload);
            }
            Full::Delete => {
                out.clear();
                out.extend_from_slice(&stamp.to_be_bytes());
            }
            Full::Fail => return Full::Fail,
        }
        Full::Value
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let Some((stamp, payloads)) = split_all(operands) else { return Partial::Keep };
        match self.payload.partial(key, &payloads, out) {
            Partial::Operand => {
                put_stamp(stamp, out);
                Partial::Operand
            }
            // A value or delete would end the chain and lose the timestamps below it.
            Partial::Value | Partial::Delete | Partial::Keep => Partial::Keep,
        }
    }

    fn growth(&self) -> Growth {
        self.payload.growth()
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        let Some((_, payload)) = split(operand) else {
            return Err(format!("at least {STAMP} bytes (the timestamp), not {}", operand.len()));
        };
        self.payload
            .check_operand(payload)
            .map_err(|expected| format!("{STAMP} bytes of timestamp, then {expected}"))
    }
}
