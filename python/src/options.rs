//! Options: names and values of Python for those of the engine.

use std::sync::Arc;
use std::time::Duration;

use foldb::expiry::Expires;
use foldb::{KeyspaceOptions, Options};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::comparator::{comparator_of, comparators_of};
use crate::errors::raise;
use crate::operator::{self, operators_of};

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

/// The code of the program that a database runs, as Python gives it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Code<'a, 'py> {
    pub(crate) merge_operator: Option<&'a Bound<'py, PyAny>>,
    pub(crate) operators: Option<&'a Bound<'py, PyAny>>,
    pub(crate) comparator: Option<&'a Bound<'py, PyAny>>,
    pub(crate) comparators: Option<&'a Bound<'py, PyAny>>,
}

/// Returns the options of a database.
pub(crate) fn of_database(
    code: Code<'_, '_>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Options> {
    let mut options = Options::named(named(given)?).map_err(raise)?;
    options.operators = operators_of(code.operators)?;
    options.comparators = comparators_of(code.comparators)?;
    options.default.comparator = comparator_of(code.comparator, "comparator")?;
    if let Some(operator) = operator::named(code.merge_operator, "merge_operator")? {
        options.default.merge_operator = Some(operator.spec);
        let is_new = |own: &_| !options.operators.iter().any(|other| Arc::ptr_eq(other, own));
        let own = operator.own.filter(is_new);
        options.operators.extend(own);
    }
    Ok(options)
}

/// Returns the options of a keyspace.
pub(crate) fn of_keyspace(
    code: Code<'_, '_>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<KeyspaceOptions> {
    let mut options = KeyspaceOptions::named(named(given)?).map_err(raise)?;
    options.comparator = comparator_of(code.comparator, "comparator")?;
    if let Some(operator) = operator::named(code.merge_operator, "merge_operator")? {
        options.merge_operator = Some(operator.spec);
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
