//! The benchmark that checks what it reads.

use foldb::{ReadOptions, Result, Value, WriteBatch};

use super::Task;
use crate::histogram::Operation;

/// The ends of the three keys that always have one value.
const ENDS: [u8; 3] = [b'0', b'1', b'2'];

impl Task<'_> {
    /// Of each hundred operations reads first, then puts, then deletes. Each one is for three keys
    /// together, and a read at one snapshot must find the same in all of them (RocksDB:
    /// `RandomWithVerify`).
    pub(super) fn random_with_verify(&mut self) -> Result<()> {
        let (mut gets, mut puts, mut deletes) = (0_u64, 0_u64, 0_u64);
        let (mut found, mut differ) = (0_u64, 0_u64);
        let gets_end = self.flags.readwritepercent;
        let puts_end = 100_u64.saturating_sub(self.flags.deletepercent).max(gets_end);
        self.repeat(self.sizes.read_writes, |task, key| {
            let keys = with_ends(key.set(task.draws.key(task.flags.numdistinct)));
            let at = (gets + puts + deletes) % 100;
            if at < gets_end {
                gets += 1;
                task.await_reads(1);
                let values = task.get_together(&keys)?;
                found += u64::from(values[2].is_some());
                differ += u64::from(values[0] != values[1] || values[1] != values[2]);
                return Ok(Operation::Read);
            }
            let mut batch = WriteBatch::new();
            let value = (at < puts_end).then(|| task.values.next());
            for key in &keys {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                };
            }
            let bytes = task.sizes.key.size + 1 + value.map_or(0, <[u8]>::len);
            task.await_write(1, bytes * keys.len());
            task.db.with(&task.sizes.write).write(&batch)?;
            let (count, kind) = match value {
                Some(_) => (&mut puts, Operation::Write),
                None => (&mut deletes, Operation::Delete),
            };
            *count += 1;
            Ok(kind)
        })?;
        let total = self.recorder.done();
        let message = format!("( get:{gets} put:{puts} del:{deletes} total:{total} found:{found})");
        self.recorder.message(&message);
        if differ > 0 {
            self.recorder.note(format!("inconsistent values for {differ} keys"));
        }
        Ok(())
    }

    fn get_together(&self, keys: &[Vec<u8>; 3]) -> Result<[Option<Value>; 3]> {
        let snapshot = Some(self.db.snapshot());
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let reads = self.db.with(&options);
        Ok([reads.get(&keys[0])?, reads.get(&keys[1])?, reads.get(&keys[2])?])
    }
}

fn with_ends(key: &[u8]) -> [Vec<u8>; 3] {
    ENDS.map(|end| [key, &[end]].concat())
}
