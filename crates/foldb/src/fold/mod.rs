//! The fold: operators, chains, and the one routine that folds them.
//!
//! Every part of the engine that must know what a chain comes to asks [`chain::Chain`]: point
//! reads, iterators in both directions, flushes and compactions. There is no second walk "down to
//! the base" anywhere, so there is no second set of rules for walls, deletes and operator changes.
//!
//! `memtable::usual` is a short cut of it for the plainest chains of a memtable, and knows no rules:
//! whatever needs one it leaves to the chain.
//!
//! Invariant: no I/O in here. Records arrive with their bytes pinned, or borrowed.

mod builtin;
mod chain;
mod closure;
mod definition;
pub mod laws;
mod operator;
mod registry;
#[cfg(test)]
mod tests;

pub(crate) use builtin::builtin;
pub use builtin::{BuiltinInfo, builtins, hyperloglog, list, set};
pub(crate) use chain::{Below, Chain, Operands, Outcome, Record, full, take_output};
pub use closure::merge_fn;
pub use definition::Definition;
pub use operator::{Full, Growth, MergeOperator, Partial, TextForm};
pub use registry::Operator;
pub(crate) use registry::{CachedResolver, FIRST_DYNAMIC_ID, Registry, Resolver};
