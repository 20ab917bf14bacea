//! Columns of Arrow: what pyarrow, polars, pandas and others give by the PyCapsule interface.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::capsule::{checked, failed, read_array, read_stream};
use super::cell::Cell;

/// The arrays of a column, one after the other.
pub(super) enum Arrays {
    Stream(Box<ArrayStreamReader>),
    One(Option<ArrayRef>),
}

impl Arrays {
    /// Opens what an object gives by the PyCapsule interface; `None` if it gives nothing.
    pub(super) fn of(given: &Bound<'_, PyAny>) -> PyResult<Option<Arrays>> {
        if given.hasattr("__arrow_c_stream__")? {
            let capsule = match given.call_method0("__arrow_c_stream__") {
                // pandas needs pyarrow for this; its columns are read as NumPy's then.
                Err(error) if error.is_instance_of::<PyImportError>(given.py()) => return Ok(None),
                capsule => capsule?,
            };
            let stream = read_stream(capsule.cast::<PyCapsule>()?)?;
            return Ok(Some(Arrays::Stream(Box::new(stream))));
        }
        if given.hasattr("__arrow_c_array__")? {
            let pair = given.call_method0("__arrow_c_array__")?;
            let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
            return Ok(Some(Arrays::One(Some(read_array(&schema, &array)?))));
        }
        Ok(None)
    }

    /// Returns the next array; `None` at the end.
    pub(super) fn next(&mut self, py: Python<'_>) -> PyResult<Option<ArrayRef>> {
        match self {
            Arrays::Stream(stream) => {
                let array = stream.next().transpose().map_err(failed)?;
                array.map(|array| checked(py, array)).transpose()
            }
            Arrays::One(array) => Ok(array.take()),
        }
    }
}

/// Reads the cell of a row.
type Read<'a> = Box<dyn Fn(usize) -> Cell<'a> + Send + Sync + 'a>;

/// Returns what reads the cells of an array. The caller looks for nulls, also in a dictionary.
///
/// # Errors
/// `TypeError` for types that neither keys nor values have.
pub(super) fn cells<'a>(array: &'a dyn Array, name: &str) -> PyResult<Read<'a>> {
    Ok(match array.data_type() {
        DataType::Binary => bytes(array.as_binary::<i32>(), |array, row| array.value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>(), |array, row| array.value(row)),
        DataType::BinaryView => bytes(array.as_binary_view(), |array, row| array.value(row)),
        DataType::FixedSizeBinary(_) => {
            bytes(array.as_fixed_size_binary(), |array, row| array.value(row))
        }
        DataType::Utf8 => text(array.as_string::<i32>(), |array, row| array.value(row)),
        DataType::LargeUtf8 => text(array.as_string::<i64>(), |array, row| array.value(row)),
        DataType::Utf8View => text(array.as_string_view(), |array, row| array.value(row)),
        DataType::Boolean => {
            let array = array.as_boolean();
            Box::new(move |row| Cell::Bool(array.value(row)))
        }
        DataType::Int8 => number::<Int8Type>(array, |number| Cell::Signed(number.into())),
        DataType::Int16 => number::<Int16Type>(array, |number| Cell::Signed(number.into())),
        DataType::Int32 => number::<Int32Type>(array, |number| Cell::Signed(number.into())),
        DataType::Int64 => number::<Int64Type>(array, Cell::Signed),
        DataType::UInt8 => number::<UInt8Type>(array, |number| Cell::Unsigned(number.into())),
        DataType::UInt16 => number::<UInt16Type>(array, |number| Cell::Unsigned(number.into())),
        DataType::UInt32 => number::<UInt32Type>(array, |number| Cell::Unsigned(number.into())),
        DataType::UInt64 => number::<UInt64Type>(array, Cell::Unsigned),
        DataType::Float32 => number::<Float32Type>(array, |number| Cell::Float(number.into())),
        DataType::Float64 => number::<Float64Type>(array, Cell::Float),
        DataType::Timestamp(unit, Some(_)) => moments(array, *unit),
        DataType::Timestamp(_, None) => {
            return Err(PyTypeError::new_err(format!(
                "{name}: a timestamp without a time zone is no moment: give it one"
            )));
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let read = cells(dictionary.values().as_ref(), name)?;
            let place = cells(dictionary.keys(), name)?;
            Box::new(move |row| match place(row) {
                Cell::Signed(at) => read(at as usize),
                Cell::Unsigned(at) => read(at as usize),
                _ => unreachable!("the keys of a dictionary are whole numbers"),
            })
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "{name}: expected a column of bytes, texts, numbers, flags or timestamps, not of \
                 Arrow's type {other}"
            )));
        }
    })
}

fn bytes<'a, A: Sync>(array: &'a A, read: fn(&'a A, usize) -> &'a [u8]) -> Read<'a> {
    Box::new(move |row| Cell::Bytes(read(array, row)))
}

fn text<'a, A: Sync>(array: &'a A, read: fn(&'a A, usize) -> &'a str) -> Read<'a> {
    Box::new(move |row| Cell::Text(read(array, row)))
}

fn number<T: ArrowPrimitiveType>(
    array: &dyn Array,
    cell: impl Fn(T::Native) -> Cell<'static> + Send + Sync + 'static,
) -> Read<'_> {
    let array = array.as_primitive::<T>();
    Box::new(move |row| cell(array.value(row)))
}

fn moments(array: &dyn Array, unit: TimeUnit) -> Read<'_> {
    match unit {
        TimeUnit::Second => number::<TimestampSecondType>(array, |time| moment(time, 1)),
        TimeUnit::Millisecond => {
            number::<TimestampMillisecondType>(array, |time| moment(time, 1_000))
        }
        TimeUnit::Microsecond => {
            number::<TimestampMicrosecondType>(array, |time| moment(time, 1_000_000))
        }
        TimeUnit::Nanosecond => {
            number::<TimestampNanosecondType>(array, |time| moment(time, 1_000_000_000))
        }
    }
}

/// Returns a moment from its ticks since 1970.
pub(super) fn moment(ticks: i64, a_second: i64) -> Cell<'static> {
    let nanos = ticks.rem_euclid(a_second) * (1_000_000_000 / a_second);
    Cell::Moment { seconds: ticks.div_euclid(a_second), nanos: nanos as u32 }
}
