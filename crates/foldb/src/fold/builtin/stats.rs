//! `stats`: how many whole numbers were merged, their sum, the least and the greatest.
//!
//! The number of samples decides the form, so each summary has one spelling:
//!
//! ```text
//! operand = partial result = value:
//! no sample:   0 bytes
//! one:         | sample i64 LE |                                                     8 bytes
//! more:        | count u64 LE | sum i128 LE | least i64 LE | greatest i64 LE |      40 bytes
//! ```
//!
//! Every result is exact. The sum of fewer than 2^64 - 1 samples fits its 128 bits. From there on,
//! the count stays at 2^64 - 1 and the sum wraps.
//!
//! There is no form for fractions: the sum of `f64`s depends on the order of its terms, so groups
//! would not fold to the same bytes (H7). Store cents or microseconds.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};

/// What the samples of a key have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// How many samples there are, at least one. At 2^64 - 1 it stays.
    pub count: u64,
    /// Their sum. It is exact while `count` is below 2^64 - 1.
    pub sum: i128,
    /// The least sample.
    pub min: i64,
    /// The greatest sample.
    pub max: i64,
}

impl Stats {
    /// Returns the mean of the samples, rounded to an `f64`.
    ///
    /// # Example
    /// ```
    /// use foldb::operators::stats;
    ///
    /// assert_eq!(stats::summary(&stats::operand([1, 2]))?.unwrap().mean(), 1.5);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    fn of(sample: i64) -> Stats {
        Stats { count: 1, sum: sample.into(), min: sample, max: sample }
    }

    fn joined(self, other: Stats) -> Stats {
        Stats {
            count: self.count.saturating_add(other.count),
            sum: self.sum.wrapping_add(other.sum),
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Returns whether some two or more samples have this summary. Numbers in another byte order
    /// seldom pass.
    fn is_possible(&self) -> bool {
        if self.count == u64::MAX {
            return self.min <= self.max;
        }
        // One sample is the least, one the greatest, and the others lie between. No step overflows,
        // because count is below 2^64 - 1.
        let [least, greatest] = [self.min, self.max].map(i128::from);
        let (count, spread) = (i128::from(self.count), greatest - least);
        let sums = count * least + spread..=count * greatest - spread;
        self.count >= 2 && spread >= 0 && sums.contains(&self.sum)
    }
}

/// Makes the operand that adds these samples. It is also the value that holds only them.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::operators::stats::{self, Stats};
///
/// let operator = db.operator("stats")?;
/// db.merge_with(&operator, "latency", stats::operand([12]))?;
/// db.merge_with(&operator, "latency", stats::operand([7, 30]))?;
/// let latency = stats::summary(&db.get("latency")?.unwrap())?;
/// assert_eq!(latency, Some(Stats { count: 3, sum: 49, min: 7, max: 30 }));
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn operand(samples: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let mut out = Vec::new();
    encode(samples.into_iter().map(Stats::of).reduce(Stats::joined), &mut out);
    out
}

/// Returns the summary that a value (or operand) holds; `None` if it has no sample.
///
/// # Errors
/// `Corruption` if the bytes are no summary.
///
/// # Example
/// ```
/// use foldb::operators::stats;
///
/// assert_eq!(stats::summary(&(-5i64).to_le_bytes())?.unwrap().min, -5);
/// assert_eq!(stats::summary(b"")?, None);
/// assert!(stats::summary(b"abc").is_err());
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn summary(value: &[u8]) -> Result<Option<Stats>> {
    if value.is_empty() {
        return Ok(None);
    }
    let one = value.try_into().ok().map(|sample| Stats::of(i64::from_le_bytes(sample)));
    match one.or_else(|| decode_many(value)) {
        Some(stats) => Ok(Some(stats)),
        None => Err(Error::corruption(format!(
            "stats of {} bytes: expected no sample (0 bytes), one (8), or a summary (40)",
            value.len()
        ))),
    }
}

/// Decodes the form for two samples or more.
fn decode_many(bytes: &[u8]) -> Option<Stats> {
    let (count, bytes) = bytes.split_first_chunk()?;
    let (sum, bytes) = bytes.split_first_chunk()?;
    let (min, max) = bytes.split_first_chunk()?;
    let stats = Stats {
        count: u64::from_le_bytes(*count),
        sum: i128::from_le_bytes(*sum),
        min: i64::from_le_bytes(*min),
        max: i64::from_le_bytes(max.try_into().ok()?),
    };
    stats.is_possible().then_some(stats)
}

fn encode(stats: Option<Stats>, out: &mut Vec<u8>) {
    let Some(stats) = stats else { return };
    if stats.count > 1 {
        out.extend_from_slice(&stats.count.to_le_bytes());
        out.extend_from_slice(&stats.sum.to_le_bytes());
        out.extend_from_slice(&stats.min.to_le_bytes());
    }
    out.extend_from_slice(&stats.max.to_le_bytes());
}

#[derive(Debug)]
struct Summary;

pub(super) fn make_stats(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(Summary) as Arc<dyn MergeOperator>)
}

/// Writes the summary of all samples. Returns whether all pieces were summaries.
fn join<'a>(mut pieces: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) -> bool {
    let joined = pieces.try_fold(None, |all: Option<Stats>, piece| {
        Ok::<_, Error>(match (all, summary(piece)?) {
            (Some(all), Some(more)) => Some(all.joined(more)),
            (all, more) => all.or(more),
        })
    });
    let Ok(joined) = joined else { return false };
    encode(joined, out);
    true
}

impl MergeOperator for Summary {
    fn name(&self) -> &str {
        "stats"
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        let pieces = base.into_iter().chain(operands.iter().copied());
        if join(pieces, out) { Full::Value } else { Full::Fail }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if join(operands.iter().copied(), out) { Partial::Operand } else { Partial::Keep }
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        match summary(operand) {
            Ok(_) => Ok(()),
            Err(_) => {
                Err("one sample of 8 bytes, little-endian, or a summary of 40 bytes (count, \
                           sum, least and greatest, which must agree)"
                    .to_owned())
            }
        }
    }

    fn text(&self) -> TextForm {
        TextForm::Stats
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
