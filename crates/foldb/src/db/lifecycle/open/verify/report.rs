//! The report of a verification.

use std::path::PathBuf;

use crate::error::Error;

/// The files that a verification read, and the faults that it found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The sound files, which were read to their end.
    pub files: Vec<VerifiedFile>,
    /// The faults. Each fault names its file, and the offset if it is known.
    pub faults: Vec<Error>,
    /// Files that the database does not need: remains of a crash, and files that are not its own.
    pub leftovers: Vec<PathBuf>,
    /// Operands that were not checked, because their operators are not registered.
    pub unchecked_operands: u64,
}

impl VerifyReport {
    /// Returns whether there is no fault.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the bytes of all sound files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the records of all sound files.
    pub fn records(&self) -> u64 {
        self.files.iter().map(|file| file.records).sum()
    }
}

/// A sound file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedFile {
    /// The file.
    pub file: PathBuf,
    /// Bytes read. Reserved space does not count.
    pub bytes: u64,
    /// The records of a table, values of a segment file, batches and definitions of a log, or edits
    /// of a manifest.
    pub records: u64,
}

/// The progress of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// Bytes of finished files.
    pub bytes_done: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
}
