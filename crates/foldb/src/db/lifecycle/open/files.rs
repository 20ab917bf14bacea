//! What a database's directory holds, and what is missing in it.

use std::collections::HashSet;

use foldb_env::FileSystem;

use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{Error, Result};
use crate::files::{FileKind, FileNames};

/// The files of a database's directory.
pub(crate) fn list_files(fs: &dyn FileSystem, names: &FileNames) -> Result<Vec<FileKind>> {
    let directory = names.directory();
    let list = fs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
    Ok(list.iter().filter_map(|name| FileKind::parse(name)).collect())
}

/// What is said of a table that is not there.
pub(crate) const MISSING_TABLE: &str =
    "the table is missing; restore it from a copy, or run `foldb repair`";

/// Refuses trees with a table missing.
pub(crate) fn check_tables(
    keyspaces: &[KeyspaceParts],
    present: &[FileKind],
    names: &FileNames,
) -> Result<()> {
    let present: HashSet<u64> = present
        .iter()
        .filter_map(|kind| match kind {
            FileKind::Table(number) => Some(*number),
            _ => None,
        })
        .collect();
    let mut tables = keyspaces.iter().flat_map(|own| own.version.tables());
    match tables.find(|table| !present.contains(&table.file.number)) {
        None => Ok(()),
        Some(table) => {
            Err(Error::corruption(MISSING_TABLE).in_file(&names.table(table.file.number)))
        }
    }
}

/// Refuses a database without a log that its manifest, or a clean close, says is needed: it was
/// there, if only empty, when that was said.
pub(crate) fn check_log(log: u64, present: &[FileKind], names: &FileNames) -> Result<()> {
    if present.contains(&FileKind::Log(log)) {
        return Ok(());
    }
    Err(missing_log(log, names))
}

/// What is said of a log that is not there.
pub(crate) fn missing_log(log: u64, names: &FileNames) -> Error {
    let message = "the log is missing; restore it from a copy, or run `foldb repair`";
    Error::corruption(message).in_file(&names.log(log))
}

/// More files than a database makes between two edits of its manifest, by far.
const MOST_LEFTOVERS: u64 = 1 << 32;

/// A number above that of every file, and at least `known`: the next one that the manifest knows
/// of.
///
/// # Errors
/// `Corruption` for a file with a number far beyond `known`. No database wrote it, and counting on
/// from it would bring numbers to their end.
pub(crate) fn next_number(present: &[FileKind], known: u64, names: &FileNames) -> Result<u64> {
    let numbered = present.iter().filter_map(|kind| Some((kind.number()?, *kind)));
    let Some((highest, kind)) = numbered.max_by_key(|(number, _)| *number) else {
        return Ok(known);
    };
    if highest < known {
        return Ok(known);
    }
    if highest - known > MOST_LEFTOVERS {
        return Err(Error::corruption(format!(
            "expected file numbers near {known}, found {highest}: no database wrote this file, so \
             move it away"
        ))
        .in_file(&names.of(kind)));
    }
    Ok(highest + 1)
}

/// Numbers of the logs, ascending.
pub(crate) fn logs_in(present: &[FileKind]) -> Vec<u64> {
    let mut logs: Vec<u64> = present
        .iter()
        .filter_map(|kind| match kind {
            FileKind::Log(number) => Some(*number),
            _ => None,
        })
        .collect();
    logs.sort_unstable();
    logs
}
