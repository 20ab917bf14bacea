//! Batches: writes of any keyspaces that happen together.

use foldb::{BatchOp, WriteBatch, WriteOptions};
use pyo3::prelude::*;

use crate::buffers::value_of;
use crate::callbacks::detached;
use crate::elsewhere::Elsewhere;
use crate::errors::{not_pickled, raise};
use crate::keyspace::Keyspace;
use crate::options::lifetime;
use crate::range::{Asked, EVERYTHING};
use crate::reader::Reader;
use crate::released::Released;

/// Writes that happen together, or not at all. `batch` of a database or keyspace makes it.
///
/// Used as `with db.batch() as batch:`, it is written at the end of the block. An exception that
/// leaves the block drops it.
#[pyclass(module = "foldb")]
pub(crate) struct Batch {
    batch: Released<WriteBatch>,
    home: Py<Keyspace>,
    sync: Option<bool>,
}

impl Batch {
    pub(crate) fn new(home: &Bound<'_, Keyspace>, sync: Option<bool>) -> PyResult<Batch> {
        home.as_super().get().live()?;
        Ok(Batch { batch: Released::new(WriteBatch::new()), home: home.clone().unbind(), sync })
    }

    /// Runs a change with the keyspace that it is for.
    fn change(
        &mut self,
        py: Python<'_>,
        keyspace: Option<&Bound<'_, Keyspace>>,
        change: impl FnOnce(&mut WriteBatch, &Reader, &foldb::Keyspace) -> PyResult<()>,
    ) -> PyResult<()> {
        let reader = match keyspace {
            None => self.home.bind(py).as_super().get(),
            Some(other) => other.as_super().get(),
        };
        reader.closed.check().map_err(raise)?;
        change(&mut self.batch, reader, reader.live()?)
    }
}

/// Adds writes. `keyspace` names another keyspace than the batch's own.
#[pymethods]
impl Batch {
    /// Sets the value of a key.
    #[pyo3(signature = (key, value, *, keyspace=None, ttl=None))]
    fn put(
        &mut self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        keyspace: Option<Elsewhere<'_>>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        let expires = ttl.map(lifetime).transpose()?;
        self.change(py, keyspace, |batch, reader, keyspace| {
            let value = value_of(value, reader.numbers, "value")?;
            let key = reader.keys.encode(key, "key")?;
            batch.set_expires(expires).put_in(keyspace, key, value).set_expires(None);
            Ok(())
        })
    }

    /// Deletes a key.
    #[pyo3(signature = (key, *, keyspace=None))]
    fn delete(
        &mut self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        self.change(py, keyspace, |batch, reader, keyspace| {
            batch.delete_in(keyspace, reader.keys.encode(key, "key")?);
            Ok(())
        })
    }

    /// Deletes the keys of a range.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, keyspace=None))]
    fn delete_range(
        &mut self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        self.change(py, keyspace, |batch, reader, keyspace| {
            let asked = Asked { start, stop, prefix, ..EVERYTHING };
            batch.delete_range_in(keyspace, asked.range(&reader.keys)?);
            Ok(())
        })
    }

    /// Merges an operand into the value of a key.
    #[pyo3(signature = (key, operand, *, operator=None, keyspace=None, ttl=None))]
    fn merge(
        &mut self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        operand: &Bound<'_, PyAny>,
        operator: Option<&str>,
        keyspace: Option<Elsewhere<'_>>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        let expires = ttl.map(lifetime).transpose()?;
        self.change(py, keyspace, |batch, reader, keyspace| {
            let (key, operand, named) = reader.merging(key, operand, operator)?;
            batch.set_expires(expires);
            match &named {
                None => batch.merge_in(keyspace, key, operand),
                Some(operator) => batch.merge_with_in(operator, keyspace, key, operand),
            };
            batch.set_expires(None);
            Ok(())
        })
    }

    fn __setitem__(
        &mut self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.put(py, key, value, None, None)
    }

    fn __delitem__(&mut self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.delete(py, key, None)
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    /// The bytes of the batch, as the log takes them.
    #[getter]
    fn byte_len(&self) -> usize {
        self.batch.byte_len()
    }

    /// Adds the puts and deletes of another batch. For `foldb.plyvel`.
    fn _append(&mut self, other: PyRef<'_, Batch>) {
        for operation in other.batch.iter() {
            match operation {
                BatchOp::Put { key, value, .. } => self.batch.put(key, value),
                BatchOp::Delete { key, .. } => self.batch.delete(key),
                _ => continue,
            };
        }
    }

    /// Forgets all writes of the batch.
    fn clear(&mut self) {
        self.batch.clear();
    }

    /// Writes the batch, and empties it.
    fn write(&mut self, py: Python<'_>) -> PyResult<()> {
        let reader = self.home.bind(py).as_super().get();
        let sync = self.sync.unwrap_or(reader.sync);
        let options = WriteOptions { sync, ..WriteOptions::DEFAULT };
        let (db, batch) = (reader.db()?, &*self.batch);
        detached(py, || db.with(&options).write(batch))?;
        self.batch.clear();
        Ok(())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(not_pickled(slf.as_any()))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _error, _trace))]
    fn __exit__(
        &mut self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() {
            return self.write(py);
        }
        self.batch.clear();
        Ok(())
    }
}
