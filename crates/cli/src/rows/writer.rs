//! Rows written from entries, and rows kept aside.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::exit::{Exit, Outcome};
use crate::form::{Shown, json};
use crate::rows::sink::{Sink, write_failed};
use crate::rows::{Layout, Raw};

/// Bytes that are written at once.
const BUFFER: usize = 128 << 10;

/// Writes rows.
pub(crate) struct Writer {
    out: Rows,
    /// The file in messages; nothing for standard output.
    name: Option<String>,
}

enum Rows {
    Csv { rows: Box<csv::Writer<Sink>>, header: bool },
    Json(BufWriter<Sink>),
}

impl Writer {
    /// Begins a file, or standard output if it is `-`. Rows of Parquet become lines of JSON here.
    ///
    /// # Errors
    /// As [`Sink::begin`].
    pub(crate) fn begin(file: &Path, layout: Layout) -> Outcome<Writer> {
        let (sink, name) = Sink::begin(file)?;
        let out = match layout {
            Layout::Csv { delimiter, header } => {
                let mut builder = csv::WriterBuilder::new();
                builder.delimiter(delimiter).flexible(true).buffer_capacity(BUFFER);
                Rows::Csv { rows: Box::new(builder.from_writer(sink)), header }
            }
            Layout::Json | Layout::Parquet => Rows::Json(BufWriter::with_capacity(BUFFER, sink)),
        };
        Ok(Writer { out, name })
    }

    /// Writes the names of the columns, if the layout has a header.
    pub(crate) fn header(&mut self, names: &[impl AsRef<[u8]>]) -> Outcome {
        match self.out {
            Rows::Csv { header: true, .. } => self.csv(names),
            _ => Ok(()),
        }
    }

    /// Writes a row of CSV.
    pub(crate) fn csv(&mut self, cells: &[impl AsRef<[u8]>]) -> Outcome {
        let Rows::Csv { rows, .. } = &mut self.out else { return Ok(()) };
        let done = rows.write_record(cells);
        done.map_err(|error| match error.into_kind() {
            // A closed pipe must stay one.
            csv::ErrorKind::Io(error) => self.failed(error),
            other => Exit::failed(format!("a row of CSV: {other:?}")),
        })
    }

    /// Writes a line of JSON.
    pub(crate) fn line(&mut self, line: &[u8]) -> Outcome {
        let Rows::Json(out) = &mut self.out else { return Ok(()) };
        let done = out.write_all(line).and_then(|()| out.write_all(b"\n"));
        done.map_err(|error| self.failed(error))
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Outcome {
        let flushed = match &mut self.out {
            Rows::Csv { rows, .. } => rows.flush(),
            Rows::Json(out) => out.flush(),
        };
        flushed.map_err(|error| self.failed(error))?;
        let of_buffer = |error: &dyn std::fmt::Display| Exit::failed(error.to_string());
        let sink = match self.out {
            Rows::Csv { rows, .. } => rows.into_inner().map_err(|error| of_buffer(&error))?,
            Rows::Json(out) => out.into_inner().map_err(|error| of_buffer(&error))?,
        };
        sink.finish()
    }

    fn failed(&self, error: io::Error) -> Exit {
        write_failed(self.name.as_deref(), &error)
    }
}

/// Rows that an import kept aside, in a file of the same layout; those of Parquet as JSON lines.
pub(crate) struct Rejected(Writer);

impl Rejected {
    /// Begins the file with the header of the input.
    ///
    /// # Errors
    /// As [`Writer::begin`].
    pub(crate) fn begin(file: &Path, layout: Layout, header: Option<&[String]>) -> Outcome<Self> {
        let mut writer = Writer::begin(file, layout)?;
        if let Some(header) = header {
            writer.header(header)?;
        }
        Ok(Rejected(writer))
    }

    /// Keeps a row.
    pub(crate) fn add(&mut self, raw: &Raw) -> Outcome {
        match raw {
            Raw::Csv(record) => self.0.csv(&record.iter().collect::<Vec<_>>()),
            Raw::Json(line) => self.0.line(line),
        }
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Outcome {
        self.0.finish()
    }
}

/// Returns the cell of CSV for a value.
///
/// # Errors
/// A message if the value is text that is not UTF-8.
pub(crate) fn csv_cell(value: Shown<'_>) -> Result<Vec<u8>, String> {
    let mut cell = Vec::new();
    let written = match value {
        Shown::Text(bytes) => {
            std::str::from_utf8(bytes).map_err(|_| NOT_UTF8)?;
            cell.write_all(bytes)
        }
        other => other.write_escaped(&mut cell),
    };
    written.map_err(|error| error.to_string())?;
    Ok(cell)
}

/// Why bytes are no cell of CSV.
pub(crate) const NOT_UTF8: &str = "is not UTF-8, which CSV needs: use hex or base64";

/// Returns the field of JSON for a column of a key.
pub(crate) fn key_field(cell: &[u8], is_integer: bool) -> Value {
    let number = std::str::from_utf8(cell).ok().filter(|_| is_integer);
    match number.and_then(|text| text.parse::<i64>().ok()) {
        Some(number) => json::signed(number.into()),
        None => json::value(Shown::Text(cell)),
    }
}

/// The cells of a row that `--value json` stored.
pub(crate) struct StoredRow {
    /// The names of the columns: those of an object. An array has none.
    pub names: Option<Vec<String>>,
    /// The cells, as text.
    pub cells: Vec<Vec<u8>>,
}

/// Reads a stored row.
///
/// # Errors
/// A message if the value is no such JSON.
pub(crate) fn stored_row(value: &[u8]) -> Result<StoredRow, String> {
    let is_no_row = |_| "is not a row that --value json stored".to_owned();
    let text = |raw: &RawValue| match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => text.into_bytes(),
        Err(_) if raw.get() == "null" => Vec::new(),
        Err(_) => raw.get().as_bytes().to_vec(),
    };
    if value.trim_ascii_start().starts_with(b"[") {
        let cells: Vec<&RawValue> = serde_json::from_slice(value).map_err(is_no_row)?;
        return Ok(StoredRow { names: None, cells: cells.into_iter().map(text).collect() });
    }
    let raw = Raw::Json(value.to_vec());
    match super::Row::parse(&raw, &[], true)? {
        super::Row::Json { fields, .. } => {
            let (names, cells) = fields.into_iter().map(|(name, raw)| (name, text(raw))).unzip();
            Ok(StoredRow { names: Some(names), cells })
        }
        super::Row::Csv { .. } => Err("is not a row".to_owned()),
    }
}

/// Returns the fields of a stored row as they are written. Those of an array have numbers from 1.
///
/// # Errors
/// A message if the value is no such JSON, or names a column twice.
#[cfg(feature = "parquet")]
pub(crate) fn stored_fields(value: &[u8]) -> Result<Vec<(String, String)>, String> {
    let is_no_row = |_| "is not a row that --value json stored".to_owned();
    if value.trim_ascii_start().starts_with(b"[") {
        let cells: Vec<&RawValue> = serde_json::from_slice(value).map_err(is_no_row)?;
        let numbered = cells.iter().enumerate();
        return Ok(numbered
            .map(|(at, raw)| ((at + 1).to_string(), raw.get().to_owned()))
            .collect());
    }
    let raw = Raw::Json(value.to_vec());
    let super::Row::Json { fields, .. } = super::Row::parse(&raw, &[], true)? else {
        return Err("is not a row".to_owned());
    };
    for (at, (name, _)) in fields.iter().enumerate() {
        if fields[..at].iter().any(|(before, _)| before == name) {
            return Err(format!("has the column '{name}' twice"));
        }
    }
    Ok(fields.into_iter().map(|(name, raw)| (name, raw.get().to_owned())).collect())
}
