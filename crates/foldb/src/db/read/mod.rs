//! Reading: values, ranges, operands, explanations, counts, lists of tables; and the payments of
//! reads, which let the policy pick compactions that make reads cheaper.

pub(crate) mod approximate;
pub(crate) mod explain;
pub(crate) mod get;
mod get_operands;
mod iterate;
pub(crate) mod key_walk;
mod multi_get;
pub(crate) mod operands;
pub(crate) mod payments;
pub(crate) mod settings;
pub(crate) mod tables;
mod values;
