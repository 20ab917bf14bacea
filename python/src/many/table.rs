//! Tables that the package returns: equally long columns with names.

use arrow_array::{RecordBatch, RecordBatchIterator, StructArray};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::capsule;
use super::column::{Column, frames};

/// Columns with names. Any library that knows Arrow's PyCapsule interface takes it as a frame.
#[pyclass(module = "foldb", frozen)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(super) fn new(batch: RecordBatch) -> Table {
        Table { batch }
    }
}

/// Hands the columns to other libraries.
#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<foldb.Table of {} rows: {}>", self.batch.num_rows(), self.names().join(", "))
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns a column.
    fn __getitem__(&self, name: &str) -> PyResult<Column> {
        let column = self.batch.column_by_name(name);
        let missing = || PyKeyError::new_err(name.to_owned());
        column.map(|column| Column::new(column.clone())).ok_or_else(missing)
    }

    /// Returns the columns as a dict of NumPy arrays.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "columns_to_numpy")
    }

    /// Returns a table of pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "table_to_arrow")
    }

    /// Returns a frame of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "table_to_pandas")
    }

    /// Returns a frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf, "table_to_polars")
    }

    /// Returns the rows by Arrow's PyCapsule interface, as one array.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        capsule::of_array(py, &StructArray::from(self.batch.clone()))
    }

    /// Returns the rows by Arrow's PyCapsule interface, as a stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        capsule::of_stream(py, Box::new(batches))
    }
}
