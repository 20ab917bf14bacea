//! The programs that use every call, on both libraries.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::library::{Library, both};
use crate::program::{
    EVERYTHING, EVERYTHING_IN_C, Link, Printed, Program, assert_same, printed, printed_by,
};

/// Compiled for each library and linked both ways, a program prints the same four times. The binary
/// for the original library prints it a fifth time with ours.
pub(crate) fn prints_the_same(program: Program) {
    let Some((compiler, original, ours)) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let of = |library: &Library, link| program.build(&compiler, library, link, &[], dir.path());
    let shared = of(&original, Link::Shared);
    let expected = printed(&shared, &original, dir.path(), &[]);
    // The swap: LD_LIBRARY_PATH alone chooses the library.
    assert_same(&expected, &printed(&shared, ours, dir.path(), &[]));
    assert_same(&expected, &printed(&of(ours, Link::Shared), ours, dir.path(), &[]));
    assert_same(&expected, &printed(&of(ours, Link::Static), ours, dir.path(), &[]));
    let original_static = of(&original, Link::Static);
    assert_same(&expected, &printed(&original_static, &original, dir.path(), &[]));
}

#[test]
fn everything_in_cpp_prints_the_same() {
    prints_the_same(EVERYTHING);
}

#[test]
fn everything_in_c_prints_the_same() {
    prints_the_same(EVERYTHING_IN_C);
}

/// Reads the table files of one library with the other.
#[test]
fn each_library_reads_the_tables_of_the_other() {
    let Some((compiler, original, ours)) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = EVERYTHING.build(&compiler, &original, Link::Shared, &[], dir.path());
    let mut directories = Vec::new();
    for library in [&original, ours] {
        printed(&program, library, dir.path(), &["tables"]);
        let kept = dir.path().join(library.name);
        std::fs::rename(dir.path().join("data"), &kept).unwrap();
        directories.push(kept);
    }
    let read = |library: &Library, table: &Path| -> Printed {
        let mut command = Command::new(&program);
        command.arg("--read-table").arg(table).env("LD_LIBRARY_PATH", &library.lib);
        printed_by(command, &format!("{} read by {}", table.display(), library.name), dir.path())
    };
    for table in 0..6 {
        let table = format!("table{table}");
        let expected = read(&original, &directories[0].join(&table));
        assert!(expected.text.contains("key000000"), "{}", expected.text);
        assert_same(&expected, &read(ours, &directories[0].join(&table)));
        assert_same(&expected, &read(&original, &directories[1].join(&table)));
    }
}

/// Names that the library exports although no header makes them public.
const PRIVATE: [&str; 6] = [
    "leveldb::TableBuilder::WriteBlock",
    "leveldb::TableBuilder::WriteRawBlock",
    "leveldb::Table::ReadFilter",
    "leveldb::Table::ReadMeta",
    "leveldb::Table::BlockReader",
    "leveldb::Table::InternalGet",
];

/// Returns the functions of LevelDB in the output of nm, constructors and destructors apart: the
/// compiler emits other variants of them than the program's text names.
fn functions(arguments: &[&str], files: &[std::path::PathBuf]) -> BTreeSet<String> {
    let output = Command::new("nm").args(arguments).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| {
        let (kind, name) = line.get(17..)?.split_once(' ')?;
        let name = name.split(['(', '[']).next()?;
        let class = name.rsplit("::").nth(1);
        let last = name.rsplit("::").next()?;
        let function = "TWU".contains(kind) && class != Some(last) && !last.starts_with('~');
        let ours = name.starts_with("leveldb::") || name.starts_with("leveldb_");
        (function && ours && !PRIVATE.contains(&name)).then(|| name.to_owned())
    });
    names.collect()
}

/// A function that the original library exports is in the symbol table of a program that calls it.
#[test]
fn the_programs_leave_no_function_out() {
    let Some((compiler, original, _)) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let library = original.lib.join("libleveldb.so");
    let exported = functions(&["-D", "-C", "--defined-only"], &[library]);
    assert!(exported.len() > 120, "{exported:?}");
    let mut used = BTreeSet::new();
    for program in [EVERYTHING, EVERYTHING_IN_C] {
        let objects = program.compile(&compiler, &original, Link::Shared, &[], dir.path());
        used.extend(functions(&["-C"], &objects));
    }
    let missing: Vec<_> = exported.difference(&used).collect();
    assert!(missing.is_empty(), "no test calls {missing:?}");
}
