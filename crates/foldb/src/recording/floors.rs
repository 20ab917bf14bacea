//! Which timed calls are worth a look at the lists of remarkable keys.
//!
//! The lists are ten cache lines and a lock. A busy database times a hundred thousand calls a
//! second, and few of them change a list. So these figures, in one cache line and read without a
//! lock, turn most calls away.
//!
//! All accesses are `Relaxed`, also the two that count: a lost count or an old floor lets a call
//! pass, or turns one away. The lists themselves lie behind their lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// The list of hot keys counts each of the first calls of a period.
const ALL_COUNTED: u64 = 1024;

/// Of later calls, the list counts every sixteenth, as sixteen calls.
const STANDS_FOR: u64 = 16;

/// What a timed call must exceed to be remarkable. Threads that race lose a count, no more.
#[derive(Debug, Default)]
pub(super) struct Floors {
    /// Timed calls of the period.
    calls: AtomicU64,
    nanos: AtomicU64,
    bytes: AtomicU64,
}

impl Floors {
    /// Counts a timed call. Returns for how many calls it stands in the list of hot keys; 0 if the
    /// list need not know it.
    #[inline]
    pub(super) fn calls_of_next(&self) -> u64 {
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls + 1, Ordering::Relaxed);
        match calls {
            0..ALL_COUNTED => 1,
            calls if calls.is_multiple_of(STANDS_FOR) => STANDS_FOR,
            _ => 0,
        }
    }

    /// Returns whether a call is slower or larger than the least remarkable one.
    #[inline]
    pub(super) fn are_below(&self, nanos: u64, bytes: u64) -> bool {
        nanos > self.nanos.load(Ordering::Relaxed) || bytes > self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, nanos: u64, bytes: u64) {
        self.nanos.store(nanos, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Begins a period.
    pub(super) fn reset(&self) {
        self.calls.store(0, Ordering::Relaxed);
        self.set(0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_counts_each_of_its_first_calls_and_then_samples() {
        let floors = Floors::default();
        for _ in 0..2 {
            let counted: Vec<u64> =
                (0..ALL_COUNTED + 160).map(|_| floors.calls_of_next()).collect();
            assert_eq!(counted.iter().sum::<u64>(), ALL_COUNTED + 160);
            assert_eq!(counted.iter().filter(|calls| **calls > 0).count() as u64, ALL_COUNTED + 10);
            floors.reset();
        }
    }

    #[test]
    fn a_slow_or_a_large_call_passes() {
        let floors = Floors::default();
        assert!(floors.are_below(1, 0));
        floors.set(500, 100);
        assert!(!floors.are_below(500, 100));
        assert!(floors.are_below(501, 0) && floors.are_below(0, 101));
    }
}
