//! Operands and values of sets, lists and sketches, for the classes in Python.

use foldb::operators::{hyperloglog, list, set};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::buffers::bytes_of;
use crate::errors::raise;

fn each(elements: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec<u8>>> {
    elements.try_iter()?.map(|element| Ok(bytes_of(&element?, name)?.into_owned())).collect()
}

fn shown<'py>(py: Python<'py>, parts: Vec<&[u8]>) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, parts.into_iter().map(|part| PyBytes::new(py, part)))
}

/// Returns the operand that adds a member to a set.
#[pyfunction]
pub(crate) fn set_add<'py>(member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(member.py(), &set::add(bytes_of(member, "member")?)))
}

/// Returns the operand that removes a member from a set.
#[pyfunction]
pub(crate) fn set_remove<'py>(member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(member.py(), &set::remove(bytes_of(member, "member")?)))
}

/// Returns the members of a set, in their order.
#[pyfunction]
pub(crate) fn set_members<'py>(py: Python<'py>, value: &[u8]) -> PyResult<Bound<'py, PyList>> {
    shown(py, set::members(value).map_err(raise)?)
}

/// Returns the operand that appends elements to a list.
#[pyfunction]
pub(crate) fn list_append<'py>(elements: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(elements.py(), &list::operand(each(elements, "element")?)))
}

/// Returns the elements of a list, the oldest first.
#[pyfunction]
pub(crate) fn list_elements<'py>(py: Python<'py>, value: &[u8]) -> PyResult<Bound<'py, PyList>> {
    shown(py, list::elements(value).map_err(raise)?)
}

/// Returns the operand that adds elements to a sketch.
#[pyfunction]
pub(crate) fn sketch_add<'py>(elements: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(elements.py(), &hyperloglog::operand(each(elements, "element")?)))
}

/// Returns about how many different elements were added to a sketch.
#[pyfunction]
pub(crate) fn sketch_estimate(value: &[u8]) -> PyResult<f64> {
    hyperloglog::estimate(value).map_err(raise)
}
