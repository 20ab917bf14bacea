//! Benchmarks that read and write.

use foldb::Result;

use super::Task;
use crate::histogram::Operation;

impl Task<'_> {
    /// Reads a random key, then puts it (RocksDB: `UpdateRandom`).
    pub(super) fn update_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.read_writes);
        let (mut key, mut found) = (self.key(), 0_u64);
        while budget.take(1) {
            let key = key.set(self.draws.key(self.sizes.num));
            if let Some(value) = self.db.get(key)? {
                found += 1;
                self.recorder.bytes(self.sizes.key_size + value.len());
            }
            self.db.with(&self.sizes.write).put(key, self.values.next())?;
            self.recorder.bytes(self.sizes.key_size + self.sizes.value_size);
            self.recorder.finished(1, Operation::Update);
        }
        let message = format!("( updates:{} found:{found})", self.recorder.done());
        self.recorder.message(&message);
        Ok(())
    }

    /// Merges or reads a random key, by a draw of its own (RocksDB: `ReadRandomMergeRandom`).
    pub(super) fn read_random_merge_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.read_writes);
        let mut key = self.key();
        let (mut merges, mut gets, mut hits, mut longest) = (0_u64, 0_u64, 0_u64, 0);
        while budget.take(1) {
            let key = key.set(self.draws.key(self.sizes.merge_keys));
            if self.draws.below(100) < self.sizes.merge_percent {
                self.db.with(&self.sizes.write).merge(key, self.values.next())?;
                merges += 1;
                self.recorder.finished(1, Operation::Merge);
            } else {
                if let Some(value) = self.db.get(key)? {
                    hits += 1;
                    longest = longest.max(value.len());
                }
                gets += 1;
                self.recorder.finished(1, Operation::Read);
            }
        }
        let total = self.recorder.done();
        let message =
            format!("(reads:{gets} merges:{merges} total:{total} hits:{hits} maxlength:{longest})");
        self.recorder.message(&message);
        Ok(())
    }

    /// Reads first and then puts, in each hundred operations (RocksDB: `ReadRandomWriteRandom`).
    pub(super) fn read_random_write_random(&mut self) -> Result<()> {
        let mut budget = self.budget(self.sizes.read_writes);
        let mut key = self.key();
        let (mut reads, mut writes, mut found) = (0_u64, 0_u64, 0_u64);
        while budget.take(1) {
            let key = key.set(self.draws.key(self.sizes.num));
            if (reads + writes) % 100 < self.sizes.read_percent {
                found += u64::from(self.db.get(key)?.is_some());
                reads += 1;
                self.recorder.finished(1, Operation::Read);
            } else {
                self.db.with(&self.sizes.write).put(key, self.values.next())?;
                writes += 1;
                self.recorder.finished(1, Operation::Write);
            }
        }
        let total = self.recorder.done();
        let message = format!("( reads:{reads} writes:{writes} total:{total} found:{found})");
        self.recorder.message(&message);
        Ok(())
    }
}
