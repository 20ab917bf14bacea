//! Arguments of the commands that read the flight recording of a database.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueHint};

/// `top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// Print one screen and end, as without a terminal
    #[arg(long)]
    pub once: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// How much of the recording to look at, for example 90s, 10m or 2h; it ends with the last
    /// figures
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub last: Duration,
}

/// `report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The page; - is standard output
    #[arg(long, value_name = "FILE|-", default_value = "foldb-report.html",
          value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Begin here, in UTC, for example '2026-05-01 12:00:00'; by default where the recording begins
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<SystemTime>,
    /// End here; by default where the recording ends
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Option<SystemTime>,
    /// Begin so long before the end, for example 2h
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "from")]
    pub last: Option<Duration>,
}

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("expected more than nothing".to_owned()),
        parsed => {
            parsed.map_err(|error| format!("{error}; expected a time such as 90s, 10m or 2h"))
        }
    }
}

fn moment(text: &str) -> Result<SystemTime, String> {
    humantime::parse_rfc3339_weak(text)
        .map_err(|error| format!("{error}; expected a time in UTC such as 2026-05-01 12:00:00"))
}
