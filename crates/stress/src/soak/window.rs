//! The writes of a thread's steps, and the expected contents after any number of steps.
//!
//! A thread's keys are numbers. Step *t* puts key *t*, overwrites an older key, deletes a still
//! older one, and merges into several keys. Some steps delete all keys older than the window:
//!
//! ```text
//!   deleted by range    deleted one by one    overwritten        put
//! ───────────────────┬──────────┬──────────────────┬──────────────┬───►  keys
//!                  t - W     t - 3W/4           t - W/2           t
//! ```
//!
//! Invariant: a key's value is a function of the thread, the key and the number of steps. So every
//! read is checked, and no expected values are stored.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Shortest value that is put, in bytes.
const SHORTEST: u64 = 1 << 10;
/// Longest value that is put, in bytes.
const LONGEST: u64 = 16 << 10;
/// Divisor of a window, such that deleted ranges begin and end at keys of every kind.
const UNIT: u64 = 64;

/// The keys of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    thread: u8,
    /// Number of keys from the oldest to the newest.
    pub width: u64,
}

/// A keyspace that steps merge into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merges {
    /// Numbers that merges add to.
    Counters,
    /// Texts that merges append to.
    Notes,
    /// Merges keep the greatest bytes.
    Peaks,
}

impl Merges {
    pub(super) const ALL: [Merges; 3] = [Merges::Counters, Merges::Notes, Merges::Peaks];

    /// Returns the name of the keyspace, and its operator.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Merges::Counters => ("counters", "uint64add"),
            Merges::Notes => ("notes", "stringappend:,"),
            Merges::Peaks => ("peaks", "max"),
        }
    }

    /// Returns how many steps there are for each step that merges here.
    pub(super) fn every(self) -> u64 {
        match self {
            Merges::Counters => 1,
            Merges::Notes => 4,
            Merges::Peaks => 8,
        }
    }
}

impl Window {
    /// Makes the keys of a thread, about `bytes` of them live at a time.
    pub(super) fn new(thread: u8, bytes: u64) -> Window {
        let live = (SHORTEST + LONGEST) / 2;
        Window { thread, width: (bytes / live / UNIT).max(8) * UNIT }
    }

    /// Returns the key of a number.
    pub(super) fn key(&self, number: u64) -> [u8; 9] {
        let mut key = [self.thread; 9];
        key[1..].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn hash(&self, purpose: u64, number: u64) -> u64 {
        xxh3_64_with_seed(&self.key(number), purpose)
    }

    /// Returns the value of a key in one of its two generations.
    pub(super) fn value(&self, number: u64, generation: u64) -> Vec<u8> {
        let hash = self.hash(generation, number);
        let length = SHORTEST + hash % (LONGEST - SHORTEST + 1);
        let mut value = vec![0; length as usize];
        fastrand::Rng::with_seed(hash).fill(&mut value);
        value
    }

    fn is_overwritten(&self, number: u64) -> bool {
        self.hash(2, number).is_multiple_of(4)
    }

    fn is_deleted(&self, number: u64) -> bool {
        self.hash(2, number) % 8 == 1
    }

    /// Returns the key that a step overwrites.
    pub(super) fn overwritten_by(&self, step: u64) -> Option<u64> {
        step.checked_sub(self.width / 2).filter(|&number| self.is_overwritten(number))
    }

    /// Returns the key that a step deletes.
    pub(super) fn deleted_by(&self, step: u64) -> Option<u64> {
        step.checked_sub(self.width / 4 * 3).filter(|&number| self.is_deleted(number))
    }

    /// Returns the keys that a step deletes as a range.
    pub(super) fn cut_by(&self, step: u64) -> Option<Range<u64>> {
        let cut = self.cut(step)..self.cut(step + 1);
        (!cut.is_empty()).then_some(cut)
    }

    /// Returns the first key that no range delete of the first `steps` steps deleted.
    pub(super) fn cut(&self, steps: u64) -> u64 {
        let every = self.width / 8;
        (steps / every * every).saturating_sub(self.width)
    }

    /// Returns a key's value after `steps` steps.
    pub(super) fn expected(&self, number: u64, steps: u64) -> Option<Vec<u8>> {
        let generation = self.generation(number, steps)?;
        Some(self.value(number, generation))
    }

    /// Returns how often a key was overwritten, if it exists after `steps` steps.
    pub(super) fn generation(&self, number: u64, steps: u64) -> Option<u64> {
        let was_deleted = self.is_deleted(number) && number + self.width / 4 * 3 < steps;
        if number >= steps || number < self.cut(steps) || was_deleted {
            return None;
        }
        Some(u64::from(self.is_overwritten(number) && number + self.width / 2 < steps))
    }

    /// Returns how many keys back each merge of a step goes, in keys of this kind.
    fn distances(&self, kind: Merges) -> [u64; 3] {
        [0, 5, self.width / kind.every() / 3]
    }

    /// Returns the merges of a step: keys and operands.
    pub(super) fn merges(
        &self,
        kind: Merges,
        step: u64,
    ) -> impl Iterator<Item = (u64, Vec<u8>)> + '_ {
        let at = step.is_multiple_of(kind.every()).then_some(step / kind.every());
        self.distances(kind).into_iter().filter_map(move |distance| {
            let number = at?.checked_sub(distance)?;
            Some((number, self.operand(kind, number, distance)))
        })
    }

    fn operand(&self, kind: Merges, number: u64, distance: u64) -> Vec<u8> {
        let hash = self.hash(3 + distance, number);
        match kind {
            Merges::Counters => (hash % 1000).to_le_bytes().to_vec(),
            Merges::Notes => format!("{number}-{distance}-{}", hash % 100).into_bytes(),
            Merges::Peaks => hash.to_be_bytes().to_vec(),
        }
    }

    /// Returns the keys of a kind that may exist after `steps` steps.
    pub(super) fn merged(&self, kind: Merges, steps: u64) -> Range<u64> {
        self.cut(steps) / kind.every()..steps.div_ceil(kind.every())
    }

    /// Returns a key's value after the merges of `steps` steps.
    pub(super) fn expected_merge(&self, kind: Merges, number: u64, steps: u64) -> Option<Vec<u8>> {
        let range = self.merged(kind, steps);
        if !range.contains(&number) {
            return None;
        }
        let done =
            self.distances(kind).into_iter().filter(|distance| number + distance < range.end);
        let operands = done.map(|distance| self.operand(kind, number, distance));
        operands.reduce(|value, operand| match kind {
            Merges::Counters => (count(&value) + count(&operand)).to_le_bytes().to_vec(),
            Merges::Notes => [value, operand].join(&b','),
            Merges::Peaks => value.max(operand),
        })
    }
}

/// Returns a counter's bytes as a number; 0 for other bytes.
pub(super) fn count(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Expected values equal those of a map that the same steps were applied to.
    #[test]
    fn what_is_expected_is_what_the_steps_make() {
        let window = Window::new(3, 0);
        let mut values = BTreeMap::new();
        let mut merged = Merges::ALL.map(|_| BTreeMap::<u64, Vec<u8>>::new());
        for step in 0..window.width * 3 {
            values.insert(step, 0);
            if let Some(number) = window.overwritten_by(step) {
                assert!(values.insert(number, 1).is_some(), "only what is there is overwritten");
            }
            if let Some(number) = window.deleted_by(step) {
                assert!(values.remove(&number).is_some(), "only what is there is deleted");
            }
            for (kind, map) in Merges::ALL.into_iter().zip(&mut merged) {
                for (number, operand) in window.merges(kind, step) {
                    let value = map.remove(&number).map_or(operand.clone(), |value| match kind {
                        Merges::Counters => {
                            (count(&value) + count(&operand)).to_le_bytes().to_vec()
                        }
                        Merges::Notes => [value, operand].join(&b','),
                        Merges::Peaks => value.max(operand),
                    });
                    map.insert(number, value);
                }
                if let Some(cut) = window.cut_by(step) {
                    map.retain(|number, _| *number >= cut.end / kind.every());
                }
            }
            if let Some(cut) = window.cut_by(step) {
                values.retain(|number, _| !cut.contains(number));
            }
            if step % 37 == 0 {
                for number in 0..step + 2 {
                    let found = values.get(&number).copied();
                    assert_eq!(window.generation(number, step + 1), found, "{number} at {step}");
                    for (kind, map) in Merges::ALL.into_iter().zip(&merged) {
                        let expected = window.expected_merge(kind, number, step + 1);
                        assert_eq!(expected.as_ref(), map.get(&number), "{kind:?} {number} {step}");
                    }
                }
            }
        }
        assert!(values.len() as u64 <= window.width * 9 / 8, "the window is bounded");
        assert!(values.values().any(|generation| *generation == 1));
    }
}
