//! Which tables and logs a LevelDB database consists of: the manifest that `CURRENT` names.

use std::path::{Path, PathBuf};

use foldb_leveldb_format::BYTEWISE;
use foldb_leveldb_format::manifest::Manifest;
use foldb_leveldb_format::records::Records;

use super::damaged;
use crate::exit::{Exit, Outcome};
use crate::foreign::{manifest_in_force, read_file};
use crate::form::escape::quoted;

/// Returns the path of the manifest that `CURRENT` names.
pub(super) fn in_force(directory: &Path) -> Outcome<PathBuf> {
    manifest_in_force(directory)?.map_err(|what| damaged(&directory.join("CURRENT"), 0, &what))
}

/// Reads the manifest in force.
///
/// # Errors
/// Fails for damage, and for an order of keys that is not [`BYTEWISE`].
pub(super) fn read(directory: &Path) -> Outcome<Manifest> {
    let path = in_force(directory)?;
    let bytes = read_file(&path)?;
    let mut records = Records::of(&bytes);
    let mut manifest = Manifest::default();
    let fail = |at: usize, what: &str| damaged(&path, at as u64, what);
    while let Some(record) =
        records.next().map_err(|damage| fail(damage.at, &damage.reason.to_string()))?
    {
        let applied = manifest.apply(record);
        applied.map_err(|what| fail(records.offset(), &what))?;
    }
    // As LevelDB, which takes a cut manifest, but not one whose end is damaged.
    if let Some(what) = records.bad_tail() {
        return Err(fail(records.offset(), &what.to_string()));
    }
    if !manifest.is_complete() {
        return Err(fail(records.offset(), "the manifest is incomplete"));
    }
    match manifest.comparator.as_deref() {
        Some(other) if other != BYTEWISE.as_bytes() => Err(Exit::failed(format!(
            "the database orders its keys by the comparator {}, which foldb does not have: an \
             import takes only {}: export the entries with the program that has the comparator",
            quoted(other),
            quoted(BYTEWISE.as_bytes()),
        ))),
        _ => Ok(manifest),
    }
}
