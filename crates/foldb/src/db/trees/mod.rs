//! Background work on the trees: steps, the jobs behind them, and the install of what they made.

mod adopt;
mod compact;
pub(crate) mod flush;
pub(crate) mod gc;
mod install;
mod ordering;
pub(crate) mod schedule;
pub(crate) mod segments;
mod steps;
mod tenant;
