//! `cargo xtask install`: the C library, its header, and what pkg-config and CMake need to find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Install;
use crate::step::{Step, root};

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
        None => build(&install.profile)?,
    };
    let prefix = &install.prefix;
    for file in files(&built, prefix)? {
        file.write()?;
        println!("{}", file.to.display());
    }
    for name in [SONAME, "libfoldb.so"] {
        let link = prefix.join("lib").join(name);
        link_to(&link, &format!("libfoldb.so.{VERSION}"))?;
        println!("{}", link.display());
    }
    Ok(())
}

/// Builds the library. Returns its directory.
fn build(profile: &str) -> Result<PathBuf, String> {
    Step::new("cargo build -p foldb-capi --profile").with([profile]).run()?;
    Ok(target_directory()?.join(if profile == "dev" { "debug" } else { profile }))
}

/// A file to install.
struct File {
    to: PathBuf,
    contents: Vec<u8>,
}

impl File {
    /// Writes the file under another name first, because programs may run the present one.
    fn write(&self) -> Result<(), String> {
        let told = |error| format!("cannot write '{}': {error}", self.to.display());
        fs::create_dir_all(self.to.parent().unwrap_or(Path::new("."))).map_err(told)?;
        let mut part = self.to.clone().into_os_string();
        part.push(".part");
        fs::write(&part, &self.contents).map_err(told)?;
        fs::rename(&part, &self.to).map_err(told)
    }
}

fn files(built: &Path, prefix: &Path) -> Result<Vec<File>, String> {
    let own = root().join("crates/capi");
    let pairs = [
        (own.join("include/foldb.h"), "include/foldb.h".to_owned()),
        (built.join("libfoldb_capi.so"), format!("lib/libfoldb.so.{VERSION}")),
        (built.join("libfoldb_capi.a"), "lib/libfoldb.a".to_owned()),
        (own.join("install/foldb.pc"), "lib/pkgconfig/foldb.pc".to_owned()),
        (own.join("install/foldbConfig.cmake"), "lib/cmake/foldb/foldbConfig.cmake".to_owned()),
        (
            own.join("install/foldbConfigVersion.cmake"),
            "lib/cmake/foldb/foldbConfigVersion.cmake".to_owned(),
        ),
    ];
    let read = |(from, to): (PathBuf, String)| {
        let mut contents = fs::read(&from)
            .map_err(|error| format!("cannot read '{}': {error}", from.display()))?;
        if from.starts_with(own.join("install")) {
            contents = String::from_utf8_lossy(&contents).replace("@VERSION@", VERSION).into();
        }
        Ok(File { to: prefix.join(to), contents })
    };
    pairs.into_iter().map(read).collect()
}

#[cfg(unix)]
fn link_to(link: &Path, target: &str) -> Result<(), String> {
    let told = |error| format!("cannot link '{}': {error}", link.display());
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        _ => {}
    }
    std::os::unix::fs::symlink(target, link).map_err(told)
}

#[cfg(not(unix))]
fn link_to(link: &Path, _target: &str) -> Result<(), String> {
    Err(format!("cannot link '{}' on this system", link.display()))
}

/// Asks cargo where it builds.
fn target_directory() -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version=1", "--no-deps"]).current_dir(root());
    let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found =
        text.split_once("\"target_directory\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let (path, _) = found.ok_or("cargo metadata names no target directory")?;
    Ok(PathBuf::from(path))
}
