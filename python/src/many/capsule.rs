//! Arrow's C data interface: the capsules that libraries of Python exchange columns in.
//!
//! Beside `ending`, this is the one module of the package with `unsafe`: a capsule is a pointer
//! with a name. Arrow's [PyCapsule interface] says what each name points to.
//!
//! [PyCapsule interface]: https://arrow.apache.org/docs/format/CDataInterface.html

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatchReader, make_array};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::ending::Unlocked;

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// Turns an error of Arrow into an exception.
#[cold]
pub(super) fn failed(error: ArrowError) -> PyErr {
    PyValueError::new_err(format!("Arrow: {error}"))
}

/// Reads the stream in a capsule, and leaves the capsule empty.
pub(super) fn read_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrayStreamReader> {
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the name says that the capsule points to a stream, which its producer has made as
    // the C stream interface describes. The GIL is held, so no other thread takes it meanwhile. The
    // stream is moved out, and the capsule's destructor finds it released.
    unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) }.map_err(failed)
}

/// Reads the array in a pair of capsules, and leaves that of the array empty.
pub(super) fn read_array(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<ArrayRef> {
    let py = schema.py();
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the names say what the capsules point to, and their producer has made both as the C
    // data interface describes. The GIL is held, so no other thread takes the array meanwhile. The
    // array is moved out; the schema is only read, while its capsule lives.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    if array.is_released() {
        return Err(PyValueError::new_err("Arrow: the array of this capsule was taken before"));
    }
    // SAFETY: as above.
    let data = unsafe { from_ffi(array, schema.as_ref()) }.map_err(failed)?;
    checked(py, make_array(data))
}

/// Checks what a producer says of an array: above all that its texts are UTF-8.
///
/// # Errors
/// `ValueError`.
pub(super) fn checked(py: Python<'_>, array: ArrayRef) -> PyResult<ArrayRef> {
    // It reads every value of a column, which may be large.
    py.unlocked(|| array.to_data().validate_full()).map_err(failed)?;
    Ok(array)
}

/// Returns the capsules of an array: its schema and its data.
pub(super) fn of_array<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(failed)?;
    let schema = PyCapsule::new(py, schema, Some(SCHEMA.to_owned()))?;
    let array = PyCapsule::new(py, array, Some(ARRAY.to_owned()))?;
    (schema, array).into_pyobject(py)
}

/// Returns the capsule of a stream of record batches.
pub(super) fn of_stream(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new(py, FFI_ArrowArrayStream::new(reader), Some(STREAM.to_owned()))
}
