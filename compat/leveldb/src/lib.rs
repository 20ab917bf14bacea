//! The Rust half of `libleveldb`, LevelDB's interface over foldb.
//!
//! `cargo xtask leveldb` links this static library with the C++ sources in `cpp/`. It contains the
//! C interface of the engine, `foldb.h`, and the functions of [`codecs`] and [`locks`]. The C++
//! half has LevelDB's classes: `cpp/port` the system and small types, `cpp/table` LevelDB's table
//! format, `cpp/db` the database over `foldb.h`, and `cpp/c` the C interface of LevelDB.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod codecs;
pub mod locks;

// The functions of foldb.h become symbols of the static library.
pub use foldb_capi;
