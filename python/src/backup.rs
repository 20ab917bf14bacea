//! Incremental backups in one directory.

use std::path::PathBuf;

use foldb::Options;
use foldb::backup::BackupInfo;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::database::Database;
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::maintenance::waiting;

/// The backups in a directory. A backup copies only the files that the directory lacks.
#[pyclass(module = "foldb", frozen)]
pub(crate) struct Backups {
    inner: foldb::backup::Backups,
}

fn shown(py: Python<'_>, info: BackupInfo) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", info.id)?;
    dict.set_item("files", info.files)?;
    dict.set_item("bytes", info.bytes)?;
    dict.set_item("new_files", info.new_files)?;
    dict.set_item("new_bytes", info.new_bytes)?;
    Ok(dict)
}

/// Makes, lists, restores and deletes backups. Ctrl-C ends the wait for a long call.
#[pymethods]
impl Backups {
    #[new]
    fn new(directory: PathBuf) -> Backups {
        Backups { inner: foldb::backup::Backups::at(directory, &Options::default()) }
    }

    /// Makes a backup of an open database, and returns what it has as a dict.
    fn create<'py>(
        &self,
        py: Python<'py>,
        db: &Bound<'py, Database>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (own, db) = (self.inner.clone(), db.get().db()?.clone());
        shown(py, waiting(py, move || own.create(&db))?)
    }

    /// Returns all backups, the oldest first.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let all = py.unlocked(|| self.inner.list()).map_err(raise)?;
        all.into_iter().map(|info| shown(py, info)).collect()
    }

    /// Makes a database at `path` of a backup; without `id`, of the newest one.
    #[pyo3(signature = (path, *, id=None))]
    fn restore<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        id: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let own = self.inner.clone();
        shown(py, waiting(py, move || own.restore(id, path))?)
    }

    /// Deletes a backup, and the files that no other one has.
    fn delete(&self, py: Python<'_>, id: u64) -> PyResult<()> {
        let own = self.inner.clone();
        waiting(py, move || own.delete(id))
    }
}
