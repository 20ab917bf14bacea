//! Counts: `counts[key] += 1` without a read.
//!
//! Python evaluates `counts[key] += 1` as a lookup, an addition and an assignment. The lookup
//! returns a [`Count`], which knows only the key. The addition notes the amount in it, and the
//! assignment merges the amount. A program that looks at the number of a `Count` reads it.

use std::ops::Bound as End;

use foldb::{WriteBatch, WriteOptions};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffers::Numbers;
use crate::count::Count;
use crate::ending::Unlocked;
use crate::errors::{not_pickled, raise};
use crate::keyspace::Keyspace;
use crate::many::{Table, counted};
use crate::reader::{Data, Reader, reading};

/// Most merges of one batch, and about its most bytes.
const MOST_MERGES: usize = 10_000;
const MOST_BYTES: usize = 1 << 20;

/// The counts of a keyspace with the operator `int64add`.
#[pyclass(module = "foldb", subclass, frozen)]
pub(crate) struct Counters {
    home: Py<Keyspace>,
}

fn number_of(bytes: &[u8]) -> PyResult<i64> {
    let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| {
        raise(foldb::Error::corruption(format!("a count has 8 bytes, not {}", bytes.len())))
    })?;
    Ok(i64::from_le_bytes(bytes))
}

pub(crate) fn amount_of(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            PyOverflowError::new_err("amount: expected an int of 64 bits")
        } else {
            PyTypeError::new_err("amount: expected an int")
        }
    })
}

impl Counters {
    fn reader<'a>(&'a self, py: Python<'a>) -> &'a Reader {
        self.home.bind(py).as_super().get()
    }

    pub(crate) fn read(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let reader = self.reader(py);
        let key = reader.keys.encode(key, "key")?;
        let found = py.unlocked(|| reading!(&*reader.data, own => own.get(&key))).map_err(raise)?;
        found.map(|value| number_of(&value)).transpose()
    }
}

/// Counts without reading.
#[pymethods]
impl Counters {
    #[new]
    fn new(keyspace: &Bound<'_, Keyspace>) -> PyResult<Counters> {
        if keyspace.as_super().get().numbers != Numbers::Signed {
            return Err(raise(foldb::Error::invalid_argument(
                "counters need a keyspace with merge_operator=\"int64add\"",
            )));
        }
        Ok(Counters { home: keyspace.clone().unbind() })
    }

    /// The keyspace of the counts.
    #[getter]
    fn keyspace(&self, py: Python<'_>) -> Py<Keyspace> {
        self.home.clone_ref(py)
    }

    /// Adds to a count, without reading it.
    #[pyo3(signature = (key, amount=1))]
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>, amount: i64) -> PyResult<()> {
        let reader = self.reader(py);
        let (keyspace, key) = (reader.live()?, reader.keys.encode(key, "key")?);
        let options = WriteOptions { sync: reader.sync, ..WriteOptions::DEFAULT };
        py.unlocked(|| keyspace.with(&options).merge(&key, amount.to_le_bytes())).map_err(raise)
    }

    /// Returns a count, or `default` if the key was never counted.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.read(py, key)? {
            Some(number) => Ok(Some(number.into_pyobject(py)?.into_any())),
            None => Ok(default),
        }
    }

    fn __getitem__(slf: &Bound<'_, Self>, key: Bound<'_, PyAny>) -> Count {
        Count::new(slf, key)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        if let Ok(count) = value.cast::<Count>()
            && let Some(amount) = Count::noted(count, slf, key)?
        {
            return slf.get().add(py, key, amount);
        }
        let number = amount_of(value)?;
        let reader = slf.get().reader(py);
        let (keyspace, key) = (reader.live()?, reader.keys.encode(key, "key")?);
        let options = WriteOptions { sync: reader.sync, ..WriteOptions::DEFAULT };
        py.unlocked(|| keyspace.with(&options).put(&key, number.to_le_bytes())).map_err(raise)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.home.bind(py).as_any().contains(key)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.home.bind(py).as_any().del_item(key)
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(not_pickled(slf.as_any()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.home.bind(py).as_any().len()
    }

    /// Adds the numbers of a dict to the counts, in few batches.
    fn add_all(&self, py: Python<'_>, amounts: &Bound<'_, PyDict>) -> PyResult<()> {
        let reader = self.reader(py);
        let (db, keyspace) = (reader.db()?, reader.live()?);
        let options = WriteOptions { sync: reader.sync, ..WriteOptions::DEFAULT };
        let mut batch = WriteBatch::new();
        for (key, amount) in amounts {
            let key = reader.keys.encode(&key, "key")?;
            batch.merge_in(keyspace, &key, amount_of(&amount)?.to_le_bytes());
            if batch.len() >= MOST_MERGES || batch.byte_len() >= MOST_BYTES {
                py.unlocked(|| db.with(&options).write(&batch)).map_err(raise)?;
                batch.clear();
                py.check_signals()?;
            }
        }
        py.unlocked(|| db.with(&options).write(&batch)).map_err(raise)
    }

    /// Returns the `n` keys with the largest counts, the largest first; equal counts in the order
    /// of their keys. Without `n`, all keys.
    #[pyo3(signature = (n=None))]
    fn most_common<'py>(
        &self,
        py: Python<'py>,
        n: Option<i64>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, i64)>> {
        // `Counter` of the standard library returns nothing for numbers below 0, too.
        let best = self.best(py, n.map(|n| usize::try_from(n).unwrap_or(0)))?;
        let keys = &self.reader(py).keys;
        best.into_iter().map(|(count, key)| Ok((keys.decode(py, &key)?, count))).collect()
    }

    /// Returns `most_common` as a table of `key` and `count`, or with these `names`.
    #[pyo3(signature = (n=None, *, names=None))]
    fn top(&self, py: Python<'_>, n: Option<usize>, names: Option<Vec<String>>) -> PyResult<Table> {
        counted(self.reader(py), &self.best(py, n)?, names)
    }
}

impl Counters {
    /// Returns the largest counts with their keys.
    fn best(&self, py: Python<'_>, n: Option<usize>) -> PyResult<Vec<(i64, Vec<u8>)>> {
        const STEP: usize = 1 << 16;
        let mut iter = self.reader(py).open_iter(py, (End::Unbounded, End::Unbounded))?;
        let mut best: Vec<(i64, Vec<u8>)> = Vec::new();
        let most = n.unwrap_or(usize::MAX);
        loop {
            let is_done = py.unlocked(|| -> foldb::Result<bool> {
                for _ in 0..STEP {
                    if !iter.advance()? {
                        return Ok(true);
                    }
                    let value = iter.value()?;
                    let Ok(bytes) = <[u8; 8]>::try_from(&value[..]) else {
                        return Err(foldb::Error::corruption("a count has 8 bytes"));
                    };
                    let count = i64::from_le_bytes(bytes);
                    best.push((count, iter.key().to_vec()));
                    if best.len() >= most.saturating_mul(2).max(1024) {
                        keep_best(&mut best, most);
                    }
                }
                Ok(false)
            });
            if is_done.map_err(raise)? {
                break;
            }
            py.check_signals()?;
        }
        keep_best(&mut best, most);
        Ok(best)
    }
}

fn keep_best(best: &mut Vec<(i64, Vec<u8>)>, most: usize) {
    best.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    best.truncate(most);
}
