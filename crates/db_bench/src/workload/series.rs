//! The benchmark of time series: one thread puts, the others read whole series.
//!
//! The time of an entry is the number of entries before it.

use std::hint::black_box;
use std::sync::atomic::Ordering;

use foldb::Result;

use super::Task;
use crate::histogram::Operation;

/// Bytes of the identity of a series, and of the time behind it.
const PART_LEN: usize = 8;

impl Task<'_> {
    /// Puts an entry of a random series at each tick (RocksDB: `TimeSeriesWrite`).
    pub(super) fn write_series(&mut self) -> Result<()> {
        self.repeat(self.sizes.writes, |task, key| {
            let series = task.draws.key(task.flags.key_id_range);
            let time = task.shared.time.fetch_add(1, Ordering::Relaxed);
            let value = task.values.next();
            task.put(key.set_timed(series, time), value)?;
            Ok(Operation::Write)
        })
    }

    /// Reads all entries of a random series until the writer ends. With `--expire_style=delete`,
    /// the first threads delete old entries instead (RocksDB: `TimeSeriesReadOrDelete`).
    pub(super) fn read_series(&mut self) -> Result<()> {
        let deletes = self.flags.expire_style == "delete"
            && (self.index as u64) < self.flags.num_deletion_threads;
        let (mut key, mut read, mut found) = (self.key(), 0_u64, 0_u64);
        while self.shared.beside.load(Ordering::Acquire) > 0 {
            let series = self.draws.below(self.flags.key_id_range);
            self.await_reads(1);
            let key = key.set(series);
            let prefix = &key[..key.len().min(PART_LEN)];
            let before = self.recorder.done();
            match deletes {
                true => self.delete_old(prefix)?,
                false => self.read_prefix(prefix)?,
            }
            read += 1;
            found += u64::from(self.recorder.done() > before);
        }
        self.tell_found(found, read);
        Ok(())
    }

    fn read_prefix(&mut self, prefix: &[u8]) -> Result<()> {
        let mut iter = self.db.prefix(prefix)?;
        let mut valid = iter.seek_to_first()?;
        while valid {
            let value = iter.value()?;
            black_box(value.first());
            self.recorder.bytes(iter.key().len() + value.len());
            self.recorder.finished(1, Operation::Read);
            valid = iter.advance()?;
        }
        Ok(())
    }

    fn delete_old(&mut self, prefix: &[u8]) -> Result<()> {
        let mut iter = self.db.prefix(prefix)?;
        let mut valid = iter.seek_to_first()?;
        while valid {
            let now = self.shared.time.load(Ordering::Relaxed);
            if now.saturating_sub(time_of(iter.key())) <= self.flags.time_range {
                break;
            }
            self.db.with(&self.sizes.write).delete(iter.key())?;
            self.recorder.bytes(iter.key().len());
            self.recorder.finished(1, Operation::Delete);
            valid = iter.advance()?;
        }
        Ok(())
    }
}

/// Returns the time in the key of an entry.
fn time_of(key: &[u8]) -> u64 {
    let time = key.iter().skip(PART_LEN).take(PART_LEN);
    time.fold(0, |time, byte| time << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Key, KeyForm};

    #[test]
    fn a_key_tells_its_time() {
        for size in [16, 20, 12] {
            let mut key = Key::new(KeyForm { size, ..KeyForm::default() });
            assert_eq!(time_of(key.set_timed(7, 0x0102)), 0x0102);
        }
    }
}
