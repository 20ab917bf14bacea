//! The handle of a database.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb::{Db, ErrorKind, ReadOnlyDb};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::{raise, read_only};
use crate::feed::{self, Updates};
use crate::keys::Codec;
use crate::keyspace::Keyspace;
use crate::maintenance::waiting;
use crate::opening::{created, reader};
use crate::options::{Code, of_keyspace};
use crate::range::{Asked, EVERYTHING};
use crate::reader::Data;
use crate::released::Released;
use crate::snapshot::Snapshot;
use crate::standing::Standing;
use crate::stats;
use crate::transaction::{Transaction, isolation, transact};

/// The database below a handle.
#[derive(Clone)]
pub(crate) enum Handle {
    Writable(Db),
    ReadOnly(ReadOnlyDb),
}

impl Handle {
    /// Returns the statistics as a dict.
    pub(crate) fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = py.unlocked(|| match self {
            Handle::Writable(db) => db.stats(),
            Handle::ReadOnly(db) => db.stats(),
        });
        stats::shown(py, &stats)
    }
}

/// A database, and its keyspace `default`. `foldb.open` makes it.
///
/// Used as `with foldb.open(path) as db:`, it is closed at the end of the block.
#[pyclass(module = "foldb", extends = Keyspace, frozen)]
pub(crate) struct Database {
    pub(crate) handle: Released<Handle>,
    pub(crate) standing: Arc<Standing>,
    pub(crate) sync: bool,
}

impl Database {
    pub(crate) fn db(&self) -> PyResult<&Db> {
        match &*self.handle {
            Handle::Writable(db) => Ok(db),
            Handle::ReadOnly(_) => Err(read_only()),
        }
    }
}

/// What concerns the whole database.
#[pymethods]
impl Database {
    /// The directory of the database.
    #[getter]
    fn path(&self) -> PathBuf {
        match &*self.handle {
            Handle::Writable(db) => db.path().to_owned(),
            Handle::ReadOnly(db) => db.path().to_owned(),
        }
    }

    /// Whether the database was closed through this handle.
    #[getter]
    fn closed(&self) -> bool {
        self.standing.is_closed()
    }

    /// Whether the database was opened with `read_only=True`.
    #[getter]
    fn read_only(&self) -> bool {
        matches!(*self.handle, Handle::ReadOnly(_))
    }

    /// Closes the database. Later calls raise `Closed`; a second close does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.standing.close();
        py.unlocked(|| match &*self.handle {
            Handle::Writable(db) => db.close(),
            Handle::ReadOnly(db) => db.close(),
        })
        .or_else(|error| if error.kind() == ErrorKind::Closed { Ok(()) } else { Err(error) })
        .map_err(raise)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let state = if self.closed() { ", closed" } else { "" };
        format!("<foldb.Database {:?}{state}>", self.path().display().to_string())
    }

    /// Opens a keyspace; creates it if there is none, unless `create` is false.
    ///
    /// `keys`, `merge_operator` and `comparator` are as in `foldb.open`; operators in Python and
    /// comparators of stored keyspaces must stand there too. `expiry` says when entries expire:
    /// "per-write", "after-last-write:SECONDS" or "after-first-write:SECONDS".
    #[pyo3(signature = (
        name, *, create=true, keys=None, merge_operator=None, comparator=None, **options
    ))]
    fn keyspace<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        create: bool,
        keys: Option<&Bound<'py, PyAny>>,
        merge_operator: Option<&Bound<'py, PyAny>>,
        comparator: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Keyspace>> {
        let given = Codec::of_argument(keys)?;
        let data = match &*self.handle {
            Handle::ReadOnly(db) => {
                Released::new(Data::Reader(detached(py, || db.keyspace(name))?))
            }
            Handle::Writable(db) => {
                let code = Code { merge_operator, comparator, ..Code::default() };
                let mut options = of_keyspace(code, options)?;
                let operator = options.merge_operator.as_deref();
                let schema = given.as_ref().and_then(|keys| keys.schema(operator));
                let opened = py.unlocked(|| match db.keyspace(name) {
                    Err(error) if create && error.kind() == ErrorKind::KeyspaceMissing => {
                        options.schema = schema;
                        created(db, name, options)
                    }
                    Ok(_) if create => db.keyspace_or_create(name, options),
                    opened => opened,
                });
                Released::new(Data::Live(opened.map_err(raise)?))
            }
        };
        let db = Released::new(Some(Handle::clone(&self.handle)));
        Bound::new(py, Keyspace::parts(reader(py, data, db, given, self.sync, &self.standing)?))
    }

    /// Returns the names of all keyspaces.
    fn keyspaces(&self, py: Python<'_>) -> Vec<String> {
        py.unlocked(|| match &*self.handle {
            Handle::Writable(db) => db.keyspaces(),
            Handle::ReadOnly(db) => db.keyspaces(),
        })
    }

    /// Drops a keyspace with all its entries.
    fn drop_keyspace(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let db = self.db()?;
        detached(py, || db.drop_keyspace(name))
    }

    /// Takes a snapshot: keeps the state of this moment readable. With `read_only=True`, the open
    /// was the moment.
    fn snapshot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Snapshot>> {
        let own = slf.as_super().as_super().get();
        slf.get().standing.check().map_err(raise)?;
        Bound::new(slf.py(), Snapshot::take(slf.py(), &slf.get().handle, own))
    }

    /// Begins a transaction; used in a `with` block, it commits at the end.
    #[pyo3(signature = (*, isolation="serializable", sync=None))]
    fn transaction(
        slf: &Bound<'_, Self>,
        isolation: &str,
        sync: Option<bool>,
    ) -> PyResult<Transaction> {
        Transaction::begin(slf.as_super(), self::isolation(isolation)?, sync)
    }

    /// Calls `work` with a transaction and commits it; after a conflict, again. Returns what `work`
    /// returned. An exception of `work` drops the transaction.
    #[pyo3(signature = (work, *, isolation="serializable", attempts=100, sync=None))]
    fn transact<'py>(
        slf: &Bound<'py, Self>,
        work: &Bound<'py, PyAny>,
        isolation: &str,
        attempts: u32,
        sync: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !work.is_callable() {
            return Err(PyTypeError::new_err("work: expected a callable"));
        }
        transact(slf.as_super(), work, self::isolation(isolation)?, attempts, sync)
    }

    /// Iterates over the updates after a position, in the order of the commits; needs the option
    /// `wal_retention_bytes` or `wal_retention_seconds`. Without `since`, from the beginning.
    #[pyo3(signature = (since=None, *, include_unsynced=false))]
    fn updates(
        &self,
        py: Python<'_>,
        since: Option<&[u8]>,
        include_unsynced: bool,
    ) -> PyResult<Updates> {
        feed::updates(py, &self.handle, since, include_unsynced)
    }

    /// Returns the position of the change feed now, as bytes.
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let db = self.db()?;
        let position = detached(py, || db.position())?;
        Ok(pyo3::types::PyBytes::new(py, &position.to_bytes()))
    }

    /// Flushes all memtables to tables.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.db()?.clone();
        waiting(py, move || db.flush())
    }

    /// Returns when every write so far is on the medium.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.db()?;
        detached(py, || db.sync())
    }

    /// Folds all operands and drops what was deleted, in all keyspaces. Ctrl-C ends the wait, and
    /// the compaction goes on. With bounds, only keys from `start` to before `stop`: keys as those
    /// of this handle, whose stored bytes bound all keyspaces.
    #[pyo3(signature = (start=None, stop=None))]
    fn compact(
        slf: &Bound<'_, Self>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let db = slf.get().db()?.clone();
        let asked = Asked { start, stop, ..EVERYTHING };
        let range = asked.range(&slf.as_super().as_super().get().keys)?;
        waiting(slf.py(), move || db.compact(range))
    }

    /// Gives back the space of overwritten and deleted large values. Returns the bytes that came
    /// back. Ctrl-C cancels it.
    fn collect_garbage(&self, py: Python<'_>) -> PyResult<u64> {
        let db = self.db()?.clone();
        let cancel = Arc::new(AtomicBool::new(false));
        let options = foldb::garbage::GcOptions {
            cancel: Some(Arc::clone(&cancel)),
            ..foldb::garbage::GcOptions::default()
        };
        let report = waiting(py, move || db.with(&options).collect_garbage());
        if report.is_err() {
            cancel.store(true, Ordering::Release);
        }
        report.map(|report| report.bytes_reclaimed())
    }

    /// Reads every table and checks it. Returns the number of records.
    fn verify(&self, py: Python<'_>) -> PyResult<u64> {
        let handle = Handle::clone(&self.handle);
        waiting(py, move || match handle {
            Handle::Writable(db) => db.verify(),
            Handle::ReadOnly(db) => db.verify(),
        })
    }

    /// Makes a second database of hard links at `path`, while writes go on.
    fn checkpoint(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let db = self.db()?.clone();
        waiting(py, move || db.checkpoint(path).map(|_| ()))
    }

    /// Writes the database as one stream to a new file. Returns the number of keys.
    fn dump(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        let handle = Handle::clone(&self.handle);
        waiting(py, move || {
            let failed = |error: std::io::Error| foldb::Error::io(&path, "write", &error);
            let file = std::fs::File::create_new(&path).map_err(failed)?;
            let mut out = std::io::BufWriter::new(file);
            let report = match handle {
                Handle::Writable(db) => db.dump(&mut out)?,
                Handle::ReadOnly(db) => db.dump(&mut out)?,
            };
            let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
            file.sync_all().map_err(failed)?;
            Ok(report.keys)
        })
    }

    /// Returns counts and sizes of the database as a dict.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.handle.stats(py)
    }

    /// Draws the shape of the database with matplotlib, and returns the figure.
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foldb.plots")?.getattr("database")?.call1((slf,))
    }

    /// Shows the database in a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foldb.stats")?.getattr("database")?.call1((slf,))
    }
}
