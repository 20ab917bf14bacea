//! `import --from csv|jsonl|parquet`: rows become entries.
//!
//! Invariant: the database holds the first N rows of the file, without those that were rejected.
//! Every message about an import that ends early tells N. A batch is one atomic write, so a kill
//! leaves a whole number of batches.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Instant;

use foldb::WriteBatch;
use foldb::expiry::Expires;
use foldb::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use indicatif::{HumanCount, ProgressBar};
use serde_json::json;

use crate::args::{Common, Import, ImportRows};
use crate::command::import_target::Target;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::form::{Form, counted};
use crate::interrupt::Watch;
use crate::operator::OperandText;
use crate::output::Output;
use crate::rows::{Column, KeyShape, Layout, Raw, Reader, Rejected, Row, name_of, split};

/// Most rows in a batch.
const BATCH_ROWS: u64 = 4096;
/// Bytes of keys and values that fill a batch.
const BATCH_BYTES: usize = 1 << 20;

/// Imports, and reports.
pub(super) fn run(args: &Import, layout: Layout, common: &Common) -> Outcome {
    if !args.operator.is_empty() {
        return Err(Exit::usage(
            "--operator is for --from leveldb and rocksdb: rows are merged with --merge OP",
        ));
    }
    args.check_not_of_rocksdb()?;
    let rows = &args.rows;
    let names = rows.table.key.as_deref();
    let names = names.ok_or_else(|| Exit::usage("--key is missing: it names the key's columns"))?;
    let names = split("--key", names)?;
    layout.check_supported()?;
    let target = Target::find(args, names.len(), common)?;
    let separator = &rows.table.separator;
    let keys = KeyShape::of(names.len(), target.schema(), common.key_format, separator)?;
    let watch = Watch::start();
    let started = Instant::now();
    let only = only(rows, &names);
    let (reader, bar) = Reader::open(&args.src, layout, only.as_deref(), &watch)?;
    let key = names.iter().map(|name| reader.column(name)).collect::<Outcome<_>>()?;
    let value = value_of(rows, &reader, &target, common)?;
    let rejected = match &rows.rejected {
        Some(file) => Some(Rejected::begin(file, layout, reader.header())?),
        None => None,
    };
    let mut import = Importing {
        most_rejected: rows.max_rejected.unwrap_or(if rejected.is_some() { u64::MAX } else { 0 }),
        name: name_of(&args.src),
        entries: Entries { key, keys, value },
        target,
        batch: WriteBatch::new(),
        batch_bytes: 0,
        expires: rows.ends.expires,
        bar,
        rejected,
        tally: Tally::default(),
    };
    let done = import.all(reader, rows.skip.unwrap_or(0));
    import.bar.finish_and_clear();
    let kept = import.rejected.take().map_or(Ok(()), Rejected::finish);
    done?;
    kept?;
    let created = import.target.created().map(str::to_owned);
    import.target.close()?;
    import.tally.report(started, created.as_deref(), common)
}

/// Returns the columns that the import reads, unless it keeps whole rows.
fn only<'n>(rows: &'n ImportRows, key: &'n [String]) -> Option<Vec<&'n str>> {
    let value = match (rows.table.value.as_deref(), &rows.merge) {
        (Some("json"), _) | (None, None) => return None,
        (value, _) => value,
    };
    let names = key.iter().map(String::as_str).chain(value);
    rows.rejected.is_none().then(|| names.collect())
}

/// Returns where values come from.
fn value_of(
    rows: &ImportRows,
    reader: &Reader<'_>,
    target: &Target,
    common: &Common,
) -> Outcome<Value> {
    let column = match rows.table.value.as_deref() {
        None => None,
        Some("json") => Some(Origin::Row),
        Some(name) => Some(Origin::Column(reader.column(name)?)),
    };
    if let Some(operands) = target.operands(common.value_format)? {
        return match column {
            Some(from) => Ok(Value::Operand(from, operands)),
            None if operands.counts() => Ok(Value::One(operands.one().map_err(Exit::Failed)?)),
            None => Err(Exit::usage("this operator does not count: --value names its operands")),
        };
    }
    let form = common.value_format.resolve(target.operator_text());
    if form.shows_summary() {
        let name = form.name();
        return Err(Exit::usage(format!(
            "{name} values are no text: merge samples with --merge {name}, or give --as hex"
        )));
    }
    match column.unwrap_or(Origin::Row) {
        Origin::Row if form != Form::Utf8 => {
            Err(Exit::usage(format!("a whole row as JSON does not fit {}", form.name())))
        }
        from => Ok(Value::Put(from, form)),
    }
}

/// Where a value or operand comes from.
enum Origin {
    Column(Column),
    /// The whole row as JSON.
    Row,
}

impl Origin {
    fn column(&self) -> Option<&Column> {
        match self {
            Origin::Column(column) => Some(column),
            Origin::Row => None,
        }
    }
}

/// What becomes of a row.
enum Value {
    /// A put in this form.
    Put(Origin, Form),
    /// A merge.
    Operand(Origin, OperandText),
    /// A merge of this operand.
    One(Vec<u8>),
}

/// How rows become entries.
struct Entries {
    key: Vec<Column>,
    keys: KeyShape,
    value: Value,
}

impl Entries {
    /// Returns the key and the value or operand of a row.
    ///
    /// # Errors
    /// A message that says what is wrong with the row.
    fn entry(&self, row: &Row<'_>) -> Result<(Vec<u8>, Vec<u8>), String> {
        let mut cells = Vec::with_capacity(self.key.len());
        for column in &self.key {
            let cell = row.cell(column)?;
            let bytes = cell.key_bytes().map_err(|why| format!("'{}': {why}", column.name))?;
            if bytes.is_empty() {
                return Err(format!("the key column '{}' is empty", column.name));
            }
            cells.push(Cow::Owned(bytes.into_owned()));
        }
        let key = self.keys.key(&cells)?;
        let value = self.value_of(row)?;
        if key.len() > MAX_KEY_BYTES || value.len() > MAX_VALUE_BYTES {
            return Err(format!(
                "a key has at most {MAX_KEY_BYTES} bytes and a value {MAX_VALUE_BYTES}, and these \
                 have {} and {}",
                key.len(),
                value.len()
            ));
        }
        Ok((key, value))
    }

    fn value_of(&self, row: &Row<'_>) -> Result<Vec<u8>, String> {
        let named = |from: &Origin, why: String| match from.column() {
            Some(column) => format!("'{}': {why}", column.name),
            None => why,
        };
        match &self.value {
            Value::One(one) => Ok(one.clone()),
            Value::Put(from, form) => match from.column() {
                None => Ok(row.to_json()),
                Some(column) => row.cell(column)?.value(*form).map_err(|why| named(from, why)),
            },
            Value::Operand(from, operands) => {
                let text = match from.column() {
                    None => row.to_json(),
                    Some(column) => row.cell(column)?.operand_text(),
                };
                operands.parse(&text).map_err(|why| named(from, why))
            }
        }
    }
}

/// The state of an import.
struct Importing {
    most_rejected: u64,
    name: String,
    entries: Entries,
    target: Target,
    batch: WriteBatch,
    batch_bytes: usize,
    expires: Option<Expires>,
    bar: ProgressBar,
    rejected: Option<Rejected>,
    tally: Tally,
}

/// Counts rows.
#[derive(Default)]
struct Tally {
    /// Rows that were passed over.
    skipped: u64,
    /// Rows that were read, skipped and rejected ones included.
    read: u64,
    /// How many rows were read when the last batch was written.
    committed: u64,
    rejected: u64,
    /// Where the first rejected row is, as `line` 3, and why.
    first: Option<(&'static str, u64, String)>,
}

impl Importing {
    fn all(&mut self, mut reader: Reader<'_>, skip: u64) -> Outcome {
        let done = self.rows(&mut reader, skip);
        // The rows before the one that ended the import are written too.
        let committed = self.commit().and_then(|()| match &done {
            Ok(()) => self.target.sync(),
            Err(_) => self.target.sync_if_open(),
        });
        let kept = |why: Exit| why.and(&self.tally.kept());
        done.map_err(kept).and(committed.map_err(kept))
    }

    fn rows(&mut self, reader: &mut Reader<'_>, skip: u64) -> Outcome {
        let mut raw = None;
        while let Some(read) = reader.read(raw.take())? {
            if self.tally.read < skip {
                self.tally.read += 1;
                self.tally.skipped += 1;
            } else {
                let entry = reader.row(&read).and_then(|row| self.entries.entry(&row));
                match entry {
                    Ok((key, value)) => self.add(&key, &value)?,
                    Err(why) => self.reject(reader, why, &read)?,
                }
                self.tally.read += 1;
                if self.tally.read - self.tally.committed >= BATCH_ROWS
                    || self.batch_bytes >= BATCH_BYTES
                {
                    self.commit()?;
                    self.show_progress();
                }
            }
            raw = Some(read);
        }
        match self.tally.read < skip {
            true => Err(Exit::failed(format!(
                "{} has {} rows, fewer than --skip {skip}",
                self.name, self.tally.read
            ))),
            false => Ok(()),
        }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        self.target.add(&mut self.batch, self.expires, key, value)?;
        self.batch_bytes += key.len() + value.len();
        Ok(())
    }

    fn reject(&mut self, reader: &Reader<'_>, why: String, raw: &Raw) -> Outcome {
        let (unit, line) = (reader.unit(), reader.line());
        if self.tally.rejected == self.most_rejected {
            let before = match self.tally.rejected {
                0 => String::new(),
                more => format!(" ({} rejected before it)", counted(more, "row")),
            };
            return Err(Exit::failed(format!("{} {unit} {line}: {why}{before}", self.name)));
        }
        self.tally.rejected += 1;
        self.tally.first.get_or_insert((unit, line, why));
        self.rejected.as_mut().map_or(Ok(()), |file| file.add(raw))
    }

    /// Writes the batch.
    fn commit(&mut self) -> Outcome {
        if !self.batch.is_empty() {
            self.target.write(&self.batch)?;
            self.batch.clear();
            self.batch_bytes = 0;
        }
        self.tally.committed = self.tally.read;
        Ok(())
    }

    fn show_progress(&self) {
        if !self.bar.is_hidden() {
            self.bar.set_message(HumanCount(self.tally.read).to_string());
        }
    }
}

impl Tally {
    /// Says which rows are in the database, as the end of a message.
    fn kept(&self) -> String {
        match self.committed {
            0 => "; no row is in the database".to_owned(),
            rows => {
                let first = match rows {
                    1 => "the first row is".to_owned(),
                    more => format!("the first {} rows are", HumanCount(more)),
                };
                let rejected = match self.rejected {
                    0 => String::new(),
                    more => format!(", except for {} rejected", HumanCount(more)),
                };
                format!("; {first} in the database{rejected} (--skip {rows} goes on)")
            }
        }
    }

    /// Prints the numbers, and the keyspace that the import created.
    fn report(&self, started: Instant, created: Option<&str>, common: &Common) -> Outcome {
        let imported = self.read - self.skipped - self.rejected;
        let seconds = started.elapsed().as_secs_f64();
        if common.json {
            let first = self.first.as_ref();
            let first =
                first.map(|(unit, line, why)| json!({ (*unit): integer(*line), "why": why }));
            let mut output = Output::new();
            output.json(&json!({
                "imported": integer(imported),
                "rejected": integer(self.rejected),
                "skipped": integer(self.skipped),
                "first_rejected": first,
                "created_keyspace": created,
            }))?;
            output.flush()?;
        }
        let into = match created {
            Some(name) => format!(" into the new keyspace {}", quoted(name.as_bytes())),
            None => String::new(),
        };
        if let Some((unit, line, why)) = &self.first {
            return Err(Exit::Partial(format!(
                "{} imported{into}, {} rejected; the first: {unit} {line}: {why}",
                counted(imported, "row"),
                HumanCount(self.rejected)
            )));
        }
        if !common.json {
            let rate = imported as f64 / seconds.max(1e-3);
            let _ = writeln!(
                io::stderr(),
                "{} imported{into} in {seconds:.2} s, {} a second",
                counted(imported, "row"),
                HumanCount(rate as u64)
            );
        }
        Ok(())
    }
}
