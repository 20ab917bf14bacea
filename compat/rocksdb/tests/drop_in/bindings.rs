//! Programs over the bindings of Rust and Go, linked to our library.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{compiler, ours, own_directory};

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [said, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}: {said}{told}");
}

/// Returns the directory of libclang, which the build of the `rocksdb` crate loads.
fn libclang() -> Option<PathBuf> {
    if let Some(directory) = std::env::var_os("LIBCLANG_PATH") {
        return Some(directory.into());
    }
    let mut places = vec![PathBuf::from("/usr/lib"), "/usr/lib64".into(), "/usr/local/lib".into()];
    places.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    places.extend(versions.map(|entry| entry.path().join("lib")));
    let is_there = |place: &PathBuf| {
        std::fs::read_dir(place).into_iter().flatten().flatten().any(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|it| it.starts_with("libclang") && it.contains(".so"))
        })
    };
    places.into_iter().find(is_there)
}

/// Returns the directory of the compiler's own headers. A libclang without clang has none.
fn headers_of(compiler: &str) -> PathBuf {
    let mut command = Command::new(compiler);
    let output = command.arg("-print-file-name=include").output().expect("the compiler");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

/// The tests of `rust/`: the crate `rocksdb`.
#[test]
#[ignore = "builds a crate for minutes"]
fn the_rocksdb_crate_works_with_our_library() {
    let Some(compiler) = compiler() else { return };
    let Some(libclang) = libclang() else {
        eprintln!("SKIPPED: no libclang; install it, or name its directory in LIBCLANG_PATH");
        return;
    };
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["test", "--quiet", "--locked", "--no-fail-fast"])
        .current_dir(own_directory().join("tests/rust"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocksdb-crate");
    command.env("CARGO_TARGET_DIR", target).env("LIBCLANG_PATH", libclang);
    command.env("ROCKSDB_LIB_DIR", &ours().lib).env("ROCKSDB_INCLUDE_DIR", &ours().include);
    command.env("LD_LIBRARY_PATH", &ours().lib);
    let headers = format!("-I{}", headers_of(&compiler).display());
    succeeds(command.env("BINDGEN_EXTRA_CLANG_ARGS", headers));
}

/// The tests of `go/`: the module grocksdb.
#[test]
#[ignore = "builds a module for minutes"]
fn the_module_for_go_works_with_our_library() {
    if compiler().is_none() {
        return;
    }
    if Command::new("go").arg("version").output().is_err() {
        eprintln!("SKIPPED: no Go; install it");
        return;
    }
    let mut command = Command::new("go");
    command.current_dir(own_directory().join("tests/go"));
    // The tag leaves out the codecs that our library does not link.
    command.args(["test", "-count=1", "-tags", "grocksdb_clean_link", "./..."]);
    command.env("CGO_ENABLED", "1").env("LD_LIBRARY_PATH", &ours().lib);
    command.env("CGO_CFLAGS", format!("-I{}", ours().include.display()));
    succeeds(command.env("CGO_LDFLAGS", format!("-L{} -lrocksdb", ours().lib.display())));
}
