//! The two libraries: RocksDB, and ours as `cargo xtask rocksdb` installs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A library with RocksDB's C interface, and where its files are.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub name: &'static str,
    pub include: PathBuf,
    pub lib: PathBuf,
    /// Whether it has every function of RocksDB 10.4.
    pub is_newer: bool,
}

pub(crate) fn own_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the C compiler, or says that the tests are skipped without one.
pub(crate) fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(name);
    }
    eprintln!("SKIPPED: no C compiler '{name}'; install one, or name it in CC");
    None
}

/// Returns RocksDB, or says that the tests are skipped without it.
pub(crate) fn original(compiler: &str) -> Option<Library> {
    if let Some(directory) = std::env::var_os("ROCKSDB_ORIGINAL") {
        let directory = PathBuf::from(directory);
        let (include, lib) = (directory.join("include"), directory.join("lib"));
        let header = std::fs::read_to_string(include.join("rocksdb/c.h")).expect("its header");
        // A function that is younger than 7.8.
        let is_newer = header.contains("rocksdb_wait_for_compact(");
        return Some(Library { name: "original", include, lib, is_newer });
    }
    let skipped = |reason: &str| {
        eprintln!("SKIPPED: {reason}; install librocksdb-dev 7.8, or set ROCKSDB_ORIGINAL");
        None
    };
    let include = PathBuf::from("/usr/include");
    let Ok(version) = std::fs::read_to_string(include.join("rocksdb/version.h")) else {
        return skipped("no header rocksdb/version.h");
    };
    if !(version.contains("ROCKSDB_MAJOR 7\n") && version.contains("ROCKSDB_MINOR 8\n")) {
        return skipped("the system's RocksDB is not version 7.8");
    }
    // The compiler prints the name alone if it finds no file.
    let mut command = Command::new(compiler);
    let output = command.arg("-print-file-name=librocksdb.so").output().expect("the compiler");
    let found = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let Ok(found) = found.canonicalize() else { return skipped("no librocksdb.so") };
    let lib = found.parent().expect("a directory").to_owned();
    Some(Library { name: "original", include, lib, is_newer: false })
}

/// Installs our library once for all tests.
pub(crate) fn ours() -> &'static Library {
    static OURS: OnceLock<Library> = OnceLock::new();
    OURS.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocksdb-prefix");
        let mut command = Command::new(env!("CARGO"));
        command.args(["run", "--quiet", "-p", "xtask", "--", "rocksdb", "--from"]);
        // Cargo built the static library for this test.
        let test = std::env::current_exe().expect("the test's path");
        command.arg(test.parent().expect("a directory"));
        command.arg("--prefix").arg(&prefix).current_dir(own_directory());
        let output = command.output().expect("cargo");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (include, lib) = (prefix.join("include"), prefix.join("lib"));
        Library { name: "ours", include, lib, is_newer: true }
    })
}
