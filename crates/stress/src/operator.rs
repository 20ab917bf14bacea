//! The merge operators of stress runs. The model implements each of them a second time.

use std::borrow::Cow;
use std::sync::Arc;

use foldb::operators::MergeOperator;

use crate::own_code::{OwnAppend, Replace, WholeAppend};

/// The operator of a keyspace. The model knows what each does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Adds numbers of eight bytes.
    Add,
    /// Keeps the greatest bytes.
    Max,
    /// Keeps the least bytes.
    Min,
    /// Appends the operand after this byte.
    Append(u8),
    /// Keeps the newest bytes.
    Put,
    /// Appends the operand after a comma; see [`OwnAppend`].
    OwnAppend,
    /// Appends the operand after a comma; see [`WholeAppend`].
    WholeAppend,
    /// Keeps the newest bytes; a question mark changes nothing and an empty operand deletes the
    /// key.
    Replace,
}

impl Operator {
    /// All operators.
    pub const ALL: [Operator; 8] = [
        Operator::Add,
        Operator::Max,
        Operator::Min,
        Operator::Append(b','),
        Operator::Put,
        Operator::OwnAppend,
        Operator::WholeAppend,
        Operator::Replace,
    ];

    /// The operators whose operands and values are any bytes.
    pub const OF_BYTES: [Operator; 7] = [
        Operator::Max,
        Operator::Min,
        Operator::Append(b','),
        Operator::Put,
        Operator::OwnAppend,
        Operator::WholeAppend,
        Operator::Replace,
    ];

    /// Returns the implementations that the program registers with the engine.
    pub fn own() -> Vec<Arc<dyn MergeOperator>> {
        vec![Arc::new(OwnAppend), Arc::new(WholeAppend), Arc::new(Replace)]
    }

    /// Returns the operator's name in the engine.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Operator::Add => "uint64add",
            Operator::Max => "max",
            Operator::Min => "min",
            Operator::Append(b',') => "stringappend:,",
            Operator::Append(byte) => {
                return Cow::Owned(format!("stringappend:{}", char::from(byte)));
            }
            Operator::Put => "put",
            Operator::OwnAppend => OwnAppend::NAME,
            Operator::WholeAppend => WholeAppend::NAME,
            Operator::Replace => Replace::NAME,
        })
    }

    /// Merges an operand into a value, or into `None` for a missing key. This code is independent
    /// of the engine's.
    pub fn merge(self, value: Option<Vec<u8>>, operand: &[u8]) -> Option<Vec<u8>> {
        if self == Operator::Replace {
            return match operand {
                [] => None,
                Replace::PASS => value,
                operand => Some(operand.to_vec()),
            };
        }
        let Some(mut value) = value else { return Some(operand.to_vec()) };
        let number = |bytes: &[u8]| {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        Some(match self {
            Operator::Add => (number(&value) + number(operand)).to_le_bytes().to_vec(),
            Operator::Max => value.max(operand.to_vec()),
            Operator::Min => value.min(operand.to_vec()),
            Operator::Put | Operator::Replace => operand.to_vec(),
            Operator::Append(_) | Operator::OwnAppend | Operator::WholeAppend => {
                value.push(if let Operator::Append(byte) = self { byte } else { b',' });
                value.extend_from_slice(operand);
                value
            }
        })
    }

    /// Makes an operand from `bytes`. For [`Operator::Replace`], some operands are special ones.
    pub fn operand(self, bytes: Vec<u8>, rng: &mut fastrand::Rng) -> Vec<u8> {
        match (self, rng.u8(..8)) {
            (Operator::Replace, 0) => Vec::new(),
            (Operator::Replace, 1) => Replace::PASS.to_vec(),
            _ => bytes,
        }
    }
}
