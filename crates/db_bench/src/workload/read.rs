//! Benchmarks that only read.

use std::hint::black_box;

use foldb::{Iter, Result};

use super::Task;
use crate::histogram::Operation;

impl Task<'_> {
    /// Reads entries in key order (RocksDB: `ReadSequential`).
    pub(super) fn read_in_order(&mut self) -> Result<()> {
        self.scan(Iter::seek_to_first, Iter::advance)
    }

    /// Reads entries in reverse key order (RocksDB: `ReadReverse`).
    pub(super) fn read_in_reverse(&mut self) -> Result<()> {
        self.scan(Iter::seek_to_last, Iter::retreat)
    }

    fn scan(
        &mut self,
        start: impl Fn(&mut Iter) -> Result<bool>,
        step: impl Fn(&mut Iter) -> Result<bool>,
    ) -> Result<()> {
        let mut iter = self.db.iter()?;
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
        let mut budget = self.budget(self.sizes.reads);
        let (mut key, mut found) = (self.key(), 0_u64);
        while budget.take(1) {
            let number = self.draws.key(count);
            self.await_reads(1);
            if let Some(value) = self.db.get(key.set(number))? {
                found += 1;
                self.recorder.bytes(self.sizes.key_size + value.len());
            }
            self.recorder.finished(1, Operation::Read);
        }
        self.tell_found(found);
        Ok(())
    }

    /// Reads random keys, a batch at a time (RocksDB: `MultiReadRandom`, which draws its database
    /// once a batch).
    pub(super) fn multi_read_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.reads);
        let mut keys: Vec<_> = (0..self.sizes.batch).map(|_| self.key()).collect();
        let mut found = 0_u64;
        while budget.take(self.sizes.batch) {
            self.draws.skip();
            self.await_reads(self.sizes.batch);
            let (draws, num) = (&mut self.draws, self.sizes.num);
            for value in self.db.multi_get(keys.iter_mut().map(|key| key.set(draws.below(num))))? {
                if let Some(value) = value? {
                    found += 1;
                    self.recorder.bytes(self.sizes.key_size + value.len());
                }
            }
            self.recorder.finished(self.sizes.batch, Operation::Read);
        }
        self.tell_found(found);
        Ok(())
    }

    /// Seeks random keys with a new iterator each (RocksDB: `SeekRandom`, which draws once).
    pub(super) fn seek_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.reads);
        let (mut key, mut found) = (self.key(), 0_u64);
        while budget.take(1) {
            let target = key.set(self.draws.below(self.sizes.num));
            self.await_reads(1);
            let mut iter = self.db.iter()?;
            let mut valid = iter.seek(target)?;
            found += u64::from(valid && iter.key() == target);
            let mut left = self.sizes.seek_nexts;
            while valid && left > 0 {
                let value = iter.value()?;
                black_box(value.first());
                self.recorder.bytes(iter.key().len() + value.len());
                left -= 1;
                valid = if self.sizes.backward { iter.retreat()? } else { iter.advance()? };
            }
            self.recorder.finished(1, Operation::Seek);
        }
        self.tell_found(found);
        Ok(())
    }

    fn tell_found(&mut self, found: u64) {
        let message = format!("({found} of {} found)", self.recorder.done());
        self.recorder.message(&message);
    }
}
