//! Orders of keys that are written in Python.

use std::cmp::Ordering;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

use crate::callbacks::{About, calling, note};

/// An order of keys that is written in Python.
///
/// `compare(a, b)` takes two keys as bytes. It returns a negative int, 0 or a positive int. The
/// order must be total and never change. The database stores the name. `equal_keys_may_differ`
/// says that keys of different bytes may be equal, as in an order without regard to case.
#[pyclass(name = "Comparator", module = "foldb", frozen)]
pub(crate) struct PythonComparator {
    own: Arc<Foreign>,
}

struct Foreign {
    name: String,
    compare: Py<PyAny>,
    equal_keys_may_differ: bool,
}

#[pymethods]
impl PythonComparator {
    #[new]
    #[pyo3(signature = (name, compare, *, equal_keys_may_differ=false))]
    fn new(
        name: String,
        compare: Bound<'_, PyAny>,
        equal_keys_may_differ: bool,
    ) -> PyResult<PythonComparator> {
        if !compare.is_callable() {
            let found = compare.get_type().name()?.to_string();
            let expected = "compare: expected a callable";
            return Err(PyTypeError::new_err(format!("{expected}, not {found}")));
        }
        let own = Foreign { name, compare: compare.unbind(), equal_keys_may_differ };
        Ok(PythonComparator { own: Arc::new(own) })
    }

    /// The name that the database stores.
    #[getter]
    fn name(&self) -> &str {
        &self.own.name
    }

    fn __repr__(&self) -> String {
        format!("<foldb.Comparator {:?}>", self.own.name)
    }
}

/// Returns a comparator that a program gives.
pub(crate) fn comparator_of(
    given: Option<&Bound<'_, PyAny>>,
    name: &str,
) -> PyResult<Option<Arc<dyn foldb::custom::Comparator>>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    let Ok(comparator) = given.cast::<PythonComparator>() else {
        let found = given.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!(
            "{name}: expected a foldb.Comparator, not {found}"
        )));
    };
    Ok(Some(Arc::clone(&comparator.get().own) as Arc<dyn foldb::custom::Comparator>))
}

/// Returns the comparators that a program gives.
pub(crate) fn comparators_of(
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Arc<dyn foldb::custom::Comparator>>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for each in given.try_iter()? {
        all.extend(comparator_of(Some(&each?), "comparators")?);
    }
    Ok(all)
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PythonComparator").field(&self.name).finish()
    }
}

impl Foreign {
    fn called(&self, py: Python<'_>, a: &[u8], b: &[u8]) -> PyResult<Ordering> {
        let answer = self.compare.bind(py).call1((PyBytes::new(py, a), PyBytes::new(py, b)))?;
        if !answer.is_instance_of::<PyInt>() {
            let found = answer.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!("compare returned {found}, not an int")));
        }
        // An int of any size has a sign.
        Ok(if answer.lt(0)? {
            Ordering::Less
        } else if answer.gt(0)? {
            Ordering::Greater
        } else {
            Ordering::Equal
        })
    }
}

impl foldb::custom::Comparator for Foreign {
    fn name(&self) -> &str {
        &self.name
    }

    /// The engine asks for the order of a key and itself, to see whether `compare` can read the
    /// key. So equal bytes go to Python too.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let failed = match calling(|py| self.called(py, a, b)) {
            Some(Ok(order)) => return order,
            Some(Err(raised)) => {
                let text = format!("comparator '{}' raised {raised}", self.name);
                note(About::Comparison(text.clone()), raised);
                text
            }
            None => format!("comparator '{}': the interpreter ends", self.name),
        };
        // There is no order to return. The engine and `guarded` catch this.
        resume_unwind(Box::new(failed))
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        !self.equal_keys_may_differ
    }
}
