//! Options: names and values of Python for those of the engine.

use std::time::Duration;

use foldb::expiry::Expires;
use foldb::{KeyspaceOptions, Options};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::errors::raise;

/// Returns the names and texts of keyword arguments.
fn named(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let mut named = Vec::with_capacity(given.len());
    for (name, value) in given {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let text = if let Ok(flag) = value.cast::<PyBool>() {
            flag.is_true().to_string()
        } else if value.is_instance_of::<PyInt>()
            || value.is_instance_of::<PyFloat>()
            || value.is_instance_of::<PyString>()
        {
            value.str()?.to_string()
        } else {
            let found = value.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!(
                "{name}: expected a bool, a number or a str, not {found}"
            )));
        };
        named.push((name, text));
    }
    Ok(named)
}

/// Returns the options of a database.
pub(crate) fn of_database(
    merge_operator: Option<&str>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Options> {
    let mut options = Options::named(named(given)?).map_err(raise)?;
    if let Some(operator) = merge_operator {
        options.default.merge_operator = Some(operator.to_owned());
    }
    Ok(options)
}

/// Returns the options of a keyspace.
pub(crate) fn of_keyspace(
    merge_operator: Option<&str>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<KeyspaceOptions> {
    let mut options = KeyspaceOptions::named(named(given)?).map_err(raise)?;
    if let Some(operator) = merge_operator {
        options.merge_operator = Some(operator.to_owned());
    }
    Ok(options)
}

/// Reads a lifetime: seconds or a `timedelta`.
pub(crate) fn lifetime(given: &Bound<'_, PyAny>) -> PyResult<Expires> {
    let seconds: f64 = match given.extract() {
        Ok(seconds) => seconds,
        Err(_) => match given.call_method0("total_seconds") {
            Ok(seconds) => seconds.extract()?,
            Err(_) => return Err(PyTypeError::new_err("ttl: expected seconds or a timedelta")),
        },
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(after) => Ok(Expires::After(after)),
        Err(_) => {
            Err(PyValueError::new_err(format!("ttl: expected seconds from 0, not {seconds}")))
        }
    }
}
