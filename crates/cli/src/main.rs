//! The program `foldb`. The library of this crate is its inside.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    foldb_cli::main()
}
