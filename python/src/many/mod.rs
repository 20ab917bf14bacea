//! Many entries at once: columns of NumPy and Arrow, in and out, without an object of Python a row.
//!
//! In: `source` reads a column of Python as cells (`arrow`, `numpy`), and a cell becomes the bytes of
//! a row (`cell`, `rows`). `write` writes rows in batches; `groups` brings operands of one key
//! together before. Out: `build` makes columns of stored bytes, `column`, `table` and `scan` hand
//! them to Python. `capsule` is the door to other libraries.

mod arrow;
mod build;
mod capsule;
mod cell;
mod column;
mod groups;
mod numpy;
mod rows;
mod scan;
mod source;
mod table;
mod write;

use std::sync::Arc;

use foldb::KeyspaceReader;
use pyo3::prelude::*;

pub(crate) use self::cell::Form;
pub(crate) use self::column::Column;
pub(crate) use self::groups::Together;
pub(crate) use self::scan::Scan;
pub(crate) use self::table::Table;
pub(crate) use self::write::{Columns, Verb, merging, write};

use self::build::{Entries, Values};
use self::rows::Rows;
use self::scan::Reading;
use self::source::Source;
use crate::buffers::value_of;
use crate::errors::raise;
use crate::range::Range;
use crate::reader::{Data, Reader};

/// Most keys that are read at once.
const MOST_KEYS: usize = 10_000;

/// Reads the values of a column of keys, all at one moment.
pub(crate) fn get_many(
    py: Python<'_>,
    reader: &Reader,
    keys: &Bound<'_, PyAny>,
    default: Option<&Bound<'_, PyAny>>,
) -> PyResult<Column> {
    let default = default.map(|given| value_of(given, reader.numbers, "default")).transpose()?;
    let at = moment_of(py, reader)?;
    let mut source = Source::of_keys(keys, &reader.keys, "keys")?;
    let (mut rows, mut values) = (Rows::default(), Values::new(reader.numbers));
    loop {
        rows.clear();
        let filled = source.fill(py, MOST_KEYS, &mut rows)?;
        if filled == 0 {
            return Ok(Column::new(values.finish()));
        }
        py.detach(|| {
            for value in at.multi_get(rows.iter(0..filled))? {
                let value = value?;
                values.push(value.as_deref().or(default.as_deref()))?;
            }
            Ok(())
        })
        .map_err(raise)?;
        py.check_signals()?;
    }
}

/// Returns a reader of one moment.
fn moment_of(py: Python<'_>, reader: &Reader) -> PyResult<KeyspaceReader> {
    match &*reader.data {
        Data::Live(keyspace) => {
            let db = reader.db()?;
            Ok(py.detach(|| db.snapshot().keyspace(keyspace)))
        }
        Data::Reader(own) => Ok(own.clone()),
        Data::Moment(moment, keyspace) => moment.reader(keyspace).map_err(raise),
    }
}

/// Begins a scan of a range.
pub(crate) fn scan(
    py: Python<'_>,
    reader: &Reader,
    range: Range,
    most: usize,
    names: Option<Vec<String>>,
) -> PyResult<Scan> {
    if most == 0 {
        return Err(pyo3::exceptions::PyValueError::new_err(
            "batch_rows: expected a number from 1",
        ));
    }
    let entries = Entries::new(&reader.keys, reader.numbers, names, "value").map_err(raise)?;
    let (iter, moment) = (reader.open_iter(py, range)?, reader.moment());
    let closed = Arc::clone(&reader.closed);
    Ok(Scan::new(Reading { iter, entries, moment, closed, most }))
}

/// Returns keys with counts as a table.
pub(crate) fn counted(
    reader: &Reader,
    counts: &[(i64, Vec<u8>)],
    names: Option<Vec<String>>,
) -> PyResult<Table> {
    let mut entries = Entries::new(&reader.keys, reader.numbers, names, "count").map_err(raise)?;
    for (count, key) in counts {
        entries.push(key, &count.to_le_bytes()).map_err(raise)?;
    }
    Ok(Table::new(entries.finish()))
}
