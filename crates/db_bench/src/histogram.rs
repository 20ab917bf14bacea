//! Histograms of the times of operations, by kind, in the form of RocksDB's.
//!
//! Times are in nanoseconds with three significant digits, and printed in microseconds. Operations
//! faster than a microsecond therefore stay distinct.

use std::fmt::Write as _;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest time: an hour. Longer ones count as an hour.
const LONGEST_NANOS: u64 = 3_600_000_000_000;
/// Digits kept of each time.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    Delete,
    Seek,
    Merge,
    Update,
    Compress,
    Uncompress,
    Crc,
    Hash,
    Other,
    MultiScan,
}

/// Every kind of operation, with its name in `Microseconds per NAME:`.
const OPERATIONS: [(Operation, &str); 12] = [
    (Operation::Read, "read"),
    (Operation::Write, "write"),
    (Operation::Delete, "delete"),
    (Operation::Seek, "seek"),
    (Operation::Merge, "merge"),
    (Operation::Update, "update"),
    (Operation::Compress, "compress"),
    (Operation::Uncompress, "uncompress"),
    (Operation::Crc, "crc"),
    (Operation::Hash, "hash"),
    (Operation::Other, "op"),
    (Operation::MultiScan, "multiscan"),
];

/// One histogram for each kind of operation that happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histograms([Option<Histogram<u64>>; OPERATIONS.len()]);

impl Histograms {
    /// Counts one operation that took `time`.
    #[inline]
    pub(crate) fn record(&mut self, operation: Operation, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0[operation as usize].get_or_insert_with(empty).saturating_record(nanos);
    }

    /// Adds another thread's counts.
    pub(crate) fn merge(&mut self, other: &Histograms) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_with(empty)
                    .add(theirs)
                    .expect("all histograms have the same bounds");
            }
        }
    }

    /// Returns one histogram of all operations, whatever their kind; `None` without operations.
    pub(crate) fn all(&self) -> Option<Histogram<u64>> {
        let mut kinds = self.0.iter().flatten();
        let mut all = kinds.next()?.clone();
        for kind in kinds {
            all.add(kind).expect("all histograms have the same bounds");
        }
        Some(all)
    }

    /// Returns a `Microseconds per ...` block for each kind of operation that happened.
    pub(crate) fn blocks(&self) -> String {
        let mut text = String::new();
        for (operation, name) in OPERATIONS {
            if let Some(histogram) = &self.0[operation as usize] {
                block(&mut text, name, histogram);
            }
        }
        text
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NANOS, SIGNIFICANT_DIGITS)
        .expect("constant bounds are valid")
}

fn block(text: &mut String, name: &str, histogram: &Histogram<u64>) {
    let micros = |nanos: u64| nanos as f64 / 1000.0;
    let at = |percentile: f64| micros(histogram.value_at_percentile(percentile));
    let written = writeln!(
        text,
        "Microseconds per {name}:\n\
         Count: {} Average: {:.4}  StdDev: {:.2}\n\
         Min: {:.2}  Median: {:.4}  Max: {:.2}\n\
         Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n\
         ------------------------------------------------------",
        histogram.len(),
        histogram.mean() / 1000.0,
        histogram.stdev() / 1000.0,
        micros(histogram.min()),
        at(50.0),
        micros(histogram.max()),
        at(50.0),
        at(75.0),
        at(99.0),
        at(99.9),
        at(99.99),
    );
    written.expect("writing to a String does not fail");
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn micros(from: u64, to: u64) -> Histograms {
        let mut histograms = Histograms::default();
        for time in from..=to {
            histograms.record(Operation::Write, Duration::from_micros(time));
        }
        histograms
    }

    #[test]
    fn operations_stand_at_their_own_index() {
        for (i, (operation, _)) in OPERATIONS.into_iter().enumerate() {
            assert_eq!(operation as usize, i);
        }
    }

    #[test]
    fn block_has_rocksdbs_lines() {
        let pattern = Regex::new(
            r"(?x)\AMicroseconds\ per\ write:\n
            Count:\ 1000\ Average:\ (\d+\.\d{4})\ \ StdDev:\ (\d+\.\d{2})\n
            Min:\ (\d+\.\d+)\ \ Median:\ (\d+\.\d{4})\ \ Max:\ (\d+\.\d+)\n
            Percentiles:\ P50:\ (\S+)\ P75:\ (\S+)\ P99:\ (\S+)\ P99\.9:\ (\S+)\ P99\.99:\ (\S+)\n
            -+\n\z",
        )
        .unwrap();
        let text = micros(1, 1000).blocks();
        let numbers = pattern.captures(&text).unwrap_or_else(|| panic!("{text}"));
        let expected = [500.5, 288.67, 1.0, 500.0, 1000.0, 500.0, 750.0, 990.0, 999.0, 1000.0];
        for (i, expected) in expected.into_iter().enumerate() {
            let got: f64 = numbers[i + 1].parse().unwrap();
            assert!((got - expected).abs() <= expected * 0.002, "{got} for {expected}");
        }
    }

    #[test]
    fn merged_counts_are_those_of_both_threads() {
        let mut both = micros(1, 10);
        both.merge(&micros(11, 20));
        assert_eq!(both.blocks(), micros(1, 20).blocks());
        let mut none = Histograms::default();
        none.merge(&both);
        assert_eq!(none.blocks(), both.blocks());
    }

    #[test]
    fn each_kind_has_its_own_block() {
        let mut histograms = micros(1, 1);
        histograms.record(Operation::Read, Duration::from_nanos(400));
        let text = histograms.blocks();
        assert!(text.contains("Microseconds per read:\nCount: 1 Average: 0.4"), "{text}");
        assert!(text.contains("Microseconds per write:\nCount: 1 "), "{text}");
        assert_eq!(Histograms::default().blocks(), "");
        assert_eq!(histograms.all().unwrap().len(), 2);
        assert!(Histograms::default().all().is_none());
    }
}
