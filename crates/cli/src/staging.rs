//! A new directory that appears under its name only when it is complete.
//!
//! Work goes into `DST.unfinished/db`. The last step renames this to `DST`, so a directory of that
//! name is complete. A file beside it says that the work is unfinished. After a kill, the next run
//! recognises that file, removes the rest of the earlier run, and begins again.
//!
//! Invariant: a run renames and removes only the directory that has its own mark. If another
//! program moved that away, another run may work at the path.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldb::env::Env;

use crate::exit::{Exit, Outcome};
use crate::location::shown;
use crate::new_file::is_name_of;

/// The file that marks a directory as the rest of an unfinished run.
const MARK: &str = "UNFINISHED";
const TEXT: &str =
    "An unfinished foldb import, export or restore. It is safe to remove this directory.\n";

/// A directory being made. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Staging {
    to: PathBuf,
    outer: PathBuf,
    /// Locked, so that no other run removes the directory.
    mark: Option<File>,
}

impl Staging {
    /// Begins, for a directory `to` that is empty or does not exist.
    ///
    /// # Errors
    /// Fails if `to` is in use, inside of `from`, or being made by another run.
    pub(crate) fn begin(to: &Path, from: &Path) -> Outcome<Staging> {
        check_free(to)?;
        check_outside(to, from)?;
        foldb::operators::check_output(to, &foldb::Options::default())?;
        let mut outer = to.components().as_path().as_os_str().to_owned();
        outer.push(".unfinished");
        let mut staging = Staging { to: to.to_owned(), outer: outer.into(), mark: None };
        staging.prepare()?;
        Ok(staging)
    }

    fn prepare(&mut self) -> Outcome {
        let outer = &self.outer;
        let failed = |doing: &str, error: &io::Error| {
            Exit::failed(format!("cannot {doing} {}: {error}", shown(outer)))
        };
        // A run that was killed early may have written a part of the text.
        let text = fs::read(outer.join(MARK));
        let is_known = text.is_ok_and(|text| TEXT.as_bytes().starts_with(&text));
        if !is_known && fs::read_dir(outer).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Exit::failed(format!(
                "{} is in the way, and was not made by foldb: move it away",
                shown(outer)
            )));
        }
        fs::create_dir_all(outer).map_err(|error| failed("create", &error))?;
        let mark = outer.join(MARK);
        let open = || File::options().create(true).truncate(false).write(true).open(&mark);
        let mut file = open().map_err(|error| failed("write to", &error))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Exit::failed(format!("another run of foldb is working in {}", shown(outer)))
            }
            TryLockError::Error(error) => failed("lock", &error),
        })?;
        file.write_all(TEXT.as_bytes()).map_err(|error| failed("write to", &error))?;
        self.mark = Some(file);
        let inner = self.outer.join("db");
        if inner.exists() {
            fs::remove_dir_all(&inner).map_err(|error| failed("clear", &error))?;
        }
        Ok(())
    }

    /// Returns the directory to fill. It does not exist yet.
    pub(crate) fn path(&self) -> PathBuf {
        self.outer.join("db")
    }

    /// Gives the directory its name, durably. Its files are durable already.
    ///
    /// # Errors
    /// Fails if something has the name by now.
    pub(crate) fn finish(mut self) -> Outcome {
        sync_directory(&self.path())?;
        if !self.is_in_place() {
            return Err(Exit::failed(format!(
                "{} was moved away or removed: begin again",
                shown(&self.outer)
            )));
        }
        check_free(&self.to)?;
        let name = shown(&self.to);
        fs::rename(self.path(), &self.to).map_err(|error| {
            Exit::failed(format!("cannot rename the result to {name}: {error}"))
        })?;
        self.remove();
        let parent = self.to.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or(Path::new(".")))
    }

    /// Returns whether the path still leads to the directory with the mark of this run.
    fn is_in_place(&self) -> bool {
        let mark = self.outer.join(MARK);
        self.mark.as_ref().is_some_and(|file| is_name_of(&mark, file).unwrap_or(false))
    }

    fn remove(&mut self) {
        if self.is_in_place() {
            // Files of others in the outer directory stay.
            let _best_effort = fs::remove_dir_all(self.path());
            let _best_effort = fs::remove_file(self.outer.join(MARK));
            let _best_effort = fs::remove_dir(&self.outer);
        }
        self.mark = None;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Refuses a path that is in use.
fn check_free(to: &Path) -> Outcome {
    let in_use = |what: &str| {
        Err(Exit::failed(format!("{} {what}: choose a path that does not exist", shown(to))))
    };
    match fs::read_dir(to) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => in_use("exists and is not empty"),
        },
        Err(_) if fs::symlink_metadata(to).is_ok() => in_use("exists and is no directory"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match to.as_os_str().is_empty() {
            true => Err(Exit::failed("the path of the new database is empty")),
            false => Ok(()),
        },
        Err(error) => Err(Exit::failed(format!("cannot look at {}: {error}", shown(to)))),
    }
}

/// Refuses a directory inside of the other one, which would change it.
fn check_outside(to: &Path, from: &Path) -> Outcome {
    let Ok(from_path) = from.canonicalize() else { return Ok(()) };
    let absolute = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    let is_inside = absolute
        .ancestors()
        .any(|above| above.canonicalize().is_ok_and(|above| above == from_path));
    match is_inside {
        false => Ok(()),
        true => Err(Exit::failed(format!(
            "{} is inside of {}, which must not change: choose another path",
            shown(to),
            shown(from)
        ))),
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Outcome {
    Env::system()
        .fs
        .sync_dir(path)
        .map_err(|error| Exit::failed(format!("cannot sync {}: {error}", shown(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(outcome: Outcome<T>) -> String {
        outcome.unwrap_err().message()
    }

    fn fill(staging: &Staging) {
        fs::create_dir(staging.path()).unwrap();
        fs::write(staging.path().join("file"), "content").unwrap();
    }

    #[test]
    fn a_finished_directory_has_its_name_and_an_unfinished_one_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let (to, from) = (dir.path().join("to"), dir.path().join("from"));
        let staging = Staging::begin(&to, &from).unwrap();
        fill(&staging);
        assert!(!to.exists());
        drop(staging);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::create_dir(&to).unwrap();
        let staging = Staging::begin(&to, &from).unwrap();
        fill(&staging);
        staging.finish().unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "content");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(message(Staging::begin(&to, &from)).contains("not empty"));
        fs::write(&from, "").unwrap();
        assert!(message(Staging::begin(&from, &to)).contains("no directory"));
    }

    #[test]
    fn the_rest_of_a_killed_run_is_replaced_and_other_directories_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let (to, from) = (dir.path().join("to"), dir.path().join("from"));
        let outer = dir.path().join("to.unfinished");
        fs::create_dir(&outer).unwrap();
        fs::write(outer.join("mine"), "").unwrap();
        assert!(message(Staging::begin(&to, &from)).contains("is in the way"));
        assert!(outer.join("mine").exists());
        fs::rename(outer.join("mine"), outer.join(MARK)).unwrap();
        fs::create_dir(outer.join("db")).unwrap();
        fs::write(outer.join("db/old"), "").unwrap();
        let staging = Staging::begin(&to, &from).unwrap();
        assert!(!staging.path().exists());
        fill(&staging);
        assert!(message(Staging::begin(&to, &from)).contains("another run"));
        assert!(staging.path().join("file").exists());
        staging.finish().unwrap();
        assert!(!outer.exists() && !to.join("old").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_run_whose_directory_was_moved_away_leaves_that_of_another_run() {
        let dir = tempfile::tempdir().unwrap();
        let (to, from) = (dir.path().join("to"), dir.path().join("from"));
        let (outer, moved) = (dir.path().join("to.unfinished"), dir.path().join("moved"));
        let begun = || {
            let staging = Staging::begin(&to, &from).unwrap();
            fill(&staging);
            staging
        };
        let (first, second) = (begun(), {
            fs::rename(&outer, &moved).unwrap();
            begun()
        });
        drop(first);
        assert!(outer.join("db/file").exists() && moved.join("db/file").exists());
        fs::rename(&outer, dir.path().join("second")).unwrap();
        let third = begun();
        assert!(message(second.finish()).contains("was moved away"));
        assert!(!to.exists());
        third.finish().unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "content");
    }

    #[test]
    fn a_directory_inside_of_the_source_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for to in ["to", "deep/to", "../x/../to"] {
            let to = dir.path().join(to);
            if to.starts_with(dir.path()) && !to.to_string_lossy().contains("..") {
                assert!(message(Staging::begin(&to, dir.path())).contains("is inside of"));
            }
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
