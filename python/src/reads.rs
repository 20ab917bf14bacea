//! The calls of Python that read keys and values.

use std::ops::Bound as End;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::buffers::bytes_of;
use crate::callbacks::detached;
use crate::cursor::Cursor;
use crate::data::{Data, described, reading};
use crate::ending::Unlocked;
use crate::errors::{not_pickled, raise};
use crate::iterator::{Entries, Shown};
use crate::keys::datetime_of;
use crate::maintenance::waiting;
use crate::many::{self, Column, Scan};
use crate::range::{Asked, EVERYTHING};
use crate::reader::{Reader, missing};
use crate::snapshot::Home;

/// Most keys of a `multi_get` that Ctrl-C does not end.
const MOST_AT_ONCE: usize = 1 << 16;

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
        py.unlocked(|| reading!(&*self.data, reader => reader.contains_key(&key))).map_err(raise)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Entries> {
        self.all(py, Shown::Keys)
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Entries> {
        self.entries(py, Shown::Keys, &EVERYTHING, true)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        py.unlocked(|| reading!(&*self.data, reader => reader.is_empty()))
            .map_err(raise)
            .map(|empty| !empty)
    }

    /// Counts the entries, by reading every key.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        const STEP: usize = 1 << 16;
        let mut iter = self.open_iter(py, (End::Unbounded, End::Unbounded))?;
        let mut count = 0;
        loop {
            let counted = detached(py, || {
                for counted in 0..STEP {
                    if !iter.advance()? {
                        return Ok(counted);
                    }
                }
                Ok(STEP)
            })?;
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
            if encoded.len().is_multiple_of(MOST_AT_ONCE) {
                py.check_signals()?;
            }
        }
        let count = encoded.len();
        let all = move |data: &Data| {
            let found = reading!(data, reader => reader.multi_get(&encoded))?;
            found.into_iter().collect()
        };
        let found: Vec<Option<foldb::Value>> = if count <= MOST_AT_ONCE {
            detached(py, || all(&self.data))?
        } else {
            let data = Data::clone(&self.data);
            waiting(py, move || all(&data))?
        };
        let values = PyList::empty(py);
        for value in found {
            match (value, &default) {
                (Some(value), _) => values.append(PyBytes::new(py, &value))?,
                (None, default) => values.append(default)?,
            }
        }
        Ok(values)
    }

    /// Returns the values of a column of keys as a column: nulls for absent keys, or `default`.
    ///
    /// `keys` is an array of NumPy, a column of Arrow (also of polars or pandas), or an iterable;
    /// for keys that are tuples, a tuple of columns or a frame. All values are of one moment.
    #[pyo3(signature = (keys, default=None))]
    fn get_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        default: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Column> {
        many::get_many(py, self, keys, default)
    }

    /// Reads the entries of a range as tables; the range is that of `items`, in its order.
    ///
    /// The columns are `key` (`key0`, `key1` … for keys that are tuples) and `value`, or have the
    /// `names`. A table has at most `batch_rows` rows.
    #[pyo3(signature = (
        start=None, stop=None, *, prefix=None, include_start=true, include_stop=false,
        batch_rows=65536, names=None
    ))]
    fn scan(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        include_start: bool,
        include_stop: bool,
        batch_rows: usize,
        names: Option<Vec<String>>,
    ) -> PyResult<Scan> {
        let asked = Asked { start, stop, prefix, include_start, include_stop };
        many::scan(py, self, asked.range(&self.keys)?, batch_rows, names)
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
        let entry = py.unlocked(|| reading!(&*self.data, reader => reader.first()));
        self.pair(py, entry.map_err(raise)?)
    }

    /// Returns the last entry as a pair, or `None` if there is no entry.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let entry = py.unlocked(|| reading!(&*self.data, reader => reader.last()));
        self.pair(py, entry.map_err(raise)?)
    }

    /// Returns when an entry expires, as a datetime; `None` if never or if there is no entry.
    fn expires_at<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = self.keys.encode(key, "key")?;
        let end = py.unlocked(|| reading!(&*self.data, reader => reader.expires_at(&key)));
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
        detached(py, || described!(&*self.data, own => own.approximate_size(range)))
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
        detached(py, || described!(&*self.data, own => own.approximate_count(range)))
            .map(|count| count.estimate)
    }

    /// Returns the bytes that the keyspace stores for a key.
    fn encode_key<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.keys.encode(key, "key")?))
    }

    /// Returns the key that the keyspace stores as these bytes: the change feed has keys so.
    fn decode_key<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.keys.decode(py, &bytes_of(key, "key")?)
    }

    /// The name of the keyspace.
    #[getter]
    fn name(&self) -> &str {
        described!(&*self.data, own => own.name())
    }

    /// The stored text of how keys and values are encoded, or `None`.
    #[getter]
    fn schema(&self) -> Option<&str> {
        described!(&*self.data, own => own.schema())
    }

    /// The operator of merges that name none, or `None`.
    #[getter]
    fn merge_operator(&self, py: Python<'_>) -> Option<String> {
        py.unlocked(|| self.operator())
    }

    /// Returns a cursor over all entries, for `foldb.plyvel`.
    fn _cursor(&self, py: Python<'_>) -> PyResult<Cursor> {
        let iter = self.open_iter(py, (End::Unbounded, End::Unbounded))?.into_inner();
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
        Err(not_pickled(slf.as_any()))
    }
}
