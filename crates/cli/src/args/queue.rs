//! Arguments of `queue`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueParser;
use clap::{Args, ValueEnum, ValueHint};

/// What `queue` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueueAction {
    /// Adds a job.
    Push,
    /// Takes the first ready job.
    Claim,
    /// Ends a job as done.
    Ack,
    /// Lets a lease end later.
    Extend,
    /// Gives a job back.
    Retry,
    /// Ends an attempt that failed.
    Fail,
    /// Counts the jobs.
    Depth,
    /// Lists the dead letters.
    Dead,
    /// Makes a dead letter ready.
    Revive,
    /// Deletes a dead letter.
    Discard,
    /// Lists all jobs.
    List,
}

impl QueueAction {
    /// Returns how the action is called.
    pub(crate) fn usage(self) -> &'static str {
        match self {
            QueueAction::Push => "push DB QUEUE BODY [--priority N] [--delay TIME]",
            QueueAction::Claim => "claim DB QUEUE [--worker NAME] [--lease TIME]",
            QueueAction::Ack => "ack DB QUEUE ID TOKEN",
            QueueAction::Extend => "extend DB QUEUE ID TOKEN [--lease TIME]",
            QueueAction::Retry => "retry DB QUEUE ID TOKEN [--delay TIME]",
            QueueAction::Fail => "fail DB QUEUE ID TOKEN WHY [--delay TIME]",
            QueueAction::Depth => "depth DB QUEUE",
            QueueAction::Dead => "dead DB QUEUE",
            QueueAction::Revive => "revive DB QUEUE ID",
            QueueAction::Discard => "discard DB QUEUE ID",
            QueueAction::List => "list DB QUEUE",
        }
    }
}

/// `queue`.
#[derive(Debug, Args)]
pub(crate) struct Queue {
    /// What to do
    #[arg(value_name = "ACTION")]
    pub action: QueueAction,
    /// Directory of the database
    #[arg(value_name = "DB", value_hint = ValueHint::DirPath)]
    pub db: PathBuf,
    /// The queue, which is a keyspace
    #[arg(value_name = "QUEUE")]
    pub queue: String,
    /// BODY for push; ID and TOKEN, as claim printed them, for ack, extend and retry, and WHY for
    /// fail; ID for revive and discard
    #[arg(value_name = "ARG", value_parser = ValueParser::os_string())]
    pub rest: Vec<OsString>,
    /// Jobs of a larger priority are claimed first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// How long the job waits before it can be claimed, such as 500ms, 30s, 5m, 2h or 1d; a number
    /// alone is in seconds; by default 0 for push and retry, 1s for fail
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub delay: Option<Duration>,
    /// Name of the worker, for people
    #[arg(long, value_name = "NAME", default_value = "shell")]
    pub worker: String,
    /// How long the worker has the job
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub lease: Duration,
    /// Claims after which a job that is given back becomes a dead letter
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub max_attempts: u32,
}

/// A number with a unit.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let millis: Option<u64> = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let parsed =
        number.parse().ok().zip(millis).and_then(|(number, unit)| unit.checked_mul(number));
    let expected = "expected a time such as 500ms, 30s, 5m, 2h or 1d";
    parsed.map(Duration::from_millis).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, millis) in [
            ("0", 0),
            ("30", 30_000),
            ("500ms", 500),
            ("7s", 7000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "+1", "1.5s", "1 s", "5 minutes", "18446744073709551615d", "٣s"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
