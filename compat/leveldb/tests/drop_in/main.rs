//! Programs written to LevelDB's interface give the same answers with the original library and
//! with ours.
//!
//! The programs are beside this directory. Each prints what it observes. The tests compile a
//! program against the headers of both libraries, link it both ways, and compare the output. They
//! need a C++ compiler and Debian's `libleveldb-dev` 1.23, and skip with a message without them.
//!
//! ```text
//! cargo test -p foldb-leveldb --test drop_in                    the short form
//! DROP_IN_SEEDS=300 cargo test -p foldb-leveldb --test drop_in random
//! cargo test -p foldb-leveldb --test drop_in -- --ignored       AddressSanitizer, and leaks
//! ```

#![cfg(target_os = "linux")]

mod abi;
mod additions;
mod debug_info;
mod everything;
mod install;
mod library;
mod port;
#[path = "../../../drop_in/printed.rs"]
mod printed;
mod process;
mod program;
mod random;
mod sanitizer;
mod tables;
mod valgrind;
