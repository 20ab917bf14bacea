//! Latencies of puts, gets and a control since the last sample.

use std::time::Duration;

use foldb_report::soak::Percentiles;
use hdrhistogram::Histogram;

/// Longest recorded time: an hour.
const LONGEST_NANOS: u64 = 3_600_000_000_000;
/// Digits kept of each time.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The puts and gets of one thread, or of all.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    puts: Histogram<u64>,
    gets: Histogram<u64>,
    /// Work that does not call the database.
    control: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        let empty = Histogram::new_with_bounds(1, LONGEST_NANOS, SIGNIFICANT_DIGITS)
            .expect("constant bounds are valid");
        Latencies { puts: empty.clone(), gets: empty.clone(), control: empty }
    }
}

impl Latencies {
    pub(super) fn put(&mut self, time: Duration) {
        self.puts.saturating_record(nanos(time));
    }

    pub(super) fn get(&mut self, time: Duration) {
        self.gets.saturating_record(nanos(time));
    }

    pub(super) fn control(&mut self, time: Duration) {
        self.control.saturating_record(nanos(time));
    }

    /// Takes over another's times, and empties it.
    pub(super) fn take(&mut self, other: &mut Latencies) {
        let Latencies { puts, gets, control } = other;
        for (mine, theirs) in
            [(&mut self.puts, puts), (&mut self.gets, gets), (&mut self.control, control)]
        {
            mine.add(&*theirs).expect("all histograms have the same bounds");
            theirs.reset();
        }
    }

    /// Returns the percentiles of puts, of gets and of the control, then forgets the times.
    pub(super) fn percentiles(&mut self) -> [Percentiles; 3] {
        [&mut self.puts, &mut self.gets, &mut self.control].map(|histogram| {
            let micros = |nanos: u64| nanos as f64 / 1000.0;
            let at = |percentile| micros(histogram.value_at_percentile(percentile));
            let found = Percentiles {
                p50: at(50.0),
                p99: at(99.0),
                p999: at(99.9),
                max: micros(histogram.max()),
            };
            histogram.reset();
            found
        })
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
