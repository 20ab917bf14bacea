//! Bytes of Python: what a call takes, and what it returns.
//!
//! `bytes` are borrowed, because they never change. Any other buffer is copied first: its owner may
//! change it while the engine reads. The limited interface of Python 3.9 has no calls for buffers,
//! so the copy goes through a `memoryview`.

use std::borrow::Cow;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyMemoryView, PyString};

/// Returns the bytes of an argument; the error names the argument.
#[inline]
pub(crate) fn bytes_of<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, [u8]>> {
    match given.cast::<PyBytes>() {
        Ok(bytes) => Ok(Cow::Borrowed(bytes.as_bytes())),
        Err(_) => copied(given, name).map(Cow::Owned),
    }
}

#[cold]
fn copied(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u8>> {
    // A scalar of NumPy is a buffer too, of the bytes of its type in memory.
    let view = if is_scalar(given)? { None } else { PyMemoryView::from(given).ok() };
    let Some(view) = view else {
        let found = given.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!(
            "{name}: expected bytes or another buffer, not {found}"
        )));
    };
    let bytes = view.call_method0("tobytes")?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

/// Whether an object is a single value of NumPy.
fn is_scalar(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr("dtype")? && given.hasattr("ndim")? && given.getattr("ndim")?.eq(0)?)
}

/// Whether an object is a whole number, of Python or NumPy.
pub(crate) fn is_whole(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.is_instance_of::<PyInt>() || given.hasattr("__index__")? && is_scalar(given)?)
}

/// Whether an object is a number, of Python or NumPy.
pub(crate) fn is_number(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_plain = given.is_instance_of::<PyFloat>() || given.is_instance_of::<PyInt>();
    // Strings, bytes and moments of NumPy are scalars without numbers.
    Ok(is_plain || is_scalar(given)? && "fiu".contains(&kind_of(given)?))
}

fn kind_of(scalar: &Bound<'_, PyAny>) -> PyResult<String> {
    scalar.getattr("dtype")?.getattr("kind")?.extract()
}

/// The numbers that a merge operator takes, as Python's `int` or `float`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// The operator takes bytes only.
    None,
    /// 8 bytes of a signed number, little-endian.
    Signed,
    /// 8 bytes of a number from 0, little-endian.
    Unsigned,
    /// 8 bytes of a fraction, little-endian.
    Float,
}

impl Numbers {
    /// Returns the numbers of an operator, `NAME` or `NAME:PARAM`.
    pub(crate) fn of(operator: Option<&str>) -> Numbers {
        match operator.and_then(|operator| operator.split(':').next()) {
            Some("int64add") => Numbers::Signed,
            Some("uint64add" | "uint64max" | "uint64min") => Numbers::Unsigned,
            Some("float64add") => Numbers::Float,
            _ => Numbers::None,
        }
    }
}

/// Returns the bytes of a value or an operand: bytes, or a number if the operator takes numbers.
#[inline]
pub(crate) fn value_of<'a>(
    given: &'a Bound<'_, PyAny>,
    numbers: Numbers,
    name: &str,
) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    match numbers {
        Numbers::Signed if is_whole(given)? => {
            let number: i64 = in_range(given.extract(), name, "a whole number of 64 bits")?;
            Ok(Cow::Owned(number.to_le_bytes().to_vec()))
        }
        Numbers::Unsigned if is_whole(given)? => {
            let number: u64 = in_range(given.extract(), name, "a whole number from 0 to 2**64-1")?;
            Ok(Cow::Owned(number.to_le_bytes().to_vec()))
        }
        Numbers::Float if is_number(given)? => {
            Ok(Cow::Owned(given.extract::<f64>()?.to_le_bytes().to_vec()))
        }
        _ => copied(given, name).map(Cow::Owned),
    }
}

/// Returns the bytes of what is only told from others: bytes, a text in UTF-8, or 8 bytes of a
/// whole number, little-endian. A column has the same bytes.
pub(crate) fn element_of<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Cow::Owned(text.to_cow()?.as_bytes().to_vec()));
    }
    if given.is_instance_of::<PyBytes>() || !is_whole(given)? {
        return bytes_of(given, name);
    }
    match given.extract::<i64>() {
        Ok(number) => Ok(Cow::Owned(number.to_le_bytes().to_vec())),
        Err(_) => value_of(given, Numbers::Unsigned, name),
    }
}

fn in_range<T>(number: PyResult<T>, name: &str, expected: &str) -> PyResult<T> {
    number.map_err(|_| PyOverflowError::new_err(format!("{name}: expected {expected}")))
}
