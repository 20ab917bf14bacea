//! The work of one thread of a benchmark.
//!
//! Each workload equals RocksDB's of the same name: the same draws in the same order, the same
//! counted bytes, the same text at the end of the result line. [`Sizes`] holds the numbers, and
//! [`Task`] is one thread with its draws, its values and its recorder. [`Task::repeat`] is the loop
//! of most workloads: they differ in what one operation does.

mod beside;
mod checksum;
mod codec;
mod estimate;
mod maintain;
mod mixed;
mod mixgraph;
mod operands;
mod range_deletes;
mod read;
mod replace;
mod seek;
mod series;
mod sizes;
mod transactions;
mod unique;
mod verified;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foldb::{Db, Iter, Options, ReadOptions, Result};

pub(crate) use sizes::Sizes;
pub(crate) use transactions::sums_agree;

use crate::benchmark::Work;
use crate::budget::Budget;
use crate::flags::Flags;
use crate::histogram::Operation;
use crate::keys::{Draws, Key};
use crate::rate::{OfferedRates, WriteUnit};
use crate::recorder::Recorder;
use crate::values::Values;

/// What all threads of a benchmark share.
pub(crate) struct Shared<'a> {
    /// The database.
    pub db: &'a Db,
    /// Its options.
    pub options: &'a Options,
    /// The numbers and sizes.
    pub sizes: &'a Sizes,
    /// All flags, for those that few benchmarks have.
    pub flags: &'a Flags,
    /// Base of the random generators' seeds.
    pub seed: i64,
    /// The offered rates.
    pub rates: OfferedRates,
    /// Where `backup` keeps its backups.
    pub backup_directory: &'a Path,
    /// Where `restore` puts the database.
    pub restore_directory: &'a Path,
    /// The time of `timeseries`.
    pub time: AtomicU64,
    /// Counted threads that are not done.
    pub counted: AtomicUsize,
    /// Threads beside them that are not done.
    pub beside: AtomicUsize,
}

/// One thread of a benchmark.
pub(crate) struct Task<'a> {
    db: &'a Db,
    shared: &'a Shared<'a>,
    sizes: &'a Sizes,
    flags: &'a Flags,
    draws: Draws,
    values: Values<'a>,
    /// The number of the thread among the counted ones.
    index: usize,
    /// Counts and times.
    pub recorder: Recorder,
}

impl<'a> Task<'a> {
    /// Returns the task of a thread.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        index: usize,
        draws: Draws,
        values: Values<'a>,
        recorder: Recorder,
    ) -> Task<'a> {
        let Shared { db, sizes, flags, .. } = *shared;
        Task { db, shared, sizes, flags, draws, values, index, recorder }
    }

    /// Does the work of a counted thread.
    ///
    /// # Errors
    /// The first error of the database.
    pub(crate) fn run(&mut self, work: Work) -> Result<()> {
        match work {
            Work::FillInOrder => self.fill_in_order(self.sizes.writes),
            Work::FillRandom => self.fill_random(),
            Work::FillUnique => self.fill_unique(self.sizes.writes),
            Work::FillShaped { in_order } => self.fill_shaped(in_order),
            Work::FillThenSeek => self.fill_then_seek(),
            Work::DeleteInOrder => self.delete_in_order(),
            Work::DeleteRandom => self.delete_random(),
            Work::ReadInOrder => self.scan(Iter::seek_to_first, Iter::advance),
            Work::ReadInReverse => self.scan(Iter::seek_to_last, Iter::retreat),
            Work::ReadEach => self.read_each(),
            Work::ReadRandom => self.read_random(self.sizes.num),
            Work::ReadHot => self.read_random(self.sizes.num.div_ceil(100)),
            Work::ReadFast => self.read_fast(),
            Work::ReadOperands => self.read_operands(),
            Work::MultiRead => self.multi_read_random(),
            Work::MultiScan => self.multi_scan(),
            Work::NewIterator => self.new_iterators(),
            Work::SeekRandom => self.seek_random(),
            Work::SeekInOrder => self.seek_in_order(),
            Work::Update => self.update_random(),
            Work::XorUpdate => self.xor_update_random(),
            Work::AppendUpdate => self.append_random(),
            Work::Merge => self.merge_random(),
            Work::ReadOrMerge => self.read_random_merge_random(),
            Work::ReadThenWrite => self.read_random_write_random(),
            Work::Verified => self.random_with_verify(),
            Work::Transactions => self.transactions(),
            Work::ReplaceKeys => self.replace_keys(),
            Work::TimeSeries => self.read_series(),
            Work::MixGraph => self.mix_graph(),
            Work::SearchOperands => self.search_operands(),
            Work::ApproximateSize => self.approximate_sizes(),
            Work::ApproximateCount => self.approximate_counts(),
            Work::Checksum(hash) => self.checksum(hash),
            Work::AcquireLoad => self.acquire_load(),
            Work::Compress(codec) => self.compress(codec),
            Work::Uncompress(codec) => self.uncompress(codec),
            Work::Compact => self.db.compact(..),
            Work::VerifyChecksums => self.verify_checksums(),
            Work::Backup => self.back_up(),
            Work::Restore => self.restore(),
        }
    }

    /// Repeats `operation` with a key to use, and counts each one as what it returns.
    fn repeat(
        &mut self,
        operations: u64,
        mut operation: impl FnMut(&mut Self, &mut Key) -> Result<Operation>,
    ) -> Result<()> {
        let (mut budget, mut key) = (self.budget(operations), self.key());
        while budget.take(1) {
            let kind = operation(self, &mut key)?;
            self.recorder.finished(1, kind);
        }
        Ok(())
    }

    /// Waits until a write of these entries and bytes is due.
    #[inline]
    fn await_write(&mut self, entries: u64, bytes: usize) {
        let rates = &self.shared.rates;
        if let Some(rate) = &rates.writes {
            rate.wait(match rates.write_unit {
                WriteUnit::Bytes => bytes as u64,
                WriteUnit::Entries => entries,
            });
            self.recorder.begins();
        }
    }

    /// Waits until this many reads are due.
    #[inline]
    fn await_reads(&mut self, reads: u64) {
        if let Some(rate) = &self.shared.rates.reads {
            rate.wait(reads);
            self.recorder.begins();
        }
    }

    /// Puts `value`, when it is due, and counts the bytes.
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes = key.len() + value.len();
        self.await_write(1, bytes);
        self.db.with(&self.sizes.write).put(key, value)?;
        self.recorder.bytes(bytes);
        Ok(())
    }

    /// Merges `operand`, when it is due, and counts the bytes.
    #[inline]
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        let bytes = key.len() + operand.len();
        self.await_write(1, bytes);
        self.db.with(&self.sizes.write).merge(key, operand)?;
        self.recorder.bytes(bytes);
        Ok(())
    }

    /// Returns the read options of a scan or seek, at a snapshot if the flags ask for one.
    fn read_options(&self) -> ReadOptions {
        let snapshot = self.flags.explicit_snapshot.then(|| self.db.snapshot());
        ReadOptions { snapshot, ..ReadOptions::default() }
    }

    fn counted_threads_run(&self) -> bool {
        self.shared.counted.load(Ordering::Acquire) > 0
    }

    fn key(&self) -> Key {
        Key::new(self.sizes.key)
    }

    /// The budget of a random-order benchmark.
    fn budget(&self, operations: u64) -> Budget {
        Budget::timed(operations, self.sizes.seconds, self.sizes.look_every)
    }

    /// Draws the number of a key below `count`, with the skew of the flags.
    #[inline]
    fn skewed(&mut self, count: u64) -> u64 {
        self.sizes.skew.map(self.draws.next(), count)
    }

    fn tell_found(&mut self, found: u64, of: u64) {
        self.recorder.message(&format!("({found} of {of} found)"));
    }
}
