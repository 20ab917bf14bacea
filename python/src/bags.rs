//! Operands and values of sets, lists and sketches, for the classes in Python.

use foldb::operators::{hyperloglog, list, set};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::buffers::{bytes_of, element_of};
use crate::errors::raise;
use crate::keyspace::Keyspace;
use crate::many::{self, Columns, Form, Together, Verb};

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

/// Returns the operand that adds elements to a sketch: bytes, texts, or ints of 64 bits.
#[pyfunction]
pub(crate) fn sketch_add<'py>(
    py: Python<'py>,
    elements: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let elements: PyResult<Vec<Vec<u8>>> = elements
        .try_iter()?
        .map(|element| Ok(element_of(&element?, "element")?.into_owned()))
        .collect();
    let operand = hyperloglog::operand(elements?);
    Ok(PyBytes::new(py, &operand))
}

/// Returns about how many different elements were added to a sketch.
#[pyfunction]
pub(crate) fn sketch_estimate(value: &[u8]) -> PyResult<f64> {
    hyperloglog::estimate(value).map_err(raise)
}

/// Merges a column of elements into a column of keys, one merge for the elements of a key. `kind`
/// is the operator.
#[pyfunction]
pub(crate) fn add_elements(
    keyspace: &Bound<'_, Keyspace>,
    kind: &str,
    keys: &Bound<'_, PyAny>,
    elements: &Bound<'_, PyAny>,
) -> PyResult<u64> {
    let last = kind.strip_prefix("listlast:").and_then(|last| last.parse().ok());
    let (together, form) = match (kind, last) {
        ("set", _) => (Together::Set, Form::Raw),
        ("list", _) => (Together::List { last: usize::MAX }, Form::Raw),
        (_, Some(last)) => (Together::List { last }, Form::Raw),
        ("hyperloglog", _) => (Together::Sketch, Form::Element),
        _ => return Err(PyValueError::new_err("kind: expected set, list or hyperloglog")),
    };
    let reader = keyspace.as_super().get();
    let (values, form) = (Some(elements), Some(form));
    let columns = Columns { reader, keys, values, name: "elements", form };
    many::write(keyspace.py(), &columns, Verb::MergeTogether(together), reader.writing(None, None)?)
}
