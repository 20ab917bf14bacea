//! The merge operators of stress runs, and their operands.

use std::sync::Arc;

use foldb::operators::MergeOperator;
use foldb_model::Operator;

use crate::own_code::{OwnAppend, Replace, WholeAppend};

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

/// Makes an operand from `bytes`. For [`Operator::Replace`], some operands are special ones.
pub fn operand(operator: Operator, bytes: Vec<u8>, rng: &mut fastrand::Rng) -> Vec<u8> {
    match (operator, rng.u8(..8)) {
        (Operator::Replace, 0) => Vec::new(),
        (Operator::Replace, 1) => Operator::PASS.to_vec(),
        _ => bytes,
    }
}
