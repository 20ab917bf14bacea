//! One row and its cells.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::form::{Form, counted, json};
use crate::rows::Raw;

/// A column: its name, and its place in a row of CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The name, or the number if there is no header.
    pub name: String,
    /// The place in a row of CSV, from 0.
    pub at: usize,
}

/// A row whose form was checked.
#[derive(Debug)]
pub(crate) enum Row<'a> {
    /// A row of CSV with its header.
    Csv {
        /// The cells, as many as the header has.
        cells: Vec<&'a str>,
        /// The names of the columns, or their numbers.
        header: &'a [String],
        /// Whether the file names its columns.
        is_named: bool,
    },
    /// A JSON object.
    Json {
        /// The object as it is written.
        text: &'a str,
        /// Its fields, in order.
        fields: Vec<(String, &'a RawValue)>,
    },
}

/// A cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// JSON that is no text.
    Json(&'a str),
}

impl<'a> Row<'a> {
    /// Checks the form of a row.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub(super) fn parse(
        raw: &'a Raw,
        header: &'a [String],
        is_named: bool,
    ) -> Result<Row<'a>, String> {
        match raw {
            Raw::Csv(record) => {
                let cells: Result<Vec<_>, _> = record.iter().map(std::str::from_utf8).collect();
                let cells = cells.map_err(|_| "the row is not UTF-8")?;
                if cells.len() != header.len() {
                    let (found, expected) = (counted(cells.len() as u64, "column"), header.len());
                    let of = if is_named { "the header" } else { "the first row" };
                    return Err(format!("the row has {found}, and {of} has {expected}"));
                }
                Ok(Row::Csv { cells, header, is_named })
            }
            Raw::Json(line) => {
                let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8")?;
                let mut parser = serde_json::Deserializer::from_str(text);
                let fields = parser.deserialize_map(Fields).and_then(|fields| {
                    parser.end()?;
                    Ok(fields)
                });
                let fields = fields.map_err(|error| {
                    let (why, column) = (error.to_string(), error.column());
                    let why = why.split(" at line ").next().unwrap_or_default();
                    format!("expected a JSON object, but column {column} is wrong: {why}")
                })?;
                Ok(Row::Json { text, fields })
            }
        }
    }

    /// Returns the cell of a column.
    ///
    /// # Errors
    /// A message if an object lacks the field, has it twice, or has null.
    pub(crate) fn cell(&self, column: &Column) -> Result<Cell<'_>, String> {
        let name = &column.name;
        match self {
            Row::Csv { cells, .. } => Ok(Cell::Text(Cow::Borrowed(cells[column.at]))),
            Row::Json { fields, .. } => {
                let mut found = fields.iter().filter(|(field, _)| field == name);
                let (_, value) =
                    found.next().ok_or_else(|| format!("there is no field '{name}'"))?;
                if found.next().is_some() {
                    return Err(format!("the field '{name}' is there twice"));
                }
                let raw = value.get();
                if raw.starts_with('"') {
                    let text = serde_json::from_str::<String>(raw);
                    let text = text.map_err(|error| format!("the field '{name}': {error}"))?;
                    return Ok(Cell::Text(Cow::Owned(text)));
                }
                match raw {
                    "null" => Err(format!("the field '{name}' is null")),
                    raw => Ok(Cell::Json(raw)),
                }
            }
        }
    }

    /// Returns the whole row as JSON: that of JSON lines as it is written; an object of texts for
    /// CSV with a header, and an array of texts without one.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        match self {
            Row::Json { text, .. } => text.trim().as_bytes().to_vec(),
            Row::Csv { cells, header, is_named: true } => {
                let named = header.iter().zip(cells);
                let fields = named.map(|(name, cell)| (name.clone(), Value::from(*cell)));
                Value::Object(fields.collect()).to_string().into_bytes()
            }
            Row::Csv { cells, .. } => Value::from(cells.clone()).to_string().into_bytes(),
        }
    }
}

impl Cell<'_> {
    /// Returns the cell as text for a key: numbers and flags as they are written.
    ///
    /// # Errors
    /// A message for an array, or an object that is no `{"base64":…}`.
    pub(crate) fn key_bytes(&self) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Cell::Text(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Cell::Json(raw) if !raw.starts_with(['{', '[']) => Ok(Cow::Borrowed(raw.as_bytes())),
            Cell::Json(raw) => base64(raw)
                .map(Cow::Owned)
                .ok_or_else(|| "expected a text or a number, found an array or object".to_owned()),
        }
    }

    /// Returns the bytes of a value in this form.
    ///
    /// # Errors
    /// A message if the cell does not have the form.
    pub(crate) fn value(&self, form: Form) -> Result<Vec<u8>, String> {
        match (form, self) {
            (Form::Utf8, cell) => Ok(cell.operand_text()),
            (form, Cell::Text(text)) => form.parse_escaped(text.as_bytes()).map(Cow::into_owned),
            (form, Cell::Json(raw)) => {
                let value =
                    serde_json::from_str::<Value>(raw).map_err(|error| error.to_string())?;
                json::parse(form, &value)
            }
        }
    }

    /// Returns the text of an operand: that of a text, the bytes of `{"base64":…}`, and other JSON
    /// as it is written.
    pub(crate) fn operand_text(&self) -> Vec<u8> {
        match self {
            Cell::Text(text) => text.as_bytes().to_vec(),
            Cell::Json(raw) => base64(raw).unwrap_or_else(|| raw.as_bytes().to_vec()),
        }
    }
}

/// Returns the bytes of `{"base64":…}`.
fn base64(raw: &str) -> Option<Vec<u8>> {
    let object = raw.starts_with('{').then(|| serde_json::from_str::<Value>(raw).ok())??;
    json::text(&object)
}

/// Reads the fields of an object in order, those of one name too.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}
