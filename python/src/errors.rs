//! Errors: the engine's kinds as exceptions.
//!
//! The classes are written in Python, in `foldb/errors.py`: one for each kind, with its name. Some
//! have a second base of the standard library, such as `ValueError`.

use foldb::{Error, ErrorKind};
use pyo3::exceptions::PyException;
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
        _ => error.to_string(),
    };
    let raised = class.call1((text,))?;
    raised.setattr("kind", name)?;
    if let Some(path) = error.path() {
        raised.setattr("path", path)?;
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
