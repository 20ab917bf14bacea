//! The `foldb` command as a console script.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::ending::Unlocked;

/// Runs a command of the shell, and returns its exit code. The first argument is the program's
/// name.
#[pyfunction]
pub(crate) fn run_shell(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.unlocked(|| foldb_cli::run(args))
}
