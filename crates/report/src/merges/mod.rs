//! What runs of `merge_bench` gave: every repetition as it was measured, and medians of them.
//!
//! The fields are named as the columns of the tables are ([`sections`]), so that who reads the JSON
//! and who reads the tables speak of the same. What a run has no figure of is `None`, never zero.

mod figures;
mod tables;

use serde::{Deserialize, Serialize};

use crate::results::Machine;
pub use figures::{LoadFigures, MergeFigures, Side};
pub use tables::{Section, Table, sections};
pub(crate) use tables::{budget, name, title};

/// Everything one call of `merge_bench` measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeResults {
    /// Version of this format: 1.
    pub format: u32,
    /// Where it ran.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// When the first run began, RFC 3339.
    pub began: String,
    /// What was measured, in the order it ran.
    pub runs: Vec<MergeRun>,
}

/// A row of the tables: one set of data under one load, several times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeRun {
    /// What it was measured for.
    #[serde(flatten)]
    pub case: MergeCase,
    /// Medians over the repetitions; of what is a maximum, the largest.
    #[serde(flatten)]
    pub merge: MergeFigures,
    /// The same of the load; percentiles are medians of the repetitions' percentiles.
    #[serde(flatten)]
    pub load: LoadFigures,
    /// Live keys that were read after each reopen, and found right.
    pub verified_live: u64,
    /// Deleted keys that were looked for, and not found.
    pub verified_deleted: u64,
    /// The longest `fdatasync` of a file beside the database, between repetitions with synced
    /// writes, microseconds.
    pub longest_bare_sync_us: Option<f64>,
    /// Each repetition; none in results that are checked in.
    #[serde(default)]
    pub repetitions: Vec<MergeRepetition>,
}

/// What is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeCase {
    /// The sub-command that asked for it.
    pub subcommand: String,
    /// Name of the data set.
    pub dataset: String,
    /// Name of the load beside the merge.
    pub workload: String,
    /// Whether segments have hints: `on`, `off`.
    pub hint: String,
    /// Which keys are overwritten, deleted and appended.
    pub pattern: String,
    /// Whether those are spread over all keys.
    pub scatter: bool,
    /// Whether writers of the load sync each write.
    pub sync: bool,
    /// Memory that the merge may take, bytes.
    pub budget_bytes: u64,
    /// Threads of the load that read.
    pub readers: u32,
    /// Threads of the load that write.
    pub writers: u32,
    /// Of how many operations one is timed.
    pub sample_every: u64,
}

/// One repetition: one merge, or several of fresh copies of the same data until the load has run
/// long enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeRepetition {
    /// Medians over its merges; of what is a maximum, the largest.
    #[serde(flatten)]
    pub merge: MergeFigures,
    /// Over all its merges.
    #[serde(flatten)]
    pub load: LoadFigures,
    /// Merges, each of a fresh copy.
    pub merges: u64,
    /// Milliseconds of each.
    pub merge_ms: Vec<f64>,
    /// Seconds of load with a merge.
    pub load_seconds: f64,
    /// When there was a merge, in seconds of load: what is done between copies is left out.
    pub spans: Vec<Span>,
    /// Reads through that time.
    pub reads: Vec<LatencyMoment>,
    /// Writes through that time.
    pub writes: Vec<LatencyMoment>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Seconds.
    pub from: f64,
    /// Seconds.
    pub to: f64,
}

/// How long the operations of an interval took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyMoment {
    /// End of the interval, seconds of load.
    pub at: f64,
    /// Operations timed in it.
    pub operations: u64,
    /// Microseconds that they took on average; 0 without any.
    pub mean_us: f64,
    /// Microseconds of the longest.
    pub max_us: f64,
}

impl MergeRun {
    /// A row with the medians of its repetitions.
    pub fn of(case: MergeCase, repetitions: Vec<MergeRepetition>) -> MergeRun {
        let merges: Vec<_> = repetitions.iter().map(|repetition| &repetition.merge).collect();
        let loads: Vec<_> = repetitions.iter().map(|repetition| &repetition.load).collect();
        let (merge, load) = (MergeFigures::typical(&merges), LoadFigures::typical(&loads));
        MergeRun { case, merge, load, repetitions, ..MergeRun::default() }
    }
}
