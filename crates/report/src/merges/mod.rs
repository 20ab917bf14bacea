//! Results of `merge_bench`: every measured repetition, and the medians.
//!
//! In the names of `merge_bench`, a *merge* is a garbage collection of value segments. A figure
//! that is a column of the tables ([`sections`]) has the column's name in the file. A missing
//! figure is `None`, never zero.

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
    /// The machine of the runs.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// When the first run began, RFC 3339.
    pub began: String,
    /// The runs, in the order in which they ran.
    pub runs: Vec<MergeRun>,
}

/// A row of the tables: one data set under one load, several times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeRun {
    /// What was measured.
    #[serde(flatten)]
    pub case: MergeCase,
    /// Medians over the repetitions; of maxima, the largest.
    #[serde(flatten)]
    pub merge: MergeFigures,
    /// Figures of the load: medians over the repetitions, and of maxima, the largest. A percentile
    /// is the median of the repetitions' percentiles.
    #[serde(flatten)]
    pub load: LoadFigures,
    /// Live keys that were read after each reopen and were right.
    pub verified_live: u64,
    /// Deleted keys that were looked up and not found.
    pub verified_deleted: u64,
    /// The longest `fdatasync` of a separate file between repetitions, in microseconds; only in
    /// runs with synced writes.
    pub longest_bare_sync_us: Option<f64>,
    /// The repetitions; none in checked-in results.
    #[serde(default)]
    pub repetitions: Vec<MergeRepetition>,
}

/// The case that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeCase {
    /// The subcommand of the case.
    pub subcommand: String,
    /// Name of the data set.
    pub dataset: String,
    /// Name of the load during the garbage collection.
    pub workload: String,
    /// Whether segments have hints: `on`, `off`.
    pub hint: String,
    /// The pattern of overwritten, deleted and appended keys.
    pub pattern: String,
    /// Whether the overwritten and deleted keys are spread over all keys.
    pub scatter: bool,
    /// Whether the load's writers sync each write.
    pub sync: bool,
    /// Memory that the garbage collection may take, bytes.
    pub budget_bytes: u64,
    /// Number of threads that read.
    pub readers: u32,
    /// Number of threads that write.
    pub writers: u32,
    /// One in this many operations is timed.
    pub sample_every: u64,
}

/// One repetition. It collects the garbage of one copy of the data, or of several copies in turn
/// until the load has run long enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeRepetition {
    /// Medians over its garbage collections; of maxima, the largest.
    #[serde(flatten)]
    pub merge: MergeFigures,
    /// Figures over all its garbage collections.
    #[serde(flatten)]
    pub load: LoadFigures,
    /// Number of garbage collections, each of a fresh copy.
    pub merges: u64,
    /// Milliseconds of each garbage collection.
    pub merge_ms: Vec<f64>,
    /// Seconds of load during garbage collections.
    pub load_seconds: f64,
    /// The spans of the load in which garbage collections ran. Time between two copies does not
    /// count.
    pub spans: Vec<Span>,
    /// Latencies of reads in each interval of the load.
    pub reads: Vec<LatencyMoment>,
    /// Latencies of writes in each interval of the load.
    pub writes: Vec<LatencyMoment>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Seconds.
    pub from: f64,
    /// Seconds.
    pub to: f64,
}

/// Latencies of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyMoment {
    /// End of the interval, seconds of load.
    pub at: f64,
    /// Operations timed in it.
    pub operations: u64,
    /// Their mean latency in microseconds; 0 without any.
    pub mean_us: f64,
    /// Their maximum, in microseconds.
    pub max_us: f64,
}

impl MergeRun {
    /// Makes a row with the medians of its repetitions.
    pub fn of(case: MergeCase, repetitions: Vec<MergeRepetition>) -> MergeRun {
        let merges: Vec<_> = repetitions.iter().map(|repetition| &repetition.merge).collect();
        let loads: Vec<_> = repetitions.iter().map(|repetition| &repetition.load).collect();
        let (merge, load) = (MergeFigures::typical(&merges), LoadFigures::typical(&loads));
        MergeRun { case, merge, load, repetitions, ..MergeRun::default() }
    }
}
