//! Reading: values, ranges, operands, explanations, counts, lists of tables; and the time that
//! reads lose, for which the policy picks compactions that make reads cheaper.

pub(crate) mod approximate;
pub(crate) mod explain;
pub(crate) mod get;
mod get_operands;
mod iterate;
pub(crate) mod key_walk;
pub(crate) mod lost_time;
mod multi_get;
pub(crate) mod operands;
pub(crate) mod settings;
pub(crate) mod tables;
mod values;

#[cfg(all(test, debug_assertions, feature = "internals"))]
mod tests;
