//! Histograms of the statistics.
//!
//! Invariant: many threads add at once without a lock, so a reader may see a value in the count
//! that it does not see in the sum yet. When nothing is added, all figures agree.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::options::values::made_and_freed;

/// RocksDB: `HistogramData`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_statistics_histogram_data_t(pub(crate) Summary);

/// What a histogram says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) average: f64,
    pub(crate) std_dev: f64,
    pub(crate) max: f64,
    pub(crate) min: f64,
    pub(crate) count: u64,
    pub(crate) sum: u64,
}

/// Buckets: four for each power of two.
const BUCKETS: usize = 256;

/// Values, counted in buckets: a quantile is at most an eighth off.
#[derive(Debug)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum: AtomicU64,
    /// The sum of the squares, as a double: squares of nanoseconds exceed 64 bits.
    squares: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            sum: AtomicU64::new(0),
            squares: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }
    }
}

/// Returns the bucket of a value.
fn bucket_of(value: u64) -> usize {
    if value < 4 {
        return value as usize;
    }
    let power = value.ilog2();
    (power as usize - 1) * 4 + (value >> (power - 2) & 3) as usize
}

/// Returns the smallest value of a bucket.
fn start_of(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let power = bucket / 4 + 1;
    let start = (4 + bucket as u128 % 4) << (power - 2);
    u64::try_from(start).unwrap_or(u64::MAX)
}

impl Histogram {
    pub(crate) fn add(&self, value: u64) {
        self.buckets[bucket_of(value)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.min.fetch_min(value, Ordering::Relaxed);
        self.max.fetch_max(value, Ordering::Relaxed);
        let square = value as f64 * value as f64;
        let more = |squares: u64| Some((f64::from_bits(squares) + square).to_bits());
        // The closure never refuses.
        let _ = self.squares.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Returns what the histogram says. A value of `unit` counts as 1, to tell nanoseconds in
    /// microseconds.
    pub(crate) fn summary(&self, unit: u64) -> Summary {
        let count: u64 = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum();
        if count == 0 {
            return Summary::default();
        }
        let (sum, scale) = (self.sum.load(Ordering::Relaxed), unit as f64);
        let mean = sum as f64 / count as f64;
        let squares = f64::from_bits(self.squares.load(Ordering::Relaxed));
        let variance = (squares / count as f64 - mean * mean).max(0.0);
        let quantile = |share: f64| self.quantile(count, share) / scale;
        Summary {
            median: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            average: mean / scale,
            std_dev: variance.sqrt() / scale,
            max: self.max.load(Ordering::Relaxed) as f64 / scale,
            min: self.min.load(Ordering::Relaxed) as f64 / scale,
            count,
            sum: sum / unit,
        }
    }

    /// Returns the middle of the bucket in which a share of the values ends.
    fn quantile(&self, count: u64, share: f64) -> f64 {
        let wanted = (count as f64 * share).ceil() as u64;
        let (min, max) = (self.min.load(Ordering::Relaxed), self.max.load(Ordering::Relaxed));
        let mut seen = 0;
        for (bucket, values) in self.buckets.iter().enumerate() {
            seen += values.load(Ordering::Relaxed);
            if seen >= wanted {
                let middle = (start_of(bucket) as f64 + start_of(bucket + 1) as f64) / 2.0;
                return middle.clamp(min as f64, max as f64);
            }
        }
        max as f64
    }
}

made_and_freed! {
    rocksdb_statistics_histogram_data_t:
        rocksdb_statistics_histogram_data_create, rocksdb_statistics_histogram_data_destroy;
}

/// Declares functions that return a figure of a histogram.
macro_rules! figures {
    ($($name:ident -> $type:ty: $field:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(data: *mut rocksdb_statistics_histogram_data_t) -> $type {
            (*data).0.$field
        }
    )*};
}

figures! {
    rocksdb_statistics_histogram_data_get_median -> f64: median;
    rocksdb_statistics_histogram_data_get_p95 -> f64: p95;
    rocksdb_statistics_histogram_data_get_p99 -> f64: p99;
    rocksdb_statistics_histogram_data_get_average -> f64: average;
    rocksdb_statistics_histogram_data_get_std_dev -> f64: std_dev;
    rocksdb_statistics_histogram_data_get_max -> f64: max;
    rocksdb_statistics_histogram_data_get_count -> u64: count;
    rocksdb_statistics_histogram_data_get_sum -> u64: sum;
    rocksdb_statistics_histogram_data_get_min -> f64: min;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_lies_in_its_bucket() {
        for value in (0..5000).chain([1 << 40, (1 << 40) + 1, u64::MAX / 3]) {
            let bucket = bucket_of(value);
            assert!(start_of(bucket) <= value && value < start_of(bucket + 1), "{value}");
        }
        assert!(bucket_of(u64::MAX) < BUCKETS);
    }

    #[test]
    fn a_summary_tells_the_values_in_its_unit() {
        let histogram = Histogram::default();
        assert_eq!(histogram.summary(1000).count, 0);
        (1..=100).for_each(|micros| histogram.add(micros * 1000));
        let told = histogram.summary(1000);
        assert_eq!((told.count, told.sum, told.min, told.max), (100, 5050, 1.0, 100.0));
        assert!((told.median - 50.0).abs() < 7.0 && (told.p99 - 99.0).abs() < 13.0, "{told:?}");
        assert!((told.std_dev - 28.87).abs() < 0.1, "{told:?}");
    }
}
