//! Merge operators that are written in Python.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb::operators::{Full, Growth, MergeOperator, Partial};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::buffers::bytes_of;
use crate::callbacks::{About, calling, is_checking, note, pass_on};

/// A merge operator that is written in Python.
///
/// `full(key, value, operands)` returns the value of a key, or `None` to delete it. `value` is what
/// lies below the operands, or `None`. `operands` is a list of bytes, the oldest first.
/// `partial(key, operands)` folds operands among themselves: it returns one operand of the same
/// effect, or `None` if there is none. `check(operand)` raises to refuse an operand.
///
/// The name has a dot in it, as `"app.longest"`. The database stores it with `version`, so each
/// open needs an operator of this name. `shrinks` says that a folded operand is about as large as
/// one operand. The same input must always give the same answer; `foldb.laws.check` tests that.
///
/// An open database holds its operators. A function that holds the database keeps it open until
/// `close`.
#[pyclass(name = "MergeOperator", module = "foldb", frozen)]
pub(crate) struct PythonOperator {
    pub(crate) own: Arc<Foreign>,
}

/// How an operator folds.
enum Fold {
    Full { full: Py<PyAny>, partial: Option<Py<PyAny>> },
    Associative(Py<PyAny>),
}

/// The operator in the engine.
pub(crate) struct Foreign {
    name: String,
    version: u32,
    fold: Fold,
    check: Option<Py<PyAny>>,
    growth: Growth,
    /// Whether an exception of `partial` was shown.
    has_complained: AtomicBool,
}

fn callable(given: Bound<'_, PyAny>, name: &str) -> PyResult<Py<PyAny>> {
    if given.is_callable() {
        return Ok(given.unbind());
    }
    Err(PyTypeError::new_err(format!("{name}: expected a callable, not {}", type_of(&given)?)))
}

fn type_of(given: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(given.get_type().name()?.to_string())
}

fn made(
    name: String,
    fold: Fold,
    version: u32,
    check: Option<Bound<'_, PyAny>>,
    shrinks: bool,
) -> PyResult<PythonOperator> {
    let check = check.map(|check| callable(check, "check")).transpose()?;
    let growth = if shrinks { Growth::Shrinks } else { Growth::Grows };
    let has_complained = AtomicBool::new(false);
    let own = Foreign { name, version, fold, check, growth, has_complained };
    Ok(PythonOperator { own: Arc::new(own) })
}

#[pymethods]
impl PythonOperator {
    #[new]
    #[pyo3(signature = (name, full, partial=None, *, version=0, check=None, shrinks=false))]
    fn new(
        name: String,
        full: Bound<'_, PyAny>,
        partial: Option<Bound<'_, PyAny>>,
        version: u32,
        check: Option<Bound<'_, PyAny>>,
        shrinks: bool,
    ) -> PyResult<PythonOperator> {
        let full = callable(full, "full")?;
        let partial = partial.map(|partial| callable(partial, "partial")).transpose()?;
        made(name, Fold::Full { full, partial }, version, check, shrinks)
    }

    /// Makes an operator of `combine(older, newer)`, which must be associative.
    ///
    /// It combines two operands to one, and a value with an operand to a value. The first operand
    /// of an absent key is its value.
    #[staticmethod]
    #[pyo3(signature = (name, combine, *, version=0, check=None, shrinks=false))]
    fn associative(
        name: String,
        combine: Bound<'_, PyAny>,
        version: u32,
        check: Option<Bound<'_, PyAny>>,
        shrinks: bool,
    ) -> PyResult<PythonOperator> {
        let fold = Fold::Associative(callable(combine, "combine")?);
        made(name, fold, version, check, shrinks)
    }

    /// The name that the database stores.
    #[getter]
    fn name(&self) -> &str {
        &self.own.name
    }

    /// The version of the operands' format.
    #[getter]
    fn version(&self) -> u32 {
        self.own.version
    }

    fn __repr__(&self) -> String {
        format!("<foldb.MergeOperator {:?}>", self.own.name)
    }
}

/// Returns the operators that a program gives.
pub(crate) fn operators_of(
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Arc<dyn MergeOperator>>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let wrong = |found: &Bound<'_, PyAny>| -> PyResult<PyErr> {
        let found = type_of(found)?;
        let expected = "operators: expected an iterable of foldb.MergeOperator";
        Ok(PyTypeError::new_err(format!("{expected}, not {found}")))
    };
    let Ok(each) = given.try_iter() else { return Err(wrong(given)?) };
    let mut all: Vec<Arc<dyn MergeOperator>> = Vec::new();
    for operator in each {
        let operator = operator?;
        match operator.cast::<PythonOperator>() {
            Ok(operator) => all.push(Arc::clone(&operator.get().own) as Arc<dyn MergeOperator>),
            Err(_) => return Err(wrong(&operator)?),
        }
    }
    Ok(all)
}

/// What `merge_operator` names: a text, or an operator in Python.
pub(crate) struct Named {
    pub(crate) spec: String,
    pub(crate) own: Option<Arc<dyn MergeOperator>>,
}

/// Reads the argument `merge_operator`, or one of another name.
pub(crate) fn named(given: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<Named>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    if let Ok(spec) = given.cast::<PyString>() {
        return Ok(Some(Named { spec: spec.extract()?, own: None }));
    }
    let Ok(operator) = given.cast::<PythonOperator>() else {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected a str or a foldb.MergeOperator, not {}",
            type_of(given)?
        )));
    };
    let own = Arc::clone(&operator.get().own);
    Ok(Some(Named { spec: own.name.clone(), own: Some(own) }))
}

fn listed<'py>(py: Python<'py>, operands: &[&[u8]]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, operands.iter().map(|operand| PyBytes::new(py, operand)))
}

impl Fold {
    /// Folds operands over a base. Returns `None` to delete the key.
    fn full<'py>(
        &self,
        py: Python<'py>,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Fold::Full { full, .. } => {
                let base = base.map(|base| PyBytes::new(py, base));
                let arguments = (PyBytes::new(py, key), base, listed(py, operands)?);
                Ok(Some(full.bind(py).call1(arguments)?).filter(|value| !value.is_none()))
            }
            Fold::Associative(combine) => {
                combined(combine.bind(py), base.into_iter().chain(operands.iter().copied()))
            }
        }
    }

    /// Folds operands. Returns `None` to keep them.
    fn partial<'py>(
        &self,
        py: Python<'py>,
        key: &[u8],
        operands: &[&[u8]],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Fold::Full { partial: None, .. } => Ok(None),
            Fold::Full { partial: Some(partial), .. } => {
                let folded = partial.bind(py).call1((PyBytes::new(py, key), listed(py, operands)?));
                Ok(Some(folded?).filter(|operand| !operand.is_none()))
            }
            Fold::Associative(combine) => combined(combine.bind(py), operands.iter().copied()),
        }
    }

    fn can_be_partial(&self) -> bool {
        !matches!(self, Fold::Full { partial: None, .. })
    }
}

fn combined<'a, 'py>(
    combine: &Bound<'py, PyAny>,
    mut parts: impl Iterator<Item = &'a [u8]>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = combine.py();
    let Some(first) = parts.next() else { return Ok(None) };
    let mut whole = PyBytes::new(py, first).into_any();
    for part in parts {
        whole = combine.call1((whole, PyBytes::new(py, part)))?;
    }
    Ok(Some(whole))
}

/// Appends what a callback returned. Returns whether there is anything.
fn append(folded: Option<Bound<'_, PyAny>>, name: &str, out: &mut Vec<u8>) -> PyResult<bool> {
    let Some(folded) = folded else { return Ok(false) };
    out.extend_from_slice(&bytes_of(&folded, name)?);
    Ok(true)
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PythonOperator").field(&self.name).finish()
    }
}

impl Foreign {
    /// Shows the first exception of `partial`: no error of the engine tells of it.
    fn complain(&self, py: Python<'_>, key: &[u8], raised: PyErr) {
        if is_checking() {
            return note(About::Fold(key.to_vec()), raised);
        }
        let passed = pass_on(py, &raised);
        if !self.has_complained.swap(true, Ordering::Relaxed) {
            let place = PyString::new(py, &format!("partial of operator {}", self.name));
            raised.write_unraisable(py, Some(place.as_any()));
        }
        if let Err(failed) = passed {
            failed.write_unraisable(py, None);
        }
    }
}

impl MergeOperator for Foreign {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let folded =
            calling(|py| append(self.fold.full(py, key, base, operands)?, "value of full", out));
        match folded {
            Some(Ok(true)) => Full::Value,
            Some(Ok(false)) => Full::Delete,
            Some(Err(raised)) => {
                note(About::Fold(key.to_vec()), raised);
                Full::Fail
            }
            None => Full::Fail,
        }
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if !self.fold.can_be_partial() {
            return Partial::Keep;
        }
        let folded = calling(|py| {
            let folded = self.fold.partial(py, key, operands);
            let appended = folded.and_then(|folded| append(folded, "operand of partial", out));
            Ok(appended.unwrap_or_else(|raised| {
                self.complain(py, key, raised);
                false
            }))
        });
        if matches!(folded, Some(Ok(true))) { Partial::Operand } else { Partial::Keep }
    }

    fn growth(&self) -> Growth {
        self.growth
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        let Some(check) = &self.check else { return Ok(()) };
        let checked = calling(|py| {
            let checked = check.bind(py).call1((PyBytes::new(py, operand),));
            checked.map(|_| ()).inspect_err(|raised| {
                // The engine reports the refusal, which is no place for a Ctrl-C.
                let _ = pass_on(py, raised);
            })
        });
        match checked {
            Some(Ok(())) => Ok(()),
            Some(Err(raised)) => Err(format!("one that its check accepts: {raised}")),
            None => Err("given before the interpreter ends".to_owned()),
        }
    }
}
