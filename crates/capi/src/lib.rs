//! The C interface of foldb.
//!
//! `include/foldb.h` is generated from this crate: each function and type here is one there, with
//! its comment. The rules that bind all callers stand at the top of the header (`cbindgen.toml`).
//!
//! Each function checks its pointers for NULL, turns bytes and texts into slices, and calls the
//! engine inside `boundary::call`. So no panic crosses into C.
//!
//! Reading order: `error`, `boundary`, `bytes`, `options`, `operator`, `comparator`,
//! `filter_policy`, `env`, `block_cache`, `listener`, `runtime`, `database`, `keyspace`, `reads`,
//! `writes`, `batch`, `iterator`, `load`, `transaction`, `transaction_inside`, `transact`,
//! `conditional`, `feed`, `queue`, `upkeep`, `copies`, `shape`.

#![deny(unsafe_op_in_unsafe_fn)]
// The types have the names that C programs use.
#![allow(non_camel_case_types)]
// One text at the top of the header says what all callers promise.
#![allow(clippy::missing_safety_doc)]

pub mod batch;
pub mod block_cache;
mod boundary;
pub mod bytes;
pub mod comparator;
pub mod conditional;
pub mod copies;
pub mod database;
pub mod env;
pub mod error;
mod expiry;
pub mod feed;
pub mod filter_policy;
pub mod iterator;
pub mod keyspace;
pub mod listener;
pub mod load;
mod opened;
pub mod operator;
pub mod options;
pub mod queue;
pub mod reads;
pub mod runtime;
pub mod shape;
pub mod transact;
pub mod transaction;
pub mod transaction_inside;
pub mod upkeep;
pub mod writes;
