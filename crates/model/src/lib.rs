//! What the engine's operations mean, told a second time: the answers that tests expect.
//!
//! A test applies each write to the engine and to a [`Model`], and compares what both answer. The
//! model merges every operand at once. It has no files, memtables or folds, and uses no code of the
//! engine, so both are wrong in the same way only if both are told the same mistake.
//!
//! Invariant: the model keeps every version of a key until a stop takes it back. So a snapshot is a
//! number, and a crash is a cut between two numbers.

#![forbid(unsafe_code)]

mod expiry;
mod model;
mod operation;
mod operator;
#[cfg(test)]
mod tests;

pub use expiry::{Expiry, Rule};
pub use model::{Model, Moment, Reset, View};
pub use operation::{Change, Keys, Operation, is_between};
pub use operator::{Cell, Operator};
