//! Benchmarks that only write.

use foldb::{Result, WriteBatch};

use super::Task;
use super::range_deletes::RangeDeletes;
use crate::budget::Budget;
use crate::histogram::Operation;

impl Task<'_> {
    /// Puts keys 0, 1, 2, ... (RocksDB: `DoWrite`, sequential).
    pub(super) fn fill_in_order(&mut self, writes: u64) -> Result<()> {
        let mut next = 0..;
        self.put_batches(Budget::new(writes), |_| {}, |_| next.next().expect("numbers do not end"))
    }

    /// Puts random keys (RocksDB: `DoWrite`, random).
    pub(super) fn fill_random(&mut self) -> Result<()> {
        let keys = self.sizes.keys + self.flags.max_num_range_tombstones;
        let budget = self.budget(self.sizes.writes);
        self.put_batches(budget, |task| task.draws.skip(), move |task| task.draws.below(keys))
    }

    /// Puts entries; `each_batch` and `key` draw as RocksDB draws for a batch and for an entry.
    pub(super) fn put_batches(
        &mut self,
        mut budget: Budget,
        mut each_batch: impl FnMut(&mut Self),
        mut key: impl FnMut(&mut Self) -> u64,
    ) -> Result<()> {
        if self.sizes.keys != self.sizes.num {
            let message = format!("({} ops)", self.sizes.keys);
            self.recorder.message(&message);
        }
        let mut range_deletes = RangeDeletes::new(self.flags, self.sizes.key);
        let (mut bytes, mut batch) = (self.key(), WriteBatch::new());
        while budget.take(self.sizes.batch) {
            each_batch(self);
            if self.sizes.batch == 1 && range_deletes.is_none() {
                let number = key(self);
                let value = self.values.next();
                self.put(bytes.set(number), value)?;
            } else {
                batch.clear();
                let mut size = 0;
                for _ in 0..self.sizes.batch {
                    let number = key(self);
                    let value = self.values.next();
                    batch.put(bytes.set(number), value);
                    size += self.sizes.key.size + value.len();
                    if let Some(deletes) = RangeDeletes::after_write(&mut range_deletes) {
                        deletes.add_to(&mut batch, key(self));
                    }
                }
                self.await_write(self.sizes.batch, size);
                self.db.with(&self.sizes.write).write(&batch)?;
                self.recorder.bytes(size);
            }
            self.recorder.finished(self.sizes.batch, Operation::Write);
        }
        if let Some(deletes) = range_deletes {
            deletes.tell(&mut self.recorder);
        }
        Ok(())
    }

    /// Deletes keys 0, 1, 2, ... (RocksDB: `DoDelete`, sequential).
    pub(super) fn delete_in_order(&mut self) -> Result<()> {
        let mut next = 0..;
        let budget = Budget::new(self.sizes.deletes);
        self.delete_batches(budget, |_| next.next().expect("numbers do not end"))
    }

    /// Deletes random keys (RocksDB: `DoDelete`, random).
    pub(super) fn delete_random(&mut self) -> Result<()> {
        let num = self.sizes.num;
        let budget = self.budget(self.sizes.deletes);
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
        self.repeat(self.sizes.read_writes, |task, key| {
            let number = task.draws.key(task.sizes.merge_keys);
            let operand = task.values.next();
            task.merge(key.set(number), operand)?;
            Ok(Operation::Merge)
        })?;
        let message = format!("( updates:{})", self.recorder.done());
        self.recorder.message(&message);
        Ok(())
    }
}
