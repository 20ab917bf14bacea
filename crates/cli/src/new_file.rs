//! A file that appears under its name only when it is complete.
//!
//! Bytes go into `FILE.unfinished`. The last step syncs this and renames it to `FILE`. So a file of
//! that name is complete, and an older file stays until then.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Outcome};
use crate::location::shown;
use crate::staging::sync_directory;

/// A file being written. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct NewFile {
    to: PathBuf,
    unfinished: PathBuf,
    pub(crate) file: File,
    is_whole: bool,
}

impl NewFile {
    /// Creates the unfinished file.
    ///
    /// # Errors
    /// Fails if `to` is a directory, or if the file cannot be created.
    pub(crate) fn begin(to: &Path) -> Outcome<NewFile> {
        if to.is_dir() {
            return Err(Exit::failed(format!("{} is a directory, not a file", shown(to))));
        }
        let mut unfinished = to.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let file = File::create(&unfinished).map_err(|error| {
            Exit::failed(format!("cannot create {}: {error}", shown(&unfinished)))
        })?;
        Ok(NewFile { to: to.to_owned(), unfinished, file, is_whole: false })
    }

    /// Gives the file its name, durably.
    ///
    /// # Errors
    /// Fails if a sync or the rename fails.
    pub(crate) fn finish(mut self) -> Outcome {
        let failed =
            |error: io::Error| Exit::failed(format!("cannot finish {}: {error}", shown(&self.to)));
        self.file.sync_all().map_err(failed)?;
        fs::rename(&self.unfinished, &self.to).map_err(failed)?;
        self.is_whole = true;
        let parent = self.to.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or(Path::new(".")))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _best_effort = fs::remove_file(&self.unfinished);
        }
    }
}
