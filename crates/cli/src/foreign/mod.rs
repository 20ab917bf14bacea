//! What imports from LevelDB and from RocksDB share, and exports to them.
//!
//! - [`Stream`]: the visible entries of a keyspace to be, in the order of their keys;
//! - [`Listing`]: the files of a directory, to notice a program that changes them;
//! - [`window`]: reads a file from its first byte to its last in large parts;
//! - [`output`]: a new file of such a database;
//! - [`lock`]: keeps other programs from opening the database meanwhile.
//!
//! Invariant: nothing here writes to the database that is read.

use std::path::{Path, PathBuf};

use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::location::shown;

pub(crate) mod lock;
pub(crate) mod output;
pub(crate) mod window;

/// The visible entries of a keyspace to be, in the order of their keys.
pub(crate) trait Stream {
    /// Moves to the next entry. Returns false after the last one.
    ///
    /// # Errors
    /// Fails for damage, and if a file is gone.
    fn advance(&mut self) -> Outcome<bool>;

    /// Returns the key of the present entry.
    fn key(&self) -> &[u8];

    /// Returns what the operands are folded onto. `None` if there is no value below them.
    fn base(&self) -> Option<&[u8]>;

    /// Returns the operands, the oldest first.
    fn operands(&self) -> &[Vec<u8>] {
        &[]
    }
}

/// The files of a directory, with their lengths.
#[derive(Debug)]
pub(crate) struct Listing {
    directory: PathBuf,
    files: Vec<(std::ffi::OsString, u64)>,
}

impl Listing {
    /// Lists the files.
    ///
    /// # Errors
    /// Fails if the directory cannot be read.
    pub(crate) fn of(directory: &Path) -> Outcome<Listing> {
        let failed = |error: std::io::Error| {
            Exit::failed(format!("cannot read the directory {}: {error}", shown(directory)))
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            files.push((entry.file_name(), entry.metadata().map_err(failed)?.len()));
        }
        files.sort();
        Ok(Listing { directory: directory.to_owned(), files })
    }

    /// Returns the numbers and lengths of the files `NUMBER` with this ending, in order.
    pub(crate) fn numbered(&self, ending: &str) -> Vec<(u64, u64)> {
        let number = |name: &std::ffi::OsStr| {
            let digits = name.to_str()?.strip_suffix(ending)?;
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        };
        let found = self.files.iter().filter_map(|(name, len)| Some((number(name)?, *len)));
        let mut found: Vec<(u64, u64)> = found.collect();
        found.sort_unstable();
        found
    }

    /// Returns the names of the files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|(name, _)| name.to_str())
    }

    /// Checks that no program changed the directory since.
    ///
    /// # Errors
    /// Fails if a file appeared, disappeared or has another length.
    pub(crate) fn check_unchanged(&self) -> Outcome {
        match Listing::of(&self.directory)?.files == self.files {
            true => Ok(()),
            false => Err(self.changed()),
        }
    }

    /// Returns the error of a directory that another program changed.
    pub(crate) fn changed(&self) -> Exit {
        Exit::failed(format!(
            "{} changed during the import: close the database in all programs, and try again",
            shown(&self.directory)
        ))
    }
}

/// Reads a whole file.
pub(crate) fn read_file(path: &Path) -> Outcome<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| Exit::failed(format!("cannot read {}: {error}", shown(path))))
}

/// Returns the path of the manifest that `CURRENT` names, or what is wrong with that file.
///
/// # Errors
/// Fails if the file cannot be read.
pub(crate) fn manifest_in_force(directory: &Path) -> Outcome<Result<PathBuf, String>> {
    let content = read_file(&directory.join("CURRENT"))?;
    let name = content.strip_suffix(b"\n").and_then(|name| std::str::from_utf8(name).ok());
    Ok(match name.filter(|name| is_manifest(name)) {
        Some(name) if directory.join(name).is_file() => Ok(directory.join(name)),
        Some(name) => Err(format!("the manifest {name}, which it names, is missing")),
        None => {
            let found = quoted(&content[..content.len().min(40)]);
            Err(format!("expected the name of a manifest, found {found}"))
        }
    })
}

fn is_manifest(name: &str) -> bool {
    let digits = name.strip_prefix("MANIFEST-").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
#[path = "../../../foldb/tests/support/mutator.rs"]
pub(crate) mod mutator;
