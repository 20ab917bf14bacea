//! Sets, lists and sketches: what their classes in Python share.

use std::borrow::Cow;

use foldb::operators::{hyperloglog, list, set};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFrozenSet, PyString, PyTuple};

use crate::buffers::{Numbers, bytes_of, element_of};
use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::{not_pickled, raise};
use crate::keyspace::Keyspace;
use crate::many::{self, Columns, Form, Together, Verb};

/// The values of a keyspace whose operator adds elements to them. The classes of `foldb.bags`
/// extend it.
#[pyclass(module = "foldb", subclass, frozen)]
pub(crate) struct Bag {
    home: Py<Keyspace>,
    /// What the elements become; `None` for an operator with operands of its own.
    together: Option<Together>,
}

impl Bag {
    fn together(&self) -> PyResult<Together> {
        self.together.ok_or_else(|| {
            raise(foldb::Error::invalid_argument("the operator of this keyspace adds no elements"))
        })
    }

    fn merge(&self, py: Python<'_>, key: &Bound<'_, PyAny>, elements: &[&[u8]]) -> PyResult<()> {
        let reader = self.home.bind(py).as_super().get();
        let (keyspace, options) = (reader.live()?, reader.writing(None, None)?);
        let key = reader.keys.encode(key, "key")?;
        let operand = self.together()?.operand(elements);
        detached(py, || keyspace.with(&options).merge(&key, &operand))
    }

    /// Returns the bytes of an element.
    fn element<'a>(&self, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
        match self.together {
            Some(Together::Sketch) => element_of(given, "element"),
            _ => element(given, "element"),
        }
    }
}

/// Changes values without reading them.
#[pymethods]
impl Bag {
    #[new]
    #[pyo3(signature = (keyspace, *_arguments))]
    fn new(keyspace: &Bound<'_, Keyspace>, _arguments: &Bound<'_, PyTuple>) -> PyResult<Bag> {
        let reader = keyspace.as_super().get();
        let operator = keyspace.py().unlocked(|| reader.operator());
        let operator = operator.as_deref().unwrap_or_default();
        let last = operator.strip_prefix("listlast:").and_then(|last| last.parse().ok());
        let together = match (operator, last) {
            ("set", _) => Some(Together::Set),
            ("list", _) => Some(Together::List { last: usize::MAX }),
            (_, Some(last)) => Some(Together::List { last }),
            ("hyperloglog", _) => Some(Together::Sketch),
            _ => None,
        };
        Ok(Bag { home: keyspace.clone().unbind(), together })
    }

    /// The keyspace of the values.
    #[getter]
    fn keyspace(&self, py: Python<'_>) -> Py<Keyspace> {
        self.home.clone_ref(py)
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(not_pickled(slf.as_any()))
    }

    /// Adds an element to the value of a key, without reading it.
    fn _add(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        element: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.merge(py, key, &[&self.element(element)?])
    }

    /// Adds elements to the value of a key, without reading it.
    #[pyo3(signature = (key, *elements))]
    fn _add_each(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        match elements.len() {
            1 => self._add(py, key, &elements.get_item(0)?),
            _ => self._add_all(py, key, elements.as_any()),
        }
    }

    /// Adds the elements of an iterable to the value of a key, without reading it.
    fn _add_all(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let elements: Vec<Bound<'_, PyAny>> = elements.try_iter()?.collect::<PyResult<_>>()?;
        let bytes: Vec<_> =
            elements.iter().map(|element| self.element(element)).collect::<PyResult<_>>()?;
        self.merge(py, key, &bytes.iter().map(|bytes| &**bytes).collect::<Vec<_>>())
    }

    /// Adds a column of elements to the values of a column of keys; the columns are as in
    /// `Keyspace.merge_many`. The elements of one key become one merge, in the order of the rows.
    /// Returns the number of rows.
    fn _add_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let together = self.together()?;
        let form = match together {
            Together::Sketch => Form::Element,
            Together::Sum | Together::Set | Together::List { .. } => Form::Value(Numbers::None),
        };
        let reader = self.home.bind(py).as_super().get();
        let (values, form) = (Some(elements), Some(form));
        let columns = Columns { reader, keys, values, name: "elements", form };
        many::write(py, &columns, Verb::MergeTogether(together), reader.writing(None, None)?)
    }
}

/// Returns the bytes of an element. A text is refused, because reads return bytes: the program
/// would look for its text in vain.
fn element<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, [u8]>> {
    if given.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected bytes, not str: encode it, as reads return bytes"
        )));
    }
    bytes_of(given, name)
}

/// Returns the operand that removes a member from a set.
#[pyfunction]
pub(crate) fn set_remove<'py>(member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(member.py(), &set::remove(element(member, "member")?)))
}

/// Returns the members of a set.
#[pyfunction]
pub(crate) fn set_members<'py>(py: Python<'py>, value: &[u8]) -> PyResult<Bound<'py, PyFrozenSet>> {
    let members = set::members(value).map_err(raise)?;
    PyFrozenSet::new(py, members.into_iter().map(|member| PyBytes::new(py, member)))
}

/// Returns the elements of a list, the oldest first.
#[pyfunction]
pub(crate) fn list_elements<'py>(py: Python<'py>, value: &[u8]) -> PyResult<Bound<'py, PyTuple>> {
    let elements = list::elements(value).map_err(raise)?;
    PyTuple::new(py, elements.into_iter().map(|element| PyBytes::new(py, element)))
}

/// Returns about how many different elements were added to a sketch.
#[pyfunction]
pub(crate) fn sketch_estimate(value: &[u8]) -> PyResult<f64> {
    hyperloglog::estimate(value).map_err(raise)
}
