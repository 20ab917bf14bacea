//! The mark of a database that a restore is making.
//!
//! `Db::restore` fills a database over many edits, so a kill leaves a part of it. The file
//! `RESTORING` is durable before `CURRENT`, and removed after the last check:
//!
//! ```text
//! RESTORING   CURRENT, tables, ...   compare with the dump   close   remove RESTORING
//! ```

use foldb_env::FileSystem;

use super::look::is_there;
use super::names::FileNames;
use crate::error::{Error, Result};

/// Refuses a database whose restore has not ended.
///
/// # Errors
/// `Corruption` if the directory holds the mark.
pub(crate) fn refuse_unfinished_restore(fs: &dyn FileSystem, names: &FileNames) -> Result<()> {
    if !is_there(fs, &names.restoring())? {
        return Ok(());
    }
    let message = "a restore was interrupted here or still runs, and the database is incomplete: \
                   destroy it (Db::destroy), and restore the dump again";
    Err(Error::corruption(message).in_file(names.directory()))
}
