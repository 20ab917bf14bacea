//! The text form of an operand or a value, for messages.
//!
//! The shell prints the same text. Bytes that are not of the form are escaped.

use std::fmt::Write;

use crate::fold::builtin::{histogram, hyperloglog, list, set, stats, top};
use crate::fold::operator::TextForm;

/// Most characters of an operand or a value that a message shows.
const MOST_SHOWN: usize = 80;

/// Characters before the first difference of two long texts.
const BEFORE_DIFFERENCE: usize = 20;

/// Shows an operand or a value in quotes, and cuts it if it is long.
pub(crate) fn shown(form: TextForm, bytes: &[u8]) -> String {
    cut(whole(form, bytes), MOST_SHOWN)
}

/// Shows an operand or a value in quotes.
pub(crate) fn whole(form: TextForm, bytes: &[u8]) -> String {
    let text = text_of(form, bytes).unwrap_or_else(|| bytes.escape_ascii().to_string());
    format!("'{text}'")
}

/// Cuts a text after this many characters.
pub(crate) fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Cuts two texts that differ so that they begin shortly before the first difference.
pub(crate) fn apart(one: String, other: String) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let skipped = match one.chars().count().max(other.chars().count()) > MOST_SHOWN {
        true => same.saturating_sub(BEFORE_DIFFERENCE),
        false => 0,
    };
    let from = |text: String| {
        let rest: String = text.chars().skip(skipped).collect();
        let dots = if skipped > 0 { "…" } else { "" };
        cut(format!("{dots}{rest}"), MOST_SHOWN)
    };
    (from(one), from(other))
}

fn text_of(form: TextForm, bytes: &[u8]) -> Option<String> {
    let word = || <[u8; 8]>::try_from(bytes).ok();
    Some(match form {
        TextForm::Bytes => bytes.escape_ascii().to_string(),
        TextForm::U64 => u64::from_le_bytes(word()?).to_string(),
        TextForm::I64 => i64::from_le_bytes(word()?).to_string(),
        TextForm::F64 => format!("{:?}", f64::from_le_bytes(word()?)),
        TextForm::List => {
            let elements = list::elements(bytes).ok()?.into_iter().map(element_of);
            elements.collect::<Vec<_>>().join(",")
        }
        TextForm::Set => changes_of(bytes)?,
        TextForm::Sketch => format!("{}", hyperloglog::estimate(bytes).ok()?.round()),
        TextForm::Stats => match stats::summary(bytes).ok()? {
            None => "count=0".to_owned(),
            Some(one) if one.count == 1 => one.min.to_string(),
            Some(stats) => {
                let stats::Stats { count, sum, min, max } = stats;
                format!("count={count} sum={sum} min={min} max={max}")
            }
        },
        TextForm::Top => {
            let items = top::items(bytes).ok()?;
            let items = items.into_iter().map(|(score, item)| {
                let item = item.escape_ascii().to_string().replace(',', "\\x2c");
                format!("{score} {item}")
            });
            items.collect::<Vec<_>>().join(",")
        }
        TextForm::Histogram => {
            let mut text = format!("count={}", histogram::count(bytes).ok()?);
            for (name, q) in [("min", 0.0), ("p50", 0.5), ("max", 1.0)] {
                if let Some(sample) = histogram::quantile(bytes, q).ok()? {
                    write!(text, " {name}={sample}").ok()?;
                }
            }
            text
        }
    })
}

/// Shows the changes of a set: its members, or `+member` and `-member` if some are removed.
fn changes_of(bytes: &[u8]) -> Option<String> {
    let changes = set::changes(bytes).ok()?;
    let removes = changes.iter().any(|(sign, _)| *sign == b'-');
    let shown = |(sign, member): &(u8, &[u8])| match removes {
        true => format!("{}{}", char::from(*sign), element_of(member)),
        false => element_of(member),
    };
    Some(changes.iter().map(shown).collect::<Vec<_>>().join(","))
}

/// Shows an element beside others: commas separate them.
fn element_of(element: &[u8]) -> String {
    if element.is_empty() {
        return "\\e".to_owned();
    }
    element.escape_ascii().to_string().replace(',', "\\x2c")
}
