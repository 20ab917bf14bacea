//! Errors: the engine's kinds as exceptions.
//!
//! The classes are written in Python, in `foldb/errors.py`: one for each kind, with its name. Some
//! have a second base of the standard library, such as `ValueError`.

use foldb::{Error, ErrorKind};
use pyo3::exceptions::{PyException, PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use crate::callbacks::{cause_of, is_error};

static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Turns an error of the engine into the exception of its kind.
#[cold]
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| exception(py, &error).unwrap_or_else(|failed| failed))
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let classes = CLASSES.get_or_try_init(py, || py.import("foldb.errors").map(Bound::unbind))?;
    let classes = classes.bind(py);
    let cause = cause_of(error);
    if let Some(interrupt) = cause.as_ref().filter(|cause| !is_error(py, cause)) {
        return Ok(interrupt.clone_ref(py));
    }
    // A comparator that cannot read a key has failed, though the engine says: bad argument.
    let is_comparator = cause.is_some() && error.kind() == ErrorKind::InvalidArgument;
    let name = match is_comparator {
        true => "ComparatorFailed".to_owned(),
        false => format!("{:?}", error.kind()),
    };
    // A later kind of the engine has no class of its own yet.
    let class = classes.getattr(&*name).or_else(|_| classes.getattr("Error"))?;
    let text = match &cause {
        Some(cause) if error.failed_merge().is_some() => format!("{error}: {cause}"),
        _ => in_python(error.to_string()),
    };
    let raised = class.call1((text,))?;
    raised.setattr("kind", name)?;
    if let Some(path) = error.path() {
        raised.setattr("path", path)?;
    }
    if raised.is_instance_of::<PyOSError>() {
        let source = std::error::Error::source(error);
        let source = source.and_then(|source| source.downcast_ref::<std::io::Error>());
        raised.setattr("errno", source.and_then(std::io::Error::raw_os_error))?;
        raised.setattr("strerror", source.map(ToString::to_string))?;
        raised.setattr("filename", error.path().map(std::path::Path::as_os_str))?;
    }
    if let Some((key, _)) = error.failed_merge() {
        raised.setattr("key", PyBytes::new(py, key))?;
    }
    debug_assert!(raised.is_instance_of::<PyException>());
    let raised = PyErr::from_value(raised);
    if cause.is_some() {
        raised.set_cause(py, cause);
    }
    Ok(raised)
}

/// Names of the engine in its messages, with what they are in Python. The longer ones come first.
const NAMES: [(&str, &str); 8] = [
    ("in Options.default,", "in foldb.open,"),
    ("Options::explain and `foldb options` list all", "`foldb options` lists all"),
    ("open it with Db::keyspace,", "open it with only its name,"),
    ("KeyspaceOptions::", "the option "),
    ("WriteOptions::", "the option "),
    ("Options::operators", "operators"),
    ("Options::", "the option "),
    ("Db::open", "foldb.open"),
];

/// Returns a message of the engine with the names that a program in Python knows.
fn in_python(mut text: String) -> String {
    for (name, own) in NAMES {
        if text.contains(name) {
            text = text.replace(name, own);
        }
    }
    text
}

/// Returns the error of a pickle of a handle.
#[cold]
pub(crate) fn not_pickled(handle: &Bound<'_, PyAny>) -> PyErr {
    let name = handle.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!(
        "a {name} cannot be pickled: pass the path, and open the database in the other process \
         with read_only=True, or send the writes to the process that has it open"
    ))
}

/// Returns the error of a write through a handle that only reads.
#[cold]
pub(crate) fn read_only() -> PyErr {
    raise(Error::new(ErrorKind::ReadOnly, "the database was opened with read_only=True"))
}

/// Returns the error of a call on a handle that was closed.
#[cold]
pub(crate) fn closed(what: &str) -> Error {
    Error::new(ErrorKind::Closed, format!("the {what} was closed"))
}
