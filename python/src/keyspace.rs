//! Readers and keyspaces: the calls on keys and values.
//!
//! [`Reader`] reads: a keyspace as it is now, a snapshot of one, or one of a database that is only
//! read. [`Keyspace`] is a reader that also writes. The engine checks that the database is open and
//! in its own process, so no call here has to.

use std::borrow::Cow;
use std::ops::Bound as End;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use foldb::expiry::Expires;
use foldb::{KeyspaceReader, Value, WriteOptions};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::batch::Batch;
use crate::buffers::{Numbers, value_of};
use crate::errors::{raise, read_only};
use crate::iterator::{Cursor, Entries, Shown};
use crate::keys::{Codec, datetime_of};
use crate::released::Released;
use crate::snapshot::Moment;

/// Where reads go.
pub(crate) enum Data {
    /// A keyspace of a database that this process writes.
    Live(foldb::Keyspace),
    /// A keyspace of a database that is only read.
    Reader(KeyspaceReader),
    /// A keyspace at the moment of a snapshot.
    Moment(Arc<Moment>, foldb::Keyspace),
}

/// Runs an expression over whichever handle reads.
macro_rules! reading {
    ($data:expr, $reader:ident => $read:expr) => {
        match $data {
            Data::Live($reader) => $read,
            Data::Reader($reader) => $read,
            Data::Moment(moment, keyspace) => match moment.reader(keyspace) {
                Ok(own) => {
                    let $reader = &own;
                    $read
                }
                Err(error) => Err(error),
            },
        }
    };
}
pub(crate) use reading;

/// What the handle of a keyspace is made of.
#[pyclass(module = "foldb", subclass, frozen)]
pub(crate) struct Reader {
    pub(crate) data: Released<Data>,
    /// The database that takes batches; `None` if this process only reads.
    pub(crate) db: Released<Option<foldb::Db>>,
    pub(crate) keys: Arc<Codec>,
    pub(crate) numbers: Numbers,
    /// Whether a write that does not say so is synced.
    pub(crate) sync: bool,
    /// Whether the database was closed through its handle. The engine knows too, but iterators and
    /// batches do not ask it.
    pub(crate) closed: Arc<AtomicBool>,
}

/// A range of encoded keys.
pub(crate) type Range = (End<Vec<u8>>, End<Vec<u8>>);

/// The arguments of a range, as Python gives them.
pub(crate) struct Asked<'a, 'py> {
    pub(crate) start: Option<&'a Bound<'py, PyAny>>,
    pub(crate) stop: Option<&'a Bound<'py, PyAny>>,
    pub(crate) prefix: Option<&'a Bound<'py, PyAny>>,
    pub(crate) include_start: bool,
    pub(crate) include_stop: bool,
}

impl Asked<'_, '_> {
    /// Returns the range of encoded keys: what lies in the bounds and has the prefix.
    pub(crate) fn range(&self, keys: &Codec) -> PyResult<Range> {
        let bound = |given: Option<&Bound<'_, PyAny>>, name, includes| -> PyResult<End<Vec<u8>>> {
            match given.filter(|given| !given.is_none()) {
                None => Ok(End::Unbounded),
                Some(given) => {
                    let bytes = keys.encode_bound(given, name)?.into_owned();
                    Ok(if includes { End::Included(bytes) } else { End::Excluded(bytes) })
                }
            }
        };
        let start = bound(self.start, "start", self.include_start)?;
        let stop = bound(self.stop, "stop", self.include_stop)?;
        let Some(prefix) = self.prefix.filter(|prefix| !prefix.is_none()) else {
            return Ok((start, stop));
        };
        let prefix = keys.encode_prefix(prefix, "prefix")?;
        let start = match start {
            End::Included(key) | End::Excluded(key) if *key < *prefix => {
                End::Included(prefix.to_vec())
            }
            End::Unbounded => End::Included(prefix.to_vec()),
            later => later,
        };
        let stop = match (successor(&prefix), stop) {
            (None, stop) => stop,
            (Some(end), End::Unbounded) => End::Excluded(end),
            (Some(end), End::Included(key)) if key >= end => End::Excluded(end),
            (Some(end), End::Excluded(key)) if key > end => End::Excluded(end),
            (Some(_), stop) => stop,
        };
        Ok((start, stop))
    }
}

/// Returns the first key after all keys with this prefix; `None` if there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

impl Reader {
    /// Returns the keyspace to write to.
    #[inline]
    pub(crate) fn live(&self) -> PyResult<&foldb::Keyspace> {
        match &*self.data {
            Data::Live(keyspace) => Ok(keyspace),
            Data::Reader(_) | Data::Moment(..) => Err(read_only()),
        }
    }

    /// Returns the database to write to.
    pub(crate) fn db(&self) -> PyResult<&foldb::Db> {
        self.db.as_ref().ok_or_else(read_only)
    }

    pub(crate) fn writing(
        &self,
        sync: Option<bool>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<WriteOptions> {
        let expires = ttl.map(lifetime).transpose()?;
        Ok(WriteOptions { sync: sync.unwrap_or(self.sync), expires, ..WriteOptions::DEFAULT })
    }

    #[inline]
    fn fetch(&self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Value>> {
        py.detach(|| reading!(&*self.data, reader => reader.get(key))).map_err(raise)
    }

    pub(crate) fn open_iter(&self, py: Python<'_>, range: Range) -> PyResult<foldb::Iter> {
        // The engine refuses no range that ends before it starts; it is empty.
        py.detach(|| reading!(&*self.data, reader => reader.range(range))).map_err(raise)
    }

    fn moment(&self) -> Option<Arc<Moment>> {
        match &*self.data {
            Data::Moment(moment, _) => Some(Arc::clone(moment)),
            Data::Live(_) | Data::Reader(_) => None,
        }
    }

    pub(crate) fn entries(
        &self,
        py: Python<'_>,
        shown: Shown,
        asked: &Asked<'_, '_>,
        reverse: bool,
    ) -> PyResult<Entries> {
        let iter = self.open_iter(py, asked.range(&self.keys)?)?;
        let (keys, closed) = (Arc::clone(&self.keys), Arc::clone(&self.closed));
        Ok(Entries::new(iter, keys, shown, reverse, self.moment(), closed))
    }

    fn all(&self, py: Python<'_>, shown: Shown) -> PyResult<Entries> {
        self.entries(py, shown, &EVERYTHING, false)
    }

    fn pair<'py>(
        &self,
        py: Python<'py>,
        entry: Option<(Vec<u8>, Value)>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        entry
            .map(|(key, value)| {
                (self.keys.decode(py, &key)?, PyBytes::new(py, &value)).into_pyobject(py)
            })
            .transpose()
    }
}

const EVERYTHING: Asked<'static, 'static> =
    Asked { start: None, stop: None, prefix: None, include_start: true, include_stop: false };

/// Reads a lifetime: seconds or a `timedelta`.
pub(crate) fn lifetime(given: &Bound<'_, PyAny>) -> PyResult<Expires> {
    let seconds: f64 = match given.extract() {
        Ok(seconds) => seconds,
        Err(_) => match given.call_method0("total_seconds") {
            Ok(seconds) => seconds.extract()?,
            Err(_) => return Err(PyTypeError::new_err("ttl: expected seconds or a timedelta")),
        },
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(after) => Ok(Expires::After(after)),
        Err(_) => {
            Err(PyValueError::new_err(format!("ttl: expected seconds from 0, not {seconds}")))
        }
    }
}

#[cold]
fn missing(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err(key.clone().unbind())
}

/// Reads the entries of a keyspace, in the order of the keys.
#[pymethods]
impl Reader {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let found = self.fetch(py, &self.keys.encode(key, "key")?)?;
        found.map(|value| PyBytes::new(py, &value)).ok_or_else(|| missing(key))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self.keys.encode(key, "key")?;
        py.detach(|| reading!(&*self.data, reader => reader.contains_key(&key))).map_err(raise)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Entries> {
        self.all(py, Shown::Keys)
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Entries> {
        self.entries(py, Shown::Keys, &EVERYTHING, true)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| reading!(&*self.data, reader => reader.is_empty()))
            .map_err(raise)
            .map(|empty| !empty)
    }

    /// Counts the entries, by reading every key.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        const STEP: usize = 1 << 16;
        let mut iter = self.open_iter(py, (End::Unbounded, End::Unbounded))?;
        let mut count = 0;
        loop {
            let counted = py.detach(|| {
                for counted in 0..STEP {
                    if !iter.advance()? {
                        return Ok(counted);
                    }
                }
                Ok(STEP)
            });
            let counted = counted.map_err(raise)?;
            count += counted;
            if counted < STEP {
                return Ok(count);
            }
            py.check_signals()?;
        }
    }

    /// Returns the value of a key, or `default` if there is none.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.fetch(py, &self.keys.encode(key, "key")?)?;
        Ok(found.map(|value| PyBytes::new(py, &value).into_any()).or(default))
    }

    /// Returns the values of many keys as a list, with `default` for each absent one.
    #[pyo3(signature = (keys, default=None))]
    fn multi_get<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut encoded = Vec::new();
        for key in keys.try_iter()? {
            encoded.push(self.keys.encode(&key?, "keys")?.into_owned());
        }
        let found = py.detach(|| reading!(&*self.data, reader => reader.multi_get(&encoded)));
        let values = PyList::empty(py);
        for value in found.map_err(raise)? {
            let value = value.map_err(raise)?;
            match (value, &default) {
                (Some(value), _) => values.append(PyBytes::new(py, &value))?,
                (None, default) => values.append(default)?,
            }
        }
        Ok(values)
    }

    /// Iterates over the keys of a range; see `items`.
    #[pyo3(signature = (
        start=None, stop=None, *, prefix=None, reverse=false, include_start=true, include_stop=false
    ))]
    fn keys(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        include_start: bool,
        include_stop: bool,
    ) -> PyResult<Entries> {
        let asked = Asked { start, stop, prefix, include_start, include_stop };
        self.entries(py, Shown::Keys, &asked, reverse)
    }

    /// Iterates over the values of a range; see `items`.
    #[pyo3(signature = (
        start=None, stop=None, *, prefix=None, reverse=false, include_start=true, include_stop=false
    ))]
    fn values(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        include_start: bool,
        include_stop: bool,
    ) -> PyResult<Entries> {
        let asked = Asked { start, stop, prefix, include_start, include_stop };
        self.entries(py, Shown::Values, &asked, reverse)
    }

    /// Iterates over the entries from `start` to before `stop`, as pairs in the order of the keys.
    ///
    /// The iterator shows the moment of the call, whatever is written meanwhile. `prefix` leaves
    /// only keys that begin with it. `reverse` begins at the last key.
    #[pyo3(signature = (
        start=None, stop=None, *, prefix=None, reverse=false, include_start=true, include_stop=false
    ))]
    fn items(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        include_start: bool,
        include_stop: bool,
    ) -> PyResult<Entries> {
        let asked = Asked { start, stop, prefix, include_start, include_stop };
        self.entries(py, Shown::Items, &asked, reverse)
    }

    /// Iterates over the entries of a range: another name of `items`.
    #[pyo3(signature = (
        start=None, stop=None, *, prefix=None, reverse=false, include_start=true, include_stop=false
    ))]
    fn range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        include_start: bool,
        include_stop: bool,
    ) -> PyResult<Entries> {
        self.items(py, start, stop, prefix, reverse, include_start, include_stop)
    }

    /// Returns the first entry as a pair, or `None` if there is no entry.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let entry = py.detach(|| reading!(&*self.data, reader => reader.first()));
        self.pair(py, entry.map_err(raise)?)
    }

    /// Returns the last entry as a pair, or `None` if there is no entry.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let entry = py.detach(|| reading!(&*self.data, reader => reader.last()));
        self.pair(py, entry.map_err(raise)?)
    }

    /// Returns when an entry expires, as a datetime; `None` if never or if there is no entry.
    fn expires_at<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = self.keys.encode(key, "key")?;
        let end = py.detach(|| reading!(&*self.data, reader => reader.expires_at(&key)));
        end.map_err(raise)?.map(|end| datetime_of(py, end)).transpose()
    }

    /// Returns about how many bytes a range takes on disk.
    #[pyo3(signature = (start=None, stop=None))]
    fn approximate_size(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let range = Asked { start, stop, ..EVERYTHING }.range(&self.keys)?;
        py.detach(|| match &*self.data {
            Data::Live(keyspace) | Data::Moment(_, keyspace) => keyspace.approximate_size(range),
            Data::Reader(reader) => reader.approximate_size(range),
        })
        .map_err(raise)
    }

    /// Returns about how many entries a range has, without reading them.
    #[pyo3(signature = (start=None, stop=None))]
    fn approximate_count(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let range = Asked { start, stop, ..EVERYTHING }.range(&self.keys)?;
        py.detach(|| match &*self.data {
            Data::Live(keyspace) | Data::Moment(_, keyspace) => keyspace.approximate_count(range),
            Data::Reader(reader) => reader.approximate_count(range),
        })
        .map_err(raise)
        .map(|count| count.estimate)
    }

    /// The name of the keyspace.
    #[getter]
    fn name(&self) -> &str {
        match &*self.data {
            Data::Live(keyspace) | Data::Moment(_, keyspace) => keyspace.name(),
            Data::Reader(reader) => reader.name(),
        }
    }

    /// The stored text of how keys and values are encoded, or `None`.
    #[getter]
    fn schema(&self) -> Option<&str> {
        match &*self.data {
            Data::Live(keyspace) | Data::Moment(_, keyspace) => keyspace.schema(),
            Data::Reader(reader) => reader.schema(),
        }
    }

    /// The operator of merges that name none, or `None`.
    #[getter]
    fn merge_operator(&self) -> Option<String> {
        match &*self.data {
            Data::Live(keyspace) | Data::Moment(_, keyspace) => keyspace.options().merge_operator,
            Data::Reader(reader) => reader.options().merge_operator,
        }
    }

    /// Returns a cursor over all entries, for `foldb.plyvel`.
    fn _cursor(&self, py: Python<'_>) -> PyResult<Cursor> {
        let iter = self.open_iter(py, (End::Unbounded, End::Unbounded))?;
        Ok(Cursor::new(iter, self.moment(), Arc::clone(&self.closed)))
    }

    /// Iterates over the keys that begin with `front`, and shows them without it. For
    /// `foldb.plyvel`: `start` and `stop` are whole keys.
    #[pyo3(signature = (
        front, start, stop, include_start, include_stop, reverse, with_key, with_value
    ))]
    fn _entries(
        &self,
        py: Python<'_>,
        front: &Bound<'_, PyBytes>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        include_start: bool,
        include_stop: bool,
        reverse: bool,
        with_key: bool,
        with_value: bool,
    ) -> PyResult<Entries> {
        let shown = match (with_key, with_value) {
            (true, true) => Shown::Items,
            (true, false) => Shown::Keys,
            (false, true) => Shown::Values,
            (false, false) => Shown::Nothing,
        };
        let prefix = Some(front.as_any());
        let asked = Asked { start, stop, prefix, include_start, include_stop };
        Ok(self.entries(py, shown, &asked, reverse)?.hiding(front.as_bytes()))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(PyTypeError::new_err(format!(
            "a {} cannot be pickled: pass the path, and open the database in the other process \
             with read_only=True, or send the writes to the process that has it open",
            slf.get_type().name()?
        )))
    }
}

/// A keyspace: an ordered map from keys to values.
#[pyclass(module = "foldb", extends = Reader, subclass, frozen)]
pub(crate) struct Keyspace;

impl Keyspace {
    /// Makes the two parts of the Python object.
    pub(crate) fn parts(reader: Reader) -> PyClassInitializer<Keyspace> {
        PyClassInitializer::from(reader).add_subclass(Keyspace)
    }
}

/// Encodes the key and borrows the keyspace of a write.
macro_rules! target {
    ($slf:ident, $key:ident) => {{
        let reader = $slf.as_super().get();
        (reader, reader.live()?, reader.keys.encode($key, stringify!($key))?)
    }};
}

/// Writes to a keyspace too.
#[pymethods]
impl Keyspace {
    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (reader, keyspace, key) = target!(slf, key);
        let value = value_of(value, reader.numbers, "value")?;
        let options = WriteOptions { sync: reader.sync, ..WriteOptions::DEFAULT };
        slf.py().detach(|| keyspace.with(&options).put(&key, &value)).map_err(raise)
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = key;
        let (reader, keyspace, key) = target!(slf, key);
        let options = WriteOptions { sync: reader.sync, ..WriteOptions::DEFAULT };
        let taken = slf.py().detach(|| keyspace.with(&options).take(&key)).map_err(raise)?;
        taken.map(|_| ()).ok_or_else(|| missing(given))
    }

    /// Sets the value of a key.
    ///
    /// `ttl` lets the entry expire after seconds or a timedelta, in a keyspace with an expiry.
    /// `sync` returns only when the write is on the medium.
    #[pyo3(signature = (key, value, *, ttl=None, sync=None))]
    fn put(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        ttl: Option<&Bound<'_, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<()> {
        let (reader, keyspace, key) = target!(slf, key);
        let value = value_of(value, reader.numbers, "value")?;
        let options = reader.writing(sync, ttl)?;
        slf.py().detach(|| keyspace.with(&options).put(&key, &value)).map_err(raise)
    }

    /// Deletes a key; it is no error if it is absent. Reads nothing.
    #[pyo3(signature = (key, *, sync=None))]
    fn delete(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, sync: Option<bool>) -> PyResult<()> {
        let (reader, keyspace, key) = target!(slf, key);
        let options = reader.writing(sync, None)?;
        slf.py().detach(|| keyspace.with(&options).delete(&key)).map_err(raise)
    }

    /// Merges an operand into the value of a key, without reading it.
    ///
    /// `operator` names another operator than that of the keyspace, as `"listlast:10"`.
    #[pyo3(signature = (key, operand, *, operator=None, ttl=None, sync=None))]
    fn merge(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        operand: &Bound<'_, PyAny>,
        operator: Option<&str>,
        ttl: Option<&Bound<'_, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<()> {
        let (reader, keyspace, key) = target!(slf, key);
        let numbers = operator.map_or(reader.numbers, |operator| Numbers::of(Some(operator)));
        let operand = value_of(operand, numbers, "operand")?;
        let options = reader.writing(sync, ttl)?;
        let named = operator.map(|spec| keyspace.operator(spec)).transpose().map_err(raise)?;
        slf.py()
            .detach(|| {
                let with = keyspace.with(&options);
                match &named {
                    None => with.merge(&key, &operand),
                    Some(operator) => with.merge_with(operator, &key, &operand),
                }
            })
            .map_err(raise)
    }

    /// Deletes the keys of a range in one small write; without bounds and prefix, all keys.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, sync=None))]
    fn delete_range(
        slf: &Bound<'_, Self>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<()> {
        let reader = slf.as_super().get();
        let (keyspace, options) = (reader.live()?, reader.writing(sync, None)?);
        let range = Asked { start, stop, prefix, ..EVERYTHING }.range(&reader.keys)?;
        slf.py().detach(|| keyspace.with(&options).delete_range(range)).map_err(raise)
    }

    /// Deletes all keys of the keyspace.
    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let keyspace = slf.as_super().get().live()?;
        slf.py().detach(|| keyspace.clear()).map_err(raise)
    }

    /// Deletes a key and returns its value, or `default` if it is absent and a default is given.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err("pop: expected at most one default"));
        }
        let given = key;
        let (_, keyspace, key) = target!(slf, key);
        match slf.py().detach(|| keyspace.take(&key)).map_err(raise)? {
            Some(value) => Ok(PyBytes::new(slf.py(), &value).into_any()),
            None => default.get_item(0).map_err(|_| missing(given)),
        }
    }

    /// Deletes the first entry and returns it as a pair.
    fn popitem<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        Self::take_first(slf, None, None, None)?
            .ok_or_else(|| PyKeyError::new_err("popitem: the keyspace is empty"))
    }

    /// Deletes the first entry of a range and returns it as a pair, or `None` if there is none.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None))]
    fn take_first<'py>(
        slf: &Bound<'py, Self>,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        prefix: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let reader = slf.as_super().get();
        let keyspace = reader.live()?;
        let range = Asked { start, stop, prefix, ..EVERYTHING }.range(&reader.keys)?;
        let taken = slf.py().detach(|| keyspace.take_first(range)).map_err(raise)?;
        reader.pair(slf.py(), taken)
    }

    /// Puts a value if the key is absent, and returns the value that the key has then.
    fn setdefault<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (reader, keyspace, key) = target!(slf, key);
        let value = value_of(default, reader.numbers, "default")?;
        let found = slf.py().detach(|| keyspace.compare_and_swap(&key, None, Some(&value)));
        match found.map_err(raise)? {
            foldb::CompareAndSwap::Found(Some(found)) => Ok(PyBytes::new(slf.py(), &found)),
            _ => Ok(PyBytes::new(slf.py(), &value)),
        }
    }

    /// Puts the entries of a mapping, or of an iterable of pairs, in one batch.
    fn update(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let pairs = match other.cast::<PyDict>() {
            Ok(mapping) => mapping.items().into_any(),
            Err(_) if other.hasattr("keys")? => other.call_method0("items")?,
            Err(_) => other.clone(),
        };
        let reader = slf.as_super().get();
        let keyspace = reader.live()?;
        let mut batch = foldb::WriteBatch::new();
        for pair in pairs.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
            let value = value_of(&value, reader.numbers, "value")?;
            batch.put_in(keyspace, reader.keys.encode(&key, "key")?, value);
        }
        let (db, options) = (reader.db()?, reader.writing(None, None)?);
        slf.py().detach(|| db.with(&options).write(&batch)).map_err(raise)
    }

    /// Puts a value if the key is absent, and returns whether it was.
    #[pyo3(signature = (key, value, *, ttl=None, sync=None))]
    fn put_if_absent(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        ttl: Option<&Bound<'_, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<bool> {
        let (reader, keyspace, key) = target!(slf, key);
        let value = value_of(value, reader.numbers, "value")?;
        let options = reader.writing(sync, ttl)?;
        slf.py().detach(|| keyspace.with(&options).put_if_absent(&key, &value)).map_err(raise)
    }

    /// Sets a key to `new` if its value is `expected`, and returns whether it did.
    ///
    /// `None` stands for an absent key: as `expected`, and as `new` to delete it.
    #[pyo3(signature = (key, expected, new, *, sync=None))]
    fn compare_and_swap(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        expected: &Bound<'_, PyAny>,
        new: &Bound<'_, PyAny>,
        sync: Option<bool>,
    ) -> PyResult<bool> {
        let (reader, keyspace, key) = target!(slf, key);
        let expected = optional(expected, reader.numbers, "expected")?;
        let new = optional(new, reader.numbers, "new")?;
        let options = reader.writing(sync, None)?;
        let swap =
            || keyspace.with(&options).compare_and_swap(&key, expected.as_deref(), new.as_deref());
        slf.py().detach(swap).map_err(raise).map(|outcome| outcome.is_swapped())
    }

    /// Merges an operand, and returns the value after it.
    #[pyo3(signature = (key, operand, *, ttl=None, sync=None))]
    fn merge_get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        operand: &Bound<'py, PyAny>,
        ttl: Option<&Bound<'py, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (reader, keyspace, key) = target!(slf, key);
        let operand = value_of(operand, reader.numbers, "operand")?;
        let options = reader.writing(sync, ttl)?;
        let value = slf.py().detach(|| keyspace.with(&options).merge_get(&key, &operand));
        Ok(value.map_err(raise)?.map(|value| PyBytes::new(slf.py(), &value)))
    }

    /// Renews the end of an entry, and returns whether there is one.
    fn touch(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (_, keyspace, key) = target!(slf, key);
        slf.py().detach(|| keyspace.touch(&key)).map_err(raise)
    }

    /// Sets when an entry expires, and returns whether there is one; `None` for never.
    fn expire(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        ttl: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (_, keyspace, key) = target!(slf, key);
        let expires = if ttl.is_none() { Expires::Never } else { lifetime(ttl)? };
        slf.py().detach(|| keyspace.expire(&key, expires)).map_err(raise)
    }

    /// Returns the counts of this keyspace; its operator is `int64add`.
    fn counters<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.counters", "Counters")
    }

    /// Returns the sets of this keyspace; its operator is `set`.
    fn sets<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.bags", "Sets")
    }

    /// Returns the lists of this keyspace; its operator is `list` or `listlast:N`.
    fn lists<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.bags", "Lists")
    }

    /// Returns the sketches of this keyspace; its operator is `hyperloglog`.
    fn hyperloglogs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.bags", "HyperLogLogs")
    }

    /// Returns a batch: writes that happen together, or not at all.
    ///
    /// A `with` block writes it at its end, and drops it if an exception leaves the block.
    #[pyo3(signature = (*, sync=None))]
    fn batch(slf: &Bound<'_, Self>, sync: Option<bool>) -> PyResult<Batch> {
        Batch::new(slf, sync)
    }
}

/// Returns the values of a keyspace with their meaning: an object of a class in Python.
fn meaning<'py>(
    keyspace: &Bound<'py, Keyspace>,
    module: &str,
    class: &str,
) -> PyResult<Bound<'py, PyAny>> {
    keyspace.py().import(module)?.getattr(class)?.call1((keyspace,))
}

/// Reads a value that may be `None`.
pub(crate) fn optional<'a>(
    given: &'a Bound<'_, PyAny>,
    numbers: Numbers,
    name: &str,
) -> PyResult<Option<Cow<'a, [u8]>>> {
    if given.is_none() { Ok(None) } else { value_of(given, numbers, name).map(Some) }
}
