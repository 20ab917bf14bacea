//! The programs in C, each on both libraries.

use std::path::Path;

use crate::library::{Library, compiler, original, ours};
use crate::program::{Printed, assert_same, build, directory, printed};

/// Compiled for each library, a program prints the same.
fn prints_the_same(name: &str) {
    let Some(compiler) = compiler() else { return };
    let Some(original) = original(&compiler) else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = directory().join(format!("{name}.c"));
    let run = |library: &Library| {
        let program = build(&compiler, &source, library, &[], dir.path());
        printed(&program, library, dir.path())
    };
    assert_same(&run(&original), &run(ours()));
}

/// A program prints what RocksDB 10.4.2 printed.
fn prints_what_is_expected(name: &str) {
    let Some(compiler) = compiler() else { return };
    let source = directory().join(format!("{name}.c"));
    let expected = directory().join(format!("{name}.expected"));
    matches_the_file(&compiler, &source, &expected);
}

/// Compares what the program of `source` prints with a file.
pub(crate) fn matches_the_file(compiler: &str, source: &Path, expected: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let run = |library: &Library| {
        let program = build(compiler, source, library, &[], dir.path());
        printed(&program, library, dir.path())
    };
    if std::env::var_os("ROCKSDB_ORIGINAL").is_some()
        && let Some(original) = original(compiler).filter(|library| library.is_newer)
    {
        let printed = run(&original);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(expected, &printed.text).unwrap();
        }
        assert_same(&read(expected), &printed);
    }
    assert_same(&read(expected), &run(ours()));
}

fn read(expected: &Path) -> Printed {
    let what = expected.display().to_string();
    let text = std::fs::read_to_string(expected).unwrap_or_else(|error| panic!("{what}: {error}"));
    Printed { what, text }
}

/// Makes a test of each program, and the list of them all.
macro_rules! programs {
    ($run:ident: $($name:ident)*) => {
        mod $run {
            pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
            $(
                #[test]
                fn $name() {
                    super::$run(stringify!($name));
                }
            )*
        }
    };
}

programs! { prints_the_same:
    backups
    batches
    batches_with_index
    checkpoints
    comparators
    families
    filters
    iterators
    lifetimes
    log_of_writes
    merges
    optimistic
    pessimistic
    prepared
    properties
    reads_and_writes
    secondary
    snapshots
    tables
    wrong_opens
}

programs! { prints_what_is_expected:
    batches_newer
    families_newer
    iterators_newer
    transactions_newer
    upkeep_newer
}

#[test]
fn no_program_is_left_out() {
    // `swap` runs the last one.
    let mut listed =
        [prints_the_same::NAMES, prints_what_is_expected::NAMES, &["swapped"]].concat();
    listed.sort_unstable();
    let files = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|own| own == "c"));
    let mut found: Vec<_> =
        sources.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    found.sort_unstable();
    assert_eq!(listed, found);
}
