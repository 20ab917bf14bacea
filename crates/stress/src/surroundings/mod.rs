//! The process around the engine: how it names the database, its working directory, its forks,
//! handles, signals and clock, and other processes that use the database.
//!
//! A seed draws what happens ([`Surroundings`]). [`Around`] is the state of one worker.
//!
//! ```text
//!  seed-5             the database
//!  seed-5.link        a link to the directory of seed-5, and now and then to seed-5.elsewhere
//!  seed-5.elsewhere   a directory with another database of the same name, which must not change
//!  seed-5.moved       the database, while it is away from its place
//!  seed-5.child-N     the report of the forked child N
//!  seed-5.backups     backups, which the worker makes and a visitor reads
//! ```
//!
//! Invariant: while the database is away from its place, no check of the worker reads it. Writes
//! and background work go on, and may fail with `DirectoryLost` only.

mod calls;
mod child;
mod clock;
mod moving;
mod signals;
pub(crate) mod visitor;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use foldb::env::Env;

use self::child::Orphan;
pub(crate) use self::child::{fork, leave_an_orphan, orphans};
use self::clock::JumpingClock;
pub(crate) use self::clock::{LEASE_KEYSPACE, LONG_LIFE, jump};
use self::moving::Decoy;
pub(crate) use self::moving::move_away_and_back;
use crate::check::Wrong;
use crate::coverage::{Counted, Counts};
use crate::features::{Features, draws};

/// Handles of a process that has few.
const FEW_HANDLES: u64 = 40;

/// How the program names the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Absolute,
    /// Relative to the working directory at the open. The program changes the directory afterwards.
    Relative,
    /// By a path with a symbolic link.
    Linked,
}

/// What happens to the process around the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub naming: Naming,
    /// Whether the working directory changes.
    pub changes_directory: bool,
    pub forks: bool,
    /// Whether the process may have 40 open files only.
    pub few_handles: bool,
    /// Whether the directory of the database is moved away and back, or its link is switched.
    pub moves: bool,
    pub clock_jumps: bool,
    pub signals: bool,
    /// Whether a second process opens, destroys, repairs, reads and follows the database.
    pub visitors: bool,
}

impl Surroundings {
    pub(crate) fn draw(seed: u64) -> Surroundings {
        let mut rng = draws(seed, "surroundings", &[]);
        let mut one_in = |n: u8| rng.u8(..n) == 0;
        let naming = match (one_in(3), one_in(3)) {
            (true, _) => Naming::Relative,
            (false, true) => Naming::Linked,
            (false, false) => Naming::Absolute,
        };
        let moves = one_in(4);
        Surroundings {
            naming,
            changes_directory: naming == Naming::Relative || one_in(4),
            forks: one_in(3),
            few_handles: one_in(5),
            moves,
            clock_jumps: one_in(3),
            signals: one_in(4),
            // A visitor finds the database by its path.
            visitors: one_in(3) && !moves,
        }
    }
}

/// The surroundings of one worker.
#[derive(Debug)]
pub(crate) struct Around {
    drawn: Surroundings,
    /// The absolute path of the database.
    database: PathBuf,
    /// The path by which the worker opens the database.
    pub name: PathBuf,
    clock: Arc<JumpingClock>,
    /// Held by readers while the database must be in its place.
    place: RwLock<Option<Decoy>>,
    /// A child that may outlive this process.
    orphan: Mutex<Option<Orphan>>,
    /// Held during a backup.
    pub backing_up: Mutex<()>,
    /// Standard output of children.
    nowhere: File,
}

impl Around {
    /// Prepares the process for the open: its handles, its directory, the path to open.
    pub(crate) fn begin(
        database: &Path,
        features: &Features,
        counts: &Counts,
    ) -> Result<Around, Wrong> {
        let drawn = features.surroundings;
        moving::put_back(database)?;
        let decoy = match drawn.moves {
            true => Some(Decoy::new(database)?),
            false => None,
        };
        if drawn.few_handles {
            calls::limit_handles(FEW_HANDLES).map_err(wrong("cannot limit handles"))?;
            counts.add(Counted::FewHandles);
        }
        if drawn.signals {
            signals::begin().map_err(wrong("cannot send signals"))?;
            counts.add(Counted::Signals);
        }
        let name = match drawn.naming {
            Naming::Absolute => database.to_owned(),
            Naming::Relative => {
                let (parent, name) = split(database)?;
                std::env::set_current_dir(parent).map_err(wrong("cannot change the directory"))?;
                counts.add(Counted::RelativePath);
                name
            }
            Naming::Linked => {
                counts.add(Counted::LinkedPath);
                moving::link(database)?
            }
        };
        Ok(Around {
            drawn,
            database: database.to_owned(),
            name,
            clock: Arc::default(),
            place: RwLock::new(decoy),
            orphan: Mutex::default(),
            backing_up: Mutex::default(),
            nowhere: File::create("/dev/null").map_err(wrong("/dev/null"))?,
        })
    }

    /// Returns the machine as the engine sees it.
    pub(crate) fn env(&self, env: Env) -> Env {
        match self.drawn.clock_jumps {
            true => Env { clock: Arc::clone(&self.clock) as _, ..env },
            false => env,
        }
    }

    /// Waits until the database is in its place, and keeps it there.
    pub(crate) fn in_place(&self) -> RwLockReadGuard<'_, impl Sized + use<>> {
        self.place.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the working directory of the process, at times to one that is removed at once.
    pub(crate) fn change_directory(&self, rng: &mut fastrand::Rng) -> Result<(), Wrong> {
        let (parent, _) = split(&self.database)?;
        let change = |to: &Path| std::env::set_current_dir(to);
        let outcome = match rng.u8(..3) {
            0 => change(&parent),
            1 => change(Path::new("/")),
            _ => {
                let gone = self.database.with_extension("gone");
                fs::create_dir_all(&gone)
                    .and_then(|()| change(&gone))
                    .and_then(|()| fs::remove_dir(&gone))
            }
        };
        match outcome {
            // Two threads remove one directory, or the process has no handle left for it.
            Err(error) if error.kind() != io::ErrorKind::NotFound && !self.drawn.few_handles => {
                Err(format!("cannot change the directory: {error}"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the directory of a path, and its last name.
fn split(path: &Path) -> Result<(PathBuf, PathBuf), Wrong> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent.to_owned(), name.into())),
        _ => Err(format!("{} is no path of a database", path.display())),
    }
}

fn wrong(what: &str) -> impl Fn(io::Error) -> Wrong {
    move |error| format!("{what}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seeds of the short run in `tests/kills.rs`.
    #[test]
    fn a_few_seeds_draw_everything_that_happens_around_the_engine() {
        let drawn: Vec<_> = (1..=9).map(Surroundings::draw).collect();
        let any = |what: &str, has: fn(&Surroundings) -> bool| {
            assert!(drawn.iter().any(has), "{what}");
        };
        any("a relative path", |drawn| drawn.naming == Naming::Relative);
        any("a linked path", |drawn| drawn.naming == Naming::Linked);
        any("a changed directory", |drawn| drawn.changes_directory);
        any("forks", |drawn| drawn.forks);
        any("few handles", |drawn| drawn.few_handles);
        any("moves", |drawn| drawn.moves && drawn.naming != Naming::Linked);
        any("jumps of the clock", |drawn| drawn.clock_jumps);
        any("signals", |drawn| drawn.signals);
        any("visitors", |drawn| drawn.visitors);
    }
}
