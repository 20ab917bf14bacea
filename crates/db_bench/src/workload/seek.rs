//! Benchmarks that make iterators and seek.

use std::hint::black_box;

use foldb::{Iter, ReadOptions, Result};

use super::Task;
use crate::histogram::Operation;
use crate::keys::Key;

/// Entries of a range of `multiscan` without `--seek_nexts`.
const MULTI_SCAN_LEN: u64 = 50;

impl Task<'_> {
    /// Makes iterators (RocksDB: `IteratorCreation`).
    pub(super) fn new_iterators(&mut self) -> Result<()> {
        self.repeat(self.sizes.reads, |task, _| {
            task.draws.skip();
            task.await_reads(1);
            black_box(task.db.iter()?);
            Ok(Operation::Other)
        })
    }

    /// Seeks random keys with a new iterator each (RocksDB: `SeekRandom`, which draws once).
    pub(super) fn seek_random(&mut self) -> Result<()> {
        let (mut found, mut bound) = (0_u64, self.key());
        let options = self.read_options();
        self.repeat(self.sizes.reads, |task, key| {
            let number = task.draws.below(task.sizes.num);
            let target = key.set(number);
            task.await_reads(1);
            let mut iter = task.bounded(&options, number, &mut bound)?;
            let valid = iter.seek(target)?;
            found += u64::from(valid && iter.key() == target);
            task.read_entries(
                &mut iter,
                valid,
                task.flags.seek_nexts,
                !task.flags.reverse_iterator,
            )?;
            Ok(Operation::Seek)
        })?;
        self.tell_found(found, self.recorder.done());
        Ok(())
    }

    /// Returns an iterator that ends `--max_scan_distance` keys behind `number`, or begins that
    /// many before it when the seek goes backward.
    fn bounded(&self, options: &ReadOptions, number: u64, bound: &mut Key) -> Result<Iter> {
        let distance = self.flags.max_scan_distance;
        let reads = self.db.with(options);
        match (distance, self.flags.reverse_iterator) {
            (0, _) => reads.iter(),
            (_, false) => reads.range(..bound.set((number + distance).min(self.sizes.num))),
            (_, true) => reads.range(bound.set(number.saturating_sub(distance))..),
        }
    }

    /// Reads up to `count` entries from the iterator's position. Returns how many there were.
    pub(super) fn read_entries(
        &mut self,
        iter: &mut Iter,
        mut valid: bool,
        count: u64,
        forward: bool,
    ) -> Result<u64> {
        let mut read = 0;
        while valid && read < count {
            let value = iter.value()?;
            black_box(value.first());
            self.recorder.bytes(iter.key().len() + value.len());
            read += 1;
            valid = if forward { iter.advance()? } else { iter.retreat()? };
        }
        Ok(read)
    }

    /// Seeks ascending random keys with one iterator (LevelDB: `SeekOrdered`).
    pub(super) fn seek_in_order(&mut self) -> Result<()> {
        let (mut found, mut number) = (0_u64, 0);
        let mut iter = self.db.with(&self.read_options()).iter()?;
        self.repeat(self.sizes.reads, |task, key| {
            number = (number + task.draws.below(100)) % task.sizes.num;
            let target = key.set(number);
            task.await_reads(1);
            found += u64::from(iter.seek(target)? && iter.key() == target);
            Ok(Operation::Seek)
        })?;
        self.tell_found(found, self.recorder.done());
        Ok(())
    }

    /// Puts keys in order, then seeks each of them twice, with `--seek_nexts` steps between
    /// (RocksDB: `WriteSeqSeekSeq`). The clock starts after the puts.
    pub(super) fn fill_then_seek(&mut self) -> Result<()> {
        self.fill_in_order(self.sizes.num)?;
        self.recorder.restart();
        let (mut key, num, mut number) = (self.key(), self.sizes.num, 0);
        let mut iter = self.db.with(&self.read_options()).iter()?;
        let mut missed = 0_u64;
        while number < num {
            missed += u64::from(!(iter.seek(key.set(number))? && iter.key() == key.set(number)));
            self.recorder.finished(1, Operation::Seek);
            for _ in 0..self.flags.seek_nexts {
                if number + 1 >= num {
                    break;
                }
                number += 1;
                let valid =
                    if self.flags.reverse_iterator { iter.retreat()? } else { iter.advance()? };
                missed += u64::from(!valid);
                self.recorder.finished(1, Operation::Seek);
                if !valid {
                    break;
                }
            }
            iter.seek(key.set(number))?;
            self.recorder.finished(1, Operation::Seek);
            number += 1;
        }
        if missed > 0 {
            self.recorder.message(&format!("({missed} keys missed)"));
        }
        Ok(())
    }

    /// Scans several ranges of keys, the first at a random place (RocksDB: `MultiScan`).
    pub(super) fn multi_scan(&mut self) -> Result<()> {
        let len = match self.flags.seek_nexts {
            0 => MULTI_SCAN_LEN,
            len => len,
        };
        let (ranges, gap) = (self.flags.multiscan_size, self.flags.multiscan_stride);
        let span = ranges.saturating_mul(len.saturating_add(gap));
        let starts = self.sizes.num.saturating_sub(span).max(1);
        let (mut first, mut last) = (self.key(), self.key());
        self.repeat(self.sizes.reads, |task, _| {
            task.draws.skip();
            let mut start = task.draws.below(starts);
            task.await_reads(1);
            for _ in 0..ranges {
                let range = first.set(start)..last.set(start + len);
                let mut iter = task.db.range(range)?;
                let valid = iter.seek_to_first()?;
                task.read_entries(&mut iter, valid, u64::MAX, true)?;
                start += len + gap;
            }
            Ok(Operation::MultiScan)
        })?;
        let done = self.recorder.done();
        self.recorder.message(&format!("(multscans:{done})"));
        Ok(())
    }
}
