//! The jobs of growing databases, and their rows.

use super::job::{Job, Task};
use super::table::{COUNTERS, row};
use crate::engine::Name;

const M: u64 = 1_000_000;

const GROWTH: Job = Job { task: Task::MergeThenRead, reads: M, ..COUNTERS };

/// Merges on 1 M keys, and reads after them.
pub const GROWTH_1M: Job = Job {
    name: "growth/1m",
    operations: M,
    keys: M,
    rows: &[
        row("growth/merge-1m", "merges on 1 M keys, no log").beside(Name::RocksDb),
        row("growth/read-1m", "1 M random reads after them").needs(Name::RocksDb, 6.0, 8.0),
    ],
    seconds: 5.0,
    ..GROWTH
};

/// The same with 10 M.
pub const GROWTH_10M: Job = Job {
    name: "growth/10m",
    operations: 10 * M,
    keys: 10 * M,
    rows: &[
        row("growth/merge-10m", "merges on 10 M keys, no log").beside(Name::RocksDb),
        row("growth/read-10m", "1 M random reads after them").needs(Name::RocksDb, 8.0, 8.0),
    ],
    seconds: 40.0,
    ..GROWTH
};

/// The same with 50 M.
pub const GROWTH_50M: Job = Job {
    name: "growth/50m",
    operations: 50 * M,
    keys: 50 * M,
    rows: &[
        row("growth/merge-50m", "merges on 50 M keys, no log").beside(Name::RocksDb),
        row("growth/read-50m", "1 M random reads after them").needs(Name::RocksDb, 6.0, 8.0),
    ],
    seconds: 250.0,
    ..GROWTH
};

/// Merges in steps, with reads, a close and an open after each.
pub const GROWTH_LARGE: Job = Job {
    name: "growth/large",
    task: Task::Growth { steps: 10 },
    operations: 200 * M,
    keys: 200 * M,
    reads: 100_000,
    rows: &[row("growth/large", "merges on 200 M keys in 10 steps, no log; not at scale full")
        .beside(Name::RocksDb)],
    seconds: 900.0,
    ..GROWTH
};
