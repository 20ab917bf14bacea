//! Tables: rows of CSV, JSON lines and Parquet, read into entries and written from them.
//!
//! Reading order: `input` (bytes that Ctrl-C ends), `reader` (rows as they are written), `row` (one
//! row and its cells), `key` (key columns and the bytes of a key), `sink` and `writer` (rows of
//! entries), `parquet` (rows as JSON, and the types of columns).
//!
//! Invariant: memory holds one row and one batch, whatever the length of the file. Of Parquet, it
//! holds a page of each column that is read, and a group of rows that is written.

mod input;
mod key;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod reader;
mod row;
mod sink;
mod writer;

pub(crate) use input::name_of;
pub(crate) use key::KeyShape;
pub(crate) use reader::{Raw, Reader};
pub(crate) use row::{Column, Row};
#[cfg(feature = "parquet")]
pub(crate) use writer::stored_fields;
pub(crate) use writer::{NOT_UTF8, Rejected, StoredRow, Writer, csv_cell, key_field, stored_row};

use crate::exit::{Exit, Outcome};

/// Most bytes of a row. A quote without its end would otherwise take the whole file.
pub(crate) const MAX_ROW: u64 = 64 << 20;

/// How the rows of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// CSV, as RFC 4180 has it.
    Csv {
        /// The byte between cells.
        delimiter: u8,
        /// Whether the first row names the columns.
        header: bool,
    },
    /// A JSON object on each line.
    Json,
    /// Columns with types. The feature `parquet` has the code.
    Parquet,
}

impl Layout {
    /// # Errors
    /// Fails for Parquet in a build without it.
    pub(crate) fn check_supported(self) -> Outcome {
        match self {
            Layout::Parquet if !cfg!(feature = "parquet") => Err(Exit::failed(
                "this foldb was built without Parquet, the cargo feature `parquet`: `cargo install \
                 --path crates/cli --features parquet` in a clone of foldb installs it with the \
                 feature",
            )),
            _ => Ok(()),
        }
    }
}

/// Splits a list of columns: one row of CSV, so that quotes keep a comma.
///
/// # Errors
/// A usage error for a list with an empty or repeated name.
pub(crate) fn split(flag: &str, list: &str) -> Outcome<Vec<String>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(list.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    let names: Vec<String> = record.iter().map(str::to_owned).collect();
    let is_repeated = |at: usize| names[..at].contains(&names[at]);
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(Exit::usage(format!("{flag} names a column that is empty")));
    }
    match (0..names.len()).find(|&at| is_repeated(at)) {
        Some(at) => Err(Exit::usage(format!("{flag} names the column '{}' twice", names[at]))),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests;
