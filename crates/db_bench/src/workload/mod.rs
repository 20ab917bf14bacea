//! The work of one thread of a benchmark.
//!
//! Each workload equals RocksDB's of the same name: the same draws in the same order, the same
//! counted bytes, the same text at the end of the result line. [`Sizes`] holds the numbers, and
//! [`Task`] is one thread with its draws, its values and its recorder.

mod checksum;
mod mixed;
mod read;
mod write;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use foldb::{Db, Result, WriteOptions};

use crate::benchmark::Benchmark;
use crate::budget::Budget;
use crate::flags::Flags;
use crate::keys::{Draws, Key};
use crate::rate::OfferedRates;
use crate::recorder::Recorder;
use crate::values::Values;

/// Entries in a batch of `fillbatch`.
const FILL_BATCH: u64 = 1000;
/// Bytes of a value of `fill100K`.
const FILL_100K: usize = 100 * 1000;

/// The numbers and sizes of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Keys of the database, `--num`.
    pub num: u64,
    /// Keys that fills choose from; fewer than `num` in the shortened fills.
    pub keys: u64,
    /// Reads of reading benchmarks.
    pub reads: u64,
    /// Writes of writing benchmarks.
    pub writes: u64,
    /// Operations of benchmarks that read and write.
    pub read_writes: u64,
    /// Keys that merges choose from.
    pub merge_keys: u64,
    /// Seconds that random-order benchmarks run instead of a number of operations; 0: off.
    pub seconds: u64,
    /// Entries of one write or `multireadrandom`.
    pub batch: u64,
    /// Bytes of a key.
    pub key_size: usize,
    /// Bytes of a value or operand.
    pub value_size: usize,
    /// Entries read after a seek.
    pub seek_nexts: u64,
    /// Whether these entries are those before the key.
    pub backward: bool,
    /// Merges in percent of `readrandommergerandom`.
    pub merge_percent: u64,
    /// Reads in percent of `readrandomwriterandom`.
    pub read_percent: u64,
    /// Bytes of one checksum.
    pub block_size: usize,
    /// The options of writes.
    pub write: WriteOptions,
}

impl Sizes {
    /// Returns the sizes of `benchmark` under checked `flags`.
    pub(crate) fn of(benchmark: Benchmark, flags: &Flags) -> Sizes {
        let num = flags.num.unsigned_abs();
        let or_num = |count: i64| u64::try_from(count).unwrap_or(num);
        let mut sizes = Sizes {
            num,
            keys: num,
            reads: or_num(flags.reads),
            writes: if flags.writes == 0 { num } else { or_num(flags.writes) },
            read_writes: or_num(flags.reads.max(flags.writes)),
            merge_keys: or_num(flags.merge_keys),
            seconds: flags.duration,
            batch: flags.batch_size,
            key_size: flags.key_size as usize,
            value_size: flags.value_size as usize,
            seek_nexts: flags.seek_nexts,
            backward: flags.reverse_iterator,
            merge_percent: flags.mergereadpercent,
            read_percent: flags.readwritepercent,
            block_size: flags.block_size.unwrap_or(4096) as usize,
            write: WriteOptions {
                sync: flags.sync,
                disable_wal: flags.disable_wal,
                ..WriteOptions::default()
            },
        };
        match benchmark {
            Benchmark::FillBatch => sizes.batch = FILL_BATCH.min(sizes.writes),
            Benchmark::FillSync => {
                sizes.shorten(1000, flags.writes);
                sizes.write.sync = true;
            }
            Benchmark::Fill100K => {
                sizes.shorten(1000, flags.writes);
                sizes.value_size = FILL_100K;
            }
            Benchmark::Open => sizes.shorten(10_000, -1),
            Benchmark::ReadMissing => sizes.key_size += 1,
            _ => {}
        }
        sizes
    }

    /// Divides the keys. Also divides the writes, unless `--writes` gives their number.
    fn shorten(&mut self, by: u64, writes_given: i64) {
        self.keys = (self.num / by).max(1);
        if writes_given <= 0 {
            self.writes = self.keys;
        }
    }
}

/// One thread of a benchmark.
pub(crate) struct Task<'a> {
    db: &'a Db,
    sizes: &'a Sizes,
    draws: Draws,
    values: Values<'a>,
    /// Rates that the thread shares with the others.
    rates: &'a OfferedRates,
    /// Counts and times.
    pub recorder: Recorder,
}

impl<'a> Task<'a> {
    /// Returns a thread's task on `db`.
    pub(crate) fn new(
        db: &'a Db,
        sizes: &'a Sizes,
        draws: Draws,
        values: Values<'a>,
        rates: &'a OfferedRates,
        recorder: Recorder,
    ) -> Task<'a> {
        Task { db, sizes, draws, values, rates, recorder }
    }

    /// Runs a counted thread's part of `benchmark`.
    ///
    /// # Errors
    /// The first error of the database.
    pub(crate) fn run(&mut self, benchmark: Benchmark) -> Result<()> {
        match benchmark {
            Benchmark::FillSeq | Benchmark::FillBatch => self.fill_in_order(),
            Benchmark::FillRandom
            | Benchmark::FillSync
            | Benchmark::Fill100K
            | Benchmark::Overwrite => self.fill_random(),
            Benchmark::DeleteSeq => self.delete_in_order(),
            Benchmark::DeleteRandom => self.delete_random(),
            Benchmark::UpdateRandom => self.update_random(),
            Benchmark::MergeRandom => self.merge_random(),
            Benchmark::ReadRandomMergeRandom => self.read_random_merge_random(),
            Benchmark::ReadRandomWriteRandom => self.read_random_write_random(),
            Benchmark::ReadSeq => self.read_in_order(),
            Benchmark::ReadReverse => self.read_in_reverse(),
            Benchmark::ReadHot => self.read_random(self.sizes.num.div_ceil(100)),
            Benchmark::ReadRandom
            | Benchmark::ReadMissing
            | Benchmark::ReadWhileWriting
            | Benchmark::ReadWhileMerging => self.read_random(self.sizes.num),
            Benchmark::MultiReadRandom => self.multi_read_random(),
            Benchmark::SeekRandom => self.seek_random(),
            Benchmark::Compact => self.db.compact(..),
            Benchmark::Crc32c => {
                self.checksum();
                Ok(())
            }
            Benchmark::Open | Benchmark::WaitForCompaction | Benchmark::Stats => {
                unreachable!("{} is not done by threads", benchmark.name())
            }
        }
    }

    /// Runs the background thread's part of `benchmark` until no counted thread is left.
    ///
    /// # Errors
    /// The first error of the database.
    pub(crate) fn run_in_background(
        &mut self,
        benchmark: Benchmark,
        counted: &AtomicUsize,
    ) -> Result<()> {
        let merge = benchmark == Benchmark::ReadWhileMerging;
        self.write_while(merge, || counted.load(Ordering::Acquire) > 0)
    }

    /// Waits until a write of this many entries is due.
    #[inline]
    fn await_write(&mut self, entries: u64) {
        if let Some(rate) = &self.rates.writes {
            let entry = (self.sizes.key_size + self.sizes.value_size) as u64;
            rate.wait(entry * entries);
            self.recorder.begins();
        }
    }

    /// Waits until this many reads are due.
    #[inline]
    fn await_reads(&mut self, reads: u64) {
        if let Some(rate) = &self.rates.reads {
            rate.wait(reads);
            self.recorder.begins();
        }
    }

    fn key(&self) -> Key {
        Key::new(self.sizes.key_size)
    }

    /// The budget of a random-order benchmark.
    fn budget(&self, operations: u64) -> Budget {
        Budget::new(operations, self.sizes.seconds)
    }
}
