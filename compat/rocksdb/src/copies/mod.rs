//! Copies of a database: checkpoints and backups.

pub mod backup;
pub mod checkpoint;
