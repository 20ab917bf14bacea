//! `cargo xtask rocksdb`, and programs that find the library with pkg-config.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use crate::library::{compiler, ours, own_directory};

/// Stores a value and prints it.
const PROGRAM: &str = r#"
#include <rocksdb/c.h>
#include <stdio.h>
int main(int count, char** arguments) {
  char* error = NULL;
  size_t length = 0;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, arguments[count - 1], &error);
  if (error == NULL) rocksdb_put(db, write, "key", 3, "value", 5, &error);
  if (error == NULL) {
    char* value = rocksdb_get(db, read, "key", 3, &length, &error);
    printf("%.*s\n", (int)length, value);
    rocksdb_free(value);
    rocksdb_close(db);
  }
  if (error != NULL) printf("%s\n", error);
  rocksdb_free(error);
  rocksdb_writeoptions_destroy(write);
  rocksdb_readoptions_destroy(read);
  rocksdb_options_destroy(options);
}
"#;

/// Runs a command, or returns `None` if its program is not there.
fn run(command: &mut Command) -> Option<Output> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{command:?}: {error}"),
    };
    let [said, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}: {said}{told}");
    Some(output)
}

fn stores_a_value(program: &Path, dir: &Path) {
    let mut command = Command::new(program);
    let output = run(command.arg(dir.join("db")).env_remove("LD_LIBRARY_PATH")).expect("it");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "value\n");
    std::fs::remove_dir_all(dir.join("db")).unwrap();
}

/// Compiles the program with the flags that pkg-config gives, and more.
fn compiled_with_pkg_config(asked: &[&str], more: &[&str]) {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "rocksdb = 10.4.2"]).args(asked);
    let Some(flags) = run(flags.env("PKG_CONFIG_PATH", ours().lib.join("pkgconfig"))) else {
        eprintln!("SKIPPED: no pkg-config; install it");
        return;
    };
    let program = dir.path().join("program");
    let mut compile = Command::new(compiler);
    compile.args(["-Wall", "-Wextra", "-Werror"]).arg(&source).arg("-o").arg(&program).args(more);
    compile.args(String::from_utf8_lossy(&flags.stdout).split_whitespace());
    run(&mut compile).unwrap();
    stores_a_value(&program, dir.path());
}

#[test]
fn pkg_config_finds_the_shared_library() {
    compiled_with_pkg_config(&[], &[&format!("-Wl,-rpath,{}", ours().lib.display())]);
}

#[test]
fn pkg_config_finds_the_static_library() {
    compiled_with_pkg_config(&["--static"], &["-static"]);
}

/// A program may link the archive into a binary that is not static otherwise.
#[test]
fn the_archive_links_by_its_name() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let program = dir.path().join("program");
    let mut compile = Command::new(compiler);
    compile.arg("-I").arg(&ours().include).arg(&source).arg("-o").arg(&program);
    compile.arg(ours().lib.join("librocksdb.a")).args(["-lpthread", "-ldl", "-lm"]);
    run(&mut compile).unwrap();
    stores_a_value(&program, dir.path());
}

/// A program for C++ includes the header too.
#[test]
fn the_header_compiles_as_cpp() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.cc");
    std::fs::write(&source, "#include <rocksdb/c.h>\nint main() { rocksdb_free(nullptr); }\n")
        .unwrap();
    let program = dir.path().join("program");
    let mut compile = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
    compile.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]).arg(&source);
    compile.arg("-I").arg(&ours().include).arg("-L").arg(&ours().lib).arg("-lrocksdb");
    compile.arg(format!("-Wl,-rpath,{}", ours().lib.display())).arg("-o").arg(&program);
    if run(&mut compile).is_none() {
        eprintln!("SKIPPED: no C++ compiler; install one, or name it in CXX");
        return;
    }
    run(&mut Command::new(&program)).unwrap();
}

/// The shared library exports the functions of the header, and nothing else.
#[test]
fn the_functions_of_the_header_are_exported() {
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(ours().lib.join("librocksdb.so"));
    let Some(output) = run(&mut nm) else {
        eprintln!("SKIPPED: no nm; install binutils");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let exported: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let lines = include_str!("../../functions.txt").lines().filter(|line| !line.starts_with('#'));
    let listed = lines.filter_map(|line| {
        let declaration = line.split(" | ").nth(1)?;
        declaration.split('(').next()?.rsplit(' ').next()
    });
    assert_eq!(exported, listed.collect());
}

#[test]
fn a_missing_compiler_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "xtask", "--", "rocksdb", "--prefix"]).arg(dir.path());
    command.current_dir(own_directory()).env("CC", "no-such-compiler");
    let output = command.output().expect("cargo");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let expected = "xtask: there is no C compiler 'no-such-compiler'; install gcc or clang, or \
                    name one in CC\n";
    assert!(told.ends_with(expected), "{told}");
}
