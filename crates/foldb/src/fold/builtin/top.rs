//! `top:K`: the K items with the highest scores. An item that comes again keeps its highest score.
//!
//! ```text
//! operand = partial result = value:   any number of   | score i64 LE | length varint | item |
//! ```
//!
//! The highest score comes first; items of equal scores ascend in the order of their bytes. No item
//! occurs twice. An operand has at most K items, and a longer base is cut to its first K.
//!
//! A fold may drop an item early. An item that K others outrank within some operands is outranked
//! by them in the whole, too: their scores only rise. If another operand gives the item a higher
//! score, that operand has the item itself.
//!
//! So a score is a maximum, never a sum: what an early fold drops cannot be added later. For the
//! top of sums keep one counter for each item, and scan the counters.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::encoding::{ByteReader, put_length_delimited};
use crate::error::{Error, Result};
use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};

/// How many items `top` keeps without a parameter.
const DEFAULT_KEPT: usize = 10;

/// The largest K. A fold reads all items of a value.
const MAX_KEPT: usize = 4096;

/// Makes the operand that offers these items with their scores. It is also the value that holds
/// only them. The operator refuses operands of more than K items.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::operators::top;
///
/// let operator = db.operator("top:2")?;
/// db.merge_with(&operator, "scores", top::operand([(10, "ann"), (30, "bob")]))?;
/// db.merge_with(&operator, "scores", top::operand([(20, "eve")]))?;
/// db.merge_with(&operator, "scores", top::operand([(5, "bob")]))?;
/// let scores = db.get("scores")?.unwrap();
/// assert_eq!(top::items(&scores)?, [(30, &b"bob"[..]), (20, b"eve")]);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn operand<I: AsRef<[u8]>>(items: impl IntoIterator<Item = (i64, I)>) -> Vec<u8> {
    let items: Vec<(i64, I)> = items.into_iter().collect();
    let mut out = Vec::new();
    encode(&ranked(items.iter().map(|(score, item)| (*score, item.as_ref()))), &mut out);
    out
}

/// Returns the scores and items of a value (or operand), the highest score first.
///
/// # Errors
/// `Corruption`, with the offset, if the bytes are no such items.
///
/// # Example
/// ```
/// use foldb::operators::top;
///
/// assert_eq!(top::items(&top::operand([(7, "ada")]))?, [(7, &b"ada"[..])]);
/// assert!(top::items(b"ada").is_err());
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn items(value: &[u8]) -> Result<Vec<(i64, &[u8])>> {
    let mut reader = ByteReader::new(value);
    let mut items: Vec<(i64, &[u8])> = Vec::new();
    while !reader.is_empty() {
        let at = reader.position();
        let score = reader.u64("top score")?.cast_signed();
        let item = reader.length_delimited("top item")?;
        if items.last().is_some_and(|last| rank(last) >= rank(&(score, item))) {
            return Err(Error::corruption(format!(
                "top item at offset {at}: expected one of a lower rank than the item before it"
            )));
        }
        items.push((score, item));
    }
    let mut names: Vec<&[u8]> = items.iter().map(|(_, item)| *item).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::corruption("top items: expected each item once, found one twice"));
    }
    Ok(items)
}

fn rank<'a>(item: &(i64, &'a [u8])) -> (Reverse<i64>, &'a [u8]) {
    (Reverse(item.0), item.1)
}

/// Returns each item once, with its highest score, in the order of rank.
fn ranked<'a>(items: impl Iterator<Item = (i64, &'a [u8])>) -> Vec<(i64, &'a [u8])> {
    let mut scores = BTreeMap::new();
    for (score, item) in items {
        let highest = scores.entry(item).or_insert(score);
        *highest = score.max(*highest);
    }
    let mut ranked: Vec<_> = scores.into_iter().map(|(item, score)| (score, item)).collect();
    ranked.sort_unstable_by_key(rank);
    ranked
}

fn encode(items: &[(i64, &[u8])], out: &mut Vec<u8>) {
    for (score, item) in items {
        out.extend_from_slice(&score.to_le_bytes());
        put_length_delimited(out, item);
    }
}

#[derive(Debug)]
struct Top {
    keep: usize,
    /// `keep` in decimal.
    parameter: Vec<u8>,
}

pub(super) fn make_top(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let keep = match parameter {
        None => DEFAULT_KEPT,
        Some(text) => std::str::from_utf8(text).ok()?.parse().ok()?,
    };
    let spelled = keep.to_string().into_bytes();
    let canonical = parameter.is_none_or(|given| given == spelled);
    let taken = canonical && (1..=MAX_KEPT).contains(&keep);
    taken.then(|| Arc::new(Top { keep, parameter: spelled }) as Arc<dyn MergeOperator>)
}

impl Top {
    /// Writes the items of the highest ranks. Returns whether base and operands were well formed.
    fn best(&self, base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Ok(mut all) = items(base.unwrap_or_default()) else { return false };
        for operand in operands {
            match items(operand) {
                Ok(more) if more.len() <= self.keep => all.extend(more),
                _ => return false,
            }
        }
        let mut ranked = ranked(all.into_iter());
        ranked.truncate(self.keep);
        encode(&ranked, out);
        true
    }
}

impl MergeOperator for Top {
    fn name(&self) -> &str {
        "top"
    }

    fn parameters(&self) -> &[u8] {
        &self.parameter
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        if self.best(base, operands, out) { Full::Value } else { Full::Fail }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if self.best(None, operands, out) { Partial::Operand } else { Partial::Keep }
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        match items(operand) {
            Ok(items) if items.len() <= self.keep => Ok(()),
            _ => Err(format!(
                "at most {} items (score of 8 bytes, length as a varint, item), the highest score \
                 first, equal scores in the order of their items, and each item once",
                self.keep
            )),
        }
    }

    fn text(&self) -> TextForm {
        TextForm::Top
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
