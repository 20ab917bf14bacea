//! `export --to csv|jsonl|parquet`: entries become rows, in the order of the keys.
//!
//! Invariant: an entry that the rows cannot hold ends the export, and the file does not appear. So
//! an import of the file gives the same entries.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Instant;

use foldb::{Iter, ReadOptions};
use foldb_typed::schema::Schema;
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use crate::args::{Common, Export, Table};
#[cfg(feature = "parquet")]
use crate::command::export_parquet;
use crate::command::scan::{KeyRange, Walk, once};
use crate::command::typed::key_of;
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::form::{Form, KeyFormat, Shown, ValueFormat, counted, json as as_json};
use crate::interrupt::Watch;
use crate::keyspace::{DEFAULT, Shown as Opened};
use crate::output::{Output, key_in_message};
use crate::progress;
use crate::rows::{
    KeyShape, Layout, NOT_UTF8, StoredRow, Writer, csv_cell, key_field, split, stored_row,
};

/// Exports, and reports.
pub(super) fn run(args: &Export, layout: Layout, common: &Common) -> Outcome {
    layout.check_supported()?;
    let started = Instant::now();
    let name = args.keyspace.as_deref().unwrap_or(DEFAULT);
    let opened = Opened::open(&args.db, name, common.options())?;
    let mut rows = Rows::of(&args.rows.table, layout, &opened, common)?;
    let range = rows.range(args, common)?;
    let watch = Watch::start();
    let spinner = progress::spinner(
        "exporting",
        "{prefix} {spinner} {human_pos} entries, {per_sec}, {elapsed}",
    );
    let moment = ReadOptions { snapshot: Some(opened.db.snapshot()), ..once() };
    let walk = Walks { args, opened: &opened, moment, range, watch, spinner: spinner.clone() };
    let count = match layout {
        #[cfg(feature = "parquet")]
        Layout::Parquet => export_parquet::write(&rows, &walk)?,
        _ => {
            let mut writer = Writer::begin(&args.dst, layout)?;
            rows.begin(&mut writer)?;
            let count = walk.each(|entries| rows.write(&mut writer, entries))?;
            writer.finish()?;
            count
        }
    };
    spinner.finish_and_clear();
    opened.close()?;
    let is_file = args.dst.as_os_str() != "-";
    match (is_file, common.json) {
        (false, _) => Ok(()),
        (true, true) => {
            let mut output = Output::new();
            output.json(&json!({ "rows": integer(count) }))?;
            output.flush()
        }
        (true, false) => {
            let (rows, seconds) = (counted(count, "row"), started.elapsed().as_secs_f64());
            let _ = writeln!(io::stderr(), "exported {rows} in {seconds:.2} s");
            Ok(())
        }
    }
}

/// The entries that an export writes, in as many passes as its format takes.
pub(super) struct Walks<'a> {
    pub(super) args: &'a Export,
    opened: &'a Opened,
    /// One moment for all passes, so that an entry expires for none of them or for all.
    moment: ReadOptions,
    range: KeyRange,
    watch: Watch,
    spinner: ProgressBar,
}

impl Walks<'_> {
    /// Visits every entry, and returns how many there are. Every pass sees the same entries.
    pub(super) fn each(&self, mut visit: impl FnMut(&Iter) -> Outcome) -> Outcome<u64> {
        let keyspace = self.opened.keyspace.with(&self.moment);
        let bounds = self.range.clone().bounds_in(&self.opened.keyspace)?;
        let entries = keyspace.range(bounds)?;
        let (reverse, limit) = (self.args.rows.reverse, self.args.rows.limit.unwrap_or(u64::MAX));
        let mut count = 0;
        Walk { entries, reverse, limit }.each(|entries| {
            visit(entries)?;
            count += 1;
            self.spinner.set_position(count);
            match self.watch.interrupted() {
                true => {
                    Err(Exit::Interrupted("interrupted; an unfinished file is removed".to_owned()))
                }
                false => Ok(()),
            }
        })?;
        Ok(count)
    }
}

/// How entries become rows.
pub(super) struct Rows {
    is_csv: bool,
    pub(super) keys: KeyShape,
    pub(super) key_names: Vec<String>,
    pub(super) value_name: String,
    /// Whether each value is a whole row.
    pub(super) is_stored: bool,
    /// The columns of stored rows; the first row has them.
    header: Option<Vec<String>>,
    schema: Option<Schema>,
    pub(super) key_form: Form,
    form: Form,
    /// Whether a value that does not fit the form is text.
    or_text: bool,
    has_header: bool,
}

impl Rows {
    fn of(table: &Table, layout: Layout, opened: &Opened, common: &Common) -> Outcome<Rows> {
        let schema = opened.keyspace.schema().and_then(Schema::parse);
        let schema =
            schema.filter(|_| matches!(common.key_format, KeyFormat::Utf8 | KeyFormat::Typed));
        let given = table.key.as_deref().map(|names| split("--key", names)).transpose()?;
        let count = match (&given, &schema) {
            (Some(names), _) => names.len(),
            (None, Some(schema)) => schema.key_columns()?.count(),
            (None, None) => 1,
        };
        let keys = KeyShape::of(count, schema.as_ref(), common.key_format, &table.separator)?;
        let value_name = table.value.clone().unwrap_or_else(|| "value".to_owned());
        let key_names = given.unwrap_or_else(|| keys.names());
        if key_names.contains(&value_name) {
            return Err(Exit::usage(format!("--value names the key column '{value_name}'")));
        }
        Ok(Rows {
            is_csv: matches!(layout, Layout::Csv { .. }),
            keys,
            key_names,
            is_stored: table.value.as_deref() == Some("json"),
            value_name,
            header: None,
            schema,
            key_form: common.key_form(),
            form: common.value_format.resolve(opened.operator_text()),
            or_text: common.value_format == ValueFormat::Auto,
            has_header: !table.no_header,
        })
    }

    fn range(&self, args: &Export, common: &Common) -> Outcome<KeyRange> {
        let rows = &args.rows;
        if self.schema.is_some() && rows.prefix.is_some() {
            return Err(Exit::usage("--prefix takes bytes, and the keys have types (--start)"));
        }
        let types = self.schema.as_ref();
        let bound =
            |text: &Option<_>| text.as_deref().map(|text| key_of(text, common, types)).transpose();
        let prefix = bound(&rows.prefix)?.unwrap_or_default();
        Ok(KeyRange::new(bound(&rows.start)?, bound(&rows.end)?, prefix))
    }

    /// Writes the header, unless the first stored row has it.
    fn begin(&self, writer: &mut Writer) -> Outcome {
        if self.is_stored {
            return Ok(());
        }
        let names = self.key_names.iter().chain([&self.value_name]);
        writer.header(&names.collect::<Vec<_>>())
    }

    fn write(&mut self, writer: &mut Writer, entries: &Iter) -> Outcome {
        let key = entries.key();
        let form = self.key_form;
        let failed = |why: String| Exit::failed(format!("{} {why}", key_in_message(form, key)));
        let value = entries.value().map_err(|error| failed(format!("cannot be read: {error}")))?;
        match (self.is_stored, self.is_csv) {
            (true, true) => {
                let cells = self.stored(writer, value).map_err(|why| match why {
                    Stored::Row(why) => failed(why),
                    Stored::Exit(exit) => exit,
                })?;
                writer.csv(&cells)
            }
            (true, false) => {
                stored_row(value).map_err(failed)?;
                // A line end in JSON is a space between two of its parts.
                let line: Vec<u8> = value
                    .iter()
                    .map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte })
                    .collect();
                writer.line(&line)
            }
            (false, true) => {
                let mut cells = self.keys.cells(key).map_err(failed)?;
                if cells.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
                    return Err(failed(format!("{NOT_UTF8} (--key-format)")));
                }
                let value = self.shown(value).and_then(csv_cell);
                cells.push(value.map_err(|why| failed(format!("has a value that {why} (--as)")))?);
                writer.csv(&cells)
            }
            (false, false) => {
                let cells = self.keys.cells(key).map_err(failed)?;
                let value =
                    self.shown(value).map_err(|why| failed(format!("has a value that {why}")))?;
                let mut fields = Map::new();
                for (at, (name, cell)) in self.key_names.iter().zip(&cells).enumerate() {
                    fields.insert(name.clone(), key_field(cell, self.keys.is_integer(at)));
                }
                fields.insert(self.value_name.clone(), as_json::value(value));
                writer.line(Value::Object(fields).to_string().as_bytes())
            }
        }
    }

    pub(super) fn shown<'v>(&self, value: &'v [u8]) -> Result<Shown<'v>, String> {
        let shown = self.form.show(value);
        if self.or_text { shown.or_else(|_| Form::Utf8.show(value)) } else { shown }
    }

    /// Returns the cells of a stored row. The first row writes the header.
    fn stored(&mut self, writer: &mut Writer, value: &[u8]) -> Result<Vec<Vec<u8>>, Stored> {
        let StoredRow { names, cells } = stored_row(value).map_err(Stored::Row)?;
        let names = match (names, self.has_header) {
            (Some(names), _) => Some(names),
            (None, false) => None,
            (None, true) => {
                let why = "has a row without names of columns (--no-header)";
                return Err(Stored::Row(why.to_owned()));
            }
        };
        match (&self.header, names) {
            (None, Some(names)) => {
                writer.header(&names).map_err(Stored::Exit)?;
                self.header = Some(names);
            }
            (Some(header), Some(names)) if *header != names => {
                let (names, header): (Cow<'_, str>, _) = (names.join(",").into(), header.join(","));
                return Err(Stored::Row(format!(
                    "has the columns {names}, and the first row has {header}"
                )));
            }
            _ => {}
        }
        Ok(cells)
    }
}

/// Why a stored row was not written.
enum Stored {
    Row(String),
    Exit(Exit),
}
