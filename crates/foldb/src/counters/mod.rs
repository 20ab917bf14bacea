//! The engine's counters, and how long its locks were held.

mod longest_hold;
mod striped;
mod totals;

pub(crate) use longest_hold::{Hold, LongestHold};
pub(crate) use striped::Striped;
pub(crate) use totals::{Total, Totals};
