//! The manifest and the options of a database.

use std::path::{Path, PathBuf};

use foldb_leveldb_format::records::Records;
use foldb_rocksdb_format::Fault;
use foldb_rocksdb_format::manifest::Manifest;
use foldb_rocksdb_format::options::Options;

use super::losses::unreadable;
use crate::exit::Outcome;
use crate::foreign::{Listing, manifest_in_force, read_file};

/// Returns the path of the manifest that `CURRENT` names.
pub(super) fn in_force(directory: &Path) -> Outcome<PathBuf> {
    manifest_in_force(directory)?
        .map_err(|what| unreadable(&directory.join("CURRENT"), 0, &Fault::damaged(what)))
}

/// Reads the manifest in force.
///
/// # Errors
/// Fails for damage. A manifest says which files count, so no damage of it can be skipped.
pub(super) fn manifest(directory: &Path) -> Outcome<Manifest> {
    let path = in_force(directory)?;
    let bytes = read_file(&path)?;
    let mut records = Records::of_rocksdb(&bytes, 0);
    let mut manifest = Manifest::default();
    let fail = |at: usize, fault: &Fault| unreadable(&path, at as u64, fault);
    while let Some(record) = records
        .next()
        .map_err(|damage| fail(damage.at, &Fault::damaged(damage.reason.to_string())))?
    {
        let applied = manifest.apply(record);
        applied.map_err(|fault| fail(records.offset(), &fault))?;
    }
    if let Some(what) = records.bad_tail() {
        return Err(fail(records.offset(), &Fault::damaged(what.to_string())));
    }
    match manifest.is_complete() {
        true => Ok(manifest),
        false => Err(fail(records.offset(), &Fault::damaged("the manifest is incomplete"))),
    }
}

/// Reads the newest options. A database may have none: then tables name its operators.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn options(directory: &Path, listing: &Listing) -> Outcome<Options> {
    let number = |name: &str| name.strip_prefix("OPTIONS-")?.parse::<u64>().ok();
    let newest = listing.names().filter_map(|name| Some((number(name)?, name))).max();
    let Some((_, name)) = newest else { return Ok(Options::default()) };
    let path = directory.join(name);
    let bytes = read_file(&path)?;
    let options = Options::parse(&String::from_utf8_lossy(&bytes));
    options.map_err(|fault| unreadable(&path, 0, &fault))
}
