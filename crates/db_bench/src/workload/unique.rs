//! Fills that put each key once, in random order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use foldb::{Result, WriteBatch};

use super::Task;
use crate::budget::Budget;
use crate::flags::Flags;
use crate::histogram::Operation;
use crate::keys::Draws;

/// All numbers below a bound, in random order.
struct Shuffled(Vec<u64>);

impl Shuffled {
    fn new(count: u64, seed: i64) -> Shuffled {
        let (mut numbers, mut draws) = ((0..count).collect::<Vec<u64>>(), Draws::new(seed, 0));
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, draws.below(last as u64 + 1) as usize);
        }
        Shuffled(numbers)
    }

    /// Returns the number at an index, which begins again at the end.
    fn at(&self, index: u64) -> u64 {
        self.0[(index % self.0.len() as u64) as usize]
    }
}

impl Task<'_> {
    /// Puts keys in random order, each once (RocksDB: `DoWrite`, unique random). The flags may let
    /// it overwrite recent keys, or delete entries again.
    pub(super) fn fill_unique(&mut self, writes: u64) -> Result<()> {
        let numbers = Shuffled::new(self.sizes.num, self.shared.seed);
        let flags = self.flags;
        if flags.disposable_entries_batch_size > 0 {
            return self.fill_and_delete(&numbers, writes);
        }
        let (mut next, mut overwrites) = (0_u64, 0_u64);
        let mut recent: VecDeque<u64> = VecDeque::new();
        let window = usize::try_from(flags.overwrite_window_size).unwrap_or(usize::MAX);
        let budget = Budget::new(writes.min(self.sizes.num));
        self.put_batches(
            budget,
            |task| task.draws.skip(),
            |task| {
                let p = flags.overwrite_probability;
                if p > 0.0 && !recent.is_empty() && task.draws.fraction() < p {
                    overwrites += 1;
                    return recent[task.draws.below(recent.len() as u64) as usize];
                }
                let number = numbers.at(next);
                next += 1;
                if p > 0.0 {
                    recent.push_back(number);
                    if recent.len() > window {
                        recent.pop_front();
                    }
                }
                number
            },
        )?;
        if flags.overwrite_probability > 0.0 {
            self.recorder.note(format!("Number of unique keys inserted: {next}."));
            self.recorder.note(format!("Number of overwrites: {overwrites}"));
        }
        Ok(())
    }

    fn fill_and_delete(&mut self, numbers: &Shuffled, writes: u64) -> Result<()> {
        let (mut budget, mut plan) = (Budget::new(writes), Disposal::new(self.flags));
        let (mut key, mut batch) = (self.key(), WriteBatch::new());
        let (mut puts, mut deletes) = (0_u64, 0_u64);
        while budget.take(self.sizes.batch) {
            self.draws.skip();
            batch.clear();
            let mut bytes = 0;
            for _ in 0..self.sizes.batch {
                match plan.next(Instant::now()) {
                    Change::Put { index, size } => {
                        let value = self.values.of(size);
                        batch.put(key.set(numbers.at(index)), value);
                        bytes += self.sizes.key.size + value.len();
                        puts += 1;
                    }
                    Change::Delete { index } => {
                        batch.delete(key.set(numbers.at(index)));
                        bytes += self.sizes.key.size;
                        deletes += 1;
                    }
                }
            }
            self.await_write(self.sizes.batch, bytes);
            self.db.with(&self.sizes.write).write(&batch)?;
            self.recorder.bytes(bytes);
            self.recorder.finished(self.sizes.batch, Operation::Write);
        }
        let keys = format!("Number of unique keys inserted (disposable+persistent): {puts}.");
        self.recorder.note(keys);
        self.recorder.note(format!("Number of 'disposable entry delete': {deletes}"));
        Ok(())
    }

    /// Fills and compacts, then adds runs that are smaller by the fan-out of the tree each
    /// (RocksDB: `WriteSeqDeterministic`, `WriteUniqueRandomDeterministic`).
    pub(super) fn fill_shaped(&mut self, in_order: bool) -> Result<()> {
        let options = self.shared.options;
        let fan_out = options.max_bytes_for_level_multiplier.max(2.0);
        let mut writes = self.sizes.writes;
        match in_order {
            true => self.fill_in_order(writes)?,
            false => self.fill_unique(writes)?,
        }
        self.db.compact(..)?;
        for _ in 2..options.num_levels {
            writes = (writes as f64 / fan_out) as u64;
            if writes == 0 {
                break;
            }
            self.fill_unique(writes)?;
            self.db.flush()?;
        }
        Ok(())
    }
}

/// A change of `fillanddeleteuniquerandom`, with the index of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Put { index: u64, size: usize },
    Delete { index: u64 },
}

/// Rounds of entries: disposable ones, then after a delay persistent ones and the deletes of the
/// disposable ones. The next round's disposable entries come during the delay.
struct Disposal {
    disposable: u64,
    persistent: u64,
    disposable_size: usize,
    persistent_size: usize,
    delay: Duration,
    /// The index of the current round's first entry.
    start: u64,
    /// Disposable entries of the current round so far.
    put: u64,
    /// When the rest of a round is due, and the index of its first entry.
    due: VecDeque<(Instant, u64)>,
    /// Persistent entries and deletes of the round that is due first, so far.
    done: u64,
}

impl Disposal {
    fn new(flags: &Flags) -> Disposal {
        Disposal {
            disposable: flags.disposable_entries_batch_size,
            persistent: flags.persistent_entries_batch_size,
            disposable_size: flags.disposable_entries_value_size as usize,
            persistent_size: flags.persistent_entries_value_size as usize,
            delay: Duration::from_micros(flags.disposable_entries_delete_delay),
            start: 0,
            put: 0,
            due: VecDeque::new(),
            done: 0,
        }
    }

    fn next(&mut self, now: Instant) -> Change {
        if let Some((_, start)) = self.due.front().copied().filter(|(due, _)| *due <= now) {
            let change = match self.done.checked_sub(self.persistent) {
                None => Change::Put {
                    index: start + self.disposable + self.done,
                    size: self.persistent_size,
                },
                Some(deleted) => Change::Delete { index: start + deleted },
            };
            self.done += 1;
            if self.done == self.persistent + self.disposable {
                self.due.pop_front();
                self.done = 0;
            }
            return change;
        }
        let index = self.start + self.put;
        self.put += 1;
        if self.put == self.disposable {
            self.due.push_back((now + self.delay, self.start));
            self.start += self.disposable + self.persistent;
            self.put = 0;
        }
        Change::Put { index, size: self.disposable_size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffled_numbers_are_all_there_in_another_order() {
        let mut numbers = Shuffled::new(1000, 1).0;
        assert_ne!(numbers, Shuffled::new(1000, 2).0);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    }

    fn changes(disposal: &mut Disposal, now: Instant, count: usize) -> Vec<(bool, u64)> {
        let change = |_| match disposal.next(now) {
            Change::Put { index, .. } => (true, index),
            Change::Delete { index } => (false, index),
        };
        (0..count).map(change).collect()
    }

    #[test]
    fn disposable_entries_are_deleted_after_their_delay() {
        let flags = Flags {
            disposable_entries_batch_size: 2,
            persistent_entries_batch_size: 1,
            disposable_entries_delete_delay: 1_000_000,
            ..Flags::default()
        };
        let (mut disposal, now) = (Disposal::new(&flags), Instant::now());
        let at_once = changes(&mut disposal, now, 3);
        assert_eq!(at_once, [(true, 0), (true, 1), (true, 3)]);
        let later = changes(&mut disposal, now + Duration::from_secs(2), 4);
        assert_eq!(later, [(true, 2), (false, 0), (false, 1), (true, 4)]);
    }
}
