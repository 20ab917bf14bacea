//! Copies of a database and what they are made from: checkpoints, backups, tables that programs
//! write themselves, and the log of writes.

pub mod backup;
pub mod checkpoint;
mod external;
pub mod identity;
pub mod ingest;
mod sst_file;
pub mod sst_writer;
pub mod updates;
