//! The argument `keyspace`, which says where a write or a read goes.

use std::ops::Deref;

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::keyspace::Keyspace;

/// The argument `keyspace` of a write or read.
pub(crate) struct Elsewhere<'py>(Bound<'py, Keyspace>);

impl<'py> Deref for Elsewhere<'py> {
    type Target = Bound<'py, Keyspace>;

    fn deref(&self) -> &Bound<'py, Keyspace> {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Elsewhere<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Elsewhere<'py>> {
        match given.cast::<Keyspace>() {
            Ok(keyspace) => Ok(Elsewhere(keyspace.to_owned())),
            Err(_) => {
                let found = given.get_type().name()?.to_string();
                Err(PyTypeError::new_err(format!(
                    "keyspace: expected what db.keyspace(name) returns, not {found}"
                )))
            }
        }
    }
}
