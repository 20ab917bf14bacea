//! Databases and keyspaces behind the handles of C programs. C has one type of handle for a
//! database that is written and for one that is only read; the engine has two.
//!
//! Invariant: a handle of a read-only open refuses every change with `ReadOnly`.

use foldb::expiry::ClockReading;
use foldb::explain::TableInfo;
use foldb::feed::{Position, Updates, UpdatesOptions};
use foldb::stats::Stats;
use foldb::{
    Db, Error, ErrorKind, Iter, Keyspace, KeyspaceOptions, KeyspaceReader, ReadOnlyDb, ReadOptions,
    Result, Snapshot, Value,
};

use crate::bytes::ForeignRange;

/// An open database.
#[derive(Clone)]
pub(crate) enum OpenDb {
    Writable(Db),
    ReadOnly(ReadOnlyDb),
}

/// A keyspace of an open database.
pub(crate) enum OpenKeyspace {
    Writable(Keyspace),
    ReadOnly(KeyspaceReader),
}

/// A borrowed keyspace.
#[derive(Clone, Copy)]
pub(crate) enum KeyspaceRef<'a> {
    Writable(&'a Keyspace),
    ReadOnly(&'a KeyspaceReader),
}

/// Returns the error of a change through the handle of a read-only open.
#[cold]
fn read_only() -> Error {
    Error::new(
        ErrorKind::ReadOnly,
        "the database was opened read-only; open it with foldb_open to change it",
    )
}

impl OpenDb {
    /// Returns the database for a change.
    ///
    /// # Errors
    /// `ReadOnly` after a read-only open.
    pub(crate) fn to_change(&self) -> Result<&Db> {
        match self {
            OpenDb::Writable(db) => Ok(db),
            OpenDb::ReadOnly(_) => Err(read_only()),
        }
    }

    #[inline]
    pub(crate) fn default_keyspace(&self) -> KeyspaceRef<'_> {
        match self {
            OpenDb::Writable(db) => KeyspaceRef::Writable(db.default_keyspace()),
            OpenDb::ReadOnly(db) => KeyspaceRef::ReadOnly(db.default_keyspace()),
        }
    }

    pub(crate) fn keyspace(&self, name: &str) -> Result<OpenKeyspace> {
        Ok(match self {
            OpenDb::Writable(db) => OpenKeyspace::Writable(db.keyspace(name)?),
            OpenDb::ReadOnly(db) => OpenKeyspace::ReadOnly(db.keyspace(name)?),
        })
    }

    /// Returns a keyspace, and creates it first if it does not exist.
    ///
    /// # Errors
    /// Of the engine. `ReadOnly` after a read-only open if the keyspace does not exist.
    pub(crate) fn keyspace_or_create(
        &self,
        name: &str,
        options: KeyspaceOptions,
    ) -> Result<OpenKeyspace> {
        match self {
            OpenDb::Writable(db) => {
                db.keyspace_or_create(name, options).map(OpenKeyspace::Writable)
            }
            OpenDb::ReadOnly(db) => match db.keyspace(name) {
                Err(error) if error.kind() == ErrorKind::KeyspaceMissing => Err(read_only()),
                found => found.map(OpenKeyspace::ReadOnly),
            },
        }
    }

    /// Writes the whole database as one stream.
    pub(crate) fn dump(&self, to: impl std::io::Write) -> Result<()> {
        match self {
            OpenDb::Writable(db) => db.dump(to).map(drop),
            OpenDb::ReadOnly(db) => db.dump(to).map(drop),
        }
    }

    pub(crate) fn updates_since(
        &self,
        position: &Position,
        options: &UpdatesOptions,
    ) -> Result<Updates> {
        match self {
            OpenDb::Writable(db) => db.with(options).updates_since(position),
            OpenDb::ReadOnly(db) => db.with(options).updates_since(position),
        }
    }

    pub(crate) fn oldest_position(&self) -> Result<Position> {
        match self {
            OpenDb::Writable(db) => db.oldest_position(),
            OpenDb::ReadOnly(db) => db.oldest_position(),
        }
    }

    /// Waits until no background work is due. After a read-only open there is none.
    pub(crate) fn wait_for_background(&self) -> Result<()> {
        match self {
            OpenDb::Writable(db) => db.wait_for_background(),
            OpenDb::ReadOnly(_) => Ok(()),
        }
    }

    pub(crate) fn keyspaces(&self) -> Vec<String> {
        match self {
            OpenDb::Writable(db) => db.keyspaces(),
            OpenDb::ReadOnly(db) => db.keyspaces(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            OpenDb::Writable(db) => db.snapshot(),
            OpenDb::ReadOnly(db) => db.snapshot(),
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        match self {
            OpenDb::Writable(db) => db.stats(),
            OpenDb::ReadOnly(db) => db.stats(),
        }
    }

    pub(crate) fn clock(&self) -> ClockReading {
        match self {
            OpenDb::Writable(db) => db.clock(),
            OpenDb::ReadOnly(db) => db.clock(),
        }
    }

    pub(crate) fn close(&self) -> Result<()> {
        match self {
            OpenDb::Writable(db) => db.close(),
            OpenDb::ReadOnly(db) => db.close(),
        }
    }
}

impl OpenKeyspace {
    #[inline]
    pub(crate) fn to_ref(&self) -> KeyspaceRef<'_> {
        match self {
            OpenKeyspace::Writable(keyspace) => KeyspaceRef::Writable(keyspace),
            OpenKeyspace::ReadOnly(keyspace) => KeyspaceRef::ReadOnly(keyspace),
        }
    }
}

impl<'a> KeyspaceRef<'a> {
    /// Returns the keyspace for a change.
    ///
    /// # Errors
    /// `ReadOnly` after a read-only open.
    #[inline]
    pub(crate) fn to_change(self) -> Result<&'a Keyspace> {
        match self {
            KeyspaceRef::Writable(keyspace) => Ok(keyspace),
            KeyspaceRef::ReadOnly(_) => Err(read_only()),
        }
    }

    #[inline]
    pub(crate) fn get(self, key: &[u8], options: Option<&ReadOptions>) -> Result<Option<Value>> {
        match (self, options) {
            (KeyspaceRef::Writable(keyspace), None) => keyspace.get(key),
            (KeyspaceRef::Writable(keyspace), Some(options)) => keyspace.with(options).get(key),
            (KeyspaceRef::ReadOnly(keyspace), None) => keyspace.get(key),
            (KeyspaceRef::ReadOnly(keyspace), Some(options)) => keyspace.with(options).get(key),
        }
    }

    pub(crate) fn range(
        self,
        range: ForeignRange<'_>,
        options: Option<&ReadOptions>,
    ) -> Result<Iter> {
        match (self, options) {
            (KeyspaceRef::Writable(keyspace), None) => keyspace.range(range),
            (KeyspaceRef::Writable(keyspace), Some(options)) => keyspace.with(options).range(range),
            (KeyspaceRef::ReadOnly(keyspace), None) => keyspace.range(range),
            (KeyspaceRef::ReadOnly(keyspace), Some(options)) => keyspace.with(options).range(range),
        }
    }

    /// Returns a handle that reads the keyspace.
    pub(crate) fn reader(self) -> KeyspaceReader {
        match self {
            KeyspaceRef::Writable(keyspace) => keyspace.reader(),
            KeyspaceRef::ReadOnly(keyspace) => keyspace.clone(),
        }
    }

    pub(crate) fn approximate_size(self, range: ForeignRange<'_>) -> Result<u64> {
        self.reader().approximate_size(range)
    }

    pub(crate) fn tables(self) -> Result<Vec<TableInfo>> {
        self.reader().tables()
    }
}
