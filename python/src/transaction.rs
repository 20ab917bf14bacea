//! Transactions: reads and writes of several keys at one moment.

use std::sync::Arc;
use std::time::Duration;

use foldb::{
    Error, ErrorKind, Isolation, TransactionKeyspace, TransactionOptions, Value, WriteOptions,
};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::value_of;
use crate::callbacks::{detached, guarded};
use crate::elsewhere::Elsewhere;
use crate::ending::Unlocked;
use crate::errors::{closed, raise};
use crate::iterator::{Entries, Shown};
use crate::keyspace::Keyspace;
use crate::range::{Asked, EVERYTHING};
use crate::reader::Reader;
use crate::released::Released;

/// The first pause before a transaction runs again, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Reads and writes that happen at one moment, or not at all.
///
/// It reads one moment of all keyspaces, with its own writes on top. Used as
/// `with db.transaction() as tx:`, it commits at the end of the block, and an exception that leaves
/// the block drops it. The commit raises `Conflict` if another write changed what was read.
#[pyclass(module = "foldb")]
pub(crate) struct Transaction {
    inner: Option<Released<foldb::Transaction>>,
    home: Py<Keyspace>,
}

/// Reads the name of an isolation.
pub(crate) fn isolation(name: &str) -> PyResult<Isolation> {
    match name {
        "serializable" => Ok(Isolation::Serializable),
        "snapshot" => Ok(Isolation::Snapshot),
        other => Err(PyValueError::new_err(format!(
            "isolation: expected \"serializable\" or \"snapshot\", not {other:?}"
        ))),
    }
}

impl Transaction {
    pub(crate) fn begin(
        home: &Bound<'_, Keyspace>,
        isolation: Isolation,
        sync: Option<bool>,
    ) -> PyResult<Transaction> {
        let reader = home.as_super().get();
        let write = WriteOptions { sync: sync.unwrap_or(reader.sync), ..WriteOptions::DEFAULT };
        let options = TransactionOptions { isolation, write, ..TransactionOptions::default() };
        let db = reader.db()?;
        let inner = detached(home.py(), || db.with(&options).begin())?;
        Ok(Transaction { inner: Some(Released::new(inner)), home: home.clone().unbind() })
    }

    /// Runs a call on the keyspace that it is for.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        keyspace: Option<&Bound<'_, Keyspace>>,
        call: impl Send + FnOnce(&TransactionKeyspace<'_>) -> foldb::Result<T>,
    ) -> PyResult<T> {
        let inner = self.inner.as_ref().ok_or_else(|| raise(closed("transaction")))?;
        let keyspace = self.reader(py, keyspace).live()?;
        detached(py, || call(&inner.keyspace(keyspace)))
    }

    fn reader<'a>(
        &'a self,
        py: Python<'a>,
        keyspace: Option<&'a Bound<'_, Keyspace>>,
    ) -> &'a Reader {
        match keyspace {
            None => self.home.bind(py).as_super().get(),
            Some(other) => other.as_super().get(),
        }
    }
}

fn shown<'py>(py: Python<'py>, value: Option<Value>) -> Option<Bound<'py, PyAny>> {
    value.map(|value| PyBytes::new(py, &value).into_any())
}

/// Reads and writes. `keyspace` names another keyspace than `default`.
#[pymethods]
impl Transaction {
    /// Returns the value of a key, or `default` if there is none.
    #[pyo3(signature = (key, default=None, *, keyspace=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        keyspace: Option<Elsewhere<'py>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let keyspace = keyspace.as_deref();
        let key = self.reader(py, keyspace).keys.encode(key, "key")?;
        Ok(shown(py, self.run(py, keyspace, |own| own.get(&key))?).or(default))
    }

    /// Returns the value of a key, and claims it whatever the isolation.
    #[pyo3(signature = (key, default=None, *, keyspace=None))]
    fn get_for_update<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        keyspace: Option<Elsewhere<'py>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let keyspace = keyspace.as_deref();
        let key = self.reader(py, keyspace).keys.encode(key, "key")?;
        Ok(shown(py, self.run(py, keyspace, |own| own.get_for_update(&key))?).or(default))
    }

    /// Sets the value of a key.
    #[pyo3(signature = (key, value, *, keyspace=None))]
    fn put(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        let reader = self.reader(py, keyspace);
        let value = value_of(value, reader.numbers, "value")?;
        let key = reader.keys.encode(key, "key")?;
        self.run(py, keyspace, |own| own.put(&key, &value))
    }

    /// Deletes a key.
    #[pyo3(signature = (key, *, keyspace=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        let key = self.reader(py, keyspace).keys.encode(key, "key")?;
        self.run(py, keyspace, |own| own.delete(&key))
    }

    /// Deletes the keys of a range.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, keyspace=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        let asked = Asked { start, stop, prefix, ..EVERYTHING };
        let range = asked.range(&self.reader(py, keyspace).keys)?;
        self.run(py, keyspace, |own| own.delete_range(range))
    }

    /// Merges an operand, without reading: transactions that only merge never conflict.
    #[pyo3(signature = (key, operand, *, operator=None, keyspace=None))]
    fn merge(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        operand: &Bound<'_, PyAny>,
        operator: Option<&str>,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<()> {
        let keyspace = keyspace.as_deref();
        let reader = self.reader(py, keyspace);
        let (key, operand, named) = reader.merging(key, operand, operator)?;
        self.run(py, keyspace, |own| match &named {
            None => own.merge(&key, &operand),
            Some(operator) => own.merge_with(operator, &key, &operand),
        })
    }

    /// Iterates over the entries of a range, as `items` of a keyspace does.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, reverse=false, keyspace=None))]
    fn items(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        keyspace: Option<Elsewhere<'_>>,
    ) -> PyResult<Entries> {
        let keyspace = keyspace.as_deref();
        let reader = self.reader(py, keyspace);
        let asked = Asked { start, stop, prefix, ..EVERYTHING };
        let range = asked.range(&reader.keys)?;
        let iter = self.run(py, keyspace, |own| own.range(range))?;
        let (keys, closed) = (Arc::clone(&reader.keys), Arc::clone(&reader.closed));
        Ok(Entries::new(iter, keys, Shown::Items, reverse, None, closed))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.get(py, key, None, None)?;
        found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.put(py, key, value, None)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__getitem__(py, key)?;
        self.delete(py, key, None)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self.reader(py, None).keys.encode(key, "key")?;
        self.run(py, None, |own| own.contains_key(&key))
    }

    /// Commits the transaction; raises `Conflict` if it lost, and wrote nothing then.
    fn commit(&mut self, py: Python<'_>) -> PyResult<()> {
        let inner = self.inner.take().ok_or_else(|| raise(closed("transaction")))?.into_inner();
        detached(py, || inner.commit())
    }

    /// Gives the transaction up.
    fn rollback(&mut self) {
        self.inner = None;
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
        match kind.is_none() && self.inner.is_some() {
            true => self.commit(py),
            false => {
                self.rollback();
                Ok(())
            }
        }
    }
}

/// Runs `work` in transactions until one commits.
pub(crate) fn transact<'py>(
    home: &Bound<'py, Keyspace>,
    work: &Bound<'py, PyAny>,
    isolation: Isolation,
    attempts: u32,
    sync: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = home.py();
    if attempts == 0 {
        return Err(PyValueError::new_err("attempts: expected at least 1"));
    }
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let transaction = Bound::new(py, Transaction::begin(home, isolation, sync)?)?;
        let result = work.call1((&transaction,));
        if result.is_err() {
            transaction.borrow_mut().rollback();
            return result;
        }
        let Some(inner) = transaction.borrow_mut().inner.take() else {
            // The function has committed or given up by itself.
            return result;
        };
        let inner = inner.into_inner();
        match py.unlocked(|| guarded(|| inner.commit())) {
            Ok(()) => return result,
            Err(error) if error.kind() == ErrorKind::Conflict && attempt < attempts => {}
            Err(error) => return Err(raise(error)),
        }
        py.check_signals()?;
        py.unlocked(|| std::thread::sleep(pause));
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    Err(raise(Error::new(ErrorKind::Conflict, "the transaction lost every attempt")))
}
