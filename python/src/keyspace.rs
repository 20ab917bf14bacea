//! Keyspaces: readers that also write.

use std::borrow::Cow;

use foldb::WriteOptions;
use foldb::expiry::Expires;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::batch::Batch;
use crate::buffers::{Numbers, value_of};
use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::{raise, read_only};
use crate::load::{load, update};
use crate::many::{self, Columns, Verb};
use crate::options::lifetime;
use crate::range::{Asked, EVERYTHING};
use crate::reader::{Reader, missing};

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
        detached(slf.py(), || keyspace.with(&options).put(&key, &value))
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = key;
        let (reader, keyspace, key) = target!(slf, key);
        let options = WriteOptions { sync: reader.sync, ..WriteOptions::DEFAULT };
        let taken = detached(slf.py(), || keyspace.with(&options).take(&key))?;
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
        detached(slf.py(), || keyspace.with(&options).put(&key, &value))
    }

    /// Deletes a key; it is no error if it is absent. Reads nothing.
    #[pyo3(signature = (key, *, sync=None))]
    fn delete(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, sync: Option<bool>) -> PyResult<()> {
        let (reader, keyspace, key) = target!(slf, key);
        let options = reader.writing(sync, None)?;
        detached(slf.py(), || keyspace.with(&options).delete(&key))
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
        let reader = slf.as_super().get();
        let (key, operand, named) = reader.merging(key, operand, operator)?;
        let (keyspace, options) = (reader.live()?, reader.writing(sync, ttl)?);
        detached(slf.py(), || {
            let with = keyspace.with(&options);
            match &named {
                None => with.merge(&key, &operand),
                Some(operator) => with.merge_with(operator, &key, &operand),
            }
        })
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
        detached(slf.py(), || keyspace.with(&options).delete_range(range))
    }

    /// Deletes all keys of the keyspace.
    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let reader = slf.as_super().get();
        let (keyspace, options) = (reader.live()?, reader.writing(None, None)?);
        detached(slf.py(), || keyspace.with(&options).clear())
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
        let (reader, keyspace, key) = target!(slf, key);
        let options = reader.writing(None, None)?;
        match detached(slf.py(), || keyspace.with(&options).take(&key))? {
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
        let (keyspace, options) = (reader.live()?, reader.writing(None, None)?);
        let range = Asked { start, stop, prefix, ..EVERYTHING }.range(&reader.keys)?;
        let taken = detached(slf.py(), || keyspace.with(&options).take_first(range))?;
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
        let options = reader.writing(None, None)?;
        let swap = || keyspace.with(&options).compare_and_swap(&key, None, Some(&value));
        match detached(slf.py(), swap)? {
            foldb::CompareAndSwap::Found(Some(found)) => Ok(PyBytes::new(slf.py(), &found)),
            _ => Ok(PyBytes::new(slf.py(), &value)),
        }
    }

    /// Puts the entries of a mapping, or of an iterable of pairs, then those of the keywords: up to
    /// 10 000 entries in one step, and more in a step for each 10 000.
    #[pyo3(signature = (other=None, /, **entries))]
    fn update(
        slf: &Bound<'_, Self>,
        other: Option<&Bound<'_, PyAny>>,
        entries: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        update(slf.as_super().get(), other, entries)
    }

    /// Puts a column of values under a column of keys, and returns the number of rows.
    ///
    /// A column is an array of NumPy, a column of Arrow (also of polars or pandas), or an iterable.
    /// Keys that are tuples come as a tuple of columns or a frame. Without `values`, `keys` is a
    /// mapping, or a frame with the values in its last column. One value may stand for all rows.
    ///
    /// The rows are written in batches, in their order. An error leaves earlier batches written.
    #[pyo3(signature = (keys, values=None, *, ttl=None, sync=None))]
    fn put_many(
        slf: &Bound<'_, Self>,
        keys: &Bound<'_, PyAny>,
        values: Option<&Bound<'_, PyAny>>,
        ttl: Option<&Bound<'_, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<u64> {
        let reader = slf.as_super().get();
        let columns = Columns { reader, keys, values, name: "values", form: None };
        many::write(slf.py(), &columns, Verb::Put, reader.writing(sync, ttl)?)
    }

    /// Merges a column of operands into a column of keys, and returns the number of rows.
    ///
    /// The columns are as in `put_many`. Amounts of `int64add` and `uint64add` for one key are
    /// added up before they are written.
    #[pyo3(signature = (keys, operands=None, *, ttl=None, sync=None))]
    fn merge_many(
        slf: &Bound<'_, Self>,
        keys: &Bound<'_, PyAny>,
        operands: Option<&Bound<'_, PyAny>>,
        ttl: Option<&Bound<'_, PyAny>>,
        sync: Option<bool>,
    ) -> PyResult<u64> {
        let reader = slf.as_super().get();
        let verb = many::merging(reader.operator().as_deref(), reader.numbers);
        let columns = Columns { reader, keys, values: operands, name: "operands", form: None };
        many::write(slf.py(), &columns, verb, reader.writing(sync, ttl)?)
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
        detached(slf.py(), || keyspace.with(&options).put_if_absent(&key, &value))
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
        detached(slf.py(), swap).map(|outcome| outcome.is_swapped())
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
        let value = slf.py().unlocked(|| keyspace.with(&options).merge_get(&key, &operand));
        Ok(value.map_err(raise)?.map(|value| PyBytes::new(slf.py(), &value)))
    }

    /// Renews the end of an entry, and returns whether there is one.
    fn touch(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (reader, keyspace, key) = target!(slf, key);
        let options = reader.writing(None, None)?;
        detached(slf.py(), || keyspace.with(&options).touch(&key))
    }

    /// Sets when an entry expires, and returns whether there is one; `None` for never.
    fn expire(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        ttl: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (reader, keyspace, key) = target!(slf, key);
        let options = reader.writing(None, None)?;
        let expires = if ttl.is_none() { Expires::Never } else { lifetime(ttl)? };
        detached(slf.py(), || keyspace.with(&options).expire(&key, expires))
    }

    /// Returns the counts of this keyspace; its operator is `int64add`.
    fn counters<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.counters", "Counters")
    }

    /// Returns the sets of this keyspace; its operator is `set`.
    fn sets<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.bags", "Sets")
    }

    /// Returns the lists of this keyspace; its operator is `list` or `listlast:N`. With `last`, the
    /// call raises `InvalidArgument` unless the operator keeps `last` elements.
    #[pyo3(signature = (*, last=None))]
    fn lists<'py>(
        slf: &Bound<'py, Self>,
        last: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foldb.bags")?.getattr("Lists")?.call1((slf, last))
    }

    /// Returns the sketches of this keyspace; its operator is `hyperloglog`.
    fn hyperloglogs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.bags", "HyperLogLogs")
    }

    /// Returns documents: JSON values; the operator is `json_merge_patch`.
    fn json<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.documents", "Documents")
    }

    /// Returns statistics of ints; the operator is `stats`.
    fn summaries<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.summaries", "Summaries")
    }

    /// Returns the best items with their scores; the operator is `top:K`.
    fn tops<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.summaries", "Tops")
    }

    /// Returns histograms of floats, with quantiles; the operator is `histogram:PERCENT`.
    fn histograms<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.summaries", "Histograms")
    }

    /// Writes many entries, whose keys ascend, straight into tables: much faster than puts.
    ///
    /// `entries` yields pairs. All of them become visible at the end, in one step, and are on the
    /// medium then. `merge` loads operands in place of values. Returns the number of entries.
    /// After an exception nothing was loaded.
    #[pyo3(signature = (entries, *, merge=false))]
    fn load(slf: &Bound<'_, Self>, entries: &Bound<'_, PyAny>, merge: bool) -> PyResult<u64> {
        load(slf.as_super().get(), entries, merge)
    }

    /// Draws the levels of the keyspace with matplotlib, and returns the figure.
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.plots", "keyspace")
    }

    /// Shows the keyspace in a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        meaning(slf, "foldb.stats", "keyspace")
    }

    /// Returns the statistics of the database, for `plot` and `_repr_html_`.
    fn _stats<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.as_super().get().db.as_ref().ok_or_else(read_only)?.stats(slf.py())
    }

    /// Returns a batch: writes that happen together, or not at all.
    ///
    /// A `with` block writes it at its end, and drops it if an exception leaves the block.
    #[pyo3(signature = (*, sync=None))]
    fn batch(slf: &Bound<'_, Self>, sync: Option<bool>) -> PyResult<Batch> {
        Batch::new(slf, sync)
    }
}

/// Returns what a class or function in Python makes of a keyspace.
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
