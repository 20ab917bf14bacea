//! What runs of benchmarks gave: every repetition as it was measured, nothing averaged away.
//!
//! This is the format of `results.json`. A field that an engine cannot tell is `None`, never zero.

use serde::{Deserialize, Serialize};

/// How many times the peak memory of its peer an engine may take: a rate reached with more does not
/// count.
pub const MEMORY_RULE: f64 = 1.25;

/// Everything one call of a benchmark measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this format: 1.
    pub format: u32,
    /// Where it ran.
    pub machine: Machine,
    /// Commit of foldb, with `-dirty` if files were changed.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// When the first run began, RFC 3339.
    pub began: String,
    /// Scale of the workloads: `small`, `medium`, `full`, or what the caller says.
    pub scale: String,
    /// All engines that could have run, in the order of the tables; the first is the one compared.
    pub engines: Vec<Engine>,
    /// What was asked of them, in the order of the tables.
    pub workloads: Vec<Workload>,
    /// What was measured, in the order it ran.
    pub runs: Vec<Run>,
    /// What the bare machine did in between.
    pub probes: Vec<Probe>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor, of `/proc/cpuinfo`.
    pub processor: String,
    /// Processors the system has.
    pub cores: u32,
    /// Memory of the system, bytes.
    pub memory: u64,
    /// Kernel and its release.
    pub system: String,
    /// File system under the databases.
    pub file_system: String,
}

/// An engine, or why it did not take part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Engine {
    /// The name its runs have: `foldb`, `rocksdb`, `fjall`, `leveldb`, `mergedb`.
    pub name: String,
    /// Its own version.
    pub version: Option<String>,
    /// Why there are no runs of it: "not built (feature rocksdb is off)".
    pub absent: Option<String>,
}

/// A row of the table: what is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the row, with its case: `hot-counters/wal-off`.
    pub name: String,
    /// What it does, in a line.
    pub about: String,
    /// Its sizes and settings, as `db_bench` flags of the published command.
    pub command: String,
    /// The engine that the bar is set against; or another workload: the first engine's own rate
    /// there.
    pub peer: Option<String>,
    /// How many times the peer's rate is needed and hoped for.
    pub bar: Option<f64>,
    /// See `bar`.
    pub aim: Option<f64>,
}

/// One repetition of one workload on one engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Of which row.
    pub workload: String,
    /// By which engine.
    pub engine: String,
    /// 1, 2, ... of this workload and engine.
    pub repetition: u32,
    /// Its settings, as text: what differs from the engine's defaults.
    pub settings: String,
    /// Operations the clock covers, all threads together.
    pub operations: u64,
    /// Seconds they took.
    pub seconds: f64,
    /// Latency of single operations; empty where the clock covers passes.
    pub latencies: Vec<Percentile>,
    /// The slowest single operation, microseconds.
    pub slowest_micros: Option<f64>,
    /// How the rate went.
    pub timeline: Vec<Moment>,
    /// Flushes and compactions meanwhile.
    pub events: Vec<BackgroundEvent>,
    /// Peak resident memory of the process (`VmHWM`), bytes.
    pub peak_memory: Option<u64>,
    /// Bytes compaction still owed when the clock stopped.
    pub owed_bytes: Option<u64>,
    /// Seconds from there until background work rested.
    pub seconds_to_rest: Option<f64>,
    /// Sorted runs a read may look into then.
    pub runs_per_read: Option<u32>,
    /// Writing, where the workload loads data.
    pub written: Option<Written>,
    /// Blocks of all files at rest, bytes.
    pub space: Option<u64>,
    /// Digest of a full scan, or why there is none: "not checked".
    pub digest: String,
    /// What else was measured, each in a sentence.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a load wrote, until background work rested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// Bytes of keys and values the user wrote.
    pub user: u64,
    /// Bytes passed to write calls (`wchar` of `/proc/PID/io`).
    pub calls: u64,
    /// Bytes stored into mapped log files, which `wchar` does not see.
    pub mapped: u64,
    /// Bytes the kernel sent to the device (`write_bytes`).
    pub device: u64,
    /// What the engine's own statistics say it wrote.
    pub own: Option<u64>,
}

impl Written {
    /// Bytes written for each byte of the user's.
    pub fn amplification(&self) -> f64 {
        (self.calls + self.mapped) as f64 / self.user.max(1) as f64
    }
}

/// A percentile of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// 50, 99, 99.9 ...
    pub percent: f64,
    /// Microseconds.
    pub micros: f64,
}

/// Operations done in one interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// End of the interval, seconds since the run began.
    pub at: f64,
    /// Operations finished in it.
    pub operations: u64,
}

/// A flush or a compaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackgroundEvent {
    /// `flush` or `compaction`.
    pub kind: String,
    /// Seconds since the run began.
    pub began: f64,
    /// The same.
    pub ended: f64,
    /// Bytes it wrote.
    pub bytes: u64,
}

/// What the bare machine did, measured between runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Name of the workload it ran beside.
    pub workload: String,
    /// Megabytes (10^6) a second, written in order and synced.
    pub synced_write_mb_per_second: f64,
    /// The longest single `fdatasync` of it, milliseconds.
    pub longest_sync_millis: f64,
}

impl Run {
    /// Operations a second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.operations as f64 / self.seconds } else { 0.0 }
    }
}
