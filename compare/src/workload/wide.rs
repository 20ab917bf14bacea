//! The rows of a general store with wide entries: reads in memory, and inserts in key order.
//!
//! Every row checks its result. Each read adds the bytes of its value to a sum, so an engine that
//! returns another value, or none, fails the run.

use std::sync::Mutex;
use std::time::Instant;

use foldb_report::results::Run;

use super::Sizes;
use super::general::of;
use super::session::timed;
use crate::data::{Draws, Values, absent_wide_key, wide_key};
use crate::failure::{Failure, Result};
use crate::store::{Reads, Store, WideKey, WideValue};

/// Entries of a batch of the load before the reads.
const LOADED_AT_ONCE: usize = 1000;
/// The stream of draws of the reads.
const READS: u64 = 4000;
/// Gets for each range of 10 entries, and for each range of 100.
const GETS_PER_RANGE_OF_10: u64 = 5;
const GETS_PER_RANGE_OF_100: u64 = 20;

/// Returns the sum of the little-endian words of 8 bytes of `value`, the last one filled with
/// zeros. A counter is its own sum.
#[inline]
pub fn sum(value: &[u8]) -> u64 {
    let (words, rest) = value.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// The wide entries of a job.
pub struct Entries {
    values: Values,
    count: u64,
}

impl Entries {
    /// Returns the entries of a job of these sizes.
    pub fn new(sizes: &Sizes) -> Entries {
        Entries { values: Values::new(size_of::<WideValue>(), sizes.compressed), count: sizes.keys }
    }

    fn value(&self, number: u64) -> &WideValue {
        self.values.of(number).try_into().expect("values have this size")
    }

    /// Returns all entries, in key order.
    fn all(&self) -> impl Iterator<Item = (WideKey, &WideValue)> {
        (0..self.count).map(|number| (wide_key(number), self.value(number)))
    }

    /// Returns the number of all entries, and the sum over their bytes.
    pub fn told(&self) -> (u64, u64) {
        let sums = (0..self.count).map(|number| sum(self.value(number)));
        (self.count, sums.fold(0, u64::wrapping_add))
    }
}

/// Inserts all entries in key order, `batch` at a time. The clock stops when a read finds the last
/// one.
pub fn insert<S: Store>(store: &S, sizes: &Sizes, batch: usize) -> Result<Run> {
    let entries = Entries::new(sizes);
    let began = Instant::now();
    store.append(batch, entries.all())?;
    let last = store.reads()?.get(&wide_key(entries.count - 1), sum)?;
    let seconds = began.elapsed().as_secs_f64();
    if last.is_none() {
        return Err(Failure::new("the store does not show the last entry"));
    }
    Ok(Run { operations: entries.count, seconds, ..Run::default() })
}

/// What reads found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    entries: u64,
    sum: u64,
}

impl Found {
    #[inline]
    fn see(&mut self, value: &[u8]) {
        self.entries += 1;
        self.sum = self.sum.wrapping_add(sum(value));
    }
}

/// A kind of reads.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Get,
    Absent,
    Range(u64),
}

impl Kind {
    /// The kinds, in the order of the rows.
    const ALL: [Kind; 4] = [Kind::Get, Kind::Absent, Kind::Range(10), Kind::Range(100)];

    /// Returns how many reads of this kind a job of these sizes has.
    fn reads(self, sizes: &Sizes) -> u64 {
        match self {
            Kind::Get | Kind::Absent => sizes.operations,
            Kind::Range(10) => sizes.operations / GETS_PER_RANGE_OF_10,
            Kind::Range(_) => sizes.operations / GETS_PER_RANGE_OF_100,
        }
    }

    /// Reads once, at the entry `number`.
    #[inline]
    fn read(self, reads: &mut impl Reads, number: u64, found: &mut Found) -> Result<()> {
        match self {
            Kind::Get => reads.get(&wide_key(number), |value| found.see(value)).map(drop),
            Kind::Absent => reads.get(&absent_wide_key(number), |value| found.see(value)).map(drop),
            Kind::Range(most) => {
                reads.range(&wide_key(number), most as usize, |value| found.see(value))
            }
        }
    }

    /// Returns what `reads` reads must find, by the sums over all entries before each entry.
    fn expected(self, reads: u64, sums: &[u64]) -> Found {
        let count = sums.len() as u64 - 1;
        let mut draws = Draws::new(READS);
        let mut found = Found::default();
        for _ in 0..reads {
            let from = draws.below(count);
            let to = match self {
                Kind::Get => from + 1,
                Kind::Absent => from,
                Kind::Range(most) => (from + most).min(count),
            };
            found.entries += to - from;
            let sum = sums[to as usize].wrapping_sub(sums[from as usize]);
            found.sum = found.sum.wrapping_add(sum);
        }
        found
    }
}

/// Loads all entries, lets the store rest, and warms its caches. Then reads at random places.
/// Returns a run for each kind of reads.
pub fn read<S: Store>(store: &S, sizes: &Sizes) -> Result<Vec<Run>> {
    let entries = Entries::new(sizes);
    store.append(LOADED_AT_ONCE, entries.all())?;
    store.rest()?;
    warm(store, entries.count)?;
    let mut sums = vec![0_u64];
    for number in 0..entries.count {
        sums.push(sums[number as usize].wrapping_add(sum(entries.value(number))));
    }
    let run = |kind: Kind| {
        let reads = kind.reads(sizes).max(1);
        let found = Mutex::new(Found::default());
        let recorded = timed(store, 1, reads, |_, store, recorder| {
            let mut state = store.reads()?;
            let mut draws = Draws::new(READS);
            let mut own = Found::default();
            for _ in 0..reads {
                kind.read(&mut state, draws.below(entries.count), &mut own)?;
                recorder.finished();
            }
            *found.lock().expect("one thread") = own;
            Ok(())
        })?;
        let (found, expected) =
            (found.into_inner().expect("one thread"), kind.expected(reads, &sums));
        if S::READS && found != expected {
            return Err(Failure::new(format!("{kind:?}: {found:?}, and should be {expected:?}")));
        }
        Ok(of(recorded))
    };
    Kind::ALL.into_iter().map(run).collect()
}

/// Gets every entry once, and reads a range at every tenth.
fn warm<S: Store>(store: &S, entries: u64) -> Result<()> {
    let mut state = store.reads()?;
    let mut found = Found::default();
    for number in 0..entries {
        Kind::Get.read(&mut state, number, &mut found)?;
        if number.is_multiple_of(10) {
            Kind::Range(10).read(&mut state, number, &mut found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_every_byte() {
        assert_eq!(sum(&7_u64.to_le_bytes()), 7);
        assert_eq!(sum(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 3]), 1 + 2 + (3 << 8));
        assert_eq!(sum(&[]), 0);
    }

    #[test]
    fn expected_reads_end_with_the_last_entry() {
        let sums: Vec<u64> = (0..=5).map(|entries| entries * 10).collect();
        assert_eq!(Kind::Get.expected(3, &sums), Found { entries: 3, sum: 30 });
        assert_eq!(Kind::Absent.expected(3, &sums), Found::default());
        let ranges = Kind::Range(100).expected(3, &sums);
        assert!((3..=15).contains(&ranges.entries) && ranges.sum == ranges.entries * 10);
    }
}
