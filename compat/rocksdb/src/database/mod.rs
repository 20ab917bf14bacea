//! Databases and column families.
//!
//! A database of RocksDB is one of the engine, and a column family is a keyspace. Handles of C
//! share the objects, so a program may free them in any order. Closing a database closes the
//! engine's at once, whatever handles are left.
//!
//! Invariant: the number of a family is fixed while the database is open. Families with a stored
//! number keep it for ever; others come after them, in the order of their names.

pub mod close;
mod counting;
pub(crate) mod events;
pub mod family;
pub(crate) mod info_log;
pub mod memory;
pub mod metadata;
pub mod open;
pub mod pinned;
pub mod properties;
mod property_texts;
pub mod reads;
pub mod snapshot;
mod stored_options;
pub mod upkeep;
pub mod writes;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use foldb::operators::Operator;
use foldb::stats::MemoryUsage;
use foldb::{Db, Keyspace, KeyspaceReader, ReadOnlyDb, Snapshot};
use parking_lot::{Mutex, RwLock};

use crate::database::events::DatabaseEvents;
use crate::objects::merge_operator::NamedOperator;
use crate::objects::slice_transform::SliceTransform;
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};

/// RocksDB: `DB`.
pub struct rocksdb_t {
    pub(crate) database: Arc<Database>,
}

/// The operators that families of an open have or had, by the name of the family.
pub(crate) type Operators = HashMap<String, Arc<NamedOperator>>;

/// An open database.
pub(crate) struct Database {
    pub(crate) engine: Engine,
    pub(crate) path: PathBuf,
    pub(crate) identity: String,
    pub(crate) options: rocksdb_options_t,
    pub(crate) default: Arc<Family>,
    pub(crate) families: RwLock<BTreeMap<u32, Arc<Family>>>,
    pub(crate) operators: Mutex<Operators>,
    /// The number of the next new family. No number is used again.
    pub(crate) next_family: std::sync::atomic::AtomicU32,
    /// Whether `rocksdb_compact_range` does nothing.
    pub(crate) compactions_disabled: std::sync::atomic::AtomicBool,
    /// What hears the engine's events.
    pub(crate) events: Arc<DatabaseEvents>,
}

/// The engine's handle, by what it may do.
pub(crate) enum Engine {
    Writable(Db),
    ReadOnly(ReadOnlyDb),
    /// A read-only handle that is replaced when it catches up.
    Secondary {
        shown: RwLock<ReadOnlyDb>,
        reopen: Box<foldb::Options>,
    },
}

/// A column family.
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) keyspace: FamilyKeyspace,
    pub(crate) prefix_extractor: Option<Arc<SliceTransform>>,
    /// The operator of its merges, if the program gave one.
    pub(crate) operator: Option<Operator>,
    pub(crate) options: rocksdb_options_t,
}

/// The keyspace of a family, by what the database may do.
pub(crate) enum FamilyKeyspace {
    Writable(Keyspace),
    ReadOnly(KeyspaceReader),
    /// The reader of the newest handle.
    Secondary(RwLock<KeyspaceReader>),
}

/// Returns the error of writes to a database that is open for reading, or as a secondary.
fn refused_write(is_secondary: bool) -> Status {
    let mode = if is_secondary { "secondary" } else { "read only" };
    Status::unsupported(format!("Not supported operation in {mode} mode."))
}

impl Family {
    /// Returns the keyspace, to write to it.
    ///
    /// # Errors
    /// `Not implemented` if the database is open for reading only.
    #[inline]
    pub(crate) fn writable(&self) -> Outcome<&Keyspace> {
        match &self.keyspace {
            FamilyKeyspace::Writable(keyspace) => Ok(keyspace),
            other => Err(refused_write(matches!(other, FamilyKeyspace::Secondary(_)))),
        }
    }

    /// Reads the keyspace.
    #[inline]
    pub(crate) fn read<T>(&self, read: impl FnOnce(&KeyspaceReader) -> T) -> T {
        match &self.keyspace {
            FamilyKeyspace::Writable(keyspace) => read(&keyspace.reader()),
            FamilyKeyspace::ReadOnly(reader) => read(reader),
            FamilyKeyspace::Secondary(reader) => read(&reader.read()),
        }
    }
}

impl Database {
    /// Returns the engine's database, to write to it.
    ///
    /// # Errors
    /// `Not implemented` if it is open for reading only.
    #[inline]
    pub(crate) fn writable(&self) -> Outcome<&Db> {
        match &self.engine {
            Engine::Writable(db) => Ok(db),
            other => Err(refused_write(matches!(other, Engine::Secondary { .. }))),
        }
    }

    /// Takes a snapshot.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.engine {
            Engine::Writable(db) => db.snapshot(),
            Engine::ReadOnly(db) => db.snapshot(),
            Engine::Secondary { shown, .. } => shown.read().snapshot(),
        }
    }

    /// Returns the memory that the database takes.
    pub(crate) fn memory(&self) -> MemoryUsage {
        match &self.engine {
            Engine::Writable(db) => db.memory(),
            Engine::ReadOnly(db) => db.memory(),
            Engine::Secondary { shown, .. } => shown.read().memory(),
        }
    }

    /// Returns a family by its number.
    ///
    /// # Errors
    /// `Invalid argument` if there is none.
    pub(crate) fn family(&self, id: u32) -> Outcome<Arc<Family>> {
        if id == 0 {
            return Ok(self.default.clone());
        }
        let found = self.families.read().get(&id).cloned();
        found.ok_or_else(|| Status::invalid("Invalid column family specified in write batch"))
    }
}
