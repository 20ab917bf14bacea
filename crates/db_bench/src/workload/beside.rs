//! The work of the thread beside the counted ones.

use foldb::{Result, WriteBatch};

use super::Task;
use super::range_deletes::RangeDeletes;
use crate::benchmark::Beside;
use crate::histogram::Operation;

impl Task<'_> {
    /// Does the work of the thread beside the counted ones.
    ///
    /// # Errors
    /// The first error of the database.
    pub(crate) fn run_beside(&mut self, beside: Beside) -> Result<()> {
        match beside {
            Beside::Put => self.write_beside(Operation::Write),
            Beside::Merge => self.write_beside(Operation::Merge),
            Beside::Scan => self.scan_beside(),
            Beside::Series => self.write_series(),
        }
    }

    /// Puts or merges random keys until the counted threads end, or for `--writes` with
    /// `--finish_after_writes` (RocksDB: `BGWriter`).
    fn write_beside(&mut self, kind: Operation) -> Result<()> {
        let (mut key, mut batch) = (self.key(), WriteBatch::new());
        let mut range_deletes = RangeDeletes::new(self.flags, self.sizes.key);
        let mut written = 0;
        while match self.flags.finish_after_writes {
            true => written < self.sizes.writes,
            false => self.counted_threads_run(),
        } {
            let number = self.draws.key(self.sizes.num);
            let value = self.values.next();
            match kind {
                Operation::Merge => self.merge(key.set(number), value)?,
                _ => self.put(key.set(number), value)?,
            }
            written += 1;
            self.recorder.finished(1, Operation::Write);
            if let Some(deletes) = RangeDeletes::after_write(&mut range_deletes) {
                batch.clear();
                deletes.add_to(&mut batch, self.draws.below(self.sizes.num));
                self.db.with(&self.sizes.write).write(&batch)?;
                self.recorder.finished(1, Operation::Write);
            }
        }
        if let Some(deletes) = range_deletes {
            deletes.tell(&mut self.recorder);
        }
        Ok(())
    }

    /// Scans from the first entry to the last, again and again (RocksDB: `BGScan`).
    fn scan_beside(&mut self) -> Result<()> {
        let mut iter = self.db.with(&self.read_options()).iter()?;
        let mut valid = false;
        self.repeat(self.sizes.reads, |_, _| {
            valid = if valid { iter.advance()? } else { iter.seek_to_first()? };
            Ok(Operation::Seek)
        })
    }
}
