//! Cuts a damaged log at the offset that the caller chose.
//!
//! ```text
//! 7.log: 1 2 x 4 5    8.log: 6 7        7.log: 1 2    7.log.damaged: 1 2 x 4 5    8.log.cut: 6 7
//! ```
//!
//! Later logs are renamed, so that a prefix of the writes survives (H11). One rename replaces the
//! log, so a log of this name exists at every moment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use foldb_env::FileSystem;

use crate::db::lifecycle::open::files::logs_in;
use crate::db::lifecycle::open::repair::{CutLog, LogCut};
use crate::error::{Error, Result};
use crate::files::{FileKind, FileNames, is_there};
use crate::files::{copy_file, is_no_link};

/// Cuts a log and renames later ones.
///
/// # Errors
/// `InvalidArgument` if the log does not exist or is shorter than the offset; `Io`.
pub(crate) fn cut_log(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
    cut: &LogCut,
) -> Result<CutLog> {
    let named = cut.file.file_name().and_then(|name| FileKind::parse(name.to_str()?));
    let number = match named {
        Some(FileKind::Log(number)) if present.contains(&FileKind::Log(number)) => number,
        _ => return Err(Error::invalid_argument("there is no such log").in_file(&cut.file)),
    };
    let path = names.log(number);
    let io = |doing: &'static str| {
        let path = path.clone();
        move |error: std::io::Error| Error::io(&path, doing, &error)
    };
    let len = fs.len(&path).map_err(io("look at"))?;
    if cut.offset > len {
        let message = format!("the log has {len} bytes and cannot be cut at {}", cut.offset);
        return Err(Error::invalid_argument(message).in_file(&path));
    }
    let short = with_ending(&path, "short");
    copy_file(fs, &path, &short, cut.offset)?;
    replace_log(fs, &path, &short)?;
    let later: Vec<PathBuf> = logs_in(present)
        .into_iter()
        .filter(|&log| log > number)
        .map(|log| names.log(log))
        .collect();
    for log in &later {
        let renamed = fs.rename(log, &with_ending(log, "cut"));
        renamed.map_err(|error| Error::io(log, "put aside", &error))?;
    }
    let synced = fs.sync_dir(names.directory());
    synced.map_err(|error| Error::io(names.directory(), "sync the directory", &error))?;
    Ok(CutLog {
        file: path.clone(),
        offset: cut.offset,
        bytes: len - cut.offset,
        later_logs: later,
    })
}

/// Replaces a damaged log, which stays under another name. A log of this name exists at every
/// moment.
pub(crate) fn replace_log(fs: &dyn FileSystem, path: &Path, by: &Path) -> Result<()> {
    let io = |doing: &'static str| move |error: std::io::Error| Error::io(path, doing, &error);
    let whole = with_ending(path, "damaged");
    if !is_there(fs, &whole)? {
        let len = fs.len(path).map_err(io("look at"))?;
        match fs.hard_link(path, &whole) {
            Err(error) if is_no_link(&error) => copy_file(fs, path, &whole, len)?,
            linked => linked.map_err(io("link"))?,
        }
    }
    fs.rename(by, path).map_err(io("replace"))
}

/// Appends an ending to a file name. Opens ignore files with such names.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.to_owned().into_os_string();
    name.push(format!(".{ending}"));
    name.into()
}
