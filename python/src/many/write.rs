//! Writes of whole columns, in batches.

use foldb::expiry::Expires;
use foldb::{Db, Keyspace, WriteBatch, WriteOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::arrow::Arrays;
use super::cell::Form;
use super::groups::{Groups, Together};
use super::rows::Rows;
use super::source::{Source, forms_of, split};
use crate::buffers::Numbers;
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::reader::Reader;

/// Most writes of one batch, and about its most bytes.
const MOST_WRITES: usize = 10_000;
const MOST_BYTES: usize = 1 << 20;

/// What happens to the rows.
#[derive(Clone, Copy)]
pub(crate) enum Verb {
    Put,
    Merge,
    /// Merges whose operands of one key become one.
    MergeTogether(Together),
}

/// Writes rows of keys and values to a keyspace.
struct Writer<'a> {
    db: &'a Db,
    keyspace: &'a Keyspace,
    options: WriteOptions,
    /// A batch says itself when its writes expire.
    expires: Option<Expires>,
    verb: Verb,
    batch: WriteBatch,
    groups: Option<Groups>,
    /// Rows that were written or wait for others of their keys.
    written: u64,
    /// Rows that are certainly written.
    safe: u64,
}

/// What is written where.
pub(crate) struct Columns<'a, 'py> {
    pub(crate) reader: &'a Reader,
    pub(crate) keys: &'a Bound<'py, PyAny>,
    /// `None` if `keys` is a frame whose last column has the values, or a mapping.
    pub(crate) values: Option<&'a Bound<'py, PyAny>>,
    /// The argument of the values, for errors.
    pub(crate) name: &'static str,
    /// The form of the values, if it is not that of the keyspace.
    pub(crate) form: Option<Form>,
}

/// Writes columns, and returns the number of rows.
pub(crate) fn write(
    py: Python<'_>,
    columns: &Columns<'_, '_>,
    verb: Verb,
    options: WriteOptions,
) -> PyResult<u64> {
    let reader = columns.reader;
    let groups = match verb {
        Verb::MergeTogether(together) => Some(Groups::new(together)),
        Verb::Put | Verb::Merge => None,
    };
    let is_synced = options.sync;
    let mut writer = Writer {
        db: reader.db()?,
        keyspace: reader.live()?,
        // One sync at the end holds all batches.
        options: WriteOptions { sync: false, expires: None, ..options },
        expires: options.expires,
        verb,
        batch: WriteBatch::new(),
        groups,
        written: 0,
        safe: 0,
    };
    let read = writer.all(py, columns);
    // What came before a mistake is written, whether or not it waits for others of its keys.
    if let Err(error) = writer.flush(py).and(read) {
        error.value(py).setattr("rows_written", writer.safe)?;
        return Err(error);
    }
    if is_synced {
        py.unlocked(|| writer.db.sync()).map_err(raise)?;
    }
    Ok(writer.written)
}

impl Writer<'_> {
    fn all(&mut self, py: Python<'_>, columns: &Columns<'_, '_>) -> PyResult<()> {
        let Columns { reader, keys, values, name, form } = *columns;
        let numbers = reader.numbers;
        if let Some(values) = values {
            let keys = Source::of_keys(keys, &reader.keys, "keys")?;
            return self.zip(py, keys, Source::of_values(values, numbers, form, name)?, name);
        }
        let Some(mut arrays) = Arrays::of(keys)? else {
            if keys.hasattr("keys")? && keys.getattr("items").is_ok_and(|own| own.is_callable()) {
                return self.pairs(py, columns, &keys.call_method0("items")?);
            }
            return Err(PyTypeError::new_err(format!(
                "{name}: expected a column beside the keys, or a frame or a mapping of both"
            )));
        };
        let forms = forms_of(&reader.keys);
        while let Some(array) = arrays.next(py)? {
            let (key, value) = split(&array, forms.len(), name)?;
            let keys = Source::of_arrays(key, forms.clone(), "keys");
            let form = form.unwrap_or(Form::Value(numbers));
            self.zip(py, keys, Source::of_arrays(value, vec![form], name), name)?;
        }
        Ok(())
    }

    /// Writes the pairs of a mapping, all of one moment.
    fn pairs(
        &mut self,
        py: Python<'_>,
        columns: &Columns<'_, '_>,
        pairs: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let Columns { reader, name, form, .. } = *columns;
        let mut pairs = pairs.try_iter()?;
        loop {
            let (keys, values) = (PyList::empty(py), PyList::empty(py));
            for pair in pairs.by_ref().take(MOST_WRITES) {
                let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
                keys.append(key)?;
                values.append(value)?;
            }
            if keys.is_empty() {
                return Ok(());
            }
            let keys = Source::of_keys(keys.as_any(), &reader.keys, "keys")?;
            let values = Source::of_values(values.as_any(), reader.numbers, form, name)?;
            self.zip(py, keys, values, name)?;
        }
    }

    /// Writes the rows of two columns of one length.
    fn zip(
        &mut self,
        py: Python<'_>,
        mut keys: Source<'_>,
        mut values: Source<'_>,
        name: &str,
    ) -> PyResult<()> {
        let (mut key_rows, mut value_rows) = (Rows::default(), Rows::default());
        loop {
            key_rows.clear();
            let filled = keys.fill(py, MOST_WRITES, &mut key_rows)?;
            let mut next = 0;
            // The values of one batch may be too large for one.
            while next < filled || filled == 0 {
                value_rows.clear();
                let most = if filled == 0 { 1 } else { filled - next };
                let found = values.fill(py, most, &mut value_rows)?;
                match (filled, found) {
                    (0, 0) => return Ok(()),
                    (0, _) if values.is_constant() => return Ok(()),
                    (0, _) | (_, 0) => {
                        let longer = if filled == 0 { name } else { "keys" };
                        return Err(PyValueError::new_err(format!(
                            "keys and {name}: the columns have different numbers of rows, \
                             {longer} has more; the rows that both have were written"
                        )));
                    }
                    _ => {}
                }
                self.rows(py, &key_rows, next, &value_rows)?;
                next += found;
            }
        }
    }

    fn rows(&mut self, py: Python<'_>, keys: &Rows, first: usize, values: &Rows) -> PyResult<()> {
        py.check_signals()?;
        let written = self.written;
        let Some(groups) = &mut self.groups else {
            py.unlocked(|| self.batches(keys, first, values)).map_err(raise)?;
            self.written += values.len() as u64;
            self.safe = self.written;
            return Ok(());
        };
        let is_full = py.unlocked(|| {
            for row in 0..values.len() {
                if !groups.add(keys.row(first + row), values.row(row)) {
                    return Err((row as u64, values.row(row).len()));
                }
            }
            Ok(groups.is_full())
        });
        match is_full {
            Ok(is_full) => {
                self.written += values.len() as u64;
                if is_full { self.flush(py) } else { Ok(()) }
            }
            Err((row, found)) => {
                self.written += row;
                Err(PyValueError::new_err(format!(
                    "operands: row {} has {found} bytes, and a number has 8",
                    written + row
                )))
            }
        }
    }

    fn batches(&mut self, keys: &Rows, first: usize, values: &Rows) -> foldb::Result<()> {
        let is_put = matches!(self.verb, Verb::Put);
        for row in 0..values.len() {
            self.add(is_put, keys.row(first + row), values.row(row))?;
        }
        self.write_batch()
    }

    fn add(&mut self, is_put: bool, key: &[u8], value: &[u8]) -> foldb::Result<()> {
        self.batch.set_expires(self.expires);
        if is_put {
            self.batch.put_in(self.keyspace, key, value);
        } else {
            self.batch.merge_in(self.keyspace, key, value);
        }
        if self.batch.len() >= MOST_WRITES || self.batch.byte_len() >= MOST_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> foldb::Result<()> {
        if !self.batch.is_empty() {
            self.db.with(&self.options).write(&self.batch)?;
            self.batch.clear();
        }
        Ok(())
    }

    /// Writes what waits for operands of its keys.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(mut groups) = self.groups.take() else { return Ok(()) };
        let written = py.unlocked(|| {
            groups.drain(|key, operand| self.add(false, key, operand))?;
            self.write_batch()
        });
        // After an error, nothing of what waited is merged again: some of it may be written.
        written.map_err(raise)?;
        self.groups = Some(groups);
        self.safe = self.written;
        Ok(())
    }
}

/// Returns how `merge_many` merges: the operands of a key that add up become one.
pub(crate) fn merging(operator: Option<&str>, numbers: Numbers) -> Verb {
    match operator {
        Some("int64add" | "uint64add") if numbers != Numbers::None => {
            Verb::MergeTogether(Together::Sum)
        }
        _ => Verb::Merge,
    }
}
