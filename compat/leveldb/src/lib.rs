//! The Rust half of `libleveldb`, LevelDB's interface over foldb.
//!
//! `cargo xtask leveldb` links this static library with the C++ sources in `cpp/`. It contains the
//! C interface of the engine, `foldb.h`, and functions that only the C++ half calls: [`reader`],
//! [`writer`] and [`dumps`] for LevelDB's files, and [`locks`]. The library keeps their names to
//! itself: its version script exports no `foldbport_`.
//!
//! The C++ half has LevelDB's classes: `cpp/port` the system and small types, `cpp/table` tables
//! and dumps, `cpp/db` the database over `foldb.h`, and `cpp/c` the C interface of LevelDB.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod dumps;
pub mod foreign;
pub mod locks;
pub mod reader;
pub mod writer;

#[cfg(test)]
mod tests;

// The functions of foldb.h become symbols of the static library.
pub use foldb_capi;
