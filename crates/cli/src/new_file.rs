//! A file that appears under its name only when it is complete.
//!
//! Bytes go into `FILE.unfinished`. The last step syncs this and renames it to `FILE`. So a file of
//! that name is complete, and an older file stays until then.
//!
//! The run that writes `FILE.unfinished` locks it. Another run takes over the file of a killed run,
//! and shortens it only under the lock:
//!
//! ```text
//! first run    open, lock, write ............ rename to FILE, unlock
//! second run        open, locked: refused
//! third run                          open ................ lock: the name is gone, open again
//! ```

use std::fs::{self, File, TryLockError};
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
    /// Creates the unfinished file, or takes over that of a killed run.
    ///
    /// # Errors
    /// Fails if `to` is a directory or no regular file, if it is inside of a database or of
    /// backups, if another run writes it, or if the file cannot be created.
    pub(crate) fn begin(to: &Path) -> Outcome<NewFile> {
        if to.is_dir() {
            return Err(Exit::failed(format!("{} is a directory, not a file", shown(to))));
        }
        let mut unfinished = to.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        foldb::operators::check_output(to, &foldb::Options::default())?;
        check_regular(to)?;
        check_regular(&unfinished)?;
        let failed = |error: io::Error| {
            Exit::failed(format!("cannot create {}: {error}", shown(&unfinished)))
        };
        let open = || File::options().create(true).truncate(false).write(true).open(&unfinished);
        loop {
            let file = open().map_err(failed)?;
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => {
                    Exit::failed(format!("another run of foldb is writing {}", shown(to)))
                }
                TryLockError::Error(error) => failed(error),
            })?;
            // The run that held the lock may have renamed or removed the file.
            if is_name_of(&unfinished, &file).map_err(failed)? {
                file.set_len(0).map_err(failed)?;
                return Ok(NewFile { to: to.to_owned(), unfinished, file, is_whole: false });
            }
        }
    }

    /// Gives the file its name, durably.
    ///
    /// # Errors
    /// Fails if a sync or the rename fails.
    pub(crate) fn finish(mut self) -> Outcome {
        let failed =
            |error: io::Error| Exit::failed(format!("cannot finish {}: {error}", shown(&self.to)));
        self.file.sync_all().map_err(failed)?;
        if !is_name_of(&self.unfinished, &self.file).map_err(failed)? {
            return Err(Exit::failed(format!(
                "{} was moved away or removed: begin again",
                shown(&self.unfinished)
            )));
        }
        fs::rename(&self.unfinished, &self.to).map_err(failed)?;
        self.is_whole = true;
        let parent = self.to.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or(Path::new(".")))
    }
}

/// Refuses a link, a device or a pipe: the rename would put a file in its place.
fn check_regular(path: &Path) -> Outcome {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            Err(Exit::failed(format!("{} is a link: name the file itself", shown(path))))
        }
        Ok(found) if !found.is_file() => Err(Exit::failed(format!(
            "{} is no regular file: write to - (standard output) for a device or a pipe",
            shown(path)
        ))),
        // A missing file is created. The creation reports other errors.
        _ => Ok(()),
    }
}

/// Returns whether a path names an open file.
#[cfg(unix)]
pub(crate) fn is_name_of(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether a path names an open file. Where files have no numbers, any file of this name
/// counts.
#[cfg(not(unix))]
pub(crate) fn is_name_of(path: &Path, _: &File) -> io::Result<bool> {
    path.try_exists()
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_whole && is_name_of(&self.unfinished, &self.file).unwrap_or(false) {
            let _best_effort = fs::remove_file(&self.unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn refusal(path: &Path) -> String {
        match NewFile::begin(path) {
            Err(Exit::Failed(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_run_whose_file_was_moved_away_leaves_that_of_another_run() {
        let dir = tempfile::tempdir().unwrap();
        let (path, unfinished) = (dir.path().join("dump"), dir.path().join("dump.unfinished"));
        let begun = |text: &str| {
            let mut new = NewFile::begin(&path).unwrap();
            new.file.write_all(text.as_bytes()).unwrap();
            new
        };
        let first = begun("first");
        fs::rename(&unfinished, dir.path().join("moved")).unwrap();
        let second = begun("second");
        let Err(Exit::Failed(message)) = first.finish() else { panic!("it has no name") };
        assert!(message.contains("was moved away"), "{message}");
        assert_eq!(fs::read_to_string(&unfinished).unwrap(), "second");
        second.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    }

    #[test]
    fn one_run_at_a_time_writes_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dump");
        let mut first = NewFile::begin(&path).unwrap();
        first.file.write_all(b"first").unwrap();
        assert!(refusal(&path).contains("another run of foldb is writing"));
        first.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let mut second = NewFile::begin(&path).unwrap();
        second.file.write_all(b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first", "the older file stays");
        drop(second);
        assert!(!dir.path().join("dump.unfinished").exists());
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }

    #[test]
    fn the_rest_of_a_killed_run_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("dump.unfinished"), "a longer rest").unwrap();
        let path = dir.path().join("dump");
        let mut new = NewFile::begin(&path).unwrap();
        new.file.write_all(b"new").unwrap();
        new.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    /// A run opened the unfinished file before another run renamed it.
    #[cfg(unix)]
    #[test]
    fn a_renamed_file_is_not_taken_for_the_unfinished_one() {
        let dir = tempfile::tempdir().unwrap();
        let unfinished = dir.path().join("dump.unfinished");
        let open = File::create(&unfinished).unwrap();
        assert!(is_name_of(&unfinished, &open).unwrap());
        fs::rename(&unfinished, dir.path().join("dump")).unwrap();
        assert!(!is_name_of(&unfinished, &open).unwrap());
        File::create(&unfinished).unwrap();
        assert!(!is_name_of(&unfinished, &open).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(refusal(&link).contains("is a link"));
        assert!(refusal(Path::new("/dev/null")).contains("is no regular file"));
        assert!(refusal(dir.path()).contains("is a directory"));
        std::os::unix::fs::symlink("other", dir.path().join("dump.unfinished")).unwrap();
        assert!(refusal(&dir.path().join("dump")).contains("is a link"));
        assert!(!dir.path().join("other").exists());
    }
}
