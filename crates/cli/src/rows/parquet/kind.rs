//! The cells of an export, and the types of its columns.
//!
//! The first of two passes over the entries finds the type that holds every cell of a column:
//!
//! ```text
//! false, true               BOOLEAN
//! 1, -2                     INT64, also from text of numbers beyond 2^53 and from --as i64
//! 18446744073709551615      INT64 (unsigned), from --as u64
//! 0.5, 1                    DOUBLE
//! "a"                       BYTE_ARRAY (string)
//! "a", bytes                BYTE_ARRAY
//! [1], {"a":2}              BYTE_ARRAY (JSON)
//! other mixtures            BYTE_ARRAY (string), with the JSON of what is no text
//! ```
//!
//! Invariant: the type does not depend on the order of the entries.

use serde_json::Value;

use crate::form::{Shown, json};

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Nothing.
    Null,
    /// A flag.
    Bool(bool),
    /// A whole number.
    Signed(i64),
    /// A whole number of a column without a sign.
    Unsigned(u64),
    /// A fraction.
    Fraction(f64),
    /// Text.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
    /// An array, an object, or a number of more digits than the others hold.
    Json(String),
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// Whole numbers that are fractions of 64 bits, too.
    Small,
    Signed,
    Unsigned,
    Fraction,
    Text,
    Bytes,
    Json,
    /// Text and others.
    Mixed,
    /// Bytes and others.
    MixedBytes,
}

/// Up to here, every integer is also a 64-bit fraction.
const MAX_EXACT: u64 = 1 << 53;

impl Cell {
    /// Returns the cell of a shown value.
    pub(crate) fn of(value: Shown<'_>) -> Cell {
        match value {
            Shown::U64(n) => Cell::Unsigned(n),
            Shown::I64(n) => Cell::Signed(n),
            Shown::F64(n) => Cell::Fraction(n),
            Shown::Text(bytes) => Cell::of_bytes(bytes),
            other => Cell::of_json(&json::value(other)),
        }
    }

    /// Returns text, or bytes that are no text.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Cell {
        match std::str::from_utf8(bytes) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(_) => Cell::Bytes(bytes.to_vec()),
        }
    }

    /// Returns the cell of a field of a stored row, as it is written.
    pub(crate) fn of_raw(raw: &str) -> Cell {
        let is_whole = !raw.contains(['.', 'e', 'E']);
        match serde_json::from_str::<Value>(raw) {
            // JSON without exact digits would turn this number into a fraction.
            Ok(Value::Number(n)) if is_whole && n.as_i64().is_none() => Cell::Json(raw.to_owned()),
            // So would a fraction of more digits than the shortest text of its 64 bits has.
            Ok(Value::Number(n)) if !is_whole && is_rounded(&n, raw) => Cell::Json(raw.to_owned()),
            Ok(value) => Cell::of_json(&value),
            Err(_) => Cell::Text(raw.to_owned()),
        }
    }

    fn of_json(value: &Value) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Bool(flag) => Cell::Bool(*flag),
            Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(n), _) => Cell::Signed(n),
                (None, Some(n)) => Cell::Fraction(n),
                (None, None) => Cell::Json(n.to_string()),
            },
            Value::String(text) => Cell::Text(text.clone()),
            Value::Array(_) | Value::Object(_) => match json::text(value) {
                Some(bytes) => Cell::of_bytes(&bytes),
                None => Cell::Json(value.to_string()),
            },
        }
    }

    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Cell::Null => return None,
            Cell::Bool(_) => Kind::Bool,
            Cell::Signed(n) if n.unsigned_abs() <= MAX_EXACT => Kind::Small,
            Cell::Signed(_) => Kind::Signed,
            Cell::Unsigned(_) => Kind::Unsigned,
            Cell::Fraction(_) => Kind::Fraction,
            Cell::Text(_) => Kind::Text,
            Cell::Bytes(_) => Kind::Bytes,
            Cell::Json(_) => Kind::Json,
        })
    }

    /// Returns the bytes of the cell in a column of text or bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Cell::Null => Vec::new(),
            Cell::Bool(flag) => flag.to_string().into_bytes(),
            Cell::Signed(n) => n.to_string().into_bytes(),
            Cell::Unsigned(n) => n.to_string().into_bytes(),
            Cell::Fraction(n) => format!("{n:?}").into_bytes(),
            Cell::Text(text) | Cell::Json(text) => text.into_bytes(),
            Cell::Bytes(bytes) => bytes,
        }
    }

    /// Returns about how much memory the cell takes.
    pub(super) fn size(&self) -> usize {
        size_of::<Cell>()
            + match self {
                Cell::Text(text) | Cell::Json(text) => text.len(),
                Cell::Bytes(bytes) => bytes.len(),
                _ => 0,
            }
    }
}

impl Kind {
    /// Returns the type that holds the cells of both.
    pub(super) fn or(self, other: Kind) -> Kind {
        use Kind::{Bytes, Fraction, Mixed, MixedBytes, Signed, Small};
        match (self, other) {
            (one, other) if one == other => one,
            (Small, Signed) | (Signed, Small) => Signed,
            (Small, Fraction) | (Fraction, Small) => Fraction,
            (Bytes | MixedBytes, _) | (_, Bytes | MixedBytes) => MixedBytes,
            _ => Mixed,
        }
    }
}

/// The columns of an export.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<Column>);

/// One column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// `None` if every cell so far is null.
    pub(super) kind: Option<Kind>,
    pub(super) has_null: bool,
}

impl Columns {
    /// Begins with these names, or without any.
    pub(crate) fn named(names: impl IntoIterator<Item = String>) -> Columns {
        let columns = names.into_iter().map(|name| Column { name, kind: None, has_null: false });
        Columns(columns.collect())
    }

    /// Whether no column is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|column| column.name.as_str())
    }

    pub(super) fn all(&self) -> &[Column] {
        &self.0
    }

    /// Takes the cells of a row into account, in the order of the columns.
    pub(crate) fn widen(&mut self, cells: &[Cell]) {
        for (column, cell) in self.0.iter_mut().zip(cells) {
            match (cell.kind(), column.kind) {
                (None, _) => column.has_null = true,
                (Some(kind), None) => column.kind = Some(kind),
                (Some(kind), Some(before)) => column.kind = Some(before.or(kind)),
            }
        }
    }
}

/// Returns whether the shortest text of a fraction has other digits than its text.
fn is_rounded(number: &serde_json::Number, raw: &str) -> bool {
    number.as_f64().is_some_and(|number| digits_of(&format!("{number:?}")) != digits_of(raw))
}

/// Returns the digits of a number, without its zeros at either end.
fn digits_of(number: &str) -> String {
    let significand = number.split(['e', 'E']).next().unwrap_or(number);
    let digits: String = significand.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}
