//! The lifecycle of a database, its keyspaces and its operators.

pub(crate) mod checkpoint;
mod close;
pub(crate) mod destroy;
mod flight;
pub(crate) mod keyspaces;
pub(crate) mod open;
pub(crate) mod replay;
pub(crate) mod reset_time;
pub(crate) mod stats;
