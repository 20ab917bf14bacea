//! The two libraries: Debian's, and ours as `cargo xtask leveldb` installs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A library with LevelDB's interface, and where its files are.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub name: &'static str,
    pub include: PathBuf,
    pub lib: PathBuf,
    /// What a program links beside the static library.
    pub beside_static: &'static [&'static str],
}

pub(crate) fn own_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the C++ compiler, or says that the tests are skipped without one.
pub(crate) fn compiler() -> Option<String> {
    let name = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(name);
    }
    eprintln!("SKIPPED: no C++ compiler '{name}'; install one, or name it in CXX");
    None
}

/// Returns Debian's library, or says that the tests are skipped without it.
pub(crate) fn original(compiler: &str) -> Option<Library> {
    let skipped = |reason: &str| {
        eprintln!("SKIPPED: {reason}; install libleveldb-dev 1.23 and libsnappy-dev");
        None
    };
    let include = PathBuf::from("/usr/include");
    let Ok(header) = std::fs::read_to_string(include.join("leveldb/db.h")) else {
        return skipped("no header leveldb/db.h");
    };
    if !header.contains("kMinorVersion = 23") {
        return skipped("the system's LevelDB is not version 1.23");
    }
    // The compiler prints the name alone if it finds no file.
    let mut command = Command::new(compiler);
    let output = command.arg("-print-file-name=libleveldb.so").output().expect("the compiler");
    let found = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let Ok(found) = found.canonicalize() else { return skipped("no libleveldb.so") };
    let lib = found.parent().expect("a directory").to_owned();
    Some(Library { name: "original", include, lib, beside_static: &["-lsnappy", "-lpthread"] })
}

/// Installs our library once for all tests.
pub(crate) fn ours() -> &'static Library {
    static OURS: OnceLock<Library> = OnceLock::new();
    OURS.get_or_init(|| installed("prefix", &[]))
}

/// Installs our library, with sanitizers in its C++ part.
pub(crate) fn sanitized() -> Library {
    installed("prefix-sanitized", &["--sanitize", "address,undefined"])
}

fn installed(name: &str, arguments: &[&str]) -> Library {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "xtask", "--", "leveldb", "--from"]);
    // Cargo built the Rust half for this test.
    command.arg(std::env::current_exe().expect("the test's path").parent().expect("a directory"));
    command.arg("--prefix").arg(&prefix).args(arguments).current_dir(own_directory());
    let output = command.output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let beside_static = &["-lpthread", "-ldl", "-lm"];
    Library {
        name: "ours",
        include: prefix.join("include"),
        lib: prefix.join("lib"),
        beside_static,
    }
}

/// Returns a compiler and both libraries, or says why the tests are skipped.
pub(crate) fn both() -> Option<(String, Library, &'static Library)> {
    let compiler = compiler()?;
    let original = original(&compiler)?;
    Some((compiler, original, ours()))
}
