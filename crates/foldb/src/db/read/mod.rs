//! Reading: values, ranges, operands, explanations, counts; and what reads pay for.

pub(crate) mod approximate;
pub(crate) mod credit;
pub(crate) mod explain;
pub(crate) mod folds;
pub(crate) mod get;
mod multi_get;
pub(crate) mod operands;
