//! A cursor on single entries, which a program moves.

use std::sync::Arc;

use foldb::{Error, Iter};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::{closed, raise};
use crate::iterator::check;
use crate::released::release;
use crate::snapshot::Moment;
use crate::standing::Standing;

/// A cursor on single entries, which a program moves. For `foldb.plyvel`.
#[pyclass(module = "foldb")]
pub(crate) struct Cursor {
    iter: Option<Iter>,
    moment: Option<Arc<Moment>>,
    closed: Arc<Standing>,
}

impl Cursor {
    pub(crate) fn new(iter: Iter, moment: Option<Arc<Moment>>, closed: Arc<Standing>) -> Cursor {
        Cursor { iter: Some(iter), moment, closed }
    }

    fn open(&mut self) -> PyResult<&mut Iter> {
        check(self.moment.as_ref(), &self.closed)?;
        self.iter.as_mut().ok_or_else(|| raise(closed("iterator")))
    }

    fn run(
        &mut self,
        py: Python<'_>,
        step: impl Send + FnOnce(&mut Iter) -> Result<bool, Error>,
    ) -> PyResult<bool> {
        let iter = self.open()?;
        detached(py, || step(iter))
    }
}

/// Moves the cursor. Each call returns whether it stands on an entry then.
#[pymethods]
impl Cursor {
    /// Whether the cursor stands on an entry.
    fn valid(&mut self) -> PyResult<bool> {
        self.open().map(|iter| iter.valid())
    }

    /// Moves to the first entry.
    fn seek_to_first(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, Iter::seek_to_first)
    }

    /// Moves to the last entry.
    fn seek_to_last(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, Iter::seek_to_last)
    }

    /// Moves to the first entry whose key is not less than `key`.
    fn seek(&mut self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = crate::buffers::bytes_of(key, "key")?;
        self.run(py, |iter| iter.seek(&key))
    }

    /// Moves to the next entry; from no entry, nowhere.
    fn next(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, |iter| if iter.valid() { iter.advance() } else { Ok(false) })
    }

    /// Moves to the entry before; from no entry, nowhere.
    fn prev(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, |iter| if iter.valid() { iter.retreat() } else { Ok(false) })
    }

    /// Returns the key under the cursor, or `None`.
    fn key<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let iter = self.open()?;
        Ok(iter.valid().then(|| PyBytes::new(py, iter.key())))
    }

    /// Returns the value under the cursor, or `None`.
    fn value<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let iter = self.open()?;
        if !iter.valid() {
            return Ok(None);
        }
        let value = detached(py, || iter.value())?;
        Ok(Some(PyBytes::new(py, value)))
    }

    /// Lets go of what the cursor holds.
    fn close(&mut self, py: Python<'_>) {
        let iter = self.iter.take();
        py.unlocked(|| drop(iter));
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        if let Some(iter) = self.iter.take() {
            release(iter);
        }
    }
}
