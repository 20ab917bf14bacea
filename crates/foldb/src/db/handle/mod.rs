//! The handles that a program holds: the database, its keyspaces, its snapshots, a database that is
//! only read. [`Reader`] is the interface that all of them share.

mod batch;
mod checkpoint;
mod clock;
pub(crate) mod database;
mod default_keyspace;
mod finalize;
mod garbage;
pub(crate) mod keyspace;
mod keyspace_reader;
mod keyspace_reads;
#[cfg(test)]
mod keyspace_tests;
mod keyspaces;
mod output;
pub(crate) mod read_only;
pub(crate) mod read_options;
pub(crate) mod reader;
pub(crate) mod reads;
pub(crate) mod snapshot;
mod stats;
pub(crate) mod with;
mod writes;

pub use database::{Db, verify, verify_with_progress};
pub use finalize::Finalized;
pub use keyspace::Keyspace;
pub use keyspace_reader::KeyspaceReader;
pub use output::check_output;
pub use read_only::ReadOnlyDb;
pub use read_options::ReadOptions;
pub use reader::Reader;
pub use snapshot::Snapshot;
pub use with::With;
