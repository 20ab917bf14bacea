//! Values that sum many samples up: the best items, count and range, quantiles.

use std::marker::PhantomData;

use foldb::operators::{histogram, stats, top};
use foldb::{Error, Result};

use crate::access::BlindWrites;
use crate::borrowed::AsKey;
use crate::key::{Key, decode};
use crate::merge::{MergeTable, Merged};

/// The `K` items with the highest scores, the highest first. Items are encoded as keys. An item
/// that comes again keeps its highest score. `K` is from 1 to 4096.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{MergeTable, TopK};
///
/// let best = MergeTable::<String, TopK<String, 2>>::open(&db, "best")?;
/// for (score, player) in [(7, "ada"), (30, "bob"), (12, "eve")] {
///     best.offer("chess", score, player)?;
/// }
/// assert_eq!(best.get("chess")?.unwrap(), [(30, "bob".to_owned()), (12, "eve".to_owned())]);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TopK<T, const K: usize>(PhantomData<fn() -> T>);

impl<T: Key, const K: usize> Merged for TopK<T, K> {
    type Value = Vec<(i64, T)>;
    type Operand = (i64, T);

    fn operator() -> String {
        const { assert!(K >= 1 && K <= 4096, "the best items are 1 to 4096") };
        format!("top:{K}")
    }

    fn schema() -> String {
        format!("top({K},{})", T::schema())
    }

    fn encode((score, item): &(i64, T)) -> Result<Vec<u8>> {
        Ok(top::operand([(*score, crate::encode::<T>(item))]))
    }

    fn decode(value: &[u8]) -> Result<Vec<(i64, T)>> {
        top::items(value)?.into_iter().map(|(score, item)| Ok((score, decode(item)?))).collect()
    }
}

impl<K: Key, T: Key, const N: usize, A: BlindWrites> MergeTable<K, TopK<T, N>, A> {
    /// Adds an item with its score, without reading the others.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn offer(&self, key: impl AsKey<K>, score: i64, item: impl AsKey<T>) -> Result<()> {
        self.merge_encoded(key, &top::operand([(score, crate::encode::<T>(item))]))
    }
}

/// Count, sum, least, greatest and mean of whole numbers, exactly. A read returns
/// [`foldb::operators::stats::Stats`].
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{MergeTable, Stats};
///
/// let prices = MergeTable::<String, Stats>::open(&db, "prices")?;
/// prices.record("pears", 199)?;
/// prices.record("pears", 250)?;
/// let pears = prices.get("pears")?.unwrap();
/// assert_eq!((pears.count, pears.sum, pears.min, pears.max), (2, 449, 199, 250));
/// assert_eq!(pears.mean(), 224.5);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Stats {}

impl Merged for Stats {
    type Value = stats::Stats;
    type Operand = i64;

    fn operator() -> String {
        "stats".to_owned()
    }

    fn schema() -> String {
        "stats".to_owned()
    }

    fn encode(sample: &i64) -> Result<Vec<u8>> {
        Ok(stats::operand([*sample]))
    }

    fn decode(value: &[u8]) -> Result<stats::Stats> {
        let none = || Error::corruption("stats: expected at least one sample, found none");
        stats::summary(value)?.ok_or_else(none)
    }
}

impl<K: Key, A: BlindWrites> MergeTable<K, Stats, A> {
    /// Adds a sample, without reading the others.
    ///
    /// # Errors
    /// As [`MergeTable::merge`].
    pub fn record(&self, key: impl AsKey<K>, sample: i64) -> Result<()> {
        self.merge(key, &sample)
    }
}

/// Quantiles of fractions, each within `PER_MILLE` thousandths of a sample: 100, 50, 20, 10, 5, 2
/// or 1. A read returns [`Quantiles`].
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{Histogram, MergeTable};
///
/// let latency = MergeTable::<String, Histogram>::open(&db, "latency")?;
/// for millis in 1..=1000 {
///     latency.record("get", f64::from(millis))?;
/// }
/// let get = latency.get("get")?.unwrap();
/// assert_eq!(get.count(), 1000);
/// let p99 = get.quantile(0.99)?.unwrap();
/// assert!((p99 - 990.0).abs() < 9.9);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Histogram<const PER_MILLE: u32 = 10> {}

/// What a [`Histogram`] has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantiles {
    count: u64,
    bytes: Vec<u8>,
}

impl Quantiles {
    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns about the sample of rank `q * (count - 1)`, where rank 0 is the least. Returns
    /// `None` if there is no sample.
    ///
    /// # Errors
    /// `InvalidArgument` unless `q` is from 0 to 1.
    pub fn quantile(&self, q: f64) -> Result<Option<f64>> {
        histogram::quantile(&self.bytes, q)
    }
}

impl<const PER_MILLE: u32> Histogram<PER_MILLE> {
    /// The operator's parameter.
    const PERCENT: &'static str = match PER_MILLE {
        100 => "10",
        50 => "5",
        20 => "2",
        10 => "1",
        5 => "0.5",
        2 => "0.2",
        1 => "0.1",
        _ => panic!("a histogram is within 100, 50, 20, 10, 5, 2 or 1 thousandths"),
    };
}

impl<const PER_MILLE: u32> Merged for Histogram<PER_MILLE> {
    type Value = Quantiles;
    type Operand = f64;

    fn operator() -> String {
        format!("histogram:{}", Self::PERCENT)
    }

    fn schema() -> String {
        format!("histogram({})", Self::PERCENT)
    }

    fn encode(sample: &f64) -> Result<Vec<u8>> {
        Ok(histogram::operand([*sample]))
    }

    fn decode(value: &[u8]) -> Result<Quantiles> {
        Ok(Quantiles { count: histogram::count(value)?, bytes: value.to_vec() })
    }
}

impl<K: Key, const PER_MILLE: u32, A: BlindWrites> MergeTable<K, Histogram<PER_MILLE>, A> {
    /// Counts a sample, without reading the others.
    ///
    /// # Errors
    /// As [`MergeTable::merge`]; `InvalidArgument` for a sample that is not finite.
    pub fn record(&self, key: impl AsKey<K>, sample: f64) -> Result<()> {
        self.merge(key, &sample)
    }
}
