//! What happens around the engine in its process: another working directory, links, forks, few file
//! handles, a directory that moves away and back, signals, and other programs at the database.
//!
//! A program is more than its database. Each of these cost a user of some store data, and no
//! sequence of the engine's own calls shows them.
//!
//! Invariant: the writes of a life are as without its surroundings. Only a moved directory excuses
//! errors, and only errors of the engine.

#[cfg(unix)]
mod unix;
mod visitor;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use foldb::{Error, ErrorKind};

use crate::check::{Wrong, told};
use crate::coverage::{Counted, Counts};
use crate::features::draws;
use crate::stage::Stage;
pub(crate) use visitor::visit;

/// Something that happens again and again while threads work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    /// The process changes its working directory.
    ChangeDirectory,
    /// The process forks. The child uses the database, and ends.
    Fork,
    /// The process forks. The child outlives its parent.
    Linger,
    /// The database's directory moves away, and back.
    Move,
    /// Another program opens, repairs and destroys the database, and must be refused. It reads.
    Visit,
}

impl Disturbance {
    const ALL: [Disturbance; 5] = [
        Disturbance::ChangeDirectory,
        Disturbance::Fork,
        Disturbance::Linger,
        Disturbance::Move,
        Disturbance::Visit,
    ];
}

/// The surroundings of one database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    seed: u64,
    /// Whether the database is opened by a relative path.
    relative: bool,
    /// Whether the database is opened through a symbolic link.
    link: bool,
    /// Whether the process may open few files.
    few_handles: bool,
    /// Whether a timer interrupts system calls.
    signals: bool,
    disturbances: Vec<Disturbance>,
}

/// File handles of a process that may open few.
#[cfg(unix)]
const FEW_HANDLES: u64 = 64;
/// The ending of the name of a directory that moved away.
const AWAY: &str = "away";

impl Surroundings {
    /// Draws the surroundings of a database. Half of the databases have none.
    pub(crate) fn draw(seed: u64) -> Surroundings {
        let mut rng = draws(seed, "surroundings", &[]);
        if rng.bool() {
            return Surroundings::default();
        }
        let mut disturbances = Disturbance::ALL.to_vec();
        disturbances.retain(|_| rng.u8(..3) == 0);
        let moves = disturbances.contains(&Disturbance::Move);
        // A visitor finds no database while the directory is away.
        disturbances.retain(|&one| cfg!(unix) && !(moves && one == Disturbance::Visit));
        Surroundings {
            seed,
            relative: rng.bool(),
            link: cfg!(unix) && rng.u8(..3) == 0,
            few_handles: cfg!(unix) && rng.u8(..3) == 0,
            signals: cfg!(unix) && rng.u8(..3) == 0,
            disturbances,
        }
    }

    /// Returns whether the database's directory moves away and back.
    pub(crate) fn moves(&self) -> bool {
        self.disturbances.contains(&Disturbance::Move)
    }

    /// Prepares the process, and returns the path by which to open the database at `database`.
    pub(crate) fn enter(&self, database: &Path, counts: &Counts) -> Result<PathBuf, Wrong> {
        let away = database.with_extension(AWAY);
        // A kill met the last life while the directory was away.
        if away.exists() {
            let _another_was_there = std::fs::remove_dir(database);
            std::fs::rename(&away, database).map_err(wrong(&away))?;
        }
        let mut path = database.to_owned();
        #[cfg(unix)]
        {
            if self.few_handles {
                unix::limit_handles(FEW_HANDLES)?;
                counts.add(Counted::FewHandles);
            }
            if self.signals {
                unix::begin_signals()?;
                counts.add(Counted::Signals);
            }
            if self.link {
                path = unix::link_to(database)?;
                counts.add(Counted::Link);
            }
        }
        if self.relative {
            let (parent, name) = (path.parent(), path.file_name());
            let (Some(parent), Some(name)) = (parent, name) else {
                return Err(format!("{} has no parent", path.display()));
            };
            std::env::set_current_dir(parent).map_err(wrong(parent))?;
            counts.add(Counted::RelativePath);
            return Ok(name.into());
        }
        Ok(path)
    }
}

fn wrong(path: &Path) -> impl Fn(std::io::Error) -> Wrong {
    move |error| format!("{}: {error}", path.display())
}

/// Disturbs the process until the life ends.
pub(crate) struct Disturber<'a> {
    disturbances: Vec<Disturbance>,
    seed: u64,
    stage: &'a Stage,
    counts: &'a Counts,
    database: &'a Path,
    plant: Option<&'a str>,
    rng: fastrand::Rng,
}

impl<'a> Disturber<'a> {
    pub(crate) fn new(
        stage: &'a Stage,
        counts: &'a Counts,
        life: &'a crate::arguments::Life,
    ) -> Disturber<'a> {
        let surroundings = &stage.features.surroundings;
        let rng = draws(surroundings.seed, "disturbances", &[life.life.into()]);
        let mut disturbances = surroundings.disturbances.clone();
        // A visitor that outlives a killed worker would rightly open and destroy the database.
        disturbances.retain(|&one| life.close_after.is_some() || one != Disturbance::Visit);
        let (database, plant, seed) = (&life.database, life.plant.as_deref(), life.seed);
        Disturber { disturbances, seed, stage, counts, database, plant, rng }
    }

    /// Disturbs now and then, until `ends`.
    pub(crate) fn disturb(&mut self, ends: &AtomicBool) -> Result<(), Wrong> {
        while !ends.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(self.rng.u64(1..30)));
            let Some(&one) = self.rng.choice(&self.disturbances) else {
                return Ok(());
            };
            match one {
                Disturbance::ChangeDirectory => self.change_directory()?,
                Disturbance::Visit => self.visit()?,
                Disturbance::Move => self.move_away()?,
                #[cfg(unix)]
                Disturbance::Fork => {
                    unix::use_in_a_child(self.stage)?;
                    self.counts.add(Counted::Fork);
                }
                #[cfg(unix)]
                Disturbance::Linger => {
                    unix::leave_a_child()?;
                    self.counts.add(Counted::LingeringChild);
                    // Each of them stays for seconds.
                    thread::sleep(Duration::from_millis(300));
                }
                #[cfg(not(unix))]
                Disturbance::Fork | Disturbance::Linger => {}
            }
        }
        Ok(())
    }

    fn change_directory(&mut self) -> Result<(), Wrong> {
        let parent = self.database.parent().unwrap_or(self.database);
        let place = if self.rng.bool() { std::env::temp_dir() } else { parent.to_owned() };
        std::env::set_current_dir(&place).map_err(wrong(&place))?;
        self.counts.add(Counted::ChangedDirectory);
        Ok(())
    }

    fn visit(&self) -> Result<(), Wrong> {
        visitor::run(self.database, self.seed, self.plant)?;
        self.counts.add(Counted::Visitor);
        Ok(())
    }

    /// Moves the directory away and back. Nothing may appear in its old place meanwhile, nor in
    /// another directory there.
    fn move_away(&mut self) -> Result<(), Wrong> {
        let away = self.database.with_extension(AWAY);
        self.stage.moved.store(true, Ordering::SeqCst);
        std::fs::rename(self.database, &away).map_err(wrong(self.database))?;
        let other = self.rng.bool();
        if other {
            // A call that looked at the lock before the move ends first.
            thread::sleep(Duration::from_millis(10));
            std::fs::create_dir(self.database).map_err(wrong(self.database))?;
        }
        thread::sleep(Duration::from_millis(self.rng.u64(1..40)));
        if other {
            // This fails unless the directory is empty.
            std::fs::remove_dir(self.database).map_err(wrong(self.database))?;
        }
        if self.database.exists() {
            return Err("the engine wrote to the old place of a moved directory".to_owned());
        }
        std::fs::rename(&away, self.database).map_err(wrong(&away))?;
        self.counts.add(Counted::MovedDirectory);
        Ok(())
    }
}

/// Returns whether a moved directory may have caused an error of a changing call.
pub(crate) fn excuses(error: &Error) -> bool {
    let kinds = [ErrorKind::DirectoryLost, ErrorKind::Poisoned, ErrorKind::Io];
    kinds.contains(&error.kind())
}

/// Makes the calls of a child of the process that opened the database. Each must be refused, or
/// read what it may.
#[cfg(unix)]
fn calls_of_a_child(stage: &Stage) -> Result<(), Wrong> {
    let db = &stage.db;
    let refused = |what: &str, outcome: foldb::Result<()>| match outcome {
        Err(error) if error.kind() == ErrorKind::Forked => Ok(()),
        Err(error) => Err(told(what)(error)),
        Ok(()) => Err(format!("{what} succeeded in a forked child")),
    };
    refused("put", stage.tally.put("child", "1"))?;
    refused("merge", stage.tally.merge("child", 1u64.to_le_bytes()))?;
    refused("delete_range", db.delete_range(..))?;
    refused("flush", db.flush())?;
    refused("sync", db.sync())?;
    refused("compact", db.compact(..))?;
    refused("transact", db.transact(|own| own.put("child", "1")))?;
    for keyspace in &stage.keyspaces {
        match keyspace.get(stage.features.stored_key(b"child")) {
            Ok(None) => {}
            Ok(Some(_)) => return Err("a child read a key that nothing wrote".to_owned()),
            Err(error) if error.kind() == ErrorKind::Forked => {}
            Err(error) => return Err(told("a get in a child")(error)),
        }
    }
    refused("close", db.close())
}
