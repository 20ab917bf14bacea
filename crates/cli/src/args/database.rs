//! Arguments of the commands that work on a whole database, and of `completions`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;
use foldb::expiry::Expiry;
use foldb::feed::Position;
use foldb::repair::LogCut;

use super::entries::Within;
use super::number::whole_number;

/// `stats`.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Count the keys exactly, by a scan
    #[arg(long)]
    pub keys: bool,
    /// Print a line of figures each second from the flight recording, without opening the database
    #[arg(long, conflicts_with = "keys")]
    pub watch: bool,
}

/// `keyspaces`.
#[derive(Debug, Args)]
pub(crate) struct Keyspaces {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Create a keyspace, and the database if it does not exist
    #[arg(long, value_name = "NAME")]
    pub create: Option<String>,
    /// Merge operator of the new keyspace, NAME or NAME:PARAM, or none
    #[arg(long, value_name = "OP", requires = "create")]
    pub operator: Option<String>,
    /// Store values of BYTES bytes and more outside of the tree; the keyspace keeps the setting
    #[arg(long, value_name = "BYTES", requires = "create")]
    pub separate: Option<usize>,
    /// When entries of the new keyspace expire: per-write, after-last-write:SECONDS or
    /// after-first-write:SECONDS, perhaps with /BUCKET; the keyspace keeps the setting
    #[arg(long, value_name = "SPEC", requires = "create", conflicts_with = "separate")]
    pub expiry: Option<Expiry>,
    /// Remove the merge operator of a keyspace: merges must then name an operator
    #[arg(long, value_name = "NAME",
          conflicts_with_all = ["create", "operator", "separate", "expiry"])]
    pub unset_operator: Option<String>,
    /// Drop a keyspace with its data
    #[arg(long, value_name = "NAME",
          conflicts_with_all = ["create", "operator", "separate", "expiry", "unset_operator"])]
    pub drop: Option<String>,
    /// Change how long entries of a keyspace live, for later writes; stored entries keep their ends
    #[arg(long, value_name = "NAME", requires = "lifetime",
          conflicts_with_all = ["create", "operator", "separate", "expiry", "unset_operator",
                                "drop"])]
    pub set_lifetime: Option<String>,
    /// The new lifetime, in seconds
    #[arg(long, value_name = "SECONDS", requires = "set_lifetime",
          value_parser = |text: &str| whole_number(text, 1..=u64::from(u32::MAX)))]
    pub lifetime: Option<u64>,
}

/// `updates`.
#[derive(Debug, Args)]
pub(crate) struct Updates {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Begin after this position, as an earlier line shows it; by default at the oldest one
    #[arg(long, value_name = "POSITION")]
    pub since: Option<Position>,
    /// Wait for further updates at the end, until Ctrl-C
    #[arg(long)]
    pub follow: bool,
    /// Also print updates that a power loss may take back
    #[arg(long)]
    pub unsynced: bool,
}

/// `options`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: Option<PathBuf>,
    /// The keyspace.
    #[command(flatten)]
    pub within: Within,
}

/// `compact`.
#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Only this keyspace
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
}

/// `gc`.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Largest part of the value segments that may stay dead, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5,
          value_parser = |text: &str| whole_number(text, 0..=100))]
    pub dead: u64,
}

/// `repair`.
#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Repair the database itself, not a copy
    #[arg(long, conflicts_with = "to")]
    pub in_place: bool,
    /// Directory of the repaired copy; by default DB.repaired
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,
    /// Change nothing, and report what a repair would do
    #[arg(long)]
    pub dry_run: bool,
    /// Cut a log that is damaged before its end, and give up the writes after OFFSET
    #[arg(long, value_name = "FILE@OFFSET", value_parser = log_cut)]
    pub cut_log: Option<LogCut>,
}

/// `FILE@OFFSET`.
fn log_cut(text: &str) -> Result<LogCut, String> {
    let cut = text.rsplit_once('@').and_then(|(file, offset)| {
        Some(LogCut { file: PathBuf::from(file), offset: offset.parse().ok()? })
    });
    cut.ok_or_else(|| "expected a log and an offset in bytes, such as 000012.log@4096".to_owned())
}

/// `verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
}

/// `finalize`.
#[derive(Debug, Args)]
pub(crate) struct Finalize {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
}

/// `clock`.
#[derive(Debug, Args)]
pub(crate) struct Clock {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Set the time of the database back to that of the machine
    #[arg(long)]
    pub reset: bool,
}

/// `checkpoint`.
#[derive(Debug, Args)]
pub(crate) struct Checkpoint {
    /// Directory of the database
    #[arg(value_name = "DB")]
    pub db: PathBuf,
    /// Directory of the checkpoint
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}
