//! What a verification says.

use std::path::PathBuf;

use crate::error::Error;

/// What a verification went over and found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The files that were read to their end and are as they should be.
    pub files: Vec<VerifiedFile>,
    /// What is wrong. Each names its file, and the offset where it has one.
    pub faults: Vec<Error>,
    /// Files that the database does not need: what a crash left behind, and what is not its own.
    pub leftovers: Vec<PathBuf>,
    /// Operands that were not checked, because nothing implements their operators here.
    pub unchecked_operands: u64,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Bytes that were read and are as they should be.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Records in them.
    pub fn records(&self) -> u64 {
        self.files.iter().map(|file| file.records).sum()
    }
}

/// A file that is as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedFile {
    /// The file.
    pub file: PathBuf,
    /// Bytes that were read. Space that is only reserved does not count.
    pub bytes: u64,
    /// Records of a table, values of a segment file, batches and definitions of a log, edits of a
    /// manifest.
    pub records: u64,
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// Bytes of files that are done with.
    pub bytes_done: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
}
