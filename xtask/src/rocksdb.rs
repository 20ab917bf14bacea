//! `cargo xtask rocksdb`: `librocksdb`, RocksDB's C interface over the engine, from
//! `compat/rocksdb`.
//!
//! Rust gives the static library. The shared one is linked from it, and exports the functions of
//! `rocksdb/c.h` alone.

use std::path::Path;

use crate::arguments::Rocksdb;
use crate::prefix::{File, build, install_link};
use crate::shared_library::{Linker, SharedLibrary, locked_directory, told};
use crate::step::{is_there, root};

/// The version of RocksDB whose interface the library has.
const VERSION: &str = "10.4.2";

/// The name under which the system's loader finds the library; `compat/rocksdb/build.rs` has it
/// too.
const SONAME: &str = "librocksdb.so.10";

/// Builds the static library. A library of one type only is optimised across crates: the rlib that
/// tests need would forbid it.
pub(crate) const RUST: &str = "cargo rustc -p foldb-rocksdb --lib --crate-type staticlib";

/// Builds the library and installs it below the prefix.
///
/// # Errors
/// A system other than Linux, no C compiler, a build that fails, or a file that cannot be written.
pub(crate) fn run(own: &Rocksdb) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("rocksdb knows Linux only".to_owned());
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !is_there(&compiler) {
        return Err(format!(
            "there is no C compiler '{compiler}'; install gcc or clang, or name one in CC"
        ));
    }
    let (built, keeps_symbols) = match &own.from {
        Some(directory) => (directory.clone(), true),
        None => (build(RUST, &own.profile)?, own.profile == "dev"),
    };
    linked(&own.prefix, &Linker::of_machine(&compiler), &built, keeps_symbols)
}

/// Links the library for a release, and installs it below the prefix. Rust's half was built into
/// the directory `built`.
///
/// # Errors
/// The linker fails, or a file cannot be written.
pub(crate) fn make(prefix: &Path, linker: &Linker, built: &Path) -> Result<(), String> {
    linked(prefix, linker, built, false)
}

fn linked(prefix: &Path, linker: &Linker, built: &Path, keeps_symbols: bool) -> Result<(), String> {
    let rust = built.join("libfoldb_rocksdb.a");
    let rust = rust.canonicalize().map_err(|error| told("read", &rust, error))?;
    let (directory, _lock) = locked_directory("rocksdb")?;
    let shared = directory.join(SONAME);
    let library = SharedLibrary {
        linker,
        flags: &[],
        objects: &[],
        rust: &rust,
        soname: SONAME,
        exports: &root().join("compat/rocksdb/install/exports.map"),
        keeps_symbols,
    };
    library.link(&shared)?;
    install(prefix, &shared, &rust)
}

fn install(prefix: &Path, shared: &Path, archive: &Path) -> Result<(), String> {
    let own = root().join("compat/rocksdb");
    let lib = prefix.join("lib");
    let library = format!("librocksdb.so.{VERSION}");
    let header = "include/rocksdb/c.h";
    let for_pkg_config = lib.join("pkgconfig/rocksdb.pc");
    for file in [
        File::copied(shared, lib.join(&library))?,
        File::copied(archive, lib.join("librocksdb.a"))?,
        File::copied(&own.join(header), prefix.join(header))?,
        File::filled(&own.join("install/rocksdb.pc"), for_pkg_config, VERSION)?,
    ] {
        file.install()?;
    }
    for name in [SONAME, "librocksdb.so"] {
        install_link(&lib.join(name), &library)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_builds_a_library_of_the_same_soname() {
        let script = root().join("compat/rocksdb/build.rs");
        let script = std::fs::read_to_string(script).expect("the build script");
        assert!(script.contains(&format!("const SONAME: &str = \"{SONAME}\";")));
        assert!(SONAME.ends_with(VERSION.split('.').next().expect("a number")));
    }
}
