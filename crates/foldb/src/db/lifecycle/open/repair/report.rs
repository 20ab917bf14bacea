//! The report of a repair: what was damaged, and what is lost.

use std::path::PathBuf;

use crate::error::Error;

/// The findings and results of a repair.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// Why the manifest in force could not be read; `None` if it was readable. The repair then read
    /// an older manifest, or built one: see `rebuilt`.
    pub manifest: Option<Error>,
    /// Files that differ from their state at the last clean close: a manifest or log that is
    /// shorter or different, or a damaged close record. Their missing parts are lost.
    pub cut: Vec<Error>,
    /// Whether the repair built a manifest from the tables, because no readable manifest knew all
    /// of them.
    pub rebuilt: bool,
    /// Number of sound tables.
    pub tables: u64,
    /// Missing and damaged tables. Without a manifest only the damaged ones are known. The readable
    /// part of a damaged table was written to new tables: see [`LostTable::lost`].
    pub lost_tables: Vec<LostTable>,
    /// Keyspaces with recovered values and perhaps unknown lost tables, if there was no manifest.
    /// The deletes, operands and inline values that only those tables held are lost.
    pub incomplete_keyspaces: Vec<String>,
    /// Whether tables newer than all others may be missing, if there was no manifest. The report
    /// says so unless writes in logs follow directly on the writes in tables.
    pub may_lack_newest: bool,
    /// Whether keyspaces lost their names and options, because the manifest was rebuilt.
    pub lost_keyspace_names: bool,
    /// Damaged parts of logs, in the order of writes. The repair kept the intact writes around
    /// them. Writes in these parts are lost, so those that are left are no longer a prefix.
    pub skipped: Vec<SkippedPart>,
    /// Missing logs.
    pub lost_logs: Vec<PathBuf>,
    /// Files of value segments that are missing, or that the repair needed and could not read.
    pub lost_segments: Vec<PathBuf>,
    /// Separated values that were recovered.
    pub values_recovered: u64,
    /// The log that [`crate::repair::RepairOptions::cut_log`] cut.
    pub cut_log: Option<CutLog>,
    /// The directory of the repaired copy, if the repair worked on one.
    pub copy: Option<PathBuf>,
}

impl RepairReport {
    /// Returns whether nothing was missing or damaged.
    pub fn found_nothing(&self) -> bool {
        self.manifest.is_none()
            && self.cut.is_empty()
            && self.lost_tables.is_empty()
            && self.skipped.is_empty()
            && self.lost_logs.is_empty()
            && self.lost_segments.is_empty()
            && self.cut_log.is_none()
    }

    /// Returns whether the database still holds everything: all damaged data was recovered
    /// elsewhere. Names and options of keyspaces count too; only the manifest has them.
    pub fn lost_nothing(&self) -> bool {
        !self.lost_keyspace_names
            && !self.may_lack_newest
            && self.lost_tables.iter().all(LostTable::lost_nothing)
            && self.incomplete_keyspaces.is_empty()
            && self.skipped.iter().all(SkippedPart::lost_nothing)
            && self.lost_logs.is_empty()
            && self.lost_segments.is_empty()
            && self.cut_log.is_none()
            && self.cut.iter().all(is_of_the_record)
    }
}

/// Returns whether the close record itself is damaged, and not a file that it describes.
fn is_of_the_record(error: &Error) -> bool {
    error.path().is_some_and(|path| path.ends_with("CLOSED"))
}

/// A damaged part of a log, which a repair skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedPart {
    /// The log's file. The damaged log is kept beside it, with the ending `.damaged`.
    pub file: PathBuf,
    /// Where the part begins.
    pub offset: u64,
    /// Its length in bytes. The file may lack them at its end.
    pub bytes: u64,
    /// Frames in this part. A frame holds a write or a batch, or up to one MiB of a larger one.
    pub frames: u64,
}

impl SkippedPart {
    /// Returns whether the part held no writes: it is the header of the log.
    pub fn lost_nothing(&self) -> bool {
        self.offset == 0 && self.frames == 1
    }
}

/// A log that was cut.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CutLog {
    /// The log's file.
    pub file: PathBuf,
    /// The new end of the log, in bytes.
    pub offset: u64,
    /// Bytes removed after the new end. Reserved space counts too.
    pub bytes: u64,
    /// Later logs, which are not applied: their writes came after the cut.
    pub later_logs: Vec<PathBuf>,
}

/// A missing or damaged table. Its readable part was written to new tables. Deletes, operands and
/// inline values of the keys in `lost` that only this table held are gone: an older value may show.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LostTable {
    /// Name of the keyspace; empty if it is unknown.
    pub keyspace: String,
    /// The table's file.
    pub file: PathBuf,
    /// The error that shows the damage.
    pub error: Error,
    /// First visible key of the table.
    pub first_key: Vec<u8>,
    /// End of the visible keys; it may be exclusive.
    pub last_key: Vec<u8>,
    /// Records that were read and written to new tables.
    pub records_salvaged: u64,
    /// Key ranges with lost records, in key order.
    pub lost: Vec<LostRange>,
    /// Whether range deletes are lost, or may be. Keys between `first_key` and `last_key` that a
    /// lost range delete covered may show again.
    pub lost_range_deletes: bool,
}

/// A range of keys with lost records; both ends belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostRange {
    /// The first key.
    pub first_key: Vec<u8>,
    /// The last key.
    pub last_key: Vec<u8>,
}

impl LostTable {
    /// Returns the report of a table whose contents are unknown.
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

    /// Returns whether every record and range delete was recovered.
    pub fn lost_nothing(&self) -> bool {
        self.lost.is_empty() && !self.lost_range_deletes
    }
}
