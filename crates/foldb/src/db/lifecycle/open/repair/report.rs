//! What a repair says: what was wrong, and what is lost for good.

use std::path::PathBuf;

use crate::error::Error;

/// What a repair found and did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// Why the manifest that was in force could not be read, if it could not; an older one was
    /// then.
    pub manifest: Option<Error>,
    /// What is not as it was when the database was closed: a manifest or log that is shorter,
    /// another one, or the record of the close itself. What is missing there is lost.
    pub cut: Vec<Error>,
    /// Whether no manifest could be read that knows of all tables, and one was made of what they
    /// tell.
    pub rebuilt: bool,
    /// Tables that are whole.
    pub tables: u64,
    /// Tables that are missing or damaged. Without a manifest only the damaged ones are known.
    /// What could be read of a damaged one was written anew: see [`LostTable::lost`].
    pub lost_tables: Vec<LostTable>,
    /// Without a manifest: keyspaces of which values were found again though no table may be left
    /// that shows them. Of all their keys deletes, operands and values that were not separated are
    /// unknown as far as only lost tables held them.
    pub incomplete_keyspaces: Vec<String>,
    /// Whether keyspaces lost their names and options, because a manifest had to be made.
    pub lost_keyspace_names: bool,
    /// Logs that are missing.
    pub lost_logs: Vec<PathBuf>,
    /// Files of value segments that are missing, or could not be read where that was needed.
    pub lost_segments: Vec<PathBuf>,
    /// Separated values that were found again.
    pub values_recovered: u64,
    /// The log that was cut because [`crate::RepairOptions::cut_log`] said so.
    pub cut_log: Option<CutLog>,
    /// Where the repaired copy is, if the database itself was left as it was.
    pub copy: Option<PathBuf>,
}

impl RepairReport {
    /// Whether nothing was missing or damaged.
    pub fn found_nothing(&self) -> bool {
        self.manifest.is_none()
            && self.cut.is_empty()
            && self.lost_tables.is_empty()
            && self.lost_logs.is_empty()
            && self.lost_segments.is_empty()
            && self.cut_log.is_none()
    }

    /// Whether all that the database held is still there: what was damaged could be had from
    /// elsewhere. Names and options of keyspaces count too, which are nowhere but in the manifest.
    pub fn lost_nothing(&self) -> bool {
        !self.lost_keyspace_names
            && self.lost_tables.iter().all(LostTable::lost_nothing)
            && self.incomplete_keyspaces.is_empty()
            && self.lost_logs.is_empty()
            && self.lost_segments.is_empty()
            && self.cut_log.is_none()
            && self.cut.iter().all(is_of_the_record)
    }
}

/// Whether it is the record of the close that is damaged, and not what it tells of.
fn is_of_the_record(error: &Error) -> bool {
    error.path().is_some_and(|path| path.ends_with("CLOSED"))
}

/// A log that was cut.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CutLog {
    /// The log's file.
    pub file: PathBuf,
    /// Where it ends now, in bytes.
    pub offset: u64,
    /// Bytes behind that. Space that was only reserved counts, too.
    pub bytes: u64,
    /// Later logs, which are not applied: what they hold was written after what was cut.
    pub later_logs: Vec<PathBuf>,
}

/// A table that is missing or damaged. What could be read of it was written anew. Of the keys in
/// `lost` deletes, operands and values that were not separated are unknown as far as only this
/// table held them: an older value may show.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LostTable {
    /// Name of the keyspace; empty if there is no telling.
    pub keyspace: String,
    /// The table's file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub error: Error,
    /// First key of what it showed.
    pub first_key: Vec<u8>,
    /// Where that ends; the key itself may not be part of it.
    pub last_key: Vec<u8>,
    /// Records that were read and written anew.
    pub records_salvaged: u64,
    /// The ranges of keys of which records are lost, in order.
    pub lost: Vec<LostRange>,
    /// Whether range deletes are lost, or may be: keys from `first_key` to `last_key` that one
    /// deleted may show again.
    pub lost_range_deletes: bool,
}

/// Keys of which records are lost; both ends are among them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostRange {
    /// The first of them.
    pub first_key: Vec<u8>,
    /// The last of them.
    pub last_key: Vec<u8>,
}

impl LostTable {
    /// One of which nothing tells what it held.
    pub(crate) fn unknown((file, error): (PathBuf, Error)) -> LostTable {
        LostTable {
            keyspace: String::new(),
            file,
            error,
            first_key: Vec::new(),
            last_key: Vec::new(),
            records_salvaged: 0,
            lost: Vec::new(),
            lost_range_deletes: true,
        }
    }

    /// Whether every record and range delete of it was written anew.
    pub fn lost_nothing(&self) -> bool {
        self.lost.is_empty() && !self.lost_range_deletes
    }
}
