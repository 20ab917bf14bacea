//! Which keys are overwritten, deleted and appended, and the expected value of every key
//! afterwards.
//!
//! Keys are numbers, inserted in order from 0 on. Clustered, the first ones are overwritten and the
//! next ones deleted. Scattered, as many of each are drawn at random:
//!
//! ```text
//! ten keys, 30 % overwritten, 20 % deleted      clustered  O O O D D . . . . .
//!                                               scattered  . D O . . O . O D .
//! ```
//!
//! A value contains its key and its generation: 0 as inserted, 1 as overwritten, and more when the
//! load writes it. So any reader can check a value.

use crate::dataset::{Dataset, Pattern};

/// Generation of a value as it is inserted or appended.
pub(crate) const INSERTED: u64 = 0;
/// Generation of a value that the plan overwrites.
pub(crate) const OVERWRITTEN: u64 = 1;

/// The largest number of hot keys.
const MOST_HOT: u64 = 10_000;
/// One in this many keys is hot.
const HOT_SHARE: u64 = 100;
/// Seed of the random choices: the same data in every run.
const SEED: u64 = 0x666f_6c64;

/// Bytes of a key.
pub(crate) const KEY_LEN: usize = 16;
/// Bytes of a record in a segment besides its value: the length (one byte for values below 127
/// bytes, else two) and the checksum (docs/format/value_segment.md).
const fn record_overhead(value_len: usize) -> u64 {
    let length = if value_len + 1 < 128 { 1 } else { 2 };
    length + 8
}

/// Returns the key of a number: 16 digits, so that keys have the order of their numbers.
pub(crate) fn key(index: u64) -> [u8; KEY_LEN] {
    let mut key = [b'0'; KEY_LEN];
    let mut rest = index;
    for digit in key.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// The writes of each phase, and the expected keys afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub dataset: Dataset,
    /// In the order of the overwrites.
    pub overwritten: Vec<u64>,
    /// In the order of the deletes.
    pub deleted: Vec<u64>,
    /// Number of keys appended after the entries.
    pub appended: u64,
    /// The generation of each key afterwards; `None`: it is deleted.
    states: Vec<Option<u64>>,
    values: ValueSource,
}

impl Plan {
    pub(crate) fn new(dataset: Dataset, pattern: Pattern, scatter: bool) -> Plan {
        let share = |percent: u64| dataset.entries * percent / 100;
        let mut order: Vec<u64> = (0..dataset.entries).collect();
        if scatter {
            fastrand::Rng::with_seed(SEED).shuffle(&mut order);
        }
        let (overwritten, rest) = order.split_at(share(pattern.overwritten) as usize);
        let deleted = &rest[..share(pattern.deleted) as usize];
        let appended = share(pattern.appended);
        let mut states = vec![Some(INSERTED); (dataset.entries + appended) as usize];
        overwritten.iter().for_each(|&index| states[index as usize] = Some(OVERWRITTEN));
        deleted.iter().for_each(|&index| states[index as usize] = None);
        Plan {
            dataset,
            overwritten: overwritten.to_vec(),
            deleted: deleted.to_vec(),
            appended,
            states,
            values: ValueSource::new(dataset.value_len),
        }
    }

    /// Returns the number of keys that were ever written.
    pub(crate) fn keys(&self) -> u64 {
        self.states.len() as u64
    }

    /// Returns the number of keys that exist afterwards.
    pub(crate) fn live(&self) -> u64 {
        self.keys() - self.deleted.len() as u64
    }

    /// Returns the generation of a key afterwards; `None`: it is deleted.
    pub(crate) fn state(&self, index: u64) -> Option<u64> {
        self.states[index as usize]
    }

    /// Returns the number of values written, dead ones included.
    pub(crate) fn records(&self) -> u64 {
        self.keys() + self.overwritten.len() as u64
    }

    /// Returns how many of the written values are dead afterwards.
    pub(crate) fn dead_records(&self) -> u64 {
        (self.overwritten.len() + self.deleted.len()) as u64
    }

    /// Returns the fewest bytes that a record takes in a segment file.
    pub(crate) fn record_len(&self) -> u64 {
        self.dataset.value_len as u64 + record_overhead(self.dataset.value_len)
    }

    /// Returns the hot keys, which the load reads and writes. They are live keys, spread evenly:
    /// one for each hundred keys ever written, at least 1 and at most 10,000.
    pub(crate) fn hot(&self) -> Vec<u64> {
        let live = (0..self.keys()).filter(|&index| self.state(index).is_some());
        let wanted = (self.keys() / HOT_SHARE).clamp(1, MOST_HOT);
        live.step_by((self.live() / wanted).max(1) as usize).take(wanted as usize).collect()
    }

    /// Writes the value of a key and generation to `buffer`.
    pub(crate) fn value(&self, index: u64, generation: u64, buffer: &mut Vec<u8>) {
        self.values.write(index, generation, buffer);
    }
}

/// The bytes of values: generation, number of the key, and bytes that no codec makes smaller.
#[derive(Clone, Debug)]
struct ValueSource {
    len: usize,
    random: Vec<u8>,
}

/// Places in the random bytes at which a value may begin.
const BEGINNINGS: u64 = 1 << 16;
/// Bytes of a value that identify it.
const HEAD: usize = 16;

impl ValueSource {
    fn new(len: usize) -> ValueSource {
        let mut random = vec![0; BEGINNINGS as usize + len];
        fastrand::Rng::with_seed(SEED).fill(&mut random);
        ValueSource { len, random }
    }

    fn write(&self, index: u64, generation: u64, buffer: &mut Vec<u8>) {
        // Fibonacci hashing: neighbours begin far from each other.
        let mixed = (index ^ generation.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let begin = (mixed >> 48) as usize;
        buffer.clear();
        buffer.extend_from_slice(&generation.to_le_bytes());
        buffer.extend_from_slice(&index.to_le_bytes());
        buffer.extend_from_slice(&self.random[begin..begin + self.len.saturating_sub(HEAD)]);
        buffer.truncate(self.len);
    }
}

/// Returns the key and generation that a value claims.
pub(crate) fn told(value: &[u8]) -> Option<(u64, u64)> {
    let (generation, rest) = value.split_first_chunk()?;
    let index = rest.first_chunk()?;
    Some((u64::from_le_bytes(*index), u64::from_le_bytes(*generation)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{PATTERNS, STANDARD};

    const HUNDRED: Dataset =
        Dataset { name: "hundred", entries: 100, value_len: 32, segment_size: 4096 };

    fn clustered(pattern: Pattern) -> Plan {
        Plan::new(HUNDRED, pattern, false)
    }

    #[test]
    fn the_standard_overwrites_the_first_third_and_deletes_the_next_tenth() {
        let plan = clustered(STANDARD);
        assert_eq!(plan.overwritten, (0..33).collect::<Vec<_>>());
        assert_eq!(plan.deleted, (33..43).collect::<Vec<_>>());
        assert_eq!(
            (plan.keys(), plan.live(), plan.records(), plan.dead_records()),
            (100, 90, 133, 43)
        );
        assert_eq!(plan.state(32), Some(OVERWRITTEN));
        assert_eq!(plan.state(33), None);
        assert_eq!(plan.state(43), Some(INSERTED));
    }

    #[test]
    fn each_pattern_has_its_shares() {
        let counts = PATTERNS.map(|pattern| {
            let plan = clustered(pattern);
            (plan.overwritten.len(), plan.deleted.len(), plan.appended, plan.live())
        });
        assert_eq!(counts, [(70, 0, 0, 100), (0, 50, 0, 50), (0, 0, 100, 200), (30, 20, 50, 130)]);
        assert_eq!(clustered(PATTERNS[1]).deleted, (0..50).collect::<Vec<_>>());
        let mixed = clustered(PATTERNS[3]);
        assert_eq!(mixed.deleted, (30..50).collect::<Vec<_>>());
        assert_eq!(mixed.state(149), Some(INSERTED));
    }

    #[test]
    fn scattered_keys_are_as_many_and_all_over() {
        for pattern in [STANDARD, PATTERNS[0], PATTERNS[3]] {
            let (scattered, clustered) = (Plan::new(HUNDRED, pattern, true), clustered(pattern));
            assert_eq!(scattered.overwritten.len(), clustered.overwritten.len());
            assert_eq!(scattered.deleted.len(), clustered.deleted.len());
            let mut all = [&scattered.overwritten[..], &scattered.deleted[..]].concat();
            all.sort_unstable();
            let touched = all.len();
            all.dedup();
            assert_eq!(all.len(), touched, "no key is overwritten and deleted");
            let second_half = all.iter().filter(|&&index| index >= 50).count();
            assert!(second_half > touched / 4, "{all:?}");
            assert_eq!(
                Plan::new(HUNDRED, pattern, true).overwritten,
                scattered.overwritten,
                "the choice is the same in every run"
            );
        }
    }

    #[test]
    fn hot_keys_are_live_and_spread() {
        let wide = Dataset { entries: 10_000, ..HUNDRED };
        for scatter in [false, true] {
            let plan = Plan::new(wide, STANDARD, scatter);
            let hot = plan.hot();
            assert_eq!(hot.len(), 100);
            assert!(hot.iter().all(|&index| plan.state(index).is_some()));
            assert!(hot[0] < 200 && hot[99] > 9_700, "{hot:?}");
        }
        let most = Plan::new(Dataset { entries: 2_000_000, ..HUNDRED }, STANDARD, false).hot();
        assert_eq!(most.len(), 10_000);
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        assert_eq!(&key(0), b"0000000000000000");
        assert_eq!(&key(1_234_567), b"0000000001234567");
        assert!(key(99) < key(100));
    }

    #[test]
    fn values_tell_what_they_are_and_differ() {
        let plan = clustered(STANDARD);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        plan.value(7, 1, &mut one);
        plan.value(7, 2, &mut other);
        assert_eq!((one.len(), told(&one)), (32, Some((7, 1))));
        assert_ne!(one[HEAD..], other[HEAD..]);
        assert_eq!(told(&one[..15]), None);
    }
}
