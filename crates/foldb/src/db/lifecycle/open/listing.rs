//! The keyspaces of a database as its manifest lists them. Nothing is opened, so no comparator and
//! no operator is needed, and a writer may be at work.

use std::path::Path;

use crate::db::lifecycle::open::read_only::{find, stored, undisturbed};
use crate::error::Result;
use crate::options::Options;

/// A keyspace, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyspaceInfo {
    /// Its name.
    pub name: String,
    /// The name of the comparator that orders its keys.
    pub comparator: String,
    /// How its keys and values are encoded: see [`crate::KeyspaceOptions::schema`].
    pub schema: Option<String>,
}

/// Lists the keyspaces, in the order of their names.
pub(crate) fn list_keyspaces(path: &Path, mut options: Options) -> Result<Vec<KeyspaceInfo>> {
    options.error_if_exists = false;
    let names = find(path, &mut options)?;
    let (stored, _) = undisturbed(path, || stored(&options, &names))?;
    let mut all: Vec<_> = stored.keyspaces.values().map(|own| own.info()).collect();
    all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}
