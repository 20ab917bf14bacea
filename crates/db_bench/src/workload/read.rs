//! Benchmarks that read keys or scan.

use foldb::{Iter, Result};

use super::Task;
use crate::histogram::Operation;

/// Reads of one step of `readrandomfast`.
const FAST_STEP: u64 = 100;

impl Task<'_> {
    /// Scans from one end (RocksDB: `ReadSequential`, `ReadReverse`).
    pub(super) fn scan(
        &mut self,
        start: impl Fn(&mut Iter) -> Result<bool>,
        step: impl Fn(&mut Iter) -> Result<bool>,
    ) -> Result<()> {
        let mut iter = self.db.with(&self.read_options()).iter()?;
        let mut valid = start(&mut iter)?;
        let mut left = self.sizes.reads;
        while valid && left > 0 {
            self.recorder.bytes(iter.key().len() + iter.value()?.len());
            self.recorder.finished(1, Operation::Read);
            left -= 1;
            valid = step(&mut iter)?;
        }
        Ok(())
    }

    /// Reads random keys out of the first `count` (RocksDB: `ReadRandom`; LevelDB: `ReadHot`).
    pub(super) fn read_random(&mut self, count: u64) -> Result<()> {
        let (mut found, mut strided) = (0_u64, Strided::default());
        let (batch, stride) = (self.sizes.batch, self.flags.multiread_stride);
        let is_strided = batch > 1 && stride > 0;
        self.repeat(self.sizes.reads, |task, key| {
            task.draws.skip();
            let number = match is_strided {
                true => strided.next(batch, stride, count, || task.skewed(count)),
                false => task.skewed(count),
            };
            task.await_reads(1);
            if let Some(value) = task.db.get(key.set(number))? {
                found += 1;
                task.recorder.bytes(task.sizes.key.size + value.len());
            }
            Ok(Operation::Read)
        })?;
        self.tell_found(found, self.recorder.done());
        Ok(())
    }

    /// Reads every key once (RocksDB: `ReadToRowCache`).
    pub(super) fn read_each(&mut self) -> Result<()> {
        let (mut key, mut found) = (self.key(), 0_u64);
        for number in 0..self.sizes.num {
            self.await_reads(1);
            if let Some(value) = self.db.get(key.set(number))? {
                found += 1;
                self.recorder.bytes(self.sizes.key.size + value.len());
            }
            self.recorder.finished(1, Operation::Read);
        }
        self.tell_found(found, self.recorder.done());
        Ok(())
    }

    /// Reads random keys below the next power of two (RocksDB: `ReadRandomFast`, which draws its
    /// database once and counts a hundred reads as one step).
    pub(super) fn read_fast(&mut self) -> Result<()> {
        let (mut key, mut found, mut absent) = (self.key(), 0_u64, 0_u64);
        let mask = self.sizes.num.next_power_of_two() - 1;
        self.draws.skip();
        let mut budget = self.budget(self.sizes.reads);
        while budget.take(FAST_STEP) {
            self.await_reads(FAST_STEP);
            for _ in 0..FAST_STEP {
                let number = self.draws.next() & mask;
                found += u64::from(self.db.get(key.set(number))?.is_some());
                absent += u64::from(number >= self.sizes.num);
            }
            self.recorder.finished(FAST_STEP, Operation::Read);
        }
        let done = self.recorder.done();
        self.recorder
            .message(&format!("({found} of {done} found, issued {absent} non-exist keys)"));
        Ok(())
    }

    /// Reads random keys, a batch at a time (RocksDB: `MultiReadRandom`, which draws its database
    /// once a batch).
    pub(super) fn multi_read_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.reads);
        let mut keys: Vec<_> = (0..self.sizes.batch).map(|_| self.key()).collect();
        let (batch, num, stride) = (self.sizes.batch, self.sizes.num, self.flags.multiread_stride);
        let mut found = 0_u64;
        while budget.take(batch) {
            self.draws.skip();
            self.await_reads(batch);
            let mut number =
                if stride > 0 { first(batch, stride, num, self.skewed(num)) } else { 0 };
            let (draws, skew) = (&mut self.draws, self.sizes.skew);
            let keys = keys.iter_mut().map(|key| {
                if stride == 0 {
                    return key.set(skew.map(draws.next(), num));
                }
                number += stride;
                key.set(number - stride)
            });
            for value in self.db.multi_get(keys)? {
                if let Some(value) = value? {
                    found += 1;
                    self.recorder.bytes(self.sizes.key.size + value.len());
                }
            }
            self.recorder.finished(batch, Operation::Read);
        }
        self.tell_found(found, self.recorder.done());
        Ok(())
    }
}

/// The keys of `readrandom` with `--multiread_stride`: rows of keys at the same distance.
#[derive(Default)]
struct Strided {
    in_row: u64,
    number: u64,
}

impl Strided {
    fn next(&mut self, batch: u64, stride: u64, num: u64, draw: impl FnOnce() -> u64) -> u64 {
        self.in_row += 1;
        if self.in_row == batch {
            self.in_row = 0;
            self.number = first(batch, stride, num, draw());
        } else {
            self.number += stride;
        }
        self.number
    }
}

/// Returns the first key of a row that ends below `num`.
fn first(batch: u64, stride: u64, num: u64, drawn: u64) -> u64 {
    if drawn + (batch - 1).saturating_mul(stride) < num {
        drawn
    } else {
        num.saturating_sub(batch.saturating_mul(stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_keys_ends_below_the_number_of_keys() {
        assert_eq!(first(10, 5, 100, 54), 54);
        assert_eq!(first(10, 5, 100, 55), 50);
        assert_eq!(first(10, 50, 100, 55), 0);
    }

    #[test]
    fn rows_have_as_many_keys_as_a_batch() {
        let (mut strided, mut draws) = (Strided::default(), [40, 10].into_iter());
        let mut next = || strided.next(3, 10, 100, || draws.next().unwrap());
        assert_eq!([next(), next()], [10, 20], "RocksDB begins with the rest of a row at 0");
        assert_eq!([next(), next(), next()], [40, 50, 60]);
        assert_eq!(next(), 10);
    }
}
