//! `cargo xtask leveldb`, and programs that find the library with pkg-config and with CMake.

use std::path::Path;
use std::process::{Command, Output};

use crate::library::{compiler, original, ours, own_directory};

/// Stores a value and prints it.
const PROGRAM: &str = r#"
#include <cstdio>
#include <string>
#include "leveldb/db.h"
int main(int, char** arguments) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* db;
  std::string value;
  leveldb::Status status = leveldb::DB::Open(options, arguments[1], &db);
  if (status.ok()) status = db->Put(leveldb::WriteOptions(), "key", "value");
  if (status.ok()) status = db->Get(leveldb::ReadOptions(), "key", &value);
  std::printf("%s %s\n", status.ToString().c_str(), value.c_str());
  delete db;
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
    assert_eq!(String::from_utf8_lossy(&output.stdout), "OK value\n");
    std::fs::remove_dir_all(dir.join("db")).unwrap();
}

#[test]
fn pkg_config_finds_the_library() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.cc");
    std::fs::write(&source, PROGRAM).unwrap();
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "leveldb = 1.23.0"]);
    let Some(flags) = run(flags.env("PKG_CONFIG_PATH", ours().lib.join("pkgconfig"))) else {
        eprintln!("SKIPPED: no pkg-config; install it");
        return;
    };
    let program = dir.path().join("program");
    let mut compile = Command::new(compiler);
    compile.arg(&source).arg("-o").arg(&program);
    compile.args(String::from_utf8_lossy(&flags.stdout).split_whitespace());
    run(compile.arg(format!("-Wl,-rpath,{}", ours().lib.display()))).unwrap();
    stores_a_value(&program, dir.path());
}

#[test]
fn cmake_finds_the_library() {
    if compiler().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("program.cc"), PROGRAM).unwrap();
    std::fs::write(
        dir.path().join("CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.10)\nproject(program CXX)\n\
         find_package(leveldb 1.20 REQUIRED)\n\
         add_executable(shared program.cc)\ntarget_link_libraries(shared leveldb::leveldb)\n\
         add_executable(static program.cc)\ntarget_link_libraries(static leveldb::static)\n",
    )
    .unwrap();
    let build = dir.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(dir.path()).arg("-B").arg(&build);
    let prefix = ours().lib.parent().unwrap();
    configure.arg(format!("-Dleveldb_DIR={}/lib/cmake/leveldb", prefix.display()));
    if run(&mut configure).is_none() {
        eprintln!("SKIPPED: no cmake; install it");
        return;
    }
    run(Command::new("cmake").arg("--build").arg(&build)).unwrap();
    stores_a_value(&build.join("shared"), dir.path());
    stores_a_value(&build.join("static"), dir.path());
}

/// Programs link with `-lmemenv` where the package of the original has this library.
#[test]
fn the_library_of_files_in_memory_is_there() {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.cc");
    let text = "#include \"helpers/memenv.h\"\n#include \"leveldb/helpers/memenv.h\"\n\
                #include \"leveldb/env.h\"\n\
                int main() { delete leveldb::NewMemEnv(leveldb::Env::Default()); }\n";
    std::fs::write(&source, text).unwrap();
    let program = dir.path().join("program");
    let mut compile = Command::new(compiler);
    compile.arg("-I").arg(&ours().include).arg(&source).arg("-o").arg(&program);
    compile.arg("-L").arg(&ours().lib).args(["-lmemenv", "-lleveldb"]);
    run(compile.arg(format!("-Wl,-rpath,{}", ours().lib.display()))).unwrap();
    run(&mut Command::new(&program)).unwrap();
}

/// Every header of the original is installed, so that no program takes one of the original.
#[test]
fn every_header_is_installed() {
    let Some(compiler) = compiler() else { return };
    let Some(original) = original(&compiler) else { return };
    for below in ["leveldb", "leveldb/helpers"] {
        for entry in std::fs::read_dir(original.include.join(below)).unwrap() {
            let name = entry.unwrap().file_name();
            let path = ours().include.join(below).join(&name);
            assert!(path.exists(), "{} is not there", path.display());
        }
    }
}

#[test]
fn a_missing_compiler_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "xtask", "--", "leveldb", "--prefix"]).arg(dir.path());
    command.current_dir(own_directory()).env("CXX", "no-such-compiler");
    let output = command.output().expect("cargo");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let expected = "xtask: there is no C++ compiler 'no-such-compiler'; install g++ or clang, or \
                    name one in CXX\n";
    assert!(told.ends_with(expected), "{told}");
}
