//! Jobs, and their sizes at a scale.

use crate::data::KEY_SIZE;
use crate::engine::{Name, Nominal, Operator, Preset};
use crate::scale::Scale;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Name of the job, a slash, and the case.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// The engine that `bar` and `aim` compare with.
    pub peer: Option<Name>,
    /// The row of foldb that `bar` and `aim` compare with, if not an engine.
    pub against: Option<&'static str>,
    /// Least ratio to that rate that the row must reach.
    pub bar: Option<f64>,
    /// Ratio to that rate that the row should reach.
    pub aim: Option<f64>,
    /// The percentile of latency that `bar` and `aim` compare in place of the rate.
    pub percentile: Option<f64>,
    /// Whether `bar` and `aim` compare with the fastest engine that counts.
    pub fastest: bool,
    /// The engines that have the row; `None`: all of its job.
    pub only: Option<&'static [Name]>,
}

/// The work of one process on one database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Its name. The part before the slash selects several jobs.
    pub name: &'static str,
    /// The work.
    pub task: Task,
    /// The settings that it starts from.
    pub preset: Preset,
    /// Whether a log is written.
    pub wal: bool,
    /// Operations at full scale, all threads together.
    pub operations: u64,
    /// Keys that the operations choose from, at full scale.
    pub keys: u64,
    /// Whether smaller scales have fewer keys.
    pub keys_scale: bool,
    /// Reads at full scale; 0 in jobs without reads.
    pub reads: u64,
    /// Bytes of a value.
    pub value: usize,
    /// Fraction to which values compress.
    pub compressed: f64,
    /// Bytes of the block cache; `None`: those of the preset.
    pub cache: Option<usize>,
    /// Whether values are stored outside the tree, in engines that support that.
    pub separated: bool,
    /// The engines that run it.
    pub engines: &'static [Name],
    /// The rows of its results.
    pub rows: &'static [Row],
    /// Seconds that a slow engine may take at full scale.
    pub seconds: f64,
}

/// The work of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// `uint64add` on random keys.
    Merge {
        /// Threads.
        threads: u64,
    },
    /// `uint64add` on random keys, offered at a fixed rate.
    Offered {
        /// Threads.
        threads: u64,
        /// Operations a second, all threads together.
        a_second: u64,
    },
    /// `uint64add` on random keys of a database that grows, with reads and an open at each step.
    Growth {
        /// Steps of equal size.
        steps: u64,
    },
    /// A get, then a put of a new value to the same key.
    Update,
    /// Merges, then random reads.
    MergeThenRead,
    /// Random puts, then random reads with an empty page cache.
    FillThenReadCold,
    /// Random puts, then passes over all entries.
    FillThenScan,
    /// Passes over operands of `max`.
    Max {
        /// Whether the operands are in the block cache; otherwise they are in the memtable.
        cached: bool,
        /// Operands of each key.
        per_key: u64,
    },
    /// Passes over small values in both directions, and seeks.
    Scans,
    /// The work of a general store.
    Store {
        /// The work.
        task: StoreTask,
        /// Threads.
        threads: u64,
    },
}

/// The work of a job of a general store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTask {
    /// One get and one put of a random key a transaction.
    Transact {
        /// Whether commits are synced.
        synced: bool,
    },
    /// One merge of a random key a transaction.
    Count,
    /// Entries in key order, loaded at once.
    Load,
    /// Wide entries in key order, put one by one or in batches.
    Insert {
        /// Entries of a batch; 1: single puts.
        batch: usize,
    },
    /// Gets and ranges of wide entries at rest and in memory.
    Read,
    /// The phases of redb's published benchmark.
    Published,
    /// Calls of one kind, on data in memory.
    Call(Call),
    /// Entries that are pushed and popped.
    Queue {
        /// Whether they are flushed in between.
        flushed: bool,
    },
}

/// A call that reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Takes the first entry of a queue.
    TakeFirst,
    /// Merges into a counter, and returns it.
    MergeGet,
    /// A transaction that gets a counter and puts it back.
    Transact,
}

impl StoreTask {
    /// Returns whether commits are synced.
    pub fn synced(self) -> bool {
        matches!(
            self,
            StoreTask::Transact { synced: true } | StoreTask::Load | StoreTask::Published
        )
    }

    /// Returns whether the timed work writes.
    pub fn writes(self) -> bool {
        self != StoreTask::Read
    }
}

/// A job's sizes at a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Operations, all threads together.
    pub operations: u64,
    /// Threads.
    pub threads: u64,
    /// Keys that the operations choose from.
    pub keys: u64,
    /// Reads.
    pub reads: u64,
    /// Number of timed passes.
    pub passes: usize,
    /// Bytes of a value.
    pub value: usize,
    /// Fraction to which values compress.
    pub compressed: f64,
    /// Whether the whole machine's page cache may be dropped: not for a test.
    pub drops_caches: bool,
    /// The settings.
    pub nominal: Nominal,
}

/// Most timed passes, of which the median counts. A job with short passes has this many.
const PASSES_MAX: usize = 50;
const PASSES_SCANS: usize = 5;
/// The write buffer that holds all operands of `max`.
const BUFFER_OF_EVERYTHING: usize = 1_000_000_000;
/// Filter bits a key where absent keys are read.
const FILTER_BITS: u32 = 10;

impl Job {
    /// Its sizes.
    pub fn sizes(&self, scale: Scale) -> Sizes {
        let threads = match self.task {
            Task::Merge { threads }
            | Task::Offered { threads, .. }
            | Task::Store { threads, .. } => threads,
            _ => 1,
        };
        let max = matches!(self.task, Task::Max { .. });
        // Passes over operands are short, so smaller scales keep all operands.
        let of = |full| if max && scale != Scale::Tiny { full } else { scale.of(full) };
        let operations = of(self.operations).next_multiple_of(threads);
        Sizes {
            operations,
            threads,
            keys: if self.keys_scale { of(self.keys) } else { self.keys },
            reads: scale.of(self.reads),
            passes: if max { PASSES_MAX } else { PASSES_SCANS },
            value: self.value,
            compressed: self.compressed,
            drops_caches: scale != Scale::Tiny,
            nominal: self.nominal(),
        }
    }

    fn nominal(&self) -> Nominal {
        let preset = Nominal::preset(self.preset);
        let nominal = Nominal {
            wal: self.wal,
            cache: self.cache.unwrap_or(preset.cache),
            operator: match self.task {
                Task::Merge { .. }
                | Task::Offered { .. }
                | Task::Growth { .. }
                | Task::MergeThenRead
                | Task::Store { task: StoreTask::Count, .. }
                | Task::Store { task: StoreTask::Call(Call::MergeGet), .. } => Some(Operator::Add),
                Task::Max { .. } => Some(Operator::Max),
                Task::Update
                | Task::FillThenReadCold
                | Task::FillThenScan
                | Task::Scans
                | Task::Store { .. } => None,
            },
            separated: self.separated,
            ..preset
        };
        match self.task {
            Task::Max { .. } => {
                Nominal { write_buffer: BUFFER_OF_EVERYTHING, compactions: false, ..nominal }
            }
            Task::Store { task: StoreTask::Queue { .. } | StoreTask::Call(_), .. } => {
                Nominal { write_buffer: BUFFER_OF_EVERYTHING, ..nominal }
            }
            Task::Store { task: StoreTask::Read | StoreTask::Published, .. } => {
                Nominal { bloom_bits: FILTER_BITS, ..nominal }
            }
            _ => nominal,
        }
    }

    /// Returns whether the job has this scale. A growing database of the table's size takes too
    /// long for a run of all jobs, so it has a scale of its own.
    pub fn has(&self, scale: Scale) -> bool {
        let grows = matches!(self.task, Task::Growth { .. });
        match scale {
            Scale::Tiny | Scale::Small | Scale::Medium => true,
            Scale::Full => !grows,
            Scale::Large => grows,
        }
    }

    /// Whether its database is in memory.
    pub fn in_memory(&self) -> bool {
        matches!(self.task, Task::Max { .. })
    }

    /// Its sizes and settings as flags of RocksDB's `db_bench`.
    pub fn command(&self, scale: Scale) -> String {
        let sizes = self.sizes(scale);
        let (keys, value) = (sizes.keys, sizes.value);
        let operations = sizes.operations / sizes.threads;
        if let Task::Store { task, threads } = self.task {
            return format!(
                "{task:?}: num={keys} operations={operations} threads={threads} {}",
                sizes.nominal.flags()
            );
        }
        let benchmarks = match self.task {
            Task::Merge { threads } => format!(
                "mergerandom --merge_operator=uint64add --num={operations} --merge_keys={keys} \
                 --threads={threads}"
            ),
            Task::Offered { threads, a_second } => format!(
                "mergerandom --merge_operator=uint64add --num={operations} --merge_keys={keys} \
                 --threads={threads} --benchmark_write_rate_limit={}",
                a_second * (KEY_SIZE + value) as u64
            ),
            Task::Growth { steps } => format!(
                "mergerandom,readrandom --merge_operator=uint64add --num={keys} --writes={} \
                 --reads={}, {steps} times",
                operations / steps,
                sizes.reads
            ),
            Task::Update => format!("updaterandom --num={keys} --writes={operations}"),
            Task::MergeThenRead => format!(
                "mergerandom,readrandom --merge_operator=uint64add --num={keys} \
                 --writes={operations} --reads={}",
                sizes.reads
            ),
            Task::FillThenReadCold => format!(
                "fillrandom,readrandom --num={keys} --reads={} --compression_ratio=1",
                sizes.reads
            ),
            Task::FillThenScan => {
                format!("fillrandom,readseq --num={keys} --compression_ratio=1")
            }
            Task::Max { .. } => format!(
                "mergerandom,readseq --merge_operator=max --num={operations} --merge_keys={keys}"
            ),
            Task::Scans => format!(
                "fillrandom,readseq,readreverse,seekrandom --num={keys} --reads={}",
                sizes.reads
            ),
            Task::Store { .. } => String::new(),
        };
        format!("--benchmarks={benchmarks} --value_size={value} {}", sizes.nominal.flags())
    }

    /// Returns an estimate of the seconds that a run takes.
    pub fn estimate(&self, scale: Scale) -> f64 {
        if self.in_memory() { self.seconds } else { 1.0 + self.seconds / scale.divisor() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{find, row_named};

    #[test]
    fn sizes_follow_the_scale_but_hot_keys_do_not() {
        let job = find("hot-counters/wal-off").unwrap();
        let sizes = job.sizes(Scale::Small);
        assert_eq!((sizes.operations, sizes.keys), (400_000, 1000));
        let job = find("merge-random/5m").unwrap();
        assert_eq!(
            (job.sizes(Scale::Full).operations, job.sizes(Scale::Full).keys),
            (5_000_000, 5_000_000)
        );
        assert_eq!(job.sizes(Scale::Medium).keys, 1_000_000);
        let job = find("readseq-max/memtable-10").unwrap();
        assert_eq!(
            (job.sizes(Scale::Small).operations, job.sizes(Scale::Small).keys),
            (10_000, 1000)
        );
    }

    #[test]
    fn a_growing_database_has_a_scale_of_its_own() {
        let has = |name: &str, scale| find(name).unwrap().has(scale);
        assert!(has("growth/large", Scale::Large) && has("growth/large", Scale::Small));
        assert!(!has("growth/large", Scale::Full));
        assert!(has("growth/50m", Scale::Full) && !has("growth/50m", Scale::Large));
        assert_eq!(find("growth/large").unwrap().sizes(Scale::Large).operations, 200_000_000);
    }

    #[test]
    fn commands_are_the_published_ones() {
        let command = find("merge-random/5m").unwrap().command(Scale::Full);
        for flag in [
            "--benchmarks=mergerandom",
            "--merge_operator=uint64add",
            "--num=5000000",
            "--value_size=8",
            "--block_size=65536",
            "--disable_wal=1",
            "--num_levels=6",
            "--level0_slowdown_writes_trigger=8",
            "--max_bytes_for_level_base=10485760",
            "--statistics=1",
        ] {
            assert!(command.contains(flag), "{flag} in {command}");
        }
        let fill = find("fill-4k").unwrap().command(Scale::Full);
        for flag in ["--write_buffer_size=2097152", "--bloom_bits=10", "--cache_size=104857600"] {
            assert!(fill.contains(flag), "{flag} in {fill}");
        }
    }

    #[test]
    fn only_a_row_of_the_same_engine_stands_in_for_a_peer() {
        let four = row_named("hot-counters-4/wal-off").unwrap();
        assert_eq!((four.peer, four.against), (None, Some("hot-counters/wal-off")));
    }
}
