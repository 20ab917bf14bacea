//! The law kit of the engine, for operators in Python.

use std::sync::Arc;

use foldb::operators::laws::Check;
use foldb::operators::{MergeOperator, builtins};
use pyo3::prelude::*;

use crate::buffers::bytes_of;
use crate::callbacks::{checking, is_error};
use crate::ending::Unlocked;
use crate::errors::raise;
use crate::operator;

fn bytes_of_each(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec<u8>>> {
    given.try_iter()?.map(|each| Ok(bytes_of(&each?, name)?.into_owned())).collect()
}

/// Returns the operator that an argument means: one in Python, or a built-in one by its name.
fn operator_of(given: &Bound<'_, PyAny>) -> PyResult<Arc<dyn MergeOperator>> {
    let unknown = |spec: &str| {
        raise(foldb::Error::invalid_argument(format!("operator: no operator is named '{spec}'")))
    };
    let named = operator::named(Some(given), "operator")?.ok_or_else(|| unknown("None"))?;
    if let Some(own) = named.own {
        return Ok(own);
    }
    let (name, parameter) = match named.spec.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter.as_bytes())),
        None => (&*named.spec, None),
    };
    let info = builtins().iter().find(|info| info.name == name);
    info.ok_or_else(|| unknown(&named.spec))?.instantiate(parameter).map_err(raise)
}

/// A law that does not hold: its name, the seed, what differs, and the last exception.
type Violation = (&'static str, u64, String, Option<Py<PyAny>>);

/// Checks the laws of an operator. Returns what does not hold, or `None`. For `foldb.laws`.
#[pyfunction]
#[pyo3(name = "_check_laws")]
pub(crate) fn check_laws(
    py: Python<'_>,
    operator: &Bound<'_, PyAny>,
    operands: &Bound<'_, PyAny>,
    bases: &Bound<'_, PyAny>,
    commutative: bool,
    idempotent: bool,
    rounds: u32,
    seed: u64,
) -> PyResult<Option<Violation>> {
    let operator = operator_of(operator)?;
    let mut check = Check::new(bytes_of_each(operands, "operands")?)
        .bases(bytes_of_each(bases, "bases")?)
        .rounds(rounds)
        .seed(seed);
    if commutative {
        check = check.commutative();
    }
    if idempotent {
        check = check.idempotent();
    }
    let (outcome, raised) = py.unlocked(|| checking(|| check.run(&*operator)));
    if let Some(interrupt) = raised.as_ref().filter(|raised| !is_error(py, raised)) {
        return Err(interrupt.clone_ref(py));
    }
    Ok(outcome.err().map(|violation| {
        let raised = raised.map(|raised| raised.into_value(py).into_any());
        (violation.law, violation.seed, violation.case, raised)
    }))
}
