//! Table files and dumps: each library reads what the other wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{Library, both, compiler, ours, own_directory};
use crate::program::{Link, Printed, Program, assert_same, printed_by};

pub(crate) const TABLES: Program = Program { name: "tables", directories: &["tables"] };

/// Runs a mode of the program with the shared library of `library`.
fn run(program: &Path, library: &Library, data: &Path, mode: &str) -> Printed {
    let mut command = Command::new(program);
    command.arg(data).arg(mode).env("LD_LIBRARY_PATH", &library.lib);
    let what = format!("tables {} {mode} with the library {}", data.display(), library.name);
    let dir = program.parent().expect("a directory");
    printed_by(command, &what, dir)
}

fn new_directory(parent: &Path, name: &str) -> PathBuf {
    let directory = parent.join(name);
    fs::create_dir(&directory).unwrap();
    directory
}

/// Runs every mode of the program, for the sanitizers.
pub(crate) fn run_all(program: &Path, library: &Library, dir: &Path) {
    let (tables, database) = (new_directory(dir, "shapes"), new_directory(dir, "database"));
    for (mode, data) in [
        ("write", &tables),
        ("read", &tables),
        ("rules", &tables),
        ("make", &database),
        ("dump", &database),
    ] {
        run(program, library, data, mode);
    }
}

#[test]
fn each_library_reads_tables_of_every_shape_that_the_other_wrote() {
    let Some((compiler, original, ours)) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = TABLES.build(&compiler, &original, Link::Shared, &["-O1"], dir.path());
    let [by_original, by_ours] = [&original, ours].map(|library| {
        let data = new_directory(dir.path(), library.name);
        run(&program, library, &data, "write");
        data
    });
    for data in [&by_original, &by_ours] {
        let expected = run(&program, &original, data, "read");
        assert!(expected.text.lines().count() > 800, "{}", expected.text);
        assert_same(&expected, &run(&program, ours, data, "read"));
    }
    // Without compression every byte is the same. With it, another compressor wrote the blocks.
    let mut same = 0;
    for entry in fs::read_dir(&by_original).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let [original, ours] = [&path, &by_ours.join(name)].map(|path| fs::read(path).unwrap());
        let shape = path.file_stem().unwrap().to_str().unwrap().strip_prefix("shape").unwrap();
        let compressed = shape.parse::<u32>().unwrap() % 4 >= 2;
        assert!(compressed || original == ours, "{}", path.display());
        same += usize::from(original == ours);
    }
    assert!(same >= 36, "{same} of 72 tables are the same");
}

/// Files, caches and filters of the program, failures, and each byte of small tables damaged.
#[test]
fn tables_keep_the_rules_of_the_original() {
    let Some((compiler, original, ours)) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = TABLES.build(&compiler, &original, Link::Shared, &["-O1"], dir.path());
    let expected = run(&program, &original, dir.path(), "rules");
    assert!(expected.text.lines().count() > 4000, "{}", expected.text.len());
    assert_same(&expected, &run(&program, ours, dir.path(), "rules"));
}

/// Logs, manifests and tables of the original, whole and damaged, and names that no file has.
#[test]
fn files_of_the_original_are_dumped_alike() {
    let Some((compiler, original, ours)) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = TABLES.build(&compiler, &original, Link::Shared, &["-O1"], dir.path());
    let database = new_directory(dir.path(), "database");
    run(&program, &original, &database, "make");
    let expected = run(&program, &original, &database, "dump");
    for part in [": val => '", "VersionEdit {", "RemoveFile:", "  del '", "checksum mismatch"] {
        assert!(expected.text.contains(part), "no '{part}' in the dump");
    }
    assert_same(&expected, &run(&program, ours, &database, "dump"));
}

/// Every file of foldb is known by its magic, and its dump says kind, size and version.
#[test]
fn files_of_foldb_are_named() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = TABLES.build(&compiler, ours(), Link::Shared, &["-O1"], dir.path());
    let fixtures = own_directory().join("../../crates/foldb/tests/fixtures/format-1");
    let mut kinds = Vec::new();
    for fixture in ["adopted", "closed", "segments"] {
        let database = fixtures.join(fixture);
        let text = run(&program, ours(), &database, "dump").text;
        for entry in fs::read_dir(&database).unwrap() {
            let entry = entry.unwrap();
            let (name, size) = (entry.file_name(), entry.metadata().unwrap().len());
            let name = name.to_str().unwrap();
            if name == "CURRENT" || name == "LOCK" {
                continue;
            }
            let (_, found) = text.split_once(&format!("\n{name}:\nfoldb ")).expect(name);
            let expected = format!("\n  file: {name}\n  size: {size} bytes\n  format version: 1\n");
            let (kind, rest) = found.split_once('\n').unwrap();
            assert!(format!("\n{rest}").starts_with(&expected), "{found:.200}");
            kinds.push(kind.to_owned());
        }
    }
    kinds.sort();
    kinds.dedup();
    let expected =
        ["log", "log that became a value segment", "manifest", "record of a close", "table"];
    assert_eq!(kinds[..5], expected);
    assert_eq!(kinds[5..], ["value segment"]);
}

/// A file with a name that only foldb gives, and other bytes.
#[test]
fn a_file_without_its_magic_is_corruption() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let program = TABLES.build(&compiler, ours(), Link::Shared, &["-O1"], dir.path());
    let database = new_directory(dir.path(), "database");
    for (name, bytes) in [("000001.tbl", 0), ("000002.seg", 30), ("CLOSED", 100)] {
        fs::write(database.join(name), vec![b'x'; bytes]).unwrap();
    }
    let text = run(&program, ours(), &database, "dump").text;
    for name in ["000001.tbl", "000002.seg", "CLOSED"] {
        let line =
            format!("{name}:\nCorruption: {name}: the magic of a file of foldb is missing\n");
        assert!(text.contains(&line), "{text}");
    }
}
