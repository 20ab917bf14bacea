//! Scans: the entries of a range as tables, without an object of Python for each.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use foldb::Iter;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::build::Entries;
use super::capsule;
use super::column::frames;
use super::table::Table;
use crate::callbacks::{detached, guarded};
use crate::ending::{Unlocked, without_gil};
use crate::errors::{closed, raise};
use crate::iterator::closed_below;
use crate::released::Released;
use crate::snapshot::Moment;
use crate::standing::Standing;

/// About the most bytes of a table.
const MOST_BYTES: usize = 16 << 20;

/// The rows that are left of a scan.
pub(super) struct Reading {
    pub(super) iter: Released<Iter>,
    pub(super) entries: Entries,
    pub(super) moment: Option<Arc<Moment>>,
    pub(super) closed: Arc<Standing>,
    /// Most rows of a table.
    pub(super) most: usize,
}

impl Reading {
    /// Reads the next rows; `None` at the end.
    fn read(&mut self) -> foldb::Result<Option<RecordBatch>> {
        closed_below(self.moment.as_ref(), &self.closed)?;
        while self.entries.len() < self.most && self.entries.byte_len() < MOST_BYTES {
            if !self.iter.advance()? {
                break;
            }
            // The key borrows the iterator that folds the value.
            let value = self.iter.value()?.clone();
            self.entries.push(self.iter.key(), &value)?;
        }
        Ok((self.entries.len() > 0).then(|| self.entries.finish()))
    }
}

impl Iterator for Reading {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The program that reads the stream may hold the GIL or not.
        let rows = without_gil(|| guarded(|| self.read()));
        rows.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Reading {
    fn schema(&self) -> SchemaRef {
        self.entries.schema()
    }
}

/// The entries of a range, which are read as they are asked for: an iterator over tables.
///
/// `to_arrow`, `to_pandas`, `to_polars` and `to_numpy` read all that is left. Any library that
/// knows Arrow's PyCapsule interface reads it as a stream. A scan is read once.
#[pyclass(module = "foldb")]
pub(crate) struct Scan {
    /// `None` after the close, or when another library reads.
    reading: Option<Reading>,
    schema: SchemaRef,
}

impl Scan {
    pub(super) fn new(reading: Reading) -> Scan {
        let schema = reading.schema();
        Scan { reading: Some(reading), schema }
    }

    fn gone() -> PyErr {
        raise(closed("scan"))
    }
}

/// Reads the rows.
#[pymethods]
impl Scan {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Table>> {
        let reading = self.reading.as_mut().ok_or_else(Self::gone)?;
        let batch = detached(py, || reading.read())?;
        Ok(batch.map(Table::new))
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the rows that are left as a dict of NumPy arrays.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "scan_to_numpy")
    }

    /// Returns the rows that are left as a table of pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "table_to_arrow")
    }

    /// Returns the rows that are left as a frame of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "table_to_pandas")
    }

    /// Returns the rows that are left as a frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "table_to_polars")
    }

    /// Gives the rows that are left away, as a stream of Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &mut self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reading = self.reading.take().ok_or_else(Self::gone)?;
        capsule::of_stream(py, Box::new(reading))
    }

    /// Returns an empty table of the scan's columns. For `foldb.frames`.
    fn _empty(&self) -> Table {
        Table::new(RecordBatch::new_empty(Arc::clone(&self.schema)))
    }

    /// Lets go of what the scan holds. Later calls raise `Closed`.
    fn close(&mut self, py: Python<'_>) {
        let reading = self.reading.take();
        py.unlocked(|| drop(reading));
    }
}
