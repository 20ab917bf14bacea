//! Columns that the package returns: one array of Arrow.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyTuple};

use super::arrow::cells;
use super::capsule;
use super::cell::Cell;

/// Elements of one width that a column may always become.
const MOST_PADDED: usize = 16 << 20;

/// Values of one type, with nulls. Any library that knows Arrow's PyCapsule interface takes it.
#[pyclass(module = "foldb", frozen)]
pub(crate) struct Column {
    array: ArrayRef,
}

impl Column {
    pub(super) fn new(array: ArrayRef) -> Column {
        Column { array }
    }
}

/// Hands the values to other libraries.
#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_list(py)?.try_iter()?.into_any())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let len = self.array.len();
        let row = if index < 0 { len.checked_add_signed(index) } else { Some(index as usize) };
        let row = row.filter(|row| *row < len);
        let row = row.ok_or_else(|| PyIndexError::new_err("the column is shorter"))?;
        if self.array.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        object(py, cells(self.array.as_ref(), "column")?(row))
    }

    fn __repr__(&self) -> String {
        format!("<foldb.Column of {} {}>", self.array.len(), self.array.data_type())
    }

    /// How many values are null.
    #[getter]
    fn null_count(&self) -> usize {
        self.array.null_count()
    }

    /// Returns the values as a list of `bytes`, `str`, `int`, `float`, `bool` or `None`.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let read = cells(self.array.as_ref(), "column")?;
        let list = PyList::empty(py);
        for row in 0..self.array.len() {
            match self.array.is_null(row) {
                true => list.append(py.None())?,
                false => list.append(object(py, read(row))?)?,
            }
        }
        Ok(list)
    }

    /// Returns the values as a NumPy array; as a masked one, if some are null.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "to_numpy")
    }

    /// Returns the values as an array of pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "to_arrow")
    }

    /// Returns the values as a series of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "to_pandas")
    }

    /// Returns the values as a series of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "to_polars")
    }

    /// Returns the values by Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface lets a producer that cannot cast return its own type.
        let _ = requested_schema;
        capsule::of_array(py, self.array.as_ref())
    }

    /// Returns the type of NumPy, the elements and the mask of nulls. For `foldb.frames`.
    fn _numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let array = self.array.as_ref();
        let mask = (array.null_count() > 0).then(|| {
            let mask: Vec<u8> = (0..array.len()).map(|row| array.is_null(row).into()).collect();
            PyByteArray::new(py, &mask)
        });
        let (dtype, bytes) = match array.data_type() {
            DataType::Int64 => ("<i8".to_owned(), numbers::<Int64Type>(array)),
            DataType::UInt64 => ("<u8".to_owned(), numbers::<UInt64Type>(array)),
            DataType::Float64 => ("<f8".to_owned(), numbers::<Float64Type>(array)),
            DataType::Timestamp(..) => {
                ("<M8[us]".to_owned(), numbers::<TimestampMicrosecondType>(array))
            }
            _ => match padded(array)? {
                Some(padded) => padded,
                None => return ("O", self.to_list(py)?, mask).into_pyobject(py),
            },
        };
        (dtype, PyByteArray::new(py, &bytes), mask).into_pyobject(py)
    }
}

/// Calls the function of `foldb.frames`.
pub(super) fn frames<'py, T: pyo3::PyClass>(
    own: &Bound<'py, T>,
    function: &str,
) -> PyResult<Bound<'py, PyAny>> {
    own.py().import("foldb.frames")?.call_method1(function, (own,))
}

fn object<'py>(py: Python<'py>, cell: Cell<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Cell::Text(text) => text.into_pyobject(py)?.into_any(),
        Cell::Signed(number) => number.into_pyobject(py)?.into_any(),
        Cell::Unsigned(number) => number.into_pyobject(py)?.into_any(),
        Cell::Float(number) => number.into_pyobject(py)?.into_any(),
        Cell::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Cell::Moment { seconds, nanos } => crate::times::moment_of(py, seconds, nanos)?,
    })
}

fn numbers<T: ArrowPrimitiveType>(array: &dyn Array) -> Vec<u8> {
    let array = array.as_primitive::<T>();
    array.values().inner().as_slice().to_vec()
}

/// Returns bytes, texts or flags of one width each, and their type of NumPy; `None` if NumPy would
/// take zeros at the end of a value for padding, or if the padding were most of it.
fn padded(array: &dyn Array) -> PyResult<Option<(String, Vec<u8>)>> {
    if let DataType::Boolean = array.data_type() {
        let flags = array.as_boolean();
        return Ok(Some((
            "|b1".to_owned(),
            (0..flags.len()).map(|row| flags.value(row).into()).collect(),
        )));
    }
    if let DataType::FixedSizeBinary(width) = array.data_type() {
        let values = array.as_fixed_size_binary();
        let bytes = (0..values.len()).flat_map(|row| values.value(row)).copied().collect();
        return Ok(Some((format!("|V{width}"), bytes)));
    }
    let read = cells(array, "column")?;
    let rows = || (0..array.len()).filter(|row| !array.is_null(*row)).map(&read);
    let ends_in_zero = |cell: Cell<'_>| match cell {
        Cell::Bytes(bytes) => bytes.last() == Some(&0),
        Cell::Text(text) => text.ends_with('\0'),
        _ => false,
    };
    if rows().any(ends_in_zero) {
        return Ok(None);
    }
    let width = rows().map(width_of).max().unwrap_or(0).max(1);
    // One long value would make all others as long.
    let sum: usize = rows().map(width_of).sum();
    if width.saturating_mul(array.len()) > MOST_PADDED.max(sum.saturating_mul(16)) {
        return Ok(None);
    }
    let (dtype, unit) = match array.data_type() {
        DataType::Utf8 => (format!("<U{width}"), 4),
        _ => (format!("|S{width}"), 1),
    };
    let mut bytes = vec![0; array.len() * width * unit];
    for (row, place) in bytes.chunks_exact_mut(width * unit).enumerate() {
        if array.is_null(row) {
            continue;
        }
        match read(row) {
            Cell::Bytes(value) => place[..value.len()].copy_from_slice(value),
            Cell::Text(text) => {
                for (point, character) in place.chunks_exact_mut(4).zip(text.chars()) {
                    point.copy_from_slice(&u32::from(character).to_le_bytes());
                }
            }
            _ => {}
        }
    }
    Ok(Some((dtype, bytes)))
}

/// Returns how many elements of NumPy a value has.
fn width_of(cell: Cell<'_>) -> usize {
    match cell {
        Cell::Bytes(bytes) => bytes.len(),
        Cell::Text(text) => text.chars().count(),
        _ => 0,
    }
}
