//! Benchmarks of estimates.

use foldb::Result;

use super::Task;
use crate::histogram::Operation;

impl Task<'_> {
    /// Estimates the bytes of random ranges (RocksDB: `ApproximateSizeRandom`).
    pub(super) fn approximate_sizes(&mut self) -> Result<()> {
        let (mut budget, mut first, mut last) =
            (self.budget(self.sizes.reads), self.key(), self.key());
        let (mut sum, num) = (0_u64, self.sizes.num);
        while budget.take(1) {
            self.draws.skip();
            for _ in 0..self.sizes.batch {
                let (one, other) = (self.skewed(num), self.skewed(num));
                let range = first.set(one.min(other))..last.set(one.max(other));
                sum += self.db.approximate_size(range)?;
            }
            self.recorder.finished(self.sizes.batch, Operation::Other);
        }
        let average = sum as f64 / self.recorder.done().max(1) as f64;
        self.recorder.message(&format!("(Avg approx size={average:.1})"));
        Ok(())
    }

    /// Estimates the entries of random ranges of `--batch_size` keys (RocksDB:
    /// `ApproximateMemtableStats`, which counts memtables only).
    pub(super) fn approximate_counts(&mut self) -> Result<()> {
        let (mut first, mut last) = (self.key(), self.key());
        let width = self.sizes.batch;
        let starts = self.sizes.num.saturating_sub(width).max(1);
        let (mut sum, mut least, mut most) = (0_u64, u64::MAX, 0_u64);
        self.repeat(self.sizes.reads, |task, _| {
            let start = task.draws.key(starts);
            let range = first.set(start)..last.set(start + width);
            let count = task.db.approximate_count(range)?.estimate;
            (sum, least, most) = (sum + count, least.min(count), most.max(count));
            Ok(Operation::Other)
        })?;
        let average = sum as f64 / self.recorder.done().max(1) as f64;
        let least = least.min(most);
        self.recorder.message(&format!(
            "(entries: expected {width}, average {average:.1}, least {least}, most {most})"
        ));
        Ok(())
    }
}
