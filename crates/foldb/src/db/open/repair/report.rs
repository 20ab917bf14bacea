//! What a repair says: what was wrong, and what is lost for good.

use std::path::PathBuf;

use crate::error::Error;

/// What a repair found and did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// Why the manifest that was in force could not be read, if it could not; an older one was then.
    pub manifest: Option<Error>,
    /// Whether no manifest could be read that knows of all tables, and one was made of what they tell.
    pub rebuilt: bool,
    /// Tables that are whole.
    pub tables: u64,
    /// Tables that are missing or damaged. Without a manifest only the damaged ones are known.
    pub lost_tables: Vec<LostTable>,
    /// Without a manifest: keyspaces of which values were found again though no table may be left that shows
    /// them. Of all their keys deletes, operands and values that were not separated are unknown as far as only
    /// lost tables held them.
    pub incomplete_keyspaces: Vec<String>,
    /// Logs that are missing.
    pub lost_logs: Vec<PathBuf>,
    /// Files of value segments that are missing, or could not be read where that was needed.
    pub lost_segments: Vec<PathBuf>,
    /// Separated values that were found again.
    pub values_recovered: u64,
}

impl RepairReport {
    /// Whether nothing was missing or damaged.
    pub fn found_nothing(&self) -> bool {
        self.manifest.is_none()
            && self.lost_tables.is_empty()
            && self.lost_logs.is_empty()
            && self.lost_segments.is_empty()
    }
}

/// A table that is gone. Of the keys from `first_key` to `last_key` deletes, operands and values that
/// were not separated are unknown as far as only this table held them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LostTable {
    /// Name of the keyspace.
    pub keyspace: String,
    /// The table's file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub error: Error,
    /// First key of what it showed.
    pub first_key: Vec<u8>,
    /// Where that ends; the key itself may not be part of it.
    pub last_key: Vec<u8>,
}

impl LostTable {
    /// One of which nobody knows what it held.
    pub(super) fn unknown((file, error): (PathBuf, Error)) -> LostTable {
        let (keyspace, first_key, last_key) = Default::default();
        LostTable { keyspace, file, error, first_key, last_key }
    }
}
