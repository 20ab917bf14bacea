//! From a database and a program of RocksDB to both running here: the steps of
//! `docs/from_rocksdb.md`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{Library, compiler, original, ours, own_directory};
use crate::program::{Printed, assert_same, build, directory, printed_by};

/// Returns foldb's shell, built as the whole workspace is.
fn shell() -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--workspace", "--bin", "foldb"]);
    let output = command.current_dir(own_directory()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let test = std::env::current_exe().expect("the test's path");
    test.ancestors().nth(2).expect("the directory of programs").join("foldb")
}

fn import(from: &Path, to: &Path) {
    let mut command = Command::new(shell());
    command.args(["import", "--from", "rocksdb"]);
    command.arg(from).arg(to).args(["--operator", "visits=librocksdb"]);
    let output = command.output().expect("foldb");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs the program in a directory.
fn run(program: &Path, library: &Library, data: &Path, arguments: &[&str]) -> Printed {
    let mut command = Command::new(program);
    command.arg(data).args(arguments).env("LD_LIBRARY_PATH", &library.lib);
    let what = format!("{} in {}", program.display(), data.display());
    printed_by(command, &what, data)
}

/// The database has operands of the program's own operator, which the import cannot fold.
#[test]
fn a_program_goes_on_with_its_imported_database() {
    let Some(compiler) = compiler() else { return };
    let Some(original) = original(&compiler) else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = directory().join("swapped.c");
    let [theirs, own] = [&original, ours()]
        .map(|library| (library, build(&compiler, &source, library, &[], dir.path())));
    let [before, after] = ["before", "after"].map(|name| dir.path().join(name));
    std::fs::create_dir(&before).unwrap();
    std::fs::create_dir(&after).unwrap();
    run(&theirs.1, theirs.0, &before, &["write"]);
    import(&before.join("db"), &after.join("db"));
    let expected = run(&theirs.1, theirs.0, &before, &[]);
    assert_same(&expected, &run(&own.1, own.0, &after, &[]));
}
