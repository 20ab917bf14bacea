//! The handles that a program holds: the database, its keyspaces, its snapshots, a database that is
//! only read. [`Reader`] is the interface that all of them share.

pub(crate) mod database;
mod default_keyspace;
pub(crate) mod keyspace;
mod keyspace_reader;
#[cfg(test)]
mod keyspace_tests;
pub(crate) mod read_only;
pub(crate) mod read_options;
pub(crate) mod reader;
pub(crate) mod snapshot;
mod stats;

pub use database::{Db, verify, verify_with_progress};
pub use keyspace::Keyspace;
pub use keyspace_reader::KeyspaceReader;
pub use read_only::ReadOnlyDb;
pub use read_options::ReadOptions;
pub use reader::Reader;
pub use snapshot::Snapshot;
