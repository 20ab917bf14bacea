//! Random programs against the model of `foldb_model`.
//!
//! [`program`] draws random programs, [`decode`] makes them from bytes, and [`run`] plays one
//! against the database and the model. [`carried`] lets several platforms play one in turn.

pub(crate) mod carried;
pub(crate) mod compare;
pub(crate) mod decode;
pub(crate) mod fading;
mod feed;
mod held;
mod open;
pub(crate) mod program;
mod reads;
pub(crate) mod run;
mod stops;
mod transactions;
mod writes;
