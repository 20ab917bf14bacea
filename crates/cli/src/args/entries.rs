//! Arguments of the commands that read entries or change one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueParser;
use clap::{Args, ValueEnum, ValueHint};
use foldb::expiry::Expires;

use super::number::whole_number;
use crate::keyspace;

/// The keyspace in which a command works.
#[derive(Debug, Args)]
pub(crate) struct Within {
    /// Keyspace in which the command works (foldb keyspaces DB lists the keyspaces)
    #[arg(long, value_name = "NAME", default_value = keyspace::DEFAULT)]
    pub keyspace: String,
}

/// When the entries that a command writes expire.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Ends {
    /// When an entry expires: SECONDS after its write, or never; by default as the keyspace says.
    /// Only a keyspace with an expiry takes it: foldb keyspaces DB --create NAME --expiry
    /// per-write
    #[arg(long, value_name = "SECONDS|never", value_parser = expires)]
    pub expires: Option<Expires>,
}

/// `SECONDS` or `never`.
fn expires(text: &str) -> Result<Expires, String> {
    if text == "never" {
        return Ok(Expires::Never);
    }
    match whole_number(text, 1..=u64::from(u32::MAX)) {
        Ok(seconds) => Ok(Expires::After(Duration::from_secs(seconds))),
        Err(expected) => Err(format!("{expected}, or never")),
    }
}

/// `get`.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// Print no newline after the value
    #[arg(long, conflicts_with = "operands")]
    pub no_newline: bool,
    /// Print what is stored instead of the value: the base, then each operand, the oldest first
    #[arg(long)]
    pub operands: bool,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `put`.
#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The value
    #[arg(value_name = "VALUE", value_parser = ValueParser::os_string(),
          required_unless_present = "file", conflicts_with = "file")]
    pub value: Option<OsString>,
    /// Read the value from FILE; - is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Only if the key has no value; otherwise write nothing and exit with 1
    #[arg(long)]
    pub if_absent: bool,
    /// Only if the key has the value OLD; otherwise write nothing and exit with 1
    #[arg(long, value_name = "OLD", value_parser = ValueParser::os_string(),
          conflicts_with = "if_absent")]
    pub if_value: Option<OsString>,
    /// When the entry expires.
    #[command(flatten)]
    pub ends: Ends,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `touch`.
#[derive(Debug, Args)]
pub(crate) struct Touch {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The new end.
    #[command(flatten)]
    pub ends: Ends,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `ttl`.
#[derive(Debug, Args)]
pub(crate) struct Ttl {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `merge`.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The operand
    #[arg(value_name = "OPERAND", value_parser = ValueParser::os_string())]
    pub operand: OsString,
    /// Merge operator, NAME or NAME:PARAM; by default the keyspace's operator
    #[arg(long, value_name = "OP")]
    pub operator: Option<String>,
    /// Print the value after this merge
    #[arg(long, conflicts_with = "expires")]
    pub get: bool,
    /// Store the operand without reading the key. If the operator cannot fold it there, the key
    /// cannot be read afterwards
    #[arg(long, conflicts_with = "get")]
    pub blind: bool,
    /// When the entry expires.
    #[command(flatten)]
    pub ends: Ends,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// What `operands` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperandsAction {
    /// Takes the newest operands off a key.
    DropLast,
}

/// `operands`.
#[derive(Debug, Args)]
pub(crate) struct Operands {
    /// What to do
    #[arg(value_name = "ACTION")]
    pub action: OperandsAction,
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// How many of the newest operands to take off
    #[arg(long, value_name = "N", default_value = "1", value_parser = operand_count)]
    pub newest: u64,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

fn operand_count(text: &str) -> Result<u64, String> {
    whole_number(text, 1..=u64::from(u32::MAX))
}

/// `scan`.
#[derive(Debug, Args)]
pub(crate) struct Scan {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Smallest key, included
    #[arg(long, value_name = "K", value_parser = ValueParser::os_string())]
    pub from: Option<OsString>,
    /// Upper bound of the keys, excluded
    #[arg(long, value_name = "K", value_parser = ValueParser::os_string())]
    pub to: Option<OsString>,
    /// Only keys that begin with P
    #[arg(long, value_name = "P", value_parser = ValueParser::os_string())]
    pub prefix: Option<OsString>,
    /// At most N entries
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=u64::MAX))]
    pub limit: Option<u64>,
    /// From the last key to the first
    #[arg(long)]
    pub reverse: bool,
    /// Print the number of entries instead of the entries
    #[arg(long)]
    pub count: bool,
    /// Skip entries that cannot be folded or printed, and print how many there were
    #[arg(long)]
    pub skip_failed: bool,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `keys`.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The N largest entries, or with --by-prefix the N largest prefixes
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=1_000_000))]
    pub largest: Option<u64>,
    /// The N keys with the most operands that are not folded
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 0..=1_000_000),
          conflicts_with_all = ["largest", "by_prefix"])]
    pub longest_chains: Option<u64>,
    /// The size of each prefix: a number of bytes (of fields, if keys are typed), or up to the
    /// first text CUT
    #[arg(long, value_name = "CUT")]
    pub by_prefix: Option<String>,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `dump`.
#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Write the dump to FILE, which appears when the dump is complete; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "-")]
    pub output: PathBuf,
    /// Print the entries as text, for `foldb load`
    #[arg(long, conflicts_with = "output")]
    pub text: bool,
    /// With --text: skip entries that cannot be folded, and print how many there were
    #[arg(long, requires = "text")]
    pub skip_failed: bool,
}

/// `restore`.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The dump; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Directory of the new database, which must be empty or not exist
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
}

/// `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The key
    #[arg(value_name = "KEY", value_parser = ValueParser::os_string())]
    pub key: OsString,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}
