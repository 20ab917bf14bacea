//! What the tests share: an empty directory, options that create, and a merge operator.

use rocksdb::{MergeOperands, Options};
use tempfile::TempDir;

/// Returns a directory that goes when the test ends.
pub fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Returns options that create the database and its column families.
pub fn creating() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

/// Returns options as above, with an operator that joins operands with commas.
pub fn joining() -> Options {
    let mut options = creating();
    options.set_merge_operator_associative("joining", join);
    options
}

/// Joins a value and operands with commas.
pub fn join(_key: &[u8], value: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = value.into_iter().collect();
    parts.extend(operands);
    Some(parts.join(&b','))
}
