//! Figures of a garbage collection and of the load during it, and their medians over repetitions.

use serde::{Deserialize, Serialize};

use crate::page::rows::{median, most};

/// Figures of a garbage collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeFigures {
    /// Milliseconds until the files were gone, with the compaction of the index.
    #[serde(rename = "ms/op")]
    pub ms: f64,
    /// MiB that the whole process requested from the allocator during the garbage collection.
    #[serde(rename = "MiB/op")]
    pub mib: f64,
    /// Requests of the whole process to the allocator during the garbage collection.
    #[serde(rename = "allocs/op")]
    pub allocs: u64,
    /// Most bytes allocated at once, above the bytes allocated at the start.
    pub peak_alloc_bytes: u64,
    /// Most bytes held at once to find and move live values.
    pub peak_lookup_bytes: u64,
    /// Longest hold of a lock that a get, iterator, write or sync can wait for.
    pub max_lock_hold_us: f64,
    /// Longest hold of such a lock, in processor time of the holding thread.
    pub max_lock_hold_cpu_us: f64,
    /// Number of edits that moved live values.
    pub batch_count: u64,
    /// Reduction of all files, in hundredths of their bytes before.
    pub reduction_ratio_pct: f64,
    /// Bytes of segment files before, divided by the memory budget in MiB.
    pub bytes_per_mb_budget: f64,
    /// Bytes of all files before it.
    pub bytes_before: u64,
    /// Bytes of all files after it.
    pub bytes_after: u64,
    /// Bytes of dead records before it: values, length and checksum each.
    pub dead_record_bytes: u64,
    /// Reclaimed bytes of segment files.
    pub reclaimed_bytes: u64,
    /// Bytes of segment files after it.
    pub segment_bytes_after: u64,
    /// Bytes of live values with their overhead, after it.
    pub live_bytes_after: u64,
    /// Bytes it read from segments.
    pub bytes_read: u64,
    /// Bytes it wrote to segments.
    pub bytes_written: u64,
}

impl MergeFigures {
    /// Returns the median of each figure; of maxima, the largest.
    pub fn typical(all: &[&MergeFigures]) -> MergeFigures {
        let values = |of: fn(&MergeFigures) -> f64| -> Vec<f64> {
            all.iter().map(|figures| of(figures)).collect()
        };
        let middle = |of| median(&values(of)).unwrap_or_default();
        let largest = |of| most(&values(of)).unwrap_or_default();
        let whole = |value: f64| value.round() as u64;
        MergeFigures {
            ms: middle(|figures| figures.ms),
            mib: middle(|figures| figures.mib),
            allocs: whole(middle(|figures| figures.allocs as f64)),
            peak_alloc_bytes: whole(largest(|figures| figures.peak_alloc_bytes as f64)),
            peak_lookup_bytes: whole(largest(|figures| figures.peak_lookup_bytes as f64)),
            max_lock_hold_us: largest(|figures| figures.max_lock_hold_us),
            max_lock_hold_cpu_us: largest(|figures| figures.max_lock_hold_cpu_us),
            batch_count: whole(middle(|figures| figures.batch_count as f64)),
            reduction_ratio_pct: middle(|figures| figures.reduction_ratio_pct),
            bytes_per_mb_budget: middle(|figures| figures.bytes_per_mb_budget),
            bytes_before: whole(middle(|figures| figures.bytes_before as f64)),
            bytes_after: whole(middle(|figures| figures.bytes_after as f64)),
            dead_record_bytes: whole(middle(|figures| figures.dead_record_bytes as f64)),
            reclaimed_bytes: whole(middle(|figures| figures.reclaimed_bytes as f64)),
            segment_bytes_after: whole(middle(|figures| figures.segment_bytes_after as f64)),
            live_bytes_after: whole(middle(|figures| figures.live_bytes_after as f64)),
            bytes_read: whole(middle(|figures| figures.bytes_read as f64)),
            bytes_written: whole(middle(|figures| figures.bytes_written as f64)),
        }
    }
}

/// Figures of a load. Operations that it does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadFigures {
    /// Reads per second.
    pub read_ops_per_sec: Option<f64>,
    /// Median latency of reads, in microseconds.
    pub read_p50_us: Option<f64>,
    /// Their 95th percentile.
    pub read_p95_us: Option<f64>,
    /// Their 99th percentile.
    pub read_p99_us: Option<f64>,
    /// Their maximum.
    pub read_max_us: Option<f64>,
    /// Reads that were timed.
    pub read_timed_ops: Option<u64>,
    /// Writes per second.
    pub write_ops_per_sec: Option<f64>,
    /// Median latency of writes, in microseconds.
    pub write_p50_us: Option<f64>,
    /// Their 95th percentile.
    pub write_p95_us: Option<f64>,
    /// Their 99th percentile.
    pub write_p99_us: Option<f64>,
    /// Their maximum.
    pub write_max_us: Option<f64>,
    /// Writes that were timed.
    pub write_timed_ops: Option<u64>,
    /// Operations per second before the garbage collection; `None` if not measured.
    pub baseline_ops_per_sec: Option<f64>,
    /// Operations per second during the garbage collection.
    pub merge_ops_per_sec: Option<f64>,
    /// 100 · (1 − merge / baseline).
    pub throughput_degradation_pct: Option<f64>,
}

/// Figures of the reads, or of the writes, of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// Operations per second.
    pub ops_per_sec: f64,
    /// 50th, 95th and 99th percentiles of their latency, in microseconds.
    pub percentiles_us: [f64; 3],
    /// Their maximum.
    pub max_us: f64,
    /// Operations that were timed.
    pub timed: u64,
}

impl LoadFigures {
    /// Returns the figures of a load that reads, writes, or both.
    pub fn of(read: Option<Side>, write: Option<Side>) -> LoadFigures {
        let mut load = LoadFigures::default();
        if let Some(side) = read {
            load.read_ops_per_sec = Some(side.ops_per_sec);
            [load.read_p50_us, load.read_p95_us, load.read_p99_us] = side.percentiles_us.map(Some);
            (load.read_max_us, load.read_timed_ops) = (Some(side.max_us), Some(side.timed));
        }
        if let Some(side) = write {
            load.write_ops_per_sec = Some(side.ops_per_sec);
            [load.write_p50_us, load.write_p95_us, load.write_p99_us] =
                side.percentiles_us.map(Some);
            (load.write_max_us, load.write_timed_ops) = (Some(side.max_us), Some(side.timed));
        }
        load
    }

    /// Adds the operations per second before the garbage collection, if measured, and during it.
    pub fn with_rates(self, baseline: Option<f64>, merge: f64) -> LoadFigures {
        let degradation = baseline
            .filter(|baseline| *baseline > 0.0)
            .map(|baseline| 100.0 * (1.0 - merge / baseline));
        LoadFigures {
            baseline_ops_per_sec: baseline,
            merge_ops_per_sec: Some(merge),
            throughput_degradation_pct: degradation,
            ..self
        }
    }

    /// Returns the median of each figure; of maxima, the largest; of counts, the sum.
    pub fn typical(all: &[&LoadFigures]) -> LoadFigures {
        let values = |of: fn(&LoadFigures) -> Option<f64>| -> Vec<f64> {
            all.iter().filter_map(|figures| of(figures)).collect()
        };
        let middle = |of| median(&values(of));
        let largest = |of| most(&values(of));
        let sum = |of: fn(&LoadFigures) -> Option<u64>| {
            all.iter().filter_map(|figures| of(figures)).reduce(|sum, more| sum + more)
        };
        LoadFigures {
            read_ops_per_sec: middle(|figures| figures.read_ops_per_sec),
            read_p50_us: middle(|figures| figures.read_p50_us),
            read_p95_us: middle(|figures| figures.read_p95_us),
            read_p99_us: middle(|figures| figures.read_p99_us),
            read_max_us: largest(|figures| figures.read_max_us),
            read_timed_ops: sum(|figures| figures.read_timed_ops),
            write_ops_per_sec: middle(|figures| figures.write_ops_per_sec),
            write_p50_us: middle(|figures| figures.write_p50_us),
            write_p95_us: middle(|figures| figures.write_p95_us),
            write_p99_us: middle(|figures| figures.write_p99_us),
            write_max_us: largest(|figures| figures.write_max_us),
            write_timed_ops: sum(|figures| figures.write_timed_ops),
            baseline_ops_per_sec: middle(|figures| figures.baseline_ops_per_sec),
            merge_ops_per_sec: middle(|figures| figures.merge_ops_per_sec),
            throughput_degradation_pct: middle(|figures| figures.throughput_degradation_pct),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_and_maxima_are_the_largest() {
        let of = |ms, max_lock_hold_us| MergeFigures { ms, max_lock_hold_us, ..Default::default() };
        let (a, b, c) = (of(3.0, 1.0), of(1.0, 9.0), of(2.0, 4.0));
        let typical = MergeFigures::typical(&[&a, &b, &c]);
        assert_eq!((typical.ms, typical.max_lock_hold_us), (2.0, 9.0));
    }

    #[test]
    fn a_load_has_figures_of_what_it_does_only() {
        let side =
            Side { ops_per_sec: 5.0, percentiles_us: [1.0, 2.0, 3.0], max_us: 9.0, timed: 7 };
        let reads = LoadFigures::of(Some(side), None).with_rates(Some(10.0), 8.0);
        let typical = LoadFigures::typical(&[&reads, &reads]);
        assert_eq!((typical.read_p99_us, typical.read_timed_ops), (Some(3.0), Some(14)));
        assert_eq!((typical.write_p99_us, typical.write_timed_ops), (None, None));
        assert!((typical.throughput_degradation_pct.unwrap() - 20.0).abs() < 1e-9);
        let unmeasured = LoadFigures::of(Some(side), None).with_rates(None, 8.0);
        assert_eq!(unmeasured.throughput_degradation_pct, None);
    }
}
