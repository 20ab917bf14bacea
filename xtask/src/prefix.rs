//! Files below an installation prefix, and where cargo builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Step, root};

/// Builds a library with the command in `line` and a profile. Returns the library's directory.
///
/// # Errors
/// A build that fails.
pub(crate) fn build(line: &str, profile: &str) -> Result<PathBuf, String> {
    Step::new(line).with(["--profile", profile]).run()?;
    Ok(target_directory()?.join(if profile == "dev" { "debug" } else { profile }))
}

/// A file to install.
pub(crate) struct File {
    to: PathBuf,
    contents: Vec<u8>,
}

impl File {
    /// Returns the file `from` with the name `to`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn copied(from: &Path, to: PathBuf) -> Result<File, String> {
        let contents =
            fs::read(from).map_err(|error| format!("cannot read '{}': {error}", from.display()))?;
        Ok(File { to, contents })
    }

    /// Returns the text file `from` with the name `to`, and with `version` in place of `@VERSION@`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn filled(from: &Path, to: PathBuf, version: &str) -> Result<File, String> {
        let mut file = File::copied(from, to)?;
        file.contents =
            String::from_utf8_lossy(&file.contents).replace("@VERSION@", version).into();
        Ok(file)
    }

    /// Returns a file of these bytes.
    pub(crate) fn new(contents: &[u8], to: PathBuf) -> File {
        File { to, contents: contents.to_vec() }
    }

    /// Writes the file and prints its name. It has another name first, because programs may run the
    /// present one.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn install(&self) -> Result<(), String> {
        self.install_silently()?;
        println!("{}", self.to.display());
        Ok(())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn install_silently(&self) -> Result<(), String> {
        let told = |error| format!("cannot write '{}': {error}", self.to.display());
        fs::create_dir_all(self.to.parent().unwrap_or(Path::new("."))).map_err(told)?;
        let mut part = self.to.clone().into_os_string();
        part.push(".part");
        fs::write(&part, &self.contents).map_err(told)?;
        fs::rename(&part, &self.to).map_err(told)
    }
}

/// Makes `link` a symbolic link to `target`, and prints its name.
///
/// # Errors
/// A link that cannot be made.
pub(crate) fn install_link(link: &Path, target: &str) -> Result<(), String> {
    let told = |error| format!("cannot link '{}': {error}", link.display());
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        _ => {}
    }
    symlink(target, link).map_err(told)?;
    println!("{}", link.display());
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &str, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_target: &str, _link: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Asks cargo where it builds.
///
/// # Errors
/// cargo cannot be started, or its answer has no such directory.
pub(crate) fn target_directory() -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version=1", "--no-deps"]).current_dir(root());
    let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found =
        text.split_once("\"target_directory\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let (path, _) = found.ok_or("cargo metadata names no target directory")?;
    Ok(PathBuf::from(path))
}
