//! Cuts a damaged log at the offset that the caller chose.
//!
//! ```text
//! 7.log: 1 2 x 4 5    8.log: 6 7        7.log: 1 2    7.log.damaged: 1 2 x 4 5    8.log.cut: 6 7
//! ```
//!
//! Later logs are renamed, so that a prefix of the writes survives (H11). The newest is renamed
//! first, and the cut log takes its place last: an open in between finds the damage or a prefix.
//! One rename replaces the log, so a log of this name exists at every moment.

use std::path::{Path, PathBuf};

use foldb_env::FileSystem;

use crate::db::lifecycle::open::files::logs_in;
use crate::db::lifecycle::open::repair::aside::{keep, put_aside, sync_directory_of, with_ending};
use crate::db::lifecycle::open::repair::{CutLog, LogCut};
use crate::error::{Error, Result};
use crate::files::{FileKind, FileNames, copy_file};

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
    keep(fs, &path, "damaged")?;
    let later: Vec<PathBuf> = logs_in(present)
        .into_iter()
        .filter(|&log| log > number)
        .map(|log| names.log(log))
        .collect();
    // An open drops and removes logs that do not follow the one before.
    for log in later.iter().rev() {
        put_aside(fs, log, "cut")?;
        sync_directory_of(fs, log)?;
    }
    replace(fs, &path, &short)?;
    Ok(CutLog {
        file: path.clone(),
        offset: cut.offset,
        bytes: len - cut.offset,
        later_logs: later,
    })
}

/// Replaces a damaged log, which stays under another name.
pub(crate) fn replace_log(fs: &dyn FileSystem, path: &Path, by: &Path) -> Result<()> {
    keep(fs, path, "damaged")?;
    replace(fs, path, by)
}

fn replace(fs: &dyn FileSystem, path: &Path, by: &Path) -> Result<()> {
    fs.rename(by, path).map_err(|error| Error::io(path, "replace", &error))?;
    sync_directory_of(fs, path)
}
