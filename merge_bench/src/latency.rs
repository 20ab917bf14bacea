//! Latencies of a load: one histogram of all operations, and figures for each interval of time.

use std::time::Duration;

use foldb_report::merges::{LatencyMoment, Side};
use foldb_report::timeline::{Tally, Timeline};
use hdrhistogram::Histogram;

/// Longest recorded time: an hour.
const LONGEST_NANOS: u64 = 3_600_000_000_000;
/// Digits kept of each time.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The reported percentiles, besides the maximum.
const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];

/// Operations of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    operations: u64,
    nanos: u64,
    longest: u64,
}

impl Tally for Interval {
    #[inline]
    fn add(&mut self, other: &Interval) {
        self.operations += other.operations;
        self.nanos += other.nanos;
        self.longest = self.longest.max(other.longest);
    }
}

/// The reads, or the writes, of a load.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    /// Operations during garbage collections, timed or not.
    pub operations: u64,
    histogram: Histogram<u64>,
    timeline: Timeline<Interval>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NANOS, SIGNIFICANT_DIGITS)
            .expect("constant bounds are valid");
        Latencies { operations: 0, histogram, timeline: Timeline::default() }
    }
}

impl Latencies {
    /// Records an operation that ended after `at` of load and took `time`. The histogram takes it
    /// only if it was during a garbage collection.
    #[inline]
    pub(crate) fn record(&mut self, at: Duration, time: Duration, beside_merge: bool) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if beside_merge {
            self.histogram.saturating_record(nanos);
        }
        self.timeline.record(at, &Interval { operations: 1, nanos, longest: nanos });
    }

    /// Adds the latencies of another thread.
    pub(crate) fn add(&mut self, other: &Latencies) {
        self.operations += other.operations;
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
        self.timeline.merge(&other.timeline);
    }

    /// Returns the figures, for this much load during garbage collections.
    pub(crate) fn side(&self, load: Duration) -> Side {
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        Side {
            ops_per_sec: self.operations as f64 / load.as_secs_f64().max(1e-9),
            percentiles_us: PERCENTILES
                .map(|percentile| micros(self.histogram.value_at_percentile(percentile))),
            max_us: micros(self.histogram.max()),
            timed: self.histogram.len(),
        }
    }

    /// Returns the figures of each interval in `length` of load.
    pub(crate) fn moments(&self, length: Duration) -> Vec<LatencyMoment> {
        if self.operations == 0 {
            return Vec::new();
        }
        let moment = |(at, interval): (f64, Interval)| LatencyMoment {
            at,
            operations: interval.operations,
            mean_us: interval.nanos as f64 / interval.operations.max(1) as f64 / 1000.0,
            max_us: interval.longest as f64 / 1000.0,
        };
        self.timeline.clone().intervals(length).into_iter().map(moment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_the_merge_is_in_the_timeline_only() {
        let (mut all, mut other) = (Latencies::default(), Latencies::default());
        all.record(Duration::from_millis(1), Duration::from_micros(500), false);
        for micros in 1..=100 {
            other.record(Duration::from_millis(20), Duration::from_micros(micros), true);
            other.operations += 1;
        }
        all.add(&other);
        let side = all.side(Duration::from_secs(2));
        assert_eq!((side.ops_per_sec, side.timed), (50.0, 100));
        let expected = [50.0, 95.0, 99.0, 100.0];
        let [p50, p95, p99] = side.percentiles_us;
        for (found, expected) in [p50, p95, p99, side.max_us].into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.2, "{found} for {expected}");
        }
        let moments = all.moments(Duration::from_millis(24));
        assert_eq!((moments[0].operations, moments[0].max_us), (1, 500.0));
        assert_eq!(moments.iter().map(|moment| moment.operations).sum::<u64>(), 101);
        assert!(Latencies::default().moments(Duration::from_secs(1)).is_empty());
    }
}
