//! The header, and the table of functions in `docs/rocksdb.md`, are what the lists say.

#[path = "../../facts/list.rs"]
mod list;
mod page;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use list::{Function, Group, groups};

const FUNCTIONS: &str = include_str!("../../functions.txt");
const TYPES: &str = include_str!("../../types.txt");
const CONSTANTS: &str = include_str!("../../constants.txt");

/// How many functions `rocksdb/c.h` of RocksDB 10.4.2 declares.
const OF_ROCKSDB: usize = 942;

fn own_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header_path() -> PathBuf {
    own_directory().join("include/rocksdb/c.h")
}

/// A group of functions.
struct Functions<'a> {
    group: Group<'a>,
    functions: Vec<Function<'a>>,
}

fn functions() -> Vec<Functions<'static>> {
    let groups = groups(FUNCTIONS).expect("functions.txt");
    let read = |group: Group<'static>| {
        let functions = group.lines.iter().map(|line| Function::read(line).expect("a function"));
        Functions { functions: functions.collect(), group }
    };
    groups.into_iter().map(read).collect()
}

/// Returns the name in `RESULT NAME(PARAMETERS)`.
fn name(declaration: &str) -> &str {
    let (before, _) = declaration.split_once('(').expect("parameters");
    before.rsplit_once(' ').expect("a result").1
}

#[test]
fn the_list_has_every_function_once() {
    let all = functions();
    let names: Vec<_> =
        all.iter().flat_map(|group| &group.functions).map(|one| name(one.declaration)).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a function comes twice");
    assert_eq!(names.len(), OF_ROCKSDB);
    assert!(names.iter().all(|name| name.starts_with("rocksdb_")));
}

/// `FOLDB_BLESS=1 cargo test -p foldb-rocksdb --test header` writes the header anew.
#[test]
fn the_header_is_generated_from_the_lists() {
    let types = groups(TYPES).expect("types.txt");
    let constants = groups(CONSTANTS).expect("constants.txt");
    same(&header_path(), |_| text::header(&types, &constants, &functions()));
}

/// `FOLDB_BLESS=1 cargo test -p foldb-rocksdb --test header` writes the table anew.
#[test]
fn the_page_is_generated_from_the_list() {
    let path = own_directory().join("../../docs/rocksdb.md");
    same(&path, |stored| page::with_table(stored, &functions()));
}

/// Checks that a file is what `generate` makes of its present text.
fn same(path: &Path, generate: impl Fn(&str) -> String) {
    let blessing = std::env::var_os("FOLDB_BLESS").is_some();
    let read = || std::fs::read_to_string(path);
    let stored = if blessing { read().unwrap_or_default() } else { read().expect("the file") };
    let generated = generate(&stored);
    if blessing {
        std::fs::write(path, &generated).expect("the file can be written");
        return;
    }
    assert!(
        generated == stored,
        "'{}' is not what the lists say; write it anew with \
         `FOLDB_BLESS=1 cargo test -p foldb-rocksdb --test header`",
        path.display()
    );
}

#[test]
fn the_header_compiles_without_warnings_as_c_and_as_cxx() {
    let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
    for (variable, default, flags) in [
        ("CC", "cc", ["-std=c99", "-Wstrict-prototypes", "-x", "c"]),
        ("CXX", "c++", ["-std=c++11", "-Wold-style-cast", "-x", "c++"]),
    ] {
        let compiler = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
        if !Command::new(&compiler).arg("--version").output().is_ok_and(|run| run.status.success())
        {
            eprintln!("SKIPPED: no compiler '{compiler}'; install one, or name it in {variable}");
            continue;
        }
        // A header by itself would be warned about: a program includes it, twice.
        let directory = tempfile::tempdir().expect("a directory");
        let program = directory.path().join("program.c");
        let include = "#include <rocksdb/c.h>\n";
        std::fs::write(&program, format!("{include}{include}int main(void) {{ return 0; }}\n"))
            .expect("the program can be written");
        let mut command = Command::new(&compiler);
        command.args(flags).args(strict).arg("-I").arg(own_directory().join("include"));
        let run = command.arg(&program).output().expect("the compiler");
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && told.is_empty(), "{compiler}:\n{told}");
    }
}
