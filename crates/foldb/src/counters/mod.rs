//! The engine's counters, how long its locks were held, and how long calls took.

mod longest_hold;
mod sampled;
mod striped;
mod totals;

pub(crate) use longest_hold::{Hold, LongestHold};
pub(crate) use sampled::is_sampled;
pub(crate) use striped::Striped;
pub(crate) use totals::{Total, Totals};
