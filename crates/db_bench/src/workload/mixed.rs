//! Benchmarks that read and write.

use foldb::Result;

use super::Task;
use crate::histogram::Operation;

impl Task<'_> {
    /// Reads a random key, then puts it (RocksDB: `UpdateRandom`).
    pub(super) fn update_random(&mut self) -> Result<()> {
        self.read_then_put(|task, old, _| {
            let value = task.values.next();
            old.clear();
            old.extend_from_slice(value);
            Operation::Update
        })
    }

    /// Reads a random key, then puts it XOR random bytes of its length (RocksDB:
    /// `XORUpdateRandom`).
    pub(super) fn xor_update_random(&mut self) -> Result<()> {
        self.read_then_put(|task, old, found| {
            // RocksDB stores an empty value for an absent key. So all values would stay empty.
            let len = if found { old.len() } else { task.sizes.values.most() };
            let mask = task.values.of(len);
            old.resize(len, 0);
            old.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
            Operation::Other
        })
    }

    /// Reads a random key, then puts it with a comma and a value more (RocksDB: `AppendRandom`).
    pub(super) fn append_random(&mut self) -> Result<()> {
        self.read_then_put(|task, old, _| {
            if !old.is_empty() {
                old.push(b',');
            }
            old.extend_from_slice(task.values.next());
            Operation::Update
        })
    }

    /// Reads a random key, and puts what `change` makes of its value. An absent key is empty.
    fn read_then_put(
        &mut self,
        mut change: impl FnMut(&mut Self, &mut Vec<u8>, bool) -> Operation,
    ) -> Result<()> {
        let (mut found, mut value) = (0_u64, Vec::new());
        self.repeat(self.sizes.read_writes, |task, key| {
            let key = key.set(task.draws.key(task.sizes.num));
            value.clear();
            let old = task.db.get(key)?;
            if let Some(old) = &old {
                found += 1;
                value.extend_from_slice(old);
                task.recorder.bytes(task.sizes.key.size + old.len());
            }
            let kind = change(task, &mut value, old.is_some());
            task.put(key, &value)?;
            Ok(kind)
        })?;
        let message = format!("( updates:{} found:{found})", self.recorder.done());
        self.recorder.message(&message);
        Ok(())
    }

    /// Merges or reads a random key, by a draw of its own (RocksDB: `ReadRandomMergeRandom`).
    pub(super) fn read_random_merge_random(&mut self) -> Result<()> {
        let (mut merges, mut gets, mut hits, mut longest) = (0_u64, 0_u64, 0_u64, 0);
        self.repeat(self.sizes.read_writes, |task, key| {
            let key = key.set(task.draws.key(task.sizes.merge_keys));
            if task.draws.below(100) < task.flags.mergereadpercent {
                let operand = task.values.next();
                task.await_write(1, key.len() + operand.len());
                task.db.with(&task.sizes.write).merge(key, operand)?;
                merges += 1;
                Ok(Operation::Merge)
            } else {
                task.await_reads(1);
                if let Some(value) = task.db.get(key)? {
                    hits += 1;
                    longest = longest.max(value.len());
                }
                gets += 1;
                Ok(Operation::Read)
            }
        })?;
        let total = self.recorder.done();
        let message =
            format!("(reads:{gets} merges:{merges} total:{total} hits:{hits} maxlength:{longest})");
        self.recorder.message(&message);
        Ok(())
    }

    /// Reads first and then puts, in each hundred operations (RocksDB: `ReadRandomWriteRandom`).
    pub(super) fn read_random_write_random(&mut self) -> Result<()> {
        let (mut reads, mut writes, mut found) = (0_u64, 0_u64, 0_u64);
        self.repeat(self.sizes.read_writes, |task, key| {
            let key = key.set(task.draws.key(task.sizes.num));
            if (reads + writes) % 100 < task.flags.readwritepercent {
                task.await_reads(1);
                found += u64::from(task.db.get(key)?.is_some());
                reads += 1;
                Ok(Operation::Read)
            } else {
                let value = task.values.next();
                task.await_write(1, key.len() + value.len());
                task.db.with(&task.sizes.write).put(key, value)?;
                writes += 1;
                Ok(Operation::Write)
            }
        })?;
        let total = self.recorder.done();
        let message = format!("( reads:{reads} writes:{writes} total:{total} found:{found})");
        self.recorder.message(&message);
        Ok(())
    }
}
