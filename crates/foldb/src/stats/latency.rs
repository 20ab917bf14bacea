//! How long calls take.
//!
//! Reading the clock twice costs more than a merge into a memtable may. So the engine times one
//! call in 64, drawn at random, and every call that syncs.

use std::time::Duration;

/// A kind of call whose time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(usize)]
pub enum Call {
    /// A read of one key.
    Get,
    /// A read of several keys.
    MultiGet,
    /// An iterator going to a key or to an end.
    Seek,
    /// A write without a sync: a put, a merge, a delete, a batch, the commit of a transaction.
    Write,
    /// A write with a sync.
    SyncedWrite,
}

impl Call {
    /// All of them.
    pub const ALL: [Call; 5] =
        [Call::Get, Call::MultiGet, Call::Seek, Call::Write, Call::SyncedWrite];

    /// Returns its name, for example `multi_get`.
    pub fn name(self) -> &'static str {
        match self {
            Call::Get => "get",
            Call::MultiGet => "multi_get",
            Call::Seek => "seek",
            Call::Write => "write",
            Call::SyncedWrite => "synced_write",
        }
    }
}

/// The histograms of all kinds of calls since the open.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb::stats::Call;
/// let db = foldb::Db::create(dir.path())?;
/// for number in 0..10_000u64 {
///     db.put(number.to_be_bytes(), "value")?;
/// }
/// let stats = db.stats();
/// let writes = stats.latencies.of(Call::Write);
/// assert!(writes.count() > 50);
/// assert!(writes.quantile(0.5) <= writes.quantile(0.99));
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies(pub(crate) [Histogram; Call::ALL.len()]);

impl Latencies {
    /// Returns the histogram of a kind of call.
    pub fn of(&self, call: Call) -> &Histogram {
        &self.0[call as usize]
    }

    /// Returns all histograms.
    pub fn calls(&self) -> impl Iterator<Item = (Call, &Histogram)> {
        Call::ALL.into_iter().zip(&self.0)
    }
}

/// Buckets of a histogram: four for each power of two, from 16 ns to 68 s.
pub(crate) const BUCKETS: usize = 128;

/// The power of two at which the first bucket begins.
const LOWEST_POWER: u32 = 4;

/// Returns the bucket of a duration.
#[inline]
pub(crate) fn bucket_of(nanos: u64) -> usize {
    let nanos = nanos.max(1 << LOWEST_POWER);
    let power = nanos.ilog2();
    let quarter = (nanos >> (power - 2)) & 3;
    let bucket = (power - LOWEST_POWER) as usize * 4 + quarter as usize;
    bucket.min(BUCKETS - 1)
}

/// Returns the nanoseconds at which a bucket begins.
fn start_of(bucket: usize) -> u64 {
    let power = LOWEST_POWER + (bucket / 4) as u32;
    (4 + bucket as u64 % 4) << (power - 2)
}

/// Durations, counted in buckets: a quantile is at most an eighth off.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    pub(crate) buckets: Box<[u64; BUCKETS]>,
    pub(crate) nanos: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: Box::new([0; BUCKETS]), nanos: 0 }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [half, high] = [0.5, 0.99].map(|share| self.quantile(share));
        write!(f, "{} calls, median {half:?}, P99 {high:?}", self.count())
    }
}

impl Histogram {
    /// Returns how many durations were measured.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns the sum of the durations.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// Returns the duration below which a share of the calls stayed: 0.99 for the 99th percentile.
    /// Zero if nothing was measured.
    pub fn quantile(&self, share: f64) -> Duration {
        let count = self.count();
        let wanted = (count as f64 * share.clamp(0.0, 1.0)).ceil() as u64;
        let mut seen = 0;
        for (bucket, calls) in self.buckets.iter().enumerate() {
            seen += calls;
            if seen >= wanted.max(1) {
                return Duration::from_nanos((start_of(bucket) + start_of(bucket + 1)) / 2);
            }
        }
        Duration::ZERO
    }

    /// Returns how many durations were below a power of two nanoseconds.
    pub(crate) fn count_below(&self, power_of_two: u64) -> u64 {
        let end = if power_of_two <= 1 << LOWEST_POWER { 0 } else { bucket_of(power_of_two) };
        self.buckets[..end].iter().sum()
    }

    /// Adds the durations of another histogram.
    pub fn add(&mut self, other: &Histogram) {
        for (own, others) in self.buckets.iter_mut().zip(&other.buckets[..]) {
            *own += others;
        }
        self.nanos += other.nanos;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_lies_in_its_bucket() {
        for nanos in (16..4096).chain([1 << 20, (1 << 30) + 1, 12_345_678_901]) {
            let bucket = bucket_of(nanos);
            assert!(start_of(bucket) <= nanos && nanos < start_of(bucket + 1), "{nanos}");
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn quantiles_are_an_eighth_off_at_most() {
        let mut histogram = Histogram::default();
        for nanos in 1..=1000u64 {
            histogram.buckets[bucket_of(nanos * 1000)] += 1;
        }
        for (share, micros) in [(0.5, 500.0), (0.99, 990.0)] {
            let found = histogram.quantile(share).as_nanos() as f64 / 1000.0;
            assert!((found / micros - 1.0).abs() < 0.13, "{share}: {found}");
        }
        assert_eq!(Histogram::default().quantile(0.5), Duration::ZERO);
        assert_eq!((histogram.count(), histogram.count_below(1 << 17)), (1000, 131));
    }
}
