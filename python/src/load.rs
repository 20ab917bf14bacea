//! Many pairs at once: sorted loads, whose keys ascend, and updates.

use foldb::load::SortedLoad;
use foldb::{Error, ErrorKind, WriteBatch};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::buffers::value_of;
use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::keys::wrong;
use crate::reader::Reader;
use crate::released::Released;

/// Most entries that are read before a part of the load is written, and about the most bytes.
const MOST_AT_ONCE: usize = 1024;
const MOST_BYTES: usize = 1 << 20;

/// Most entries of one batch of [`update`], and about its most bytes.
const MOST_IN_BATCH: usize = 10_000;
const MOST_BATCH_BYTES: usize = 64 << 20;

type Entry = (Vec<u8>, Vec<u8>);

/// Loads pairs, and returns how many there were.
pub(crate) fn load(reader: &Reader, entries: &Bound<'_, PyAny>, merge: bool) -> PyResult<u64> {
    let (py, keyspace) = (entries.py(), reader.live()?);
    let mut load = Released::new(detached(py, || keyspace.sorted_load())?);
    let mut part: Vec<Entry> = Vec::new();
    let (mut bytes, mut count) = (0, 0);
    for entry in entries.try_iter()? {
        let (key, value) = pair_of(&entry?, "entries")?;
        let value = value_of(&value, reader.numbers, if merge { "operand" } else { "value" })?;
        let key = reader.keys.encode(&key, "key")?;
        bytes += key.len() + value.len();
        part.push((key.into_owned(), value.into_owned()));
        if part.len() == MOST_AT_ONCE || bytes > MOST_BYTES {
            add(py, reader, &mut load, &part, merge)?;
            py.check_signals()?;
            count += part.len() as u64;
            part.clear();
            bytes = 0;
        }
    }
    add(py, reader, &mut load, &part, merge)?;
    let load = load.into_inner();
    detached(py, || load.finish())?;
    Ok(count + part.len() as u64)
}

fn add(
    py: Python<'_>,
    reader: &Reader,
    load: &mut SortedLoad,
    part: &[Entry],
    merge: bool,
) -> PyResult<()> {
    let added = py.unlocked(|| {
        part.iter().try_for_each(|(key, value)| {
            let added = crate::callbacks::guarded(|| match merge {
                true => load.merge(key, value),
                false => load.put(key, value),
            });
            added.map_err(|error| (key, error))
        })
    });
    added.map_err(|(key, error)| refused(py, reader, key, error))
}

/// Makes the exception of an entry that the load refused; it names the key as the program does.
fn refused(py: Python<'_>, reader: &Reader, key: &[u8], error: Error) -> PyErr {
    if error.kind() != ErrorKind::InvalidArgument {
        return raise(error);
    }
    let raised = raise(error);
    let shown = reader.keys.decode(py, key).and_then(|key| key.repr().map(|key| key.to_string()));
    let (Ok(shown), text) = (shown, raised.value(py).to_string()) else { return raised };
    let named = (format!("entries: key {shown}: {text}"),);
    // The class has the kind of the error, so only its text changes.
    raised.value(py).setattr("args", named).err().unwrap_or(raised)
}

type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn pair_of<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Pair<'py>> {
    given.extract().map_err(|_| wrong(given, name, "pairs of a key and a value"))
}

/// Puts the entries of a mapping or of pairs, then those of keywords.
pub(crate) fn update(
    reader: &Reader,
    other: Option<&Bound<'_, PyAny>>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let mut batch = WriteBatch::new();
    if let Some(other) = other {
        let pairs = match other.cast::<PyDict>() {
            Ok(mapping) => mapping.items().into_any(),
            Err(_) if other.hasattr("keys")? => other.call_method0("items")?,
            Err(_) => other.clone(),
        };
        let Ok(pairs) = pairs.try_iter() else {
            return Err(wrong(other, "other", "a mapping or pairs of a key and a value"));
        };
        put_pairs(reader, pairs, "other", &mut batch)?;
    }
    if let Some(named) = named {
        put_pairs(reader, named.items().try_iter()?, "entries", &mut batch)?;
    }
    let Some(py) = other.map(|other| other.py()).or(named.map(|named| named.py())) else {
        return Ok(());
    };
    let (db, options) = (reader.db()?, reader.writing(None, None)?);
    detached(py, || db.with(&options).write(&batch))
}

/// Adds pairs to a batch, and writes it whenever it is full.
fn put_pairs<'py>(
    reader: &Reader,
    pairs: Bound<'py, PyIterator>,
    name: &str,
    batch: &mut WriteBatch,
) -> PyResult<()> {
    let py = pairs.py();
    let (keyspace, db, options) = (reader.live()?, reader.db()?, reader.writing(None, None)?);
    for pair in pairs {
        let (key, value) = pair_of(&pair?, name)?;
        let value = value_of(&value, reader.numbers, "value")?;
        batch.put_in(keyspace, reader.keys.encode(&key, "key")?, value);
        if batch.len() == MOST_IN_BATCH || batch.byte_len() >= MOST_BATCH_BYTES {
            detached(py, || db.with(&options).write(batch))?;
            batch.clear();
            py.check_signals()?;
        }
    }
    Ok(())
}
