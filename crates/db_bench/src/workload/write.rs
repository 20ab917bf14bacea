//! Benchmarks that only write.

use foldb::{Result, WriteBatch};

use super::Task;
use crate::budget::Budget;
use crate::histogram::Operation;

impl Task<'_> {
    /// Puts keys 0, 1, 2, ... (RocksDB: `DoWrite`, sequential).
    pub(super) fn fill_in_order(&mut self) -> Result<()> {
        let mut next = 0..;
        let budget = Budget::new(self.sizes.writes, 0);
        self.put_batches(budget, |_| {}, |_| next.next().expect("numbers do not end"))
    }

    /// Puts random keys (RocksDB: `DoWrite`, random).
    pub(super) fn fill_random(&mut self) -> Result<()> {
        let keys = self.sizes.keys;
        let budget = self.budget(self.sizes.writes);
        self.put_batches(budget, |task| task.draws.skip(), move |task| task.draws.below(keys))
    }

    /// Puts entries; `each_batch` and `key` draw as RocksDB draws for a batch and for an entry.
    fn put_batches(
        &mut self,
        mut budget: Budget,
        mut each_batch: impl FnMut(&mut Self),
        mut key: impl FnMut(&mut Self) -> u64,
    ) -> Result<()> {
        if self.sizes.keys != self.sizes.num {
            let message = format!("({} ops)", self.sizes.keys);
            self.recorder.message(&message);
        }
        let (mut bytes, mut batch) = (self.key(), WriteBatch::new());
        while budget.take(self.sizes.batch) {
            each_batch(self);
            self.await_write(self.sizes.batch);
            if self.sizes.batch == 1 {
                let number = key(self);
                self.db.with(&self.sizes.write).put(bytes.set(number), self.values.next())?;
            } else {
                batch.clear();
                for _ in 0..self.sizes.batch {
                    let number = key(self);
                    batch.put(bytes.set(number), self.values.next());
                }
                self.db.with(&self.sizes.write).write(&batch)?;
            }
            let entry = self.sizes.key_size + self.sizes.value_size;
            self.recorder.bytes(entry * self.sizes.batch as usize);
            self.recorder.finished(self.sizes.batch, Operation::Write);
        }
        Ok(())
    }

    /// Deletes keys 0, 1, 2, ... (RocksDB: `DoDelete`, sequential).
    pub(super) fn delete_in_order(&mut self) -> Result<()> {
        let mut next = 0..;
        let budget = Budget::new(self.sizes.num, 0);
        self.delete_batches(budget, |_| next.next().expect("numbers do not end"))
    }

    /// Deletes random keys (RocksDB: `DoDelete`, random).
    pub(super) fn delete_random(&mut self) -> Result<()> {
        let num = self.sizes.num;
        let budget = self.budget(num);
        self.delete_batches(budget, move |task| task.draws.below(num))
    }

    fn delete_batches(
        &mut self,
        mut budget: Budget,
        mut key: impl FnMut(&mut Self) -> u64,
    ) -> Result<()> {
        let (mut bytes, mut batch) = (self.key(), WriteBatch::new());
        while budget.take(self.sizes.batch) {
            self.draws.skip();
            if self.sizes.batch == 1 {
                let number = key(self);
                self.db.with(&self.sizes.write).delete(bytes.set(number))?;
            } else {
                batch.clear();
                for _ in 0..self.sizes.batch {
                    let number = key(self);
                    batch.delete(bytes.set(number));
                }
                self.db.with(&self.sizes.write).write(&batch)?;
            }
            self.recorder.finished(self.sizes.batch, Operation::Delete);
        }
        Ok(())
    }

    /// Merges generated operands on random keys (RocksDB: `MergeRandom`).
    pub(super) fn merge_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.read_writes);
        let mut key = self.key();
        while budget.take(1) {
            let number = self.draws.key(self.sizes.merge_keys);
            self.await_write(1);
            self.db.with(&self.sizes.write).merge(key.set(number), self.values.next())?;
            self.recorder.bytes(self.sizes.key_size + self.sizes.value_size);
            self.recorder.finished(1, Operation::Merge);
        }
        let message = format!("( updates:{})", self.recorder.done());
        self.recorder.message(&message);
        Ok(())
    }

    /// Puts or merges random keys until the counted threads end (RocksDB: `BGWriter`).
    pub(super) fn write_while(&mut self, merge: bool, go_on: impl Fn() -> bool) -> Result<()> {
        let mut key = self.key();
        while go_on() {
            let key = key.set(self.draws.key(self.sizes.num));
            self.await_write(1);
            let value = self.values.next();
            if merge {
                self.db.with(&self.sizes.write).merge(key, value)?;
            } else {
                self.db.with(&self.sizes.write).put(key, value)?;
            }
            self.recorder.finished(1, Operation::Write);
        }
        Ok(())
    }
}
