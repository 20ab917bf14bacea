//! Compiles the programs in C, runs them, and compares what they print.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{Library, own_directory};
pub(crate) use crate::printed::{Printed, assert_same, printed_by};

/// Returns the directory of the programs in C.
pub(crate) fn directory() -> PathBuf {
    own_directory().join("tests/programs")
}

/// Compiles a source against a library's header and links it with the shared library. The
/// program's name tells the library.
pub(crate) fn build(
    compiler: &str,
    source: &Path,
    library: &Library,
    flags: &[&str],
    dir: &Path,
) -> PathBuf {
    let stem = source.file_stem().expect("a name").to_string_lossy();
    let program = dir.join(format!("{stem}-{}", library.name));
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-pthread"]);
    // A program leaves functions of the common header out.
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-function"]);
    command.args(flags).arg("-I").arg(directory()).arg("-I").arg(&library.include);
    command.arg(source).arg("-o").arg(&program);
    // Without a path of its own, the program follows LD_LIBRARY_PATH.
    command.arg("-L").arg(&library.lib).arg("-lrocksdb");
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    program
}

/// Runs a program with the shared library of `library`, in a directory of its own.
pub(crate) fn printed(program: &Path, library: &Library, dir: &Path) -> Printed {
    let data = dir.join(format!("data-{}", library.name));
    std::fs::create_dir(&data).expect("a directory");
    let mut command = Command::new(program);
    command.arg(&data).env("LD_LIBRARY_PATH", &library.lib);
    printed_by(command, &program.display().to_string(), dir)
}
