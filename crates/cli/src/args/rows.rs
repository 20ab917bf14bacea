//! Arguments of `import` and `export` for rows of CSV, JSON lines and Parquet.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Args, ValueHint};

use super::entries::Ends;
use super::number::whole_number;
use super::transfer::Foreign;
use crate::exit::{Exit, Outcome};
use crate::rows::Layout;

/// How the rows of a file are written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows of csv, jsonl and parquet")]
pub(crate) struct Table {
    /// The columns of the key, with commas between
    #[arg(long, value_name = "COLUMNS")]
    pub key: Option<String>,
    /// The column of the value, or json for the whole row as a JSON object
    #[arg(long, value_name = "COLUMN|json")]
    pub value: Option<String>,
    /// What stands between the texts of several key columns, unless the keys have types
    #[arg(long, value_name = "TEXT", default_value = "/")]
    pub separator: String,
    /// CSV has no row with names; columns are numbers from 1
    #[arg(long)]
    pub no_header: bool,
    /// The byte between the cells of CSV, or tab
    #[arg(long, value_name = "BYTE", default_value = ",", value_parser = delimiter)]
    pub delimiter: u8,
}

impl Table {
    /// Returns the layout of a format; `None` for that of another engine.
    pub(crate) fn layout(&self, format: Foreign) -> Option<Layout> {
        match format {
            Foreign::LevelDb | Foreign::RocksDb | Foreign::LdbDump | Foreign::RocksDbSst => None,
            Foreign::Csv => {
                Some(Layout::Csv { delimiter: self.delimiter, header: !self.no_header })
            }
            Foreign::Jsonl => Some(Layout::Json),
            Foreign::Parquet => Some(Layout::Parquet),
        }
    }

    /// Returns the first flag that only rows have.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("--key", self.key.is_some()),
            ("--value", self.value.is_some()),
            ("--no-header", self.no_header),
        ];
        first_of(&given)
    }
}

/// A byte of CSV, or `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("expected one byte such as ; or the word tab".to_owned()),
    }
}

fn first_of(given: &[(&'static str, bool)]) -> Option<&'static str> {
    given.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
}

/// Refuses a flag of rows for another engine.
fn refuse(given: Option<&'static str>) -> Outcome {
    match given {
        Some(flag) => {
            Err(Exit::usage(format!("{flag} is for csv, jsonl and parquet, not for leveldb")))
        }
        None => Ok(()),
    }
}

/// The flags of `import` for rows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows of csv, jsonl and parquet")]
pub(crate) struct ImportRows {
    /// The columns.
    #[command(flatten)]
    pub table: Table,
    /// Merge the value with this operator, NAME or NAME:PARAM, instead of setting it; without
    /// --value, each row counts 1
    #[arg(long, value_name = "OP")]
    pub merge: Option<String>,
    /// Create the keyspace for typed keys of these types, such as str,u64
    #[arg(long, value_name = "TYPES")]
    pub key_types: Option<String>,
    /// Write rows that cannot be imported to FILE, and go on; at the end exit with 3
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rejected: Option<PathBuf>,
    /// Go on after at most N rows that cannot be imported; by default 0, and with --rejected any
    /// number
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=u64::MAX))]
    pub max_rejected: Option<u64>,
    /// Pass over the first N rows, which an interrupted import has imported
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=u64::MAX))]
    pub skip: Option<u64>,
    /// When the entries expire.
    #[command(flatten)]
    pub ends: Ends,
    /// Import into this keyspace
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
}

impl ImportRows {
    /// # Errors
    /// A usage error for a flag that only rows have.
    pub(crate) fn check_none(&self) -> Outcome {
        refuse(self.table.given().or_else(|| {
            first_of(&[
                ("--merge", self.merge.is_some()),
                ("--key-types", self.key_types.is_some()),
                ("--rejected", self.rejected.is_some()),
                ("--max-rejected", self.max_rejected.is_some()),
                ("--skip", self.skip.is_some()),
                ("--expires", self.ends.expires.is_some()),
                ("--keyspace", self.keyspace.is_some()),
            ])
        }))
    }
}

/// The flags of `export` for rows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows of csv, jsonl and parquet")]
pub(crate) struct ExportRows {
    /// The columns.
    #[command(flatten)]
    pub table: Table,
    /// Smallest key, included
    #[arg(long, value_name = "K", value_parser = ValueParser::os_string())]
    pub start: Option<OsString>,
    /// Upper bound of the keys, excluded
    #[arg(long, value_name = "K", value_parser = ValueParser::os_string())]
    pub end: Option<OsString>,
    /// Only keys that begin with P
    #[arg(long, value_name = "P", value_parser = ValueParser::os_string())]
    pub prefix: Option<OsString>,
    /// At most N entries
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=u64::MAX))]
    pub limit: Option<u64>,
    /// From the last key to the first
    #[arg(long)]
    pub reverse: bool,
}

impl ExportRows {
    /// # Errors
    /// A usage error for a flag that only rows have.
    pub(crate) fn check_none(&self) -> Outcome {
        refuse(self.table.given().or_else(|| {
            first_of(&[
                ("--start", self.start.is_some()),
                ("--end", self.end.is_some()),
                ("--prefix", self.prefix.is_some()),
                ("--limit", self.limit.is_some()),
                ("--reverse", self.reverse),
            ])
        }))
    }
}
