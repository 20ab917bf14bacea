//! The tables of names that the command line can choose from: data sets, patterns, loads, budgets.

/// A set of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dataset {
    /// Its name.
    pub name: &'static str,
    /// Number of keys inserted first.
    pub entries: u64,
    /// Bytes of a value.
    pub value_len: usize,
    /// Bytes of a segment file.
    pub segment_size: u64,
}

/// The data sets, smallest first.
pub(crate) const DATASETS: [Dataset; 3] = [
    Dataset { name: "small-100k-128b", entries: 100_000, value_len: 128, segment_size: 8 << 20 },
    Dataset { name: "medium-500k-128b", entries: 500_000, value_len: 128, segment_size: 16 << 20 },
    Dataset { name: "large-1m-512b", entries: 1_000_000, value_len: 512, segment_size: 32 << 20 },
];

/// What happens to the keys after their insertion, in hundredths of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Its name.
    pub name: &'static str,
    /// Keys that are overwritten.
    pub overwritten: u64,
    /// Other keys that are deleted.
    pub deleted: u64,
    /// Keys that are appended after all others.
    pub appended: u64,
}

/// The pattern of every subcommand but `patterns`.
pub(crate) const STANDARD: Pattern =
    Pattern { name: "standard", overwritten: 33, deleted: 10, appended: 0 };

/// The patterns of `patterns`.
pub(crate) const PATTERNS: [Pattern; 4] = [
    Pattern { name: "overwrite-heavy", overwritten: 70, deleted: 0, appended: 0 },
    Pattern { name: "delete-heavy", overwritten: 0, deleted: 50, appended: 0 },
    Pattern { name: "append-only", overwritten: 0, deleted: 0, appended: 100 },
    Pattern { name: "mixed", overwritten: 30, deleted: 20, appended: 50 },
];

/// Threads that read and write during a garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Number of threads that read.
    pub readers: u32,
    /// Number of threads that write.
    pub writers: u32,
}

/// The loads of `--workload`.
pub(crate) const WORKLOADS: [Workload; 4] = [
    Workload { name: "baseline", readers: 0, writers: 0 },
    Workload { name: "read", readers: 2, writers: 0 },
    Workload { name: "write", readers: 0, writers: 1 },
    Workload { name: "readwrite", readers: 2, writers: 1 },
];

/// The loads of `--scenario`.
pub(crate) const SCENARIOS: [Workload; 3] = [
    Workload { name: "read-heavy", readers: 4, writers: 0 },
    Workload { name: "write-heavy", readers: 0, writers: 2 },
    Workload { name: "balanced", readers: 2, writers: 2 },
];

/// The loads of `degradation`.
pub(crate) const ALONE: [Workload; 2] = [
    Workload { name: "one-reader", readers: 1, writers: 0 },
    Workload { name: "one-writer", readers: 0, writers: 1 },
];

/// Memory that a garbage collection may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Its name. A MB is 2^20 bytes.
    pub name: &'static str,
    /// Bytes.
    pub bytes: u64,
}

/// The budgets of `--budget`.
pub(crate) const BUDGETS: [Budget; 4] = [
    Budget { name: "16MB", bytes: 16 << 20 },
    DEFAULT_BUDGET,
    Budget { name: "256MB", bytes: 256 << 20 },
    Budget { name: "1GB", bytes: 1 << 30 },
];

/// The budget of everything but comparisons of budgets.
pub(crate) const DEFAULT_BUDGET: Budget = Budget { name: "64MB", bytes: 64 << 20 };

/// A row of a table that has a name.
pub(crate) trait Named: Copy {
    /// The name.
    fn name(&self) -> &'static str;
}

macro_rules! named {
    ($($type:ty),*) => {
        $(impl Named for $type {
            fn name(&self) -> &'static str {
                self.name
            }
        })*
    };
}

named!(Dataset, Pattern, Workload, Budget);
