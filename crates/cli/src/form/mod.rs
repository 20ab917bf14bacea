//! The text forms of keys and values: on the command line, on a line of output and in JSON.
//!
//! `--key-format` and `--as` name a [`Form`]. Numbers are 8 bytes, little-endian.
//!
//! Invariant: a form reads its own output back as the same bytes. A value alone is read with
//! [`Form::parse`], one on a shared line with [`Form::parse_escaped`], one in JSON with
//! [`json::parse`]. The exceptions are the forms that show a summary only
//! ([`Form::shows_summary`]).

pub(crate) mod escape;
pub(crate) mod json;
mod summary;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::ValueEnum;
use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use foldb::operators::TextForm;
use indicatif::HumanCount;

/// `--key-format`. (The variants have no documentation of their own, so that help stays short.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyFormat {
    Utf8,
    Hex,
    Base64,
    Typed,
}

/// `--as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValueFormat {
    Auto,
    Utf8,
    Hex,
    Base64,
    U64,
    I64,
    F64,
    List,
    Set,
    Stats,
    Top,
    Histogram,
}

/// Returns a number of things, such as `1 row` and `2,000 rows`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {thing}{s}", HumanCount(number))
}

/// A text form of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The bytes themselves, as text.
    Utf8,
    /// Two digits for each byte; lower case in output, either case in input.
    Hex,
    /// Standard alphabet; padded in output, padding optional in input.
    Base64,
    /// 8 bytes little-endian, unsigned.
    U64,
    /// 8 bytes little-endian, signed.
    I64,
    /// 8 bytes little-endian, IEEE 754.
    F64,
    /// Elements of a list: input names one, output has all.
    List,
    /// Members of a set: input adds or removes one, output has all.
    Set,
    /// Counted elements: input names one, output is the estimate.
    Sketch,
    /// Whole numbers: input is one, output their count, sum and range.
    Stats,
    /// Items with scores: input names one, output has all.
    Top,
    /// Fractions: input is one, output their count and quantiles.
    Histogram,
}

impl From<KeyFormat> for Form {
    fn from(format: KeyFormat) -> Form {
        match format {
            // Messages name the bytes of a typed key.
            KeyFormat::Utf8 | KeyFormat::Typed => Form::Utf8,
            KeyFormat::Hex => Form::Hex,
            KeyFormat::Base64 => Form::Base64,
        }
    }
}

impl From<TextForm> for Form {
    fn from(text: TextForm) -> Form {
        match text {
            TextForm::Bytes => Form::Utf8,
            TextForm::U64 => Form::U64,
            TextForm::I64 => Form::I64,
            TextForm::F64 => Form::F64,
            TextForm::List => Form::List,
            TextForm::Set => Form::Set,
            TextForm::Sketch => Form::Sketch,
            TextForm::Stats => Form::Stats,
            TextForm::Top => Form::Top,
            TextForm::Histogram => Form::Histogram,
        }
    }
}

impl ValueFormat {
    /// Returns the form; `auto` is that of the operator.
    pub(crate) fn resolve(self, operator: Option<TextForm>) -> Form {
        match self {
            ValueFormat::Auto => operator.map_or(Form::Utf8, Form::from),
            ValueFormat::Utf8 => Form::Utf8,
            ValueFormat::Hex => Form::Hex,
            ValueFormat::Base64 => Form::Base64,
            ValueFormat::U64 => Form::U64,
            ValueFormat::I64 => Form::I64,
            ValueFormat::F64 => Form::F64,
            ValueFormat::List => Form::List,
            ValueFormat::Set => Form::Set,
            ValueFormat::Stats => Form::Stats,
            ValueFormat::Top => Form::Top,
            ValueFormat::Histogram => Form::Histogram,
        }
    }
}

/// Bytes read in their form, ready to print on a line or as JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shown<'a> {
    /// Bytes that are shown as text.
    Text(&'a [u8]),
    /// To be shown in hexadecimal.
    Hex(&'a [u8]),
    /// To be shown in base64.
    Base64(&'a [u8]),
    /// An unsigned number.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// A fraction.
    F64(f64),
    /// Elements of a list.
    List(&'a [u8]),
    /// Members of a set.
    Set(&'a [u8]),
    /// Items with scores.
    Top(&'a [u8]),
    /// Count, sum and range of whole numbers.
    Stats(&'a [u8]),
    /// Count and quantiles of fractions.
    Histogram(&'a [u8]),
}

impl Form {
    /// Returns its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Utf8 => "utf8",
            Form::Hex => "hex",
            Form::Base64 => "base64",
            Form::U64 => "u64",
            Form::I64 => "i64",
            Form::F64 => "f64",
            Form::List => "list",
            Form::Set => "set",
            Form::Sketch => "hyperloglog",
            Form::Stats => "stats",
            Form::Top => "top",
            Form::Histogram => "histogram",
        }
    }

    /// Whether it is a form of numbers.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Form::U64 | Form::I64 | Form::F64)
    }

    /// Whether its output says less than the bytes, so that nothing reads them back.
    pub(crate) fn shows_summary(self) -> bool {
        matches!(self, Form::Sketch | Form::Stats | Form::Histogram)
    }

    /// Returns the expected input, as the end of a sentence.
    pub(crate) fn expected(self) -> String {
        match self {
            Form::Utf8 => "text".to_owned(),
            Form::Hex => "an even number of hexadecimal digits".to_owned(),
            Form::Base64 => "base64 (A-Z a-z 0-9 + /)".to_owned(),
            Form::U64 => format!("a whole number from 0 to {}", u64::MAX),
            Form::I64 | Form::Stats => format!("a whole number from {} to {}", i64::MIN, i64::MAX),
            Form::F64 => "a decimal fraction such as -1.5 or 2e10".to_owned(),
            Form::Histogram => "a finite decimal fraction such as -1.5 or 2e10".to_owned(),
            Form::Top => "a whole number, a space and an item, such as '7 ada'".to_owned(),
            Form::List | Form::Sketch => "one element".to_owned(),
            Form::Set => "+member or -member".to_owned(),
        }
    }

    /// Parses `text`; `None` if it does not have this form.
    pub(crate) fn parse(self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Form::Utf8 => Some(text.to_vec()),
            Form::Hex => HEXLOWER_PERMISSIVE.decode(text).ok(),
            Form::Base64 => BASE64.decode(text).or_else(|_| BASE64_NOPAD.decode(text)).ok(),
            Form::U64 => TextForm::U64.parse(text),
            Form::I64 => TextForm::I64.parse(text),
            Form::F64 => TextForm::F64.parse(text),
            Form::List => TextForm::List.parse(text),
            Form::Set => TextForm::Set.parse(text),
            Form::Sketch => TextForm::Sketch.parse(text),
            Form::Stats => TextForm::Stats.parse(text),
            Form::Top => TextForm::Top.parse(text),
            Form::Histogram => TextForm::Histogram.parse(text),
        }
    }

    /// Returns the bytes for which [`Shown::write_escaped`] wrote `text`.
    ///
    /// # Errors
    /// A message if [`Shown::write_escaped`] cannot have written `text`.
    pub(crate) fn parse_escaped(self, text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Form::Utf8 => escape::undo(text),
            Form::List | Form::Set => {
                let elements = escape::undo_elements(text)?;
                Ok(Cow::Owned(self.joined(elements.iter().map(|element| &**element))))
            }
            Form::Top => {
                let items = escape::undo_elements(text)?;
                let top = summary::top_of(items.iter().map(|item| &**item));
                top.map(Cow::Owned).ok_or_else(|| self.refusal(text))
            }
            _ => self.parse(text).map(Cow::Owned).ok_or_else(|| self.refusal(text)),
        }
    }

    /// Encodes these elements as a list or set.
    fn joined<'a>(self, elements: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        if self == Form::List {
            return foldb::operators::list::operand(elements);
        }
        // A set is its members one after the other, ascending.
        elements.collect::<BTreeSet<_>>().into_iter().flat_map(foldb::operators::set::add).collect()
    }

    /// Says why `text` does not parse.
    fn refusal(self, text: &[u8]) -> String {
        format!("{} is not {}: expected {}", escape::quoted(text), self.name(), self.expected())
    }

    /// Reads bytes in this form.
    ///
    /// # Errors
    /// The reason why they do not fit, as the end of a sentence.
    pub(crate) fn show(self, bytes: &[u8]) -> Result<Shown<'_>, String> {
        let eight = || {
            <[u8; 8]>::try_from(bytes).map_err(|_| {
                let (name, len) = (self.name(), bytes.len());
                let s = if len == 1 { "" } else { "s" };
                format!("has {len} byte{s}, and {name} needs 8 (--as hex shows any value)")
            })
        };
        Ok(match self {
            Form::Utf8 => Shown::Text(bytes),
            Form::Hex => Shown::Hex(bytes),
            Form::Base64 => Shown::Base64(bytes),
            Form::U64 => Shown::U64(u64::from_le_bytes(eight()?)),
            Form::I64 => Shown::I64(i64::from_le_bytes(eight()?)),
            Form::F64 => Shown::F64(f64::from_le_bytes(eight()?)),
            Form::List => {
                foldb::operators::list::elements(bytes).map_err(|_| no_such("list"))?;
                Shown::List(bytes)
            }
            Form::Set => {
                foldb::operators::set::members(bytes).map_err(|_| no_such("set"))?;
                Shown::Set(bytes)
            }
            Form::Sketch => {
                let estimate = foldb::operators::hyperloglog::estimate(bytes);
                Shown::U64(estimate.map_err(|_| no_such("hyperloglog sketch"))?.round() as u64)
            }
            Form::Stats => {
                foldb::operators::stats::summary(bytes).map_err(|_| no_such("stats value"))?;
                Shown::Stats(bytes)
            }
            Form::Top => {
                foldb::operators::top::items(bytes).map_err(|_| no_such("top value"))?;
                Shown::Top(bytes)
            }
            Form::Histogram => {
                foldb::operators::histogram::count(bytes).map_err(|_| no_such("histogram"))?;
                Shown::Histogram(bytes)
            }
        })
    }
}

impl<'a> Shown<'a> {
    /// Returns the elements of a list or a set, or the lines of items with scores. [`Form::show`]
    /// has checked that it is one.
    pub(crate) fn elements(self) -> Vec<Cow<'a, [u8]>> {
        let elements = match self {
            Shown::List(bytes) => foldb::operators::list::elements(bytes),
            Shown::Set(bytes) => foldb::operators::set::members(bytes),
            Shown::Top(bytes) => return summary::lines_of(bytes),
            _ => return Vec::new(),
        };
        elements.unwrap_or_default().into_iter().map(Cow::Borrowed).collect()
    }

    /// Writes the value on a line that it shares with its key: text is escaped.
    pub(crate) fn write_escaped(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Shown::Text(bytes) => escape::write(bytes, out),
            Shown::List(_) | Shown::Set(_) | Shown::Top(_) => {
                escape::write_elements(&self.elements(), out)
            }
            other => other.write_plain(out),
        }
    }

    /// Writes the value on a line of its own: text is the bytes themselves.
    pub(crate) fn write_plain(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Shown::Text(bytes) => out.write_all(bytes),
            Shown::Hex(bytes) => write!(out, "{}", HEXLOWER.encode_display(bytes)),
            Shown::Base64(bytes) => write!(out, "{}", BASE64.encode_display(bytes)),
            Shown::U64(n) => write!(out, "{n}"),
            Shown::I64(n) => write!(out, "{n}"),
            Shown::F64(n) => write!(out, "{n:?}"),
            Shown::List(_) | Shown::Set(_) | Shown::Top(_) => self.write_elements(out),
            Shown::Stats(_) | Shown::Histogram(_) => summary::write(self, out),
        }
    }

    /// Writes the elements of a list, a set or items, escaped, one on each line.
    fn write_elements(self, out: &mut impl Write) -> io::Result<()> {
        for (index, element) in self.elements().into_iter().enumerate() {
            if index > 0 {
                out.write_all(b"\n")?;
            }
            escape::write(&element, out)?;
        }
        Ok(())
    }
}

fn no_such(what: &str) -> String {
    format!("is no {what} (--as hex shows any value)")
}

#[cfg(test)]
mod tests;
