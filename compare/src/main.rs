//! `foldb-compare`: see `--help`, and compare/README.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    foldb_compare::cli::main()
}
