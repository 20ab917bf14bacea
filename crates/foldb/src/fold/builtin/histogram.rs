//! `histogram:PERCENT`: quantiles of fractions, each within PERCENT of a sample.
//!
//! Samples are counted in buckets whose width is a fixed share of their place, as in Masson et al.,
//! *DDSketch* (2019). A fold only adds counts, so each grouping gives the same bytes.
//!
//! ```text
//! operand = partial result = value:
//! no sample:   0 bytes
//! samples:     | 0 | one or more of   sample f64 LE |
//! buckets:     | bits u8 | one or more of   step varint, count varint |
//! ```
//!
//! Folds write buckets, unless all samples come from one piece: that piece stays as it is. `bits`
//! is the number of bits of a sample's fraction that name its bucket:
//!
//! ```text
//! PERCENT     10     5     2     1   0.5   0.2   0.1
//! bits         3     4     5     6     7     8     9
//! error %   6.25  3.13  1.56  0.78  0.39  0.20  0.10     at most half a bucket: 2^-(bits + 1)
//! ```
//!
//! A sample's `f64` is sign, exponent and fraction. Its *magnitude* is the upper bits of the
//! absolute value, down to the last of `bits`. So a bucket needs no logarithm, which machines round
//! differently:
//!
//! ```text
//! magnitude = bits of |sample| >> (52 - bits), or 0 if the exponent is 0 (below 2.2e-308)
//! bucket    = (2047 << bits) + magnitude, or minus for samples below 0
//! step      = bucket - the bucket before it (0 before the first)
//! ```
//!
//! Steps and counts are at least 1. A count stays at 2^64 - 1. Samples that differ by a factor of
//! 1000 need some 10 << bits buckets of two or three bytes, and all `f64`s some 4092 << bits.
//!
//! The bytes are drawn here and come from no crate: those that draw theirs round logarithms, or
//! join buckets in an order that a fold cannot keep.

use std::sync::Arc;

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};
use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};

/// The first byte of bytes that hold samples.
const SAMPLES: u8 = 0;

const SAMPLE_LEN: usize = 8;

/// The parameters, and how many bits of a fraction name a bucket.
const PRECISIONS: [(&str, u8); 7] =
    [("10", 3), ("5", 4), ("2", 5), ("1", 6), ("0.5", 7), ("0.2", 8), ("0.1", 9)];

/// The precision without a parameter: 1 percent.
const DEFAULT_PRECISION: (&str, u8) = PRECISIONS[3];

/// The bits of an `f64`'s fraction.
const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;

/// The exponent of infinities and NaN.
const NOT_FINITE: u32 = 2047;

/// Makes the operand that adds these samples. It is also the value that holds only them. The
/// operator refuses samples that are not finite.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::operators::histogram;
///
/// let operator = db.operator("histogram:1")?;
/// for millis in 1..=1000 {
///     db.merge_with(&operator, "latency", histogram::operand([f64::from(millis)]))?;
/// }
/// let latency = db.get("latency")?.unwrap();
/// assert_eq!(histogram::count(&latency)?, 1000);
/// let p99 = histogram::quantile(&latency, 0.99)?.unwrap();
/// assert!((p99 - 990.0).abs() < 990.0 * 0.01);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn operand(samples: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let mut out = vec![SAMPLES];
    out.extend(samples.into_iter().flat_map(f64::to_le_bytes));
    if out.len() == 1 { Vec::new() } else { out }
}

/// Returns how many samples a value (or operand) has counted.
///
/// # Errors
/// `Corruption` if the bytes are no histogram.
///
/// # Example
/// ```
/// use foldb::operators::histogram;
///
/// assert_eq!(histogram::count(&histogram::operand([0.5, 0.5]))?, 2);
/// assert_eq!(histogram::count(b"")?, 0);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn count(value: &[u8]) -> Result<u64> {
    Ok(read(value)?.count())
}

/// Returns the sample of rank `q * (count - 1)`, rounded down, where rank 0 is the least sample.
/// The result differs from it by at most the operator's PERCENT. Returns `None` if the value has no
/// sample.
///
/// # Errors
/// `Corruption` if the bytes are no histogram; `InvalidArgument` unless `q` is from 0 to 1.
///
/// # Example
/// ```
/// use foldb::operators::histogram;
///
/// let median = histogram::quantile(&histogram::operand([3.0, 1.0, 2.0]), 0.5)?;
/// assert_eq!(median, Some(2.0));
/// assert_eq!(histogram::quantile(b"", 0.5)?, None);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn quantile(value: &[u8], q: f64) -> Result<Option<f64>> {
    if !(0.0..=1.0).contains(&q) {
        return Err(Error::invalid_argument(format!("a quantile must be from 0 to 1, not {q}")));
    }
    let histogram = read(value)?;
    let Some(last) = histogram.count().checked_sub(1) else { return Ok(None) };
    // The product may round up to 2^64.
    let rank = ((q * last as f64) as u64).min(last);
    Ok(match histogram {
        Histogram::Samples(mut samples) => {
            samples.sort_unstable_by(f64::total_cmp);
            samples.get(rank as usize).copied()
        }
        Histogram::Buckets(bits, counts) => {
            let mut seen = 0u64;
            let holds = |count: &(u32, u64)| {
                seen = seen.saturating_add(count.1);
                seen > rank
            };
            let found = counts.iter().copied().find(holds).or_else(|| counts.last().copied());
            found.map(|(bucket, _)| middle_of(bucket, bits))
        }
    })
}

/// Returns numbers between which all samples lie: the ends of the first and the last bucket. They
/// are the least and the greatest sample themselves if no fold has counted them. Returns `None` if
/// the value has no sample.
///
/// # Errors
/// `Corruption` if the bytes are no histogram.
///
/// # Example
/// ```
/// use foldb::operators::histogram;
///
/// assert_eq!(histogram::bounds(&histogram::operand([3.0, 1.0]))?, Some((1.0, 3.0)));
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn bounds(value: &[u8]) -> Result<Option<(f64, f64)>> {
    let bounds: Vec<(f64, f64)> = match read(value)? {
        Histogram::Samples(samples) => samples.iter().map(|sample| (*sample, *sample)).collect(),
        Histogram::Buckets(bits, counts) => {
            counts.iter().map(|(bucket, _)| ends_of(*bucket, bits)).collect()
        }
    };
    let least = bounds.iter().map(|ends| ends.0).min_by(f64::total_cmp);
    Ok(least.zip(bounds.iter().map(|ends| ends.1).max_by(f64::total_cmp)))
}

/// What bytes hold.
enum Histogram {
    Samples(Vec<f64>),
    /// The bits that name a bucket; buckets and their counts, ascending.
    Buckets(u32, Vec<(u32, u64)>),
}

impl Histogram {
    fn count(&self) -> u64 {
        match self {
            Histogram::Samples(samples) => samples.len() as u64,
            Histogram::Buckets(_, counts) => {
                counts.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
            }
        }
    }
}

fn read(value: &[u8]) -> Result<Histogram> {
    decode(value).map_err(|expected| Error::corruption(format!("a histogram must be {expected}")))
}

/// Decodes a histogram.
///
/// # Errors
/// Text that completes the sentence "a histogram must be …".
fn decode(bytes: &[u8]) -> Result<Histogram, String> {
    let Some((tag, body)) = bytes.split_first() else {
        return Ok(Histogram::Samples(Vec::new()));
    };
    if *tag == SAMPLES {
        return Ok(Histogram::Samples(decode_samples(body)?));
    }
    if !PRECISIONS.iter().any(|(_, bits)| bits == tag) {
        return Err(format!("samples (0) or buckets (3 to 9), not of kind {tag}"));
    }
    let bits = u32::from(*tag);
    let counts =
        decode_counts(body, bits).ok_or("ascending buckets of finite numbers, with counts")?;
    Ok(Histogram::Buckets(bits, counts))
}

fn decode_samples(bytes: &[u8]) -> Result<Vec<f64>, String> {
    let (samples, rest) = bytes.as_chunks::<SAMPLE_LEN>();
    if samples.is_empty() || !rest.is_empty() {
        return Err(format!("a 0 and samples of 8 bytes, not {} bytes behind it", bytes.len()));
    }
    let samples: Vec<f64> = samples.iter().map(|sample| f64::from_le_bytes(*sample)).collect();
    match samples.iter().find(|sample| !sample.is_finite()) {
        Some(sample) => Err(format!("made of finite samples, and {sample} is not finite")),
        None => Ok(samples),
    }
}

fn decode_counts(bytes: &[u8], bits: u32) -> Option<Vec<(u32, u64)>> {
    let mut reader = ByteReader::new(bytes);
    let mut counts = Vec::new();
    let mut before = 0u32;
    while !reader.is_empty() {
        let step = reader.varint32("histogram step").ok()?;
        let count = reader.varint("histogram count").ok()?;
        let bucket = before.checked_add(step)?;
        if step == 0 || count == 0 || !is_bucket(bucket, bits) {
            return None;
        }
        counts.push((bucket, count));
        before = bucket;
    }
    (!counts.is_empty()).then_some(counts)
}

/// Returns the bucket of samples that count as 0. Those of smaller samples are below it.
fn zero(bits: u32) -> u32 {
    NOT_FINITE << bits
}

fn is_bucket(bucket: u32, bits: u32) -> bool {
    let magnitude = bucket.abs_diff(zero(bits));
    magnitude == 0 || (1 << bits..NOT_FINITE << bits).contains(&magnitude)
}

/// Returns the bucket of a finite sample.
fn bucket_of(sample: f64, bits: u32) -> u32 {
    // The shift leaves 11 bits of exponent and at most 9 of the fraction.
    let magnitude = (sample.abs().to_bits() >> (FRACTION - bits)) as u32;
    let magnitude = if magnitude < 1 << bits { 0 } else { magnitude };
    if sample < 0.0 { zero(bits) - magnitude } else { zero(bits) + magnitude }
}

/// Returns the least and the greatest number of a bucket.
fn ends_of(bucket: u32, bits: u32) -> (f64, f64) {
    let magnitude = u64::from(bucket.abs_diff(zero(bits)));
    if magnitude == 0 {
        return (0.0, 0.0);
    }
    let end = |magnitude: u64, below: u64| f64::from_bits((magnitude << (FRACTION - bits)) - below);
    let (near, far) = (end(magnitude, 0), end(magnitude + 1, 1));
    if bucket < zero(bits) { (-far, -near) } else { (near, far) }
}

/// Returns the number in the middle of a bucket.
fn middle_of(bucket: u32, bits: u32) -> f64 {
    let magnitude = u64::from(bucket.abs_diff(zero(bits)));
    if magnitude == 0 {
        return 0.0;
    }
    let middle = f64::from_bits((2 * magnitude + 1) << (FRACTION - bits - 1));
    if bucket < zero(bits) { -middle } else { middle }
}

/// Writes buckets. `counts` may be in any order and may have a bucket several times.
fn encode(bits: u8, mut counts: Vec<(u32, u64)>, out: &mut Vec<u8>) {
    // A stable sort merges the ascending buckets of each piece.
    counts.sort_by_key(|(bucket, _)| *bucket);
    counts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
    out.push(bits);
    let mut before = 0;
    for (bucket, count) in counts {
        put_varint(out, u64::from(bucket - before));
        put_varint(out, count);
        before = bucket;
    }
}

#[derive(Debug)]
struct Quantiles {
    parameter: &'static str,
    bits: u8,
}

pub(super) fn make_histogram(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let (parameter, bits) = match parameter {
        None => DEFAULT_PRECISION,
        Some(text) => *PRECISIONS.iter().find(|(known, _)| known.as_bytes() == text)?,
    };
    Some(Arc::new(Quantiles { parameter, bits }))
}

impl Quantiles {
    /// Decodes an operand or a base.
    ///
    /// # Errors
    /// Text that completes the sentence "a histogram must be …".
    fn decode(&self, bytes: &[u8]) -> Result<Histogram, String> {
        let own = u32::from(self.bits);
        match decode(bytes)? {
            Histogram::Buckets(bits, _) if bits != own => {
                Err(format!("made of buckets of {own} bits, not {bits}"))
            }
            histogram => Ok(histogram),
        }
    }

    /// Writes the counts of all samples. Returns whether all pieces were well formed.
    fn add<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) -> bool {
        let bits = u32::from(self.bits);
        let mut counts = Vec::new();
        let (mut first, mut with_samples) = (None, 0);
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            match self.decode(piece) {
                Ok(Histogram::Samples(samples)) => {
                    counts.extend(samples.into_iter().map(|sample| (bucket_of(sample, bits), 1)));
                }
                Ok(Histogram::Buckets(_, more)) => counts.extend(more),
                Err(_) => return false,
            }
            first.get_or_insert(piece);
            with_samples += 1;
        }
        match first {
            Some(only) if with_samples == 1 => out.extend_from_slice(only),
            Some(_) => encode(self.bits, counts, out),
            None => {}
        }
        true
    }
}

impl MergeOperator for Quantiles {
    fn name(&self) -> &str {
        "histogram"
    }

    fn parameters(&self) -> &[u8] {
        self.parameter.as_bytes()
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        let pieces = base.into_iter().chain(operands.iter().copied());
        if self.add(pieces, out) { Full::Value } else { Full::Fail }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if self.add(operands.iter().copied(), out) { Partial::Operand } else { Partial::Keep }
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        self.decode(operand).map(|_| ())
    }

    fn text(&self) -> TextForm {
        TextForm::Histogram
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
