//! The fold: operators, chains, and the one routine that folds them.
//!
//! Every part of the engine that needs the result of a chain asks [`chain::Chain`]: point reads,
//! iterators in both directions, flushes and compactions. No other code walks "down to the base",
//! so there is only one set of rules for walls, deletes and operator changes.
//!
//! `memtable::usual` is a short cut for the plainest chains of a memtable. It knows no rules and
//! leaves every chain that needs one to [`chain::Chain`].
//!
//! Invariant: this module does no I/O. Records arrive with their bytes pinned, or borrowed.

mod builtin;
mod chain;
mod closure;
mod definition;
pub(crate) mod expiring;
pub mod laws;
mod operator;
mod read_time;
mod registry;
mod sampled;
pub(crate) mod stamp;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use builtin::builtin;
pub use builtin::{BuiltinInfo, builtins, histogram, hyperloglog, list, set, stats, top};
pub(crate) use chain::{Below, Chain, Folded, Operands, Outcome, Record, full, take_output};
pub use closure::merge_fn;
pub use definition::Definition;
pub use operator::{Full, Growth, MergeOperator, Partial, TextForm};
pub(crate) use read_time::{ReadTime, end_of, without_stamps};
pub use registry::Operator;
pub(crate) use registry::{CachedResolver, FIRST_DYNAMIC_ID, Registry, Resolver};
