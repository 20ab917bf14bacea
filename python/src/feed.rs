//! The change feed as an iterator.

use std::ops::Bound as End;
use std::time::{Duration, Instant, SystemTime};

use foldb::feed::{Change, Position, UpdateOp, UpdatesOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::database::Handle;
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::keys::datetime_of;
use crate::released::Released;

/// How often a wait looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// The updates after a position. At its end, a loop stops; a later loop goes on where it stopped.
#[pyclass(module = "foldb")]
pub(crate) struct Updates {
    inner: Released<foldb::feed::Updates>,
}

/// Begins to read updates.
pub(crate) fn updates(
    py: Python<'_>,
    handle: &Handle,
    since: Option<&[u8]>,
    include_unsynced: bool,
) -> PyResult<Updates> {
    let position = since.map_or(Ok(Position::BEGINNING), Position::from_bytes).map_err(raise)?;
    let options = UpdatesOptions { include_unsynced };
    let inner = py.unlocked(|| match handle {
        Handle::Writable(db) => db.with(&options).updates_since(&position),
        Handle::ReadOnly(db) => db.with(&options).updates_since(&position),
    });
    Ok(Updates { inner: Released::new(inner.map_err(raise)?) })
}

/// Reads updates.
#[pymethods]
impl Updates {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Update>> {
        let inner = &mut *self.inner;
        match py.unlocked(|| inner.next()) {
            None => Ok(None),
            Some(update) => Update::of(py, &update.map_err(raise)?).map(Some),
        }
    }

    /// Waits until there is an update, at most for `timeout` seconds; without it, for ever.
    /// Returns whether there is one.
    #[pyo3(signature = (timeout=None))]
    fn wait(&mut self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let limit = match timeout.map(Duration::try_from_secs_f64) {
            None => None,
            Some(Ok(limit)) => Some(limit),
            Some(Err(_)) => return Err(PyValueError::new_err("timeout: expected seconds from 0")),
        };
        let begin = Instant::now();
        loop {
            let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
            let step = left.map_or(LOOK, |left| left.min(LOOK));
            let inner = &mut *self.inner;
            if py.unlocked(|| inner.wait(step)).map_err(raise)? {
                return Ok(true);
            }
            if left.is_some_and(|left| left <= step) {
                return Ok(false);
            }
            py.check_signals()?;
        }
    }

    /// The position after the last update that was read, as bytes. `db.updates` takes it.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.position().to_bytes())
    }
}

/// Writes that happened together, or keyspaces that were created or dropped.
#[pyclass(module = "foldb", frozen, get_all)]
pub(crate) struct Update {
    /// The position after the update, as bytes.
    position: Py<PyBytes>,
    /// "batch", "keyspaces", or "unlogged" for writes that no log has.
    kind: &'static str,
    /// The writes of a batch.
    writes: Vec<Py<Write>>,
    /// The names of keyspaces that were dropped, before the created ones.
    dropped: Vec<String>,
    /// The names of keyspaces that were created.
    created: Vec<String>,
}

/// One write of a batch. What a kind of write has not is `None`.
#[pyclass(module = "foldb", frozen, get_all)]
pub(crate) struct Write {
    /// "put", "delete", "merge" or "delete_range".
    kind: &'static str,
    /// The name of the keyspace.
    keyspace: String,
    /// The key, as the bytes that are stored; of a range, its start. `decode_key` of the keyspace
    /// returns the key as the program gave it.
    key: Option<Py<PyBytes>>,
    /// The end of a range, as stored bytes.
    stop: Option<Py<PyBytes>>,
    /// Whether a range includes its start.
    include_start: Option<bool>,
    /// Whether a range includes its end.
    include_stop: Option<bool>,
    /// The value of a put, or the operand of a merge.
    value: Option<Py<PyBytes>>,
    /// The operator of a merge.
    operator: Option<String>,
    /// When the entry expires, as a datetime.
    expires: Option<Py<PyAny>>,
}

impl Update {
    fn of(py: Python<'_>, update: &foldb::feed::Update) -> PyResult<Update> {
        let mut shown = Update {
            position: PyBytes::new(py, &update.position.to_bytes()).unbind(),
            kind: "unlogged",
            writes: Vec::new(),
            dropped: Vec::new(),
            created: Vec::new(),
        };
        match &update.change {
            Change::Batch(batch) => {
                shown.kind = "batch";
                for write in batch.iter() {
                    shown.writes.push(Py::new(py, Write::of(py, &write)?)?);
                }
            }
            Change::Keyspaces { dropped, created, .. } => {
                shown.kind = "keyspaces";
                shown.dropped.clone_from(dropped);
                shown.created = created.iter().map(|keyspace| keyspace.name.clone()).collect();
            }
            _ => {}
        }
        Ok(shown)
    }
}

impl Write {
    fn of(py: Python<'_>, write: &UpdateOp<'_>) -> PyResult<Write> {
        let bytes = |bytes: &[u8]| Some(PyBytes::new(py, bytes).unbind());
        let moment = |time: Option<SystemTime>| {
            time.map(|time| datetime_of(py, time).map(Bound::unbind)).transpose()
        };
        let mut shown = Write {
            kind: "delete",
            keyspace: write.keyspace().to_owned(),
            key: write.key().and_then(bytes),
            stop: None,
            include_start: None,
            include_stop: None,
            value: None,
            operator: None,
            expires: None,
        };
        match *write {
            UpdateOp::Put { value, expires, .. } => {
                (shown.kind, shown.value) = ("put", bytes(value));
                shown.expires = moment(expires)?;
            }
            UpdateOp::Merge { operand, operator, expires, .. } => {
                (shown.kind, shown.value) = ("merge", bytes(operand));
                shown.operator = Some(operator.to_owned());
                shown.expires = moment(expires)?;
            }
            UpdateOp::DeleteRange { start, end, .. } => {
                shown.kind = "delete_range";
                shown.key = bound(start).and_then(bytes);
                shown.stop = bound(end).and_then(bytes);
                shown.include_start = Some(!matches!(start, End::Excluded(_)));
                shown.include_stop = Some(matches!(end, End::Included(_)));
            }
            _ => {}
        }
        Ok(shown)
    }
}

fn bound(end: End<&[u8]>) -> Option<&[u8]> {
    match end {
        End::Included(key) | End::Excluded(key) => Some(key),
        End::Unbounded => None,
    }
}

#[pymethods]
impl Write {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = self.key.as_ref().map(|key| key.bind(py).repr()).transpose()?;
        let key = key.map_or("None".to_owned(), |key| key.to_string());
        Ok(format!("<foldb.Write {} {key} in {:?}>", self.kind, self.keyspace))
    }
}
