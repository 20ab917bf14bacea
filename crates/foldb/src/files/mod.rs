//! The files of a database: their names, how many are open, and those that wait to be removed.
//!
//! This room knows no format: a table and a segment are files that can be closed and removed.

mod closed;
mod names;
mod pool;
mod trash;

pub(crate) use closed::Closed;
pub(crate) use names::{FileKind, FileNames, MAX_FILE_NUMBER, manifest_name};
pub(crate) use pool::{FilePool, HeldFiles, InUse, PooledFile};
pub(crate) use trash::Trash;
