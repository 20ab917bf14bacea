//! Key columns, and the bytes of a key.
//!
//! ```text
//! one column        the bytes in the form of --key-format
//! several columns   their texts with the separator between: berlin/2026
//! a typed keyspace  the encoding of the types, a column for each field
//! ```
//!
//! Invariant: the columns of a key read back. So only the last column may have the separator in it.

use std::borrow::Cow;

use foldb_typed::schema::{KeyColumns, Schema};

use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, KeyFormat, counted};

/// How columns make a key.
#[derive(Clone, Debug)]
pub(crate) enum KeyShape {
    /// One column in this form.
    One(Form),
    /// Texts with a separator between.
    Joined {
        /// The number of columns.
        count: usize,
        /// What stands between two.
        separator: String,
    },
    /// The types of the keyspace.
    Typed(KeyColumns),
}

impl KeyShape {
    /// Returns the shape of keys with this number of columns.
    ///
    /// # Errors
    /// A usage error if the form or the types do not fit the number.
    pub(crate) fn of(
        count: usize,
        schema: Option<&Schema>,
        format: KeyFormat,
        separator: &str,
    ) -> Outcome<KeyShape> {
        let shape = match (schema, format) {
            (Some(schema), KeyFormat::Utf8 | KeyFormat::Typed) => {
                let columns = schema.key_columns()?;
                if columns.count() != count {
                    return Err(Exit::usage(format!(
                        "--key names {}, and the keys of the keyspace, {}, have {}",
                        counted(count as u64, "column"),
                        schema.keys,
                        columns.count()
                    )));
                }
                KeyShape::Typed(columns)
            }
            (None, KeyFormat::Typed) => {
                return Err(Exit::usage(
                    "--key-format typed needs a keyspace with typed keys, or --key-types",
                ));
            }
            (_, format) if count == 1 => KeyShape::One(format.into()),
            (_, KeyFormat::Utf8) if !separator.is_empty() => {
                KeyShape::Joined { count, separator: separator.to_owned() }
            }
            (_, KeyFormat::Utf8) => {
                return Err(Exit::usage(
                    "several key columns need a --separator that is not empty",
                ));
            }
            _ => return Err(Exit::usage("several key columns need --key-format utf8")),
        };
        Ok(shape)
    }

    /// Returns the key of these columns.
    ///
    /// # Errors
    /// A message that says which column is wrong.
    pub(crate) fn key(&self, cells: &[Cow<'_, [u8]>]) -> Result<Vec<u8>, String> {
        match self {
            KeyShape::One(form) => form.parse(&cells[0]).ok_or_else(|| {
                let (cell, name, expected) = (quoted(&cells[0]), form.name(), form.expected());
                format!("the key {cell} is not {name}: expected {expected}")
            }),
            KeyShape::Joined { separator, .. } => {
                let separator = separator.as_bytes();
                let key = cells.join(separator);
                // A column may also end with the beginning of a long separator.
                match self.cells(&key).is_ok_and(|back| cells == back) {
                    true => Ok(key),
                    false => Err(format!(
                        "the key {} does not tell its columns apart, because one of them has the \
                         separator {} in it (--separator)",
                        quoted(&key),
                        quoted(separator)
                    )),
                }
            }
            KeyShape::Typed(columns) => {
                let texts = cells.iter().map(|cell| std::str::from_utf8(cell));
                let texts = texts.collect::<Result<Vec<_>, _>>();
                let texts = texts.map_err(|_| "a key column is not UTF-8")?;
                columns.read(&texts).map_err(|error| error.to_string())
            }
        }
    }

    /// Returns the names of the columns where none are given: `key`, `key1` and so on, or the
    /// fields of a struct.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            KeyShape::Typed(columns) if columns.count() > 1 => (0..columns.count())
                .map(|at| columns.name(at).map_or_else(|| format!("key{}", at + 1), str::to_owned))
                .collect(),
            KeyShape::Joined { count, .. } => (1..=*count).map(|at| format!("key{at}")).collect(),
            KeyShape::One(_) | KeyShape::Typed(_) => vec!["key".to_owned()],
        }
    }

    /// Whether a column has whole numbers.
    pub(crate) fn is_integer(&self, column: usize) -> bool {
        matches!(self, KeyShape::Typed(columns) if columns.is_integer(column))
    }

    /// Returns the columns of a key.
    ///
    /// # Errors
    /// A message if the key does not have this shape.
    pub(crate) fn cells(&self, key: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        match self {
            KeyShape::One(form) => {
                let mut text = Vec::new();
                let written = form.show(key)?.write_plain(&mut text);
                written.map_err(|error| error.to_string())?;
                Ok(vec![text])
            }
            KeyShape::Joined { count, separator } => {
                let separator = separator.as_bytes();
                let (mut cells, mut rest) = (Vec::new(), key);
                while cells.len() + 1 < *count {
                    let at = find(rest, separator).ok_or_else(|| {
                        let parts = counted(cells.len() as u64 + 1, "part");
                        let separator = quoted(separator);
                        format!("has {parts} between {separator}, and --key names {count}")
                    })?;
                    cells.push(rest[..at].to_vec());
                    rest = &rest[at + separator.len()..];
                }
                cells.push(rest.to_vec());
                Ok(cells)
            }
            KeyShape::Typed(columns) => {
                let texts = columns.show(key).map_err(|error| error.to_string())?;
                Ok(texts.into_iter().map(String::into_bytes).collect())
            }
        }
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}
