//! Snapshots: all keyspaces as they were at one moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldb::{KeyspaceReader, Result};
use pyo3::prelude::*;

use crate::errors::{closed, raise};
use crate::keyspace::Keyspace;
use crate::reader::{Data, Reader};
use crate::released::Released;

/// The moment of a snapshot, which its readers and iterators share.
pub(crate) struct Moment {
    /// `None` after the close.
    snapshot: Mutex<Option<foldb::Snapshot>>,
    is_closed: AtomicBool,
}

impl Moment {
    pub(crate) fn of(snapshot: foldb::Snapshot) -> Moment {
        Moment { snapshot: Mutex::new(Some(snapshot)), is_closed: AtomicBool::new(false) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Returns a reader of a keyspace at this moment.
    ///
    /// # Errors
    /// `Closed`.
    pub(crate) fn reader(&self, keyspace: &foldb::Keyspace) -> Result<KeyspaceReader> {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = snapshot.as_ref().ok_or_else(|| closed("snapshot"))?;
        Ok(snapshot.keyspace(keyspace))
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(snapshot);
    }
}

/// A database as it was at one moment. It reads the keyspace `default`; `keyspace` reads another.
#[pyclass(module = "foldb", extends = Reader, frozen)]
pub(crate) struct Snapshot {
    moment: Arc<Moment>,
}

impl Snapshot {
    /// Takes a snapshot for the readers of a keyspace.
    pub(crate) fn take(db: &foldb::Db, of: &Reader) -> PyClassInitializer<Snapshot> {
        let moment = Arc::new(Moment::of(db.snapshot()));
        let keyspace = db.default_keyspace().clone();
        PyClassInitializer::from(of.over(Data::Moment(Arc::clone(&moment), keyspace)))
            .add_subclass(Snapshot { moment })
    }
}

/// Reads the other keyspaces at the same moment.
#[pymethods]
impl Snapshot {
    /// Returns a reader of another keyspace at this moment.
    fn keyspace(&self, keyspace: &Bound<'_, Keyspace>) -> PyResult<Reader> {
        let reader = keyspace.as_super().get();
        let own = reader.live()?.clone();
        self.moment.reader(&own).map_err(raise)?;
        Ok(reader.over(Data::Moment(Arc::clone(&self.moment), own)))
    }

    /// Lets go of the moment. Later reads raise `Closed`, those of its iterators too.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.moment.close());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }
}

impl Reader {
    /// Returns a reader of the same kind of entries elsewhere.
    pub(crate) fn over(&self, data: Data) -> Reader {
        let (keys, closed) = (Arc::clone(&self.keys), Arc::clone(&self.closed));
        let (data, db) = (Released::new(data), Released::new(None));
        Reader { data, db, keys, numbers: self.numbers, sync: self.sync, closed }
    }
}
