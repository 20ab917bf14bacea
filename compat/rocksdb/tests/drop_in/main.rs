//! Programs written to RocksDB's C interface give the same answers with RocksDB and with our
//! library.
//!
//! The programs in C are in `programs/`. Each prints what it sees. The tests compile a program
//! against both libraries and compare the outputs. They need a C compiler and Debian's
//! `librocksdb-dev` 7.8, and skip with a message without them. A program whose name ends in
//! `_newer` calls what 7.8 lacks. It runs with our library alone, and a file beside it has the
//! output of RocksDB 10.4.2.
//!
//! `rust/` and `go/` have programs over the bindings of these languages, linked to our library.
//!
//! ```text
//! cargo test -p foldb-rocksdb --test drop_in                    the programs in C
//! cargo test -p foldb-rocksdb --test drop_in -- --ignored       AddressSanitizer, Rust, Go
//! ROCKSDB_ORIGINAL=DIR cargo test ...                           another RocksDB than Debian's
//! ```
//!
//! The directory of `ROCKSDB_ORIGINAL` has `include/rocksdb/c.h` and `lib/librocksdb.so`. If it is
//! RocksDB 10.4, the programs of `_newer` run with it too, and with `UPDATE_GOLDEN=1` they write
//! the files of expected output.

#![cfg(target_os = "linux")]

mod bindings;
mod install;
mod library;
mod options;
#[path = "../../../drop_in/printed.rs"]
mod printed;
mod program;
mod programs;
mod sanitizer;
mod swap;
