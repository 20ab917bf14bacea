//! Reading: values, ranges, operands, explanations, counts; and the payments of reads.

pub(crate) mod approximate;
pub(crate) mod explain;
pub(crate) mod get;
mod multi_get;
pub(crate) mod operands;
pub(crate) mod payments;
