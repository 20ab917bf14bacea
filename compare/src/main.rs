//! `foldb-compare`: see `--help`, and README.md beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    foldb_compare::cli::main()
}
