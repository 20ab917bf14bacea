//! Results of benchmark runs: every measured repetition, without averages.
//!
//! This is the format of `results.json`. A figure that an engine cannot report is `None`, never
//! zero.

use serde::{Deserialize, Serialize};

/// Largest peak memory of an engine, as a multiple of its peer's. A rate reached with more memory
/// does not count.
pub const MEMORY_RULE: f64 = 1.25;

/// Everything one call of a benchmark measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this format: 1.
    pub format: u32,
    /// The machine of the runs.
    pub machine: Machine,
    /// Commit of foldb, with `-dirty` if files were changed.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// When the first run began, RFC 3339.
    pub began: String,
    /// Scale of the workloads: `small`, `medium`, `full`, or the caller's own name.
    pub scale: String,
    /// All engines that could have run, in the order of the tables. The first is the subject of
    /// comparisons.
    pub engines: Vec<Engine>,
    /// The workloads, in the order of the tables.
    pub workloads: Vec<Workload>,
    /// The runs, in the order in which they ran.
    pub runs: Vec<Run>,
    /// Measurements of the bare machine between the runs.
    pub probes: Vec<Probe>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor, of `/proc/cpuinfo`.
    pub processor: String,
    /// Number of the system's processors.
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
    /// Why the engine has no runs: "not built (feature rocksdb is off)".
    pub absent: Option<String>,
}

/// A row of the table: one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the row, with its case: `hot-counters/wal-off`.
    pub name: String,
    /// What the workload does, in a line.
    pub about: String,
    /// Its sizes and settings, as `db_bench` flags of the published command.
    pub command: String,
    /// The engine that the bar compares with, or another workload. A workload stands for the first
    /// engine's own rate in it.
    pub peer: Option<String>,
    /// Required multiple of the peer's rate.
    pub bar: Option<f64>,
    /// Desired multiple of the peer's rate.
    pub aim: Option<f64>,
    /// The percentile of latency that the bar compares in place of the rate: 99. The multiple is
    /// then the peer's latency over the first engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
}

/// One repetition of one workload on one engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the workload.
    pub workload: String,
    /// Name of the engine.
    pub engine: String,
    /// 1, 2, ... for this workload and engine.
    pub repetition: u32,
    /// The settings that differ from the engine's defaults, as text.
    pub settings: String,
    /// Operations within the measured time, over all threads.
    pub operations: u64,
    /// Seconds that the operations took.
    pub seconds: f64,
    /// Latency of single operations; empty if only whole passes were timed.
    pub latencies: Vec<Percentile>,
    /// The slowest single operation, microseconds.
    pub slowest_micros: Option<f64>,
    /// The rate through time.
    pub timeline: Vec<Moment>,
    /// Flushes and compactions during the run.
    pub events: Vec<BackgroundEvent>,
    /// Peak resident memory of the process (`VmHWM`), bytes.
    pub peak_memory: Option<u64>,
    /// Bytes of background work that is left when the measured time ends.
    pub owed_bytes: Option<u64>,
    /// Seconds from the end of the measured time until background work rests.
    pub seconds_to_rest: Option<f64>,
    /// Sorted runs that a read may visit at the end of the run.
    pub runs_per_read: Option<u32>,
    /// Bytes written; `None` for workloads that load no data.
    pub written: Option<Written>,
    /// Blocks of all files at rest, bytes.
    pub space: Option<u64>,
    /// Digest of a full scan, or "not checked".
    pub digest: String,
    /// Other measurements, each as a sentence.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The steps of a run in which the database grows; empty in other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// One step of a run in which the database grows: writes, then reads, then a close and an open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Writes of this step.
    pub operations: u64,
    /// Seconds that the writes took.
    pub seconds: f64,
    /// Processor time of the whole process during the step, without the reads.
    pub processor_seconds: f64,
    /// Bytes written since the run began, up to the end of the writes.
    pub written: Written,
    /// Bytes of background work that is left when the writes end.
    pub owed_bytes: Option<u64>,
    /// Peak resident memory of the process during the writes, bytes.
    pub peak_memory: Option<u64>,
    /// Random reads.
    pub reads: u64,
    /// Seconds that the reads took.
    pub read_seconds: f64,
    /// Processor time of the reading thread.
    pub read_processor_seconds: f64,
    /// Seconds of the open.
    pub open_seconds: f64,
}

/// Bytes that a load wrote until background work ended.
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
    /// Bytes written by the engine's own statistics.
    pub own: Option<u64>,
}

impl Written {
    /// Returns the bytes written for each byte that the user wrote.
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

/// Operations of one interval of a run.
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
    /// Seconds since the run began.
    pub ended: f64,
    /// Bytes it wrote.
    pub bytes: u64,
}

/// Measurements of the bare machine between runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Name of the workload before which the probe ran.
    pub workload: String,
    /// Megabytes (10^6) per second, written in order and synced.
    pub synced_write_mb_per_second: f64,
    /// The longest single `fdatasync`, in milliseconds.
    pub longest_sync_millis: f64,
}

impl Run {
    /// Returns the operations per second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.operations as f64 / self.seconds } else { 0.0 }
    }

    /// Returns the latency at a percentile, in microseconds, if the run has it.
    pub fn latency(&self, percent: f64) -> Option<f64> {
        let mut latencies = self.latencies.iter();
        latencies.find(|latency| latency.percent == percent).map(|latency| latency.micros)
    }
}
