//! Long calls, and calls on databases that are not open.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use foldb::{Db, Options};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::callbacks::{detached, guarded};
use crate::ending::{Unlocked, attached, is_ended, is_inside};
use crate::errors::raise;
use crate::options::{Code, of_database};

/// How often a long call looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a long call on a thread of its own, so that Ctrl-C can end the wait for it. The call itself
/// then goes on to its end. In a callback of the engine it stays on this thread: the engine refuses
/// a wait for its own caller there. At the end of the interpreter it stays too.
pub(crate) fn waiting<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> foldb::Result<T> + Send + 'static,
) -> PyResult<T> {
    if is_inside() || is_ended() {
        return detached(py, work);
    }
    let (done, outcome) = sync_channel(1);
    let thread = std::thread::Builder::new().name("foldb-python".to_owned());
    thread.spawn(move || {
        let result = match guarded(work) {
            Ok(answer) => Ok(answer),
            // The exception of a callback is known to this thread. When the interpreter ends, the
            // caller waits no more.
            Err(error) => match attached(|_| raise(error)) {
                Some(raised) => Err(raised),
                None => return,
            },
        };
        // After Ctrl-C the caller waits no more.
        let _ = done.send(result);
    })?;
    // Moves with the loop, because a receiver is for one thread at a time.
    let mut outcome = outcome;
    loop {
        let (back, received) = py.unlocked(move || {
            let received = outcome.recv_timeout(LOOK);
            (outcome, received)
        });
        outcome = back;
        match received {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the call panicked, please report it"));
            }
        }
    }
}

/// Returns default options with the code of the program.
fn with_code(
    operators: Option<&Bound<'_, PyAny>>,
    comparator: Option<&Bound<'_, PyAny>>,
    comparators: Option<&Bound<'_, PyAny>>,
) -> PyResult<Options> {
    of_database(Code { operators, comparator, comparators, ..Code::default() }, None)
}

/// Removes a database that is not open: its own files, and the directory if nothing else is in it.
#[pyfunction]
pub(crate) fn destroy(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.unlocked(|| Db::destroy(&path, &Options::default())).map_err(raise)
}

/// Rebuilds a database with missing or damaged files, and returns what it found as a dict.
///
/// `operators`, `comparator` and `comparators` are as in `open`.
#[pyfunction]
#[pyo3(signature = (
    path, *, copy_to=None, dry_run=false, operators=None, comparator=None, comparators=None
))]
pub(crate) fn repair<'py>(
    py: Python<'py>,
    path: PathBuf,
    copy_to: Option<PathBuf>,
    dry_run: bool,
    operators: Option<&Bound<'py, PyAny>>,
    comparator: Option<&Bound<'py, PyAny>>,
    comparators: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = with_code(operators, comparator, comparators)?;
    let report = waiting(py, move || {
        let mut options = foldb::repair::RepairOptions::from(options);
        options.copy_to = copy_to;
        options.dry_run = dry_run;
        Db::repair(path, options)
    })?;
    let found = PyDict::new(py);
    found.set_item("found_nothing", report.found_nothing())?;
    found.set_item("lost_nothing", report.lost_nothing())?;
    found.set_item("tables", report.tables)?;
    found.set_item(
        "lost_tables",
        PyList::new(py, report.lost_tables.iter().map(|lost| &lost.file))?,
    )?;
    found.set_item("lost_logs", PyList::new(py, &report.lost_logs)?)?;
    found.set_item("lost_segments", PyList::new(py, &report.lost_segments)?)?;
    found.set_item("values_recovered", report.values_recovered)?;
    Ok(found)
}

/// Checks every file of a database that is not open. Returns the faults as a list of texts.
///
/// `operators`, `comparator` and `comparators` are as in `open`.
#[pyfunction]
#[pyo3(signature = (path, *, operators=None, comparator=None, comparators=None))]
pub(crate) fn verify(
    py: Python<'_>,
    path: PathBuf,
    operators: Option<&Bound<'_, PyAny>>,
    comparator: Option<&Bound<'_, PyAny>>,
    comparators: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let options = with_code(operators, comparator, comparators)?;
    let report = waiting(py, move || foldb::repair::verify(path, options))?;
    Ok(report.faults.iter().map(ToString::to_string).collect())
}

/// Makes a database at `path` of the stream that `dump` wrote. Returns the number of keys.
///
/// `operators`, `comparator` and `comparators` are as in `open`.
#[pyfunction]
#[pyo3(signature = (dump, path, *, operators=None, comparator=None, comparators=None))]
pub(crate) fn restore(
    py: Python<'_>,
    dump: PathBuf,
    path: PathBuf,
    operators: Option<&Bound<'_, PyAny>>,
    comparator: Option<&Bound<'_, PyAny>>,
    comparators: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let options = with_code(operators, comparator, comparators)?;
    waiting(py, move || {
        let file = std::fs::File::open(&dump);
        let file = file.map_err(|error| foldb::Error::io(&dump, "open", &error))?;
        let options = Options { create_if_missing: true, ..options };
        Db::restore(std::io::BufReader::new(file), path, options).map(|report| report.keys)
    })
}
