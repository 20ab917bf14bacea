//! Moves the directory of an open database away and back, or switches the link that leads to it.
//! Meanwhile the path may lead to another database, a decoy that must stay as it is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use foldb::{Db, ErrorKind, Options};

use super::{Naming, split, wrong};
use crate::check::{Wrong, told};
use crate::stage::Stage;

/// A closed database of the same name in another directory.
#[derive(Debug)]
pub(super) struct Decoy {
    path: PathBuf,
    /// Its files, which must not change.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Decoy {
    pub(super) fn new(database: &Path) -> Result<Decoy, Wrong> {
        let path = decoy_of(database)?;
        if !path.exists() {
            // A kill may leave half of it.
            let made = path.with_extension("made");
            let _of_an_earlier_life = fs::remove_dir_all(&made);
            fs::create_dir_all(&made).map_err(wrong("cannot create a decoy"))?;
            let options = Options { create_if_missing: true, ..Options::default() };
            let db = Db::open(&made, options).map_err(told("a decoy"))?;
            db.put("decoy", "stays").and_then(|()| db.flush()).map_err(told("a decoy"))?;
            db.close().map_err(told("a decoy"))?;
            drop(db);
            fs::rename(&made, &path).map_err(wrong("cannot name a decoy"))?;
        }
        let files = files_of(&path)?;
        Ok(Decoy { path, files })
    }

    fn check(&self) -> Result<(), Wrong> {
        let found = files_of(&self.path)?;
        if found == self.files {
            return Ok(());
        }
        let names = found.keys().chain(self.files.keys());
        let changed = names.filter(|name| found.get(*name) != self.files.get(*name));
        let changed: Vec<_> = changed.map(|name| name.display().to_string()).collect();
        Err(format!("the engine wrote into another database: {}", changed.join(", ")))
    }
}

fn files_of(path: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Wrong> {
    let entries = fs::read_dir(path).map_err(wrong("cannot list a decoy"))?;
    let read = |entry: fs::DirEntry| Ok((entry.path(), fs::read(entry.path())?));
    let files = entries.map(|entry| read(entry?)).collect::<std::io::Result<_>>();
    files.map_err(wrong("cannot read a decoy"))
}

/// Returns the directory to which the link of a database is switched.
fn elsewhere(database: &Path) -> PathBuf {
    database.with_extension("elsewhere")
}

fn decoy_of(database: &Path) -> Result<PathBuf, Wrong> {
    Ok(elsewhere(database).join(split(database)?.1))
}

/// Puts the database back to its place, if a kill left it away.
pub(super) fn put_back(database: &Path) -> Result<(), Wrong> {
    let moved = database.with_extension("moved");
    if !moved.exists() {
        return Ok(());
    }
    if database.exists() {
        rename(database, &decoy_of(database)?)?;
    }
    rename(&moved, database)
}

fn rename(from: &Path, to: &Path) -> Result<(), Wrong> {
    fs::rename(from, to).map_err(wrong("cannot rename a directory"))
}

/// Makes the link to the directory of a database. Returns the path of the database by it.
pub(super) fn link(database: &Path) -> Result<PathBuf, Wrong> {
    let (parent, name) = split(database)?;
    switch(database, &parent)?;
    Ok(database.with_extension("link").join(name))
}

/// Lets the link of a database lead to `to`, in one step.
fn switch(database: &Path, to: &Path) -> Result<(), Wrong> {
    let next = database.with_extension("next");
    let _of_a_killed_life = fs::remove_file(&next);
    symlink(to, &next).map_err(wrong("cannot make a link"))?;
    rename(&next, &database.with_extension("link"))
}

/// Moves the database away, at times puts the decoy in its place, lets writers and workers go on
/// for a moment, and moves it back.
pub(crate) fn move_away_and_back(
    stage: &Stage,
    database: &Path,
    rng: &mut fastrand::Rng,
) -> Result<(), Wrong> {
    let mut place = stage.around.place.write().unwrap_or_else(PoisonError::into_inner);
    let Some(decoy) = place.as_mut() else { return Ok(()) };
    let moved = database.with_extension("moved");
    let is_linked = stage.features.surroundings.naming == Naming::Linked;
    let swaps = rng.bool();
    match is_linked {
        true => switch(database, &elsewhere(database))?,
        false => {
            rename(database, &moved)?;
            if swaps {
                rename(&decoy.path, database)?;
            }
        }
    }
    let outcome = use_it(stage, rng);
    match is_linked {
        true => switch(database, &split(database)?.0)?,
        false => {
            if swaps {
                rename(database, &decoy.path)?;
            }
            rename(&moved, database)?;
        }
    }
    outcome.and_then(|()| decoy.check())
}

/// Uses the database while it is away: each call succeeds, or tells that the directory is lost.
fn use_it(stage: &Stage, rng: &mut fastrand::Rng) -> Result<(), Wrong> {
    let db = &stage.db;
    let outcomes = [
        ("a flush", if rng.bool() { db.flush() } else { Ok(()) }),
        ("a sync", if rng.bool() { db.sync() } else { Ok(()) }),
        ("a read", stage.tally.get([0]).map(drop)),
        (
            "a scan",
            stage.keyspaces[0]
                .iter()
                .and_then(|mut scan| scan.try_for_each(|entry| entry.map(drop))),
        ),
        (
            "a checkpoint",
            match rng.u8(..4) {
                0 => db.checkpoint(database_sibling(stage, "copied")).map(drop),
                _ => Ok(()),
            },
        ),
    ];
    let _a_checkpoint_that_succeeded = fs::remove_dir_all(database_sibling(stage, "copied"));
    std::thread::sleep(Duration::from_micros(rng.u64(..4000)));
    for (what, outcome) in outcomes {
        match outcome {
            Err(error) if error.kind() != ErrorKind::DirectoryLost && !stage.is_excused(&error) => {
                return Err(format!("{what} in a directory that was moved fails as {error}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn database_sibling(stage: &Stage, extension: &str) -> PathBuf {
    stage.around.database.with_extension(extension)
}
