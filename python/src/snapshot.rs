//! Snapshots: all keyspaces as they were at one moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldb::{Error, KeyspaceReader, Result};
use pyo3::prelude::*;

use crate::callbacks::detached;
use crate::database::Handle;
use crate::ending::Unlocked;
use crate::errors::closed;
use crate::keyspace::Keyspace;
use crate::reader::{Data, Reader};
use crate::released::{Released, release};

/// The keyspace of a reader at a moment.
#[derive(Clone)]
pub(crate) enum Home {
    Live(foldb::Keyspace),
    /// A keyspace of a database that is only read: it stays as it was at the open.
    ReadOnly(KeyspaceReader),
}

/// What keeps a moment.
enum Kept {
    Snapshot(foldb::Snapshot),
    Open,
}

/// The moment of a snapshot, which its readers and iterators share.
pub(crate) struct Moment {
    /// `None` after the close.
    kept: Mutex<Option<Kept>>,
    is_closed: AtomicBool,
}

impl Drop for Moment {
    fn drop(&mut self) {
        release(self.take());
    }
}

impl Moment {
    fn of(kept: Kept) -> Moment {
        Moment { kept: Mutex::new(Some(kept)), is_closed: AtomicBool::new(false) }
    }

    fn take(&self) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Returns a reader of a keyspace at this moment.
    ///
    /// # Errors
    /// `Closed`.
    pub(crate) fn reader(&self, home: &Home) -> Result<KeyspaceReader> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match (kept.as_ref().ok_or_else(|| closed("snapshot"))?, home) {
            (Kept::Snapshot(snapshot), Home::Live(keyspace)) => Ok(snapshot.keyspace(keyspace)),
            (_, Home::ReadOnly(reader)) => Ok(reader.clone()),
            (Kept::Open, Home::Live(_)) => Err(Error::invalid_argument(
                "keyspace: this snapshot is of a database opened with read_only=True",
            )),
        }
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        drop(self.take());
    }
}

/// A database as it was at one moment. It reads the keyspace `default`; `keyspace` reads another.
#[pyclass(module = "foldb", extends = Reader, frozen)]
pub(crate) struct Snapshot {
    moment: Arc<Moment>,
}

impl Snapshot {
    /// Takes a snapshot for the readers of a keyspace.
    pub(crate) fn take(
        py: Python<'_>,
        handle: &Handle,
        of: &Reader,
    ) -> PyClassInitializer<Snapshot> {
        let (kept, home) = py.unlocked(|| match handle {
            Handle::Writable(db) => {
                (Kept::Snapshot(db.snapshot()), Home::Live(db.default_keyspace().clone()))
            }
            Handle::ReadOnly(db) => (Kept::Open, Home::ReadOnly(db.default_keyspace().clone())),
        });
        let moment = Arc::new(Moment::of(kept));
        PyClassInitializer::from(of.over(Data::Moment(Arc::clone(&moment), home)))
            .add_subclass(Snapshot { moment })
    }
}

/// Reads the other keyspaces at the same moment.
#[pymethods]
impl Snapshot {
    /// Returns a reader of another keyspace at this moment.
    fn keyspace(&self, py: Python<'_>, keyspace: &Bound<'_, Keyspace>) -> PyResult<Reader> {
        let reader = keyspace.as_super().get();
        let home = match &*reader.data {
            Data::Live(keyspace) => Home::Live(keyspace.clone()),
            Data::Reader(reader) => Home::ReadOnly(reader.clone()),
            Data::Moment(_, home) => home.clone(),
        };
        detached(py, || self.moment.reader(&home).map(|_| ()))?;
        Ok(reader.over(Data::Moment(Arc::clone(&self.moment), home)))
    }

    /// Lets go of the moment. Later reads raise `Closed`, those of its iterators too.
    fn close(&self, py: Python<'_>) {
        py.unlocked(|| self.moment.close());
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
