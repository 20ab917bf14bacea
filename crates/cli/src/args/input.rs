//! Arguments of the commands that read files or standard input.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::entries::{Ends, Within};
use super::number::whole_number;

/// `count`.
#[derive(Debug, Args)]
pub(crate) struct Count {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Files to read; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Merge operator, NAME or NAME:PARAM; by default the keyspace's operator, else uint64add
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// Print "committed N" after each write: N lines are in the database
    #[arg(long)]
    pub ack: bool,
    /// Skip the lines of each FILE that a count with --resume added before
    #[arg(long)]
    pub resume: bool,
    /// When the entries expire.
    #[command(flatten)]
    pub ends: Ends,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `load`.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Files to read; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Default merge operator of a database that has none, NAME or NAME:PARAM
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// When the entries expire.
    #[command(flatten)]
    pub ends: Ends,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Texts to count instead of foldb's own word list; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Keep the database in DIR, which must be empty or not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// Number of words to count if no FILE is given
    #[arg(long, value_name = "N", default_value_t = 2_000_000,
          value_parser = |text: &str| whole_number(text, 1..=1_000_000_000))]
    pub words: u64,
}
