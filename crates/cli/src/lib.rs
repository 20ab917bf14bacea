//! The `foldb` command: `foldb COMMAND DB [ARGS] [FLAGS]`. This library is the inside of that
//! program, and may change at any time. Programs use the library `foldb`.
//!
//! Reading order:
//!
//! - `args`: the command line and its errors
//! - `exit`: how a command ends
//! - `form`: the text forms of keys and values
//! - `location`, `keyspace`, `operator`: the database at a path, a keyspace in it, and the
//!   operator of its merges
//! - `ingest`: writes lines into a database
//! - `rows`: tables of text, from CSV and JSON lines into entries and back
//! - `leveldb`, `rocksdb`, `foreign`, `digest`: databases of LevelDB and RocksDB, what both share,
//!   and the comparison of two databases
//! - `reverse`: the reverse order of keys, which databases of RocksDB may have
//! - `staging`, `new_file`: a directory, and a file, that appear complete
//! - `stream`: a stream with progress that Ctrl-C ends
//! - `command`: one module for each command
//!
//! Invariants: standard output carries data only. A failed command prints exactly one line
//! `foldb: …` on standard error. No command changes anything before it has parsed its arguments.
#![forbid(unsafe_code)]

mod args;
mod columns;
mod command;
mod digest;
mod exit;
mod foreign;
mod form;
mod ingest;
mod interrupt;
mod keyspace;
mod leveldb;
mod location;
mod new_file;
mod operator;
mod output;
mod progress;
mod reverse;
mod rocksdb;
mod rows;
mod staging;
mod stream;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command that the process was started with.
#[doc(hidden)]
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

/// Runs a command, whose first argument is the program's name, and returns the exit code.
#[doc(hidden)]
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    exit::guarded(|| command::run(args::parse(args)?))
}
