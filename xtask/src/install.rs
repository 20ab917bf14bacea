//! `cargo xtask install`: the C library, its header, and what pkg-config and CMake need to find it.

use std::path::Path;

use crate::arguments::Install;
use crate::prefix::{File, build, install_link};
use crate::step::root;

/// The version in the names of the installed files.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The name under which the system's loader finds the library; `crates/capi/build.rs` sets it.
const SONAME: &str = "libfoldb.so.0";

/// Builds the library and installs it below the prefix.
///
/// # Errors
/// A system other than Linux, a build that fails, or a file that cannot be written.
pub(crate) fn run(install: &Install) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("install knows Linux only; build the library with `cargo build --release -p \
                    foldb-capi` and copy it with crates/capi/include/foldb.h"
            .to_owned());
    }
    let built = match &install.from {
        Some(directory) => directory.clone(),
        None => build("cargo build -p foldb-capi", &install.profile)?,
    };
    copied(&install.prefix, &built)
}

/// Copies the library, which was built into the directory `built`, below the prefix.
///
/// # Errors
/// A file that cannot be read or written.
pub(crate) fn copied(prefix: &Path, built: &Path) -> Result<(), String> {
    let own = root().join("crates/capi");
    let library = format!("libfoldb.so.{VERSION}");
    let mut files = vec![
        File::copied(&own.join("include/foldb.h"), prefix.join("include/foldb.h"))?,
        File::copied(&built.join("libfoldb_capi.so"), prefix.join("lib").join(&library))?,
        File::copied(&built.join("libfoldb_capi.a"), prefix.join("lib/libfoldb.a"))?,
    ];
    for (from, to) in [
        ("foldb.pc", "lib/pkgconfig"),
        ("foldbConfig.cmake", "lib/cmake/foldb"),
        ("foldbConfigVersion.cmake", "lib/cmake/foldb"),
    ] {
        let template = own.join("install").join(from);
        files.push(File::filled(&template, prefix.join(to).join(from), VERSION)?);
    }
    for file in files {
        file.install()?;
    }
    for name in [SONAME, "libfoldb.so"] {
        install_link(&prefix.join("lib").join(name), &library)?;
    }
    Ok(())
}
