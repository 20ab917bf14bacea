//! Copies of the database that a client makes while others write: checkpoints, backups, dumps and
//! read-only opens. Each must show one moment between its begin and its end.

use foldb::backup::Backups;
use foldb::{Db, ErrorKind, ReadOnlyDb};

use crate::client::{Answer, Client};
use crate::counts::Counted;
use crate::history::{Read, Seen};
use crate::world::PATH;

/// Directory of the backups, which outlives the lives of the database.
const BACKUPS: &str = "/backups";

/// A way to copy, or to read from beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// [`Db::checkpoint`].
    Checkpoint,
    /// [`Backups::create`], and a restore.
    Backup,
    /// [`Db::dump`], and a restore.
    Dump,
    /// [`Db::open_read_only`] of the database itself.
    ReadOnly,
}

impl Copying {
    /// All ways.
    pub const ALL: [Copying; 4] =
        [Copying::Checkpoint, Copying::Backup, Copying::Dump, Copying::ReadOnly];

    fn counted(self) -> Counted {
        match self {
            Copying::Checkpoint => Counted::Checkpoint,
            Copying::Backup => Counted::Backup,
            Copying::Dump => Counted::Dump,
            Copying::ReadOnly => Counted::ReadOnlyOpen,
        }
    }
}

impl Client<'_> {
    /// Makes a copy in one of the ways of the run, and reads it. It must show one moment.
    pub(crate) fn copy(&mut self) -> Answer<()> {
        let ways = &self.stage.features.copies;
        let Some(&way) = ways.get(self.rng.usize(..ways.len().max(1))) else { return Ok(()) };
        let path = format!("/copy-{}", self.next_value());
        let began = self.stage.ticks.next();
        let copy = match way {
            Copying::Checkpoint => {
                self.stage.db.checkpoint(&path)?;
                None
            }
            Copying::Backup => {
                let backups = Backups::at(BACKUPS, &self.stage.options);
                match backups.create(self.stage.db) {
                    Ok(made) => backups.restore(Some(made.id), &path)?,
                    // Another client makes one.
                    Err(error) if error.kind() == ErrorKind::Locked => return Ok(()),
                    Err(error) => return Err(error),
                };
                None
            }
            Copying::Dump => {
                let mut stream = Vec::new();
                self.stage.db.dump(&mut stream)?;
                Db::restore(&stream[..], &path, self.stage.options.clone())?;
                None
            }
            Copying::ReadOnly => Some(self.open_read_only(PATH)?),
        };
        let returned = self.stage.ticks.next();
        self.stage.counts.add(way.counted());
        let copy = match copy {
            Some(copy) => copy,
            None => self.open_read_only(&path)?,
        };
        let mut all = Vec::new();
        for (keyspace, own) in self.stage.keyspaces.iter().enumerate() {
            let entries = self.entries(copy.keyspace(own.name())?.iter()?)?;
            all.push(Seen::Entries { keyspace, range: None, entries });
        }
        let (seen, second) = (Seen::Together(all), self.stage.day.second());
        let is_ahead = way == Copying::ReadOnly;
        self.history.reads.push(Read { began, returned, second, at: None, is_ahead, seen });
        Ok(())
    }

    fn open_read_only(&self, path: &str) -> Answer<ReadOnlyDb> {
        Db::open_read_only(path, self.stage.options.clone())
    }
}
