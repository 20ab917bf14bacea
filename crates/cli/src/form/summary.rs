//! The text forms of `stats`, `top` and `histogram`.
//!
//! ```text
//! stats       count=3 sum=49 min=7 max=30 mean=16.333333333333332
//! top         30 bob                                  one item on each line: score, space, item
//! histogram   count=3 min=7.03125 p50=12.0625 p90=12.0625 p99=12.0625 max=30.25
//! ```

use std::borrow::Cow;
use std::io::{self, Write};

use foldb::operators::{TextForm, histogram, stats, top};
use serde_json::{Value, json};

use crate::form::{Shown, json};

/// The quantiles of a histogram, and their names.
const QUANTILES: [(&str, f64); 5] =
    [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

/// Returns the names and numbers of stats or a histogram.
pub(crate) fn fields(shown: Shown<'_>) -> Vec<(&'static str, Value)> {
    match shown {
        Shown::Stats(bytes) => match stats::summary(bytes).ok().flatten() {
            Some(stats) => vec![
                ("count", json::integer(stats.count)),
                ("sum", json::signed(stats.sum)),
                ("min", json::signed(stats.min.into())),
                ("max", json::signed(stats.max.into())),
                ("mean", json!(stats.mean())),
            ],
            None => vec![("count", json!(0)), ("sum", json!(0))],
        },
        Shown::Histogram(bytes) => {
            let count = histogram::count(bytes).unwrap_or_default();
            let quantiles = QUANTILES.into_iter().filter_map(|(name, q)| {
                Some((name, json!(histogram::quantile(bytes, q).ok().flatten()?)))
            });
            [("count", json::integer(count))].into_iter().chain(quantiles).collect()
        }
        _ => Vec::new(),
    }
}

/// Writes stats or a histogram on one line.
pub(crate) fn write(shown: Shown<'_>, out: &mut impl Write) -> io::Result<()> {
    for (index, (name, number)) in fields(shown).into_iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        match number {
            Value::String(number) => write!(out, "{space}{name}={number}")?,
            number => write!(out, "{space}{name}={number}")?,
        }
    }
    Ok(())
}

/// Returns items of `top` as text, each with its score.
pub(crate) fn lines_of(bytes: &[u8]) -> Vec<Cow<'static, [u8]>> {
    let items = top::items(bytes).unwrap_or_default();
    let line = |(score, item): (i64, &[u8])| [score.to_string().as_bytes(), b" ", item].concat();
    items.into_iter().map(line).map(Cow::Owned).collect()
}

/// Encodes items that are given as [`lines_of`] writes them.
pub(crate) fn top_of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let operands = lines.map(|line| TextForm::Top.parse(line)).collect::<Option<Vec<_>>>()?;
    let items: Option<Vec<_>> = operands.iter().map(|one| top::items(one).ok()).collect();
    Some(top::operand(items?.into_iter().flatten()))
}

/// Returns items of `top` as JSON.
pub(crate) fn items_to_json(bytes: &[u8]) -> Value {
    let items = top::items(bytes).unwrap_or_default();
    let items = items.into_iter().map(|(score, item)| {
        let item = json::value(Shown::Text(item));
        json!({ "item": item, "score": json::signed(score.into()) })
    });
    items.collect()
}

/// Encodes items that are given as [`items_to_json`] writes them.
pub(crate) fn items_of_json(items: &[Value]) -> Option<Vec<u8>> {
    let item = |item: &Value| {
        let fields = item.as_object().filter(|fields| fields.len() == 2)?;
        let score = match fields.get("score")? {
            Value::String(text) => text.parse().ok()?,
            number => number.as_i64()?,
        };
        Some((score, json::text(fields.get("item")?)?))
    };
    Some(top::operand(items.iter().map(item).collect::<Option<Vec<(i64, Vec<u8>)>>>()?))
}
