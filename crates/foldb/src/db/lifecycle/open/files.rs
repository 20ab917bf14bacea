//! Lists the files of a database's directory, and checks that the needed files exist.

use std::collections::HashSet;

use foldb_env::FileSystem;

use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{Error, Result};
use crate::files::{FileKind, FileNames};

/// Returns the files of a database's directory.
pub(crate) fn list_files(fs: &dyn FileSystem, names: &FileNames) -> Result<Vec<FileKind>> {
    let directory = names.directory();
    let list = fs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
    Ok(list.iter().filter_map(|name| FileKind::parse(name)).collect())
}

/// The error of a table that does not exist.
pub(crate) const MISSING_TABLE: &str =
    "the table is missing; restore it from a copy, or run `foldb repair`";

/// # Errors
/// `Corruption` if a table of the trees does not exist.
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

/// # Errors
/// `Corruption` if a log does not exist although the manifest or a clean close says that it is
/// needed. Even an empty log exists by the time they name it.
pub(crate) fn check_log(log: u64, present: &[FileKind], names: &FileNames) -> Result<()> {
    if present.contains(&FileKind::Log(log)) {
        return Ok(());
    }
    Err(missing_log(log, names))
}

/// Returns the error of a log that does not exist.
pub(crate) fn missing_log(log: u64, names: &FileNames) -> Error {
    let message = "the log is missing; restore it from a copy, or run `foldb repair`";
    Error::corruption(message).in_file(&names.log(log))
}

/// Far more files than a database creates between two edits of its manifest.
const MOST_LEFTOVERS: u64 = 1 << 32;

/// Returns a number above that of every file, and at least `known`, which is the manifest's next
/// number.
///
/// # Errors
/// `Corruption` for a file with a number far above `known`. No database wrote such a file, and
/// continuing from its number would use up the numbers.
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

/// Returns the numbers of the archived logs, ascending.
pub(crate) fn archives_in(present: &[FileKind]) -> Vec<u64> {
    let archived = present.iter().filter_map(|kind| match kind {
        FileKind::Archive(number) => Some(*number),
        _ => None,
    });
    let mut archived: Vec<u64> = archived.collect();
    archived.sort_unstable();
    archived
}

/// Returns the numbers of the logs, ascending.
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
