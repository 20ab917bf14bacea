//! Copies of a database and what they are made from: checkpoints, backups, tables that programs
//! write themselves, and the log of writes.

pub mod backup;
pub mod checkpoint;
pub mod identity;
pub mod updates;
