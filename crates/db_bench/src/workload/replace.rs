//! The benchmark of indexes whose entries move.

use foldb::Result;

use super::Task;
use crate::histogram::Operation;

/// Keys that take turns as one entry.
const TURNS: u64 = 50;

impl Task<'_> {
    /// Deletes the key of a random entry, and puts the next one (RocksDB: `RandomReplaceKeys`).
    /// The entries near the middle move most. A snapshot stays open, as in RocksDB.
    pub(super) fn replace_keys(&mut self) -> Result<()> {
        let distinct = self.flags.numdistinct;
        let mut turns = vec![0_u64; usize::try_from(distinct).unwrap_or(usize::MAX)];
        let mut key = self.key();
        for entry in 0..distinct {
            let value = self.values.next();
            self.db.with(&self.sizes.write).put(key.set(entry * TURNS), value)?;
        }
        let _snapshot = self.db.snapshot();
        self.recorder.restart();
        let (middle, deviation) = (distinct as f64 / 2.0, self.flags.stddev);
        self.repeat(self.sizes.num, |task, key| {
            let drawn = middle + deviation * task.draws.normal();
            let entry = (drawn.max(0.0) as u64).min(distinct - 1);
            let turn = &mut turns[entry as usize];
            let writes = task.db.with(&task.sizes.write);
            writes.delete(key.set(entry * TURNS + *turn))?;
            *turn = (*turn + 1) % TURNS;
            writes.put(key.set(entry * TURNS + *turn), b"")?;
            Ok(Operation::Other)
        })?;
        self.recorder
            .message(&format!("use single deletes: 0, standard deviation: {deviation:.6}"));
        Ok(())
    }
}
