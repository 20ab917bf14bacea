//! Sorted loads: entries whose keys ascend, straight into tables.

use foldb::load::SortedLoad;
use foldb::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::buffers::value_of;
use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::reader::Reader;
use crate::released::Released;

/// Most entries that are read before a part of the load is written, and about the most bytes.
const MOST_AT_ONCE: usize = 1024;
const MOST_BYTES: usize = 1 << 20;

type Entry = (Vec<u8>, Vec<u8>);

/// Loads pairs, and returns how many there were.
pub(crate) fn load(reader: &Reader, entries: &Bound<'_, PyAny>, merge: bool) -> PyResult<u64> {
    let (py, keyspace) = (entries.py(), reader.live()?);
    let mut load = Released::new(detached(py, || keyspace.sorted_load())?);
    let mut part: Vec<Entry> = Vec::new();
    let (mut bytes, mut count) = (0, 0);
    for entry in entries.try_iter()? {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry?.extract()?;
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
