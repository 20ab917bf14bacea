//! The files of a database: their names, how many are open, and those that wait to be removed.
//!
//! [`foreign`] recognises the files of other engines. The rest of this module knows no format: it
//! treats a table or a segment as a file that can be closed and removed.

mod closed;
mod copying;
mod foreign;
mod look;
mod names;
mod outputs;
mod pool;
mod remove;
mod reserve;
mod restoring;
mod trash;

pub(crate) use closed::Closed;
pub(crate) use copying::{copy_file, is_no_link, list_directory, refuse_used};
pub(crate) use foreign::refuse_foreign;
pub(crate) use look::{is_there, may_be_there};
pub(crate) use names::{FileKind, FileNames, MAX_FILE_NUMBER, manifest_name};
pub(crate) use outputs::refuse_inside;
pub(crate) use pool::{FilePool, HeldFiles, InUse, PooledFile};
pub(crate) use remove::{
    Content, Identity, LOST_AND_FOUND, Proof, is_linked_directory, remove, remove_empty,
};
pub(crate) use reserve::{FoundReserve, empty_reserve, find_reserve, make_reserve};
pub(crate) use restoring::refuse_unfinished_restore;
pub(crate) use trash::Trash;
