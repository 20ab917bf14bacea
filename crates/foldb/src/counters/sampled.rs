//! How long calls take: which calls are timed, and the histograms that they are counted in.
//!
//! All accesses are `Relaxed`: nothing else depends on a count.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::stats::latency::{BUCKETS, bucket_of};
use crate::stats::{Call, Histogram, Latencies};

thread_local! {
    /// Calls of this thread until the next one is timed, and the state of the draw.
    static LEFT: Cell<(u32, u32)> = const { Cell::new((16, 1)) };
}

/// Returns whether this call is timed: about one in 64 of each thread. The distance is drawn, so
/// that a program that repeats a pattern of calls has all of them timed.
#[inline]
pub(crate) fn is_sampled() -> bool {
    LEFT.with(|left| {
        let (calls, state) = left.get();
        match calls {
            0 => {
                let state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                left.set((32 + (state >> 26), state));
                true
            }
            _ => {
                left.set((calls - 1, state));
                false
            }
        }
    })
}

/// The histograms of the calls of one database.
#[derive(Debug)]
pub(crate) struct CallTimes(Box<[Times; Call::ALL.len()]>);

#[derive(Debug)]
struct Times {
    buckets: [AtomicU64; BUCKETS],
    nanos: AtomicU64,
}

impl Default for CallTimes {
    fn default() -> CallTimes {
        let times = || Times { buckets: [const { AtomicU64::new(0) }; BUCKETS], nanos: 0.into() };
        CallTimes(Box::new(std::array::from_fn(|_| times())))
    }
}

impl CallTimes {
    /// Times a call.
    pub(crate) fn measure<T>(&self, call: Call, work: impl FnOnce() -> T) -> (T, Duration) {
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        self.note(call, took);
        (done, took)
    }

    /// Counts a call.
    pub(crate) fn note(&self, call: Call, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let times = &self.0[call as usize];
        times.buckets[bucket_of(nanos)].fetch_add(1, Ordering::Relaxed);
        times.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Returns the histograms.
    pub(crate) fn get(&self) -> Latencies {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Latencies(std::array::from_fn(|call| {
            let times = &self.0[call];
            let buckets = Box::new(std::array::from_fn(|bucket| load(&times.buckets[bucket])));
            Histogram { buckets, nanos: load(&times.nanos) }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_one_call_in_64_is_timed_whatever_its_place_in_a_pattern() {
        let mut timed = [0; 8];
        for call in 0..800_000 {
            timed[call % 8] += u32::from(is_sampled());
        }
        assert!(timed.iter().all(|&times| (1300..1900).contains(&times)), "{timed:?}");
    }

    #[test]
    fn a_measured_call_is_in_its_histogram() {
        let times = CallTimes::default();
        let (answer, took) = times.measure(Call::Get, || 42);
        let latencies = times.get();
        assert_eq!((answer, latencies.of(Call::Get).count()), (42, 1));
        assert_eq!(latencies.of(Call::Get).sum(), took);
        assert_eq!(latencies.of(Call::Write).count(), 0);
    }
}
