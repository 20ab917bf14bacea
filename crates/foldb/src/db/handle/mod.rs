//! The handles that a program holds: the database, its keyspaces, its snapshots.

pub(crate) mod database;
mod default_keyspace;
pub(crate) mod keyspace;
#[cfg(test)]
mod keyspace_tests;
pub(crate) mod read_options;
pub(crate) mod snapshot;
mod stats;

pub use database::{Db, verify, verify_with_progress};
pub use keyspace::Keyspace;
pub use read_options::ReadOptions;
pub use snapshot::Snapshot;
