//! Transactions, optimistic and pessimistic, over one handle.
//!
//! Reading order: `options`, `locks`, `state`, `locking`, `handle`, `calls`, `databases`.

pub mod calls;
pub mod databases;
pub mod handle;
pub(crate) mod locking;
pub(crate) mod locks;
pub mod options;
pub mod pessimistic_calls;
pub(crate) mod state;
