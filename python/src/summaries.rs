//! Operands and values of statistics, best items and histograms, for the classes in Python.

use foldb::operators::{histogram, stats, top};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::bytes_of;
use crate::errors::raise;

fn whole_number(given: &Bound<'_, PyAny>, name: &str) -> PyResult<i64> {
    given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            PyOverflowError::new_err(format!("{name}: expected an int of 64 bits"))
        } else {
            PyTypeError::new_err(format!("{name}: expected an int"))
        }
    })
}

/// Returns the operand that adds samples to statistics.
#[pyfunction]
pub(crate) fn stats_add<'py>(samples: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let each = samples.try_iter()?.map(|sample| whole_number(&sample?, "sample"));
    let samples_read: Vec<i64> = each.collect::<PyResult<_>>()?;
    Ok(PyBytes::new(samples.py(), &stats::operand(samples_read)))
}

/// Returns the count, sum, least and greatest of statistics.
#[pyfunction]
pub(crate) fn stats_summary(value: &[u8]) -> PyResult<(u64, i128, Option<i64>, Option<i64>)> {
    Ok(match stats::summary(value).map_err(raise)? {
        None => (0, 0, None, None),
        Some(all) => (all.count, all.sum, Some(all.min), Some(all.max)),
    })
}

/// Returns the operand that offers pairs of item and score.
#[pyfunction]
pub(crate) fn top_add<'py>(scores: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut items = Vec::new();
    for pair in scores.try_iter()? {
        let (item, score): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
        items.push((whole_number(&score, "score")?, bytes_of(&item, "item")?.into_owned()));
    }
    Ok(PyBytes::new(scores.py(), &top::operand(items)))
}

/// Returns the best items with their scores.
#[pyfunction]
pub(crate) fn top_items<'py>(
    py: Python<'py>,
    value: &[u8],
) -> PyResult<Vec<(Bound<'py, PyBytes>, i64)>> {
    let items = top::items(value).map_err(raise)?;
    Ok(items.into_iter().map(|(score, item)| (PyBytes::new(py, item), score)).collect())
}

/// Returns the operand that adds samples to a histogram.
#[pyfunction]
pub(crate) fn histogram_add<'py>(samples: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let wrong = |_| PyTypeError::new_err("sample: expected a float");
    let each = samples.try_iter()?.map(|sample| sample?.extract::<f64>().map_err(wrong));
    let samples_read: Vec<f64> = each.collect::<PyResult<_>>()?;
    Ok(PyBytes::new(samples.py(), &histogram::operand(samples_read)))
}

/// Returns the number of samples of a histogram.
#[pyfunction]
pub(crate) fn histogram_count(value: &[u8]) -> PyResult<u64> {
    histogram::count(value).map_err(raise)
}

/// Returns the bounds of the samples of a histogram, or `None`.
#[pyfunction]
pub(crate) fn histogram_bounds(value: &[u8]) -> PyResult<Option<(f64, f64)>> {
    histogram::bounds(value).map_err(raise)
}

/// Returns a quantile of a histogram, or `None` if it is empty.
#[pyfunction]
pub(crate) fn histogram_quantile(value: &[u8], share: f64) -> PyResult<Option<f64>> {
    histogram::quantile(value, share).map_err(raise)
}
