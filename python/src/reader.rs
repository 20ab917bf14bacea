//! Readers: the calls that read keys and values.
//!
//! A [`Reader`] reads a keyspace as it is now, a snapshot of one, or one of a database that is only
//! read. The engine checks that the database is open and in its own process. So no call here has
//! to.

use std::borrow::Cow;
use std::sync::Arc;

use foldb::operators::Operator;
use foldb::{Value, WriteOptions};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::buffers::{Numbers, value_of};
use crate::callbacks::detached;
pub(crate) use crate::data::{Data, described, reading};
use crate::database::Handle;
use crate::ending::Unlocked;
use crate::errors::{raise, read_only};
use crate::iterator::{Entries, Shown};
use crate::keys::Codec;
use crate::options::lifetime;
use crate::range::{Asked, EVERYTHING, Range};
use crate::released::Released;
use crate::snapshot::{Home, Moment};
use crate::standing::Standing;

/// The key, the operand and the named operator of a merge.
type Merging<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>, Option<Operator>);

/// What the handle of a keyspace is made of.
#[pyclass(module = "foldb", subclass, frozen)]
pub(crate) struct Reader {
    pub(crate) data: Released<Data>,
    /// The database that takes batches and has the statistics; `None` for a snapshot.
    pub(crate) db: Released<Option<Handle>>,
    pub(crate) keys: Arc<Codec>,
    pub(crate) numbers: Numbers,
    /// Whether a write that does not say so is synced.
    pub(crate) sync: bool,
    /// Whether the database was closed through its handle. The engine knows too, but iterators and
    /// batches do not ask it.
    pub(crate) closed: Arc<Standing>,
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
        match &*self.db {
            Some(Handle::Writable(db)) => Ok(db),
            Some(Handle::ReadOnly(_)) | None => Err(read_only()),
        }
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
    pub(crate) fn fetch(&self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Value>> {
        py.unlocked(|| reading!(&*self.data, reader => reader.get(key))).map_err(raise)
    }

    pub(crate) fn open_iter(
        &self,
        py: Python<'_>,
        range: Range,
    ) -> PyResult<Released<foldb::Iter>> {
        // The engine refuses no range that ends before it starts; it is empty.
        let iter = py.unlocked(|| reading!(&*self.data, reader => reader.range(range)));
        iter.map(Released::new).map_err(raise)
    }

    /// Reads the arguments of a merge: the key, the operand, and the operator if one is named.
    pub(crate) fn merging<'a>(
        &self,
        key: &'a Bound<'_, PyAny>,
        operand: &'a Bound<'_, PyAny>,
        operator: Option<&str>,
    ) -> PyResult<Merging<'a>> {
        let numbers = operator.map_or(self.numbers, |name| Numbers::of(Some(name)));
        let operand = value_of(operand, numbers, "operand")?;
        let (py, keyspace) = (key.py(), self.live()?);
        let operator = operator.map(|spec| detached(py, || keyspace.operator(spec))).transpose()?;
        Ok((self.keys.encode(key, "key")?, operand, operator))
    }

    pub(crate) fn moment(&self) -> Option<Arc<Moment>> {
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
        let iter = self.open_iter(py, asked.range(&self.keys)?)?.into_inner();
        let (keys, closed) = (Arc::clone(&self.keys), Arc::clone(&self.closed));
        Ok(Entries::new(iter, keys, shown, reverse, self.moment(), closed))
    }

    /// Returns the operator of merges that name none.
    pub(crate) fn operator(&self) -> Option<String> {
        described!(&*self.data, own => own.options().merge_operator)
    }

    pub(crate) fn all(&self, py: Python<'_>, shown: Shown) -> PyResult<Entries> {
        self.entries(py, shown, &EVERYTHING, false)
    }

    pub(crate) fn pair<'py>(
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

#[cold]
pub(crate) fn missing(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err(key.clone().unbind())
}
