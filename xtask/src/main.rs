//! `cargo xtask`: runs every check of this repository.
//!
//! [`arguments`] parses the command line. [`commands`] maps each command to its programs, and
//! [`step`] runs one of them. There are two doors. [`check`] is the daily loop of some minutes.
//! [`gate`] is `cargo xtask ci`: the steps that each change must pass, with their times.
//! [`tidy`] checks the house rules. Longer scripts stay in `ci/`.

#![forbid(unsafe_code)]

mod arguments;
mod check;
mod commands;
mod dist;
mod emulated;
mod gate;
mod install;
mod leveldb;
mod msrv;
mod package;
mod platforms;
mod prefix;
mod rocksdb;
mod shared_library;
mod step;
mod streams;
#[cfg(test)]
mod tests;
mod tidy;
mod version;

use std::process::ExitCode;

use arguments::Line;

fn main() -> ExitCode {
    let line = Line::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match commands::run(line.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
