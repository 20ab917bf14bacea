//! Background work on the trees: its steps, its jobs, and the installation of their results.

mod adopt;
mod called;
mod compact;
mod damage;
pub(crate) mod deleted;
pub(crate) mod flush;
pub(crate) mod gc;
mod install;
mod ordering;
pub(crate) mod schedule;
mod scrub;
pub(crate) mod segments;
mod steps;
mod tenant;
