//! A column that Python gives, as encoded rows: of Arrow, of NumPy, or an iterable of objects.

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyMemoryView, PyString, PyTuple};

use super::arrow::{Arrays, cells};
use super::cell::{Cell, Form, Refused};
use super::numpy::{self, Array};
use super::rows::Rows;
use crate::buffers::{Numbers, element_of, is_number, value_of};
use crate::ending::Unlocked;
use crate::keys::Codec;

/// A column of keys or values.
pub(super) struct Source<'py> {
    kind: Kind<'py>,
    /// The form of the rows; several for the fields of a tuple.
    forms: Vec<Form>,
    /// The argument, for errors.
    name: &'static str,
    /// How many rows were read.
    row: usize,
}

enum Kind<'py> {
    Arrow {
        arrays: Arrays,
        /// The rows being read, and the next one.
        current: Option<(Fields, usize)>,
    },
    Numpy(Array<'py>),
    Objects(Bound<'py, PyIterator>, Encode),
    /// The same row for ever.
    Constant(Vec<u8>),
    /// The columns of a tuple, each with its rows.
    Columns(Vec<(Source<'py>, Rows)>),
}

/// The arrays of the fields of rows.
pub(super) struct Fields {
    arrays: Vec<ArrayRef>,
    /// The rows in which a field, or the whole row, is null.
    nulls: Option<NullBuffer>,
}

impl Fields {
    /// Joins arrays of one length, and the nulls of their rows.
    pub(super) fn new(arrays: Vec<ArrayRef>, of_rows: Option<&NullBuffer>) -> Fields {
        let nulls = arrays.iter().fold(of_rows.cloned(), |nulls, array| {
            // The values of a dictionary may be null too.
            NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref())
        });
        Fields { arrays, nulls }
    }

    fn len(&self) -> usize {
        self.arrays[0].len()
    }
}

/// How an object becomes a row.
enum Encode {
    Key(Codec),
    Value(Numbers),
    Element,
}

/// Returns the forms of the fields of a key.
pub(super) fn forms_of(codec: &Codec) -> Vec<Form> {
    match codec {
        Codec::Raw => vec![Form::Raw],
        Codec::One(part) => vec![Form::Part(*part)],
        Codec::Many(parts) => parts.iter().map(|part| Form::Part(*part)).collect(),
    }
}

impl<'py> Source<'py> {
    /// Opens a column of keys. Keys that are tuples may also come as a frame, or as a tuple of
    /// columns.
    pub(super) fn of_keys(
        given: &Bound<'py, PyAny>,
        codec: &Codec,
        name: &'static str,
    ) -> PyResult<Source<'py>> {
        let forms = forms_of(codec);
        if !matches!(codec, Codec::Many(_)) {
            return Source::open(given, forms, Encode::Key(codec.clone()), name);
        }
        let Some(columns) = columns_of(given)? else {
            return Source::open(given, forms, Encode::Key(codec.clone()), name);
        };
        expect_fields(columns.len(), forms.len(), name)?;
        let columns = columns.iter().zip(&forms).map(|(column, form)| {
            let Form::Part(part) = *form else { unreachable!("a tuple has fields of types") };
            let encode = Encode::Key(Codec::One(part));
            Ok((Source::open(&column, vec![*form], encode, name)?, Rows::default()))
        });
        let kind = Kind::Columns(columns.collect::<PyResult<_>>()?);
        Ok(Source { kind, forms, name, row: 0 })
    }

    /// Opens a column of values or operands, or one value for all rows.
    pub(super) fn of_values(
        given: &Bound<'py, PyAny>,
        numbers: Numbers,
        form: Option<Form>,
        name: &'static str,
    ) -> PyResult<Source<'py>> {
        let form = form.unwrap_or(Form::Value(numbers));
        let encode = match form {
            Form::Element => Encode::Element,
            Form::Raw | Form::Part(_) | Form::Value(_) => Encode::Value(numbers),
        };
        let forms = vec![form];
        let is_one = given.is_instance_of::<PyBytes>()
            || given.is_instance_of::<PyByteArray>()
            || given.is_instance_of::<PyMemoryView>()
            || is_number(given)?;
        if is_one {
            let mut row = Rows::default();
            encode.write(given, name, &mut row)?;
            let kind = Kind::Constant(row.row(0).to_vec());
            return Ok(Source { kind, forms, name, row: 0 });
        }
        Source::open(given, forms, encode, name)
    }

    /// Whether the column has as many rows as a caller asks for.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.kind, Kind::Constant(_))
    }

    /// Opens the arrays of the fields of one column.
    pub(super) fn of_arrays(fields: Fields, forms: Vec<Form>, name: &'static str) -> Source<'py> {
        let kind = Kind::Arrow { arrays: Arrays::One(None), current: Some((fields, 0)) };
        Source { kind, forms, name, row: 0 }
    }

    fn open(
        given: &Bound<'py, PyAny>,
        forms: Vec<Form>,
        encode: Encode,
        name: &'static str,
    ) -> PyResult<Source<'py>> {
        let kind = if let Some(arrays) = Arrays::of(given)? {
            Kind::Arrow { arrays, current: None }
        } else if let Some(array) = array_of(given, name)?.filter(|_| forms.len() == 1) {
            Kind::Numpy(array)
        } else {
            Kind::Objects(iterator(given, name)?, encode)
        };
        Ok(Source { kind, forms, name, row: 0 })
    }

    /// Appends at most `most` rows, and returns their number; 0 at the end of the column.
    pub(super) fn fill(&mut self, py: Python<'_>, most: usize, out: &mut Rows) -> PyResult<usize> {
        let (forms, name) = (&self.forms[..], self.name);
        let filled = match &mut self.kind {
            Kind::Arrow { arrays, current } => {
                if !find_array(py, arrays, current, forms.len(), name)? {
                    return Ok(0);
                }
                let Some((fields, at)) = current else { return Ok(0) };
                let rows = *at..fields.len().min(at.saturating_add(most));
                *at = rows.end;
                let begin = rows.start;
                copy_arrow(py, fields, rows.clone(), forms, name, out)
                    .map_err(|(row, wrong)| wrong.raise(name, self.row + row - begin))?;
                rows.len()
            }
            Kind::Numpy(array) => {
                let part = array.part(most)?;
                copy_numpy(py, &part, forms[0], out)
                    .map_err(|(row, wrong)| wrong.raise(name, self.row + row))?;
                part.len
            }
            Kind::Objects(objects, encode) => {
                let mut filled = 0;
                for object in objects.by_ref().take(most) {
                    let object = object?;
                    encode
                        .write(&object, name, out)
                        .map_err(|error| at_row(py, &error, self.row + filled))?;
                    filled += 1;
                }
                filled
            }
            Kind::Constant(value) => {
                for _ in 0..most {
                    out.push_row(value);
                }
                most
            }
            Kind::Columns(columns) => join(py, columns, most, name, out)?,
        };
        self.row += filled;
        Ok(filled)
    }
}

impl Encode {
    fn write(&self, object: &Bound<'_, PyAny>, name: &str, out: &mut Rows) -> PyResult<()> {
        match self {
            Encode::Key(codec) => out.push_row(&codec.encode(object, name)?),
            Encode::Element => out.push_row(&element_of(object, name)?),
            Encode::Value(numbers) => out.push_row(&value_of(object, *numbers, name)?),
        }
        Ok(())
    }
}

/// Finds an array with rows left; returns false at the end of the column.
fn find_array(
    py: Python<'_>,
    arrays: &mut Arrays,
    current: &mut Option<(Fields, usize)>,
    fields: usize,
    name: &str,
) -> PyResult<bool> {
    loop {
        match current {
            Some((fields, at)) if *at < fields.len() => return Ok(true),
            _ => match arrays.next(py)? {
                Some(array) => *current = Some((fields_of(array, fields, name)?, 0)),
                None => return Ok(false),
            },
        }
    }
}

/// Splits an array of a frame into the fields of its keys and its last column.
pub(super) fn split(array: &ArrayRef, keys: usize, name: &str) -> PyResult<(Fields, Fields)> {
    let Some(rows) = array.as_struct_opt() else {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected a column beside the keys, or a frame or a mapping of both"
        )));
    };
    expect_fields(rows.num_columns(), keys + 1, "keys")?;
    let mut fields = rows.columns().to_vec();
    let value = fields.split_off(keys);
    Ok((Fields::new(fields, rows.nulls()), Fields::new(value, rows.nulls())))
}

/// Returns the columns of an array: those of a frame for keys with several fields.
fn fields_of(array: ArrayRef, expected: usize, name: &str) -> PyResult<Fields> {
    match array.data_type() {
        DataType::Struct(_) if expected > 1 => {
            let fields = array.as_struct().columns().to_vec();
            expect_fields(fields.len(), expected, name)?;
            Ok(Fields::new(fields, array.nulls()))
        }
        _ if expected > 1 => Err(PyTypeError::new_err(format!(
            "{name}: expected a frame or a tuple of {expected} columns"
        ))),
        _ => Ok(Fields::new(vec![array], None)),
    }
}

fn expect_fields(found: usize, expected: usize, name: &str) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name}: expected {expected} columns, not {found}")))
}

fn copy_arrow(
    py: Python<'_>,
    fields: &Fields,
    rows: std::ops::Range<usize>,
    forms: &[Form],
    name: &str,
    out: &mut Rows,
) -> Result<(), (usize, Wrong)> {
    let read: PyResult<Vec<_>> =
        fields.arrays.iter().map(|field| cells(field.as_ref(), name)).collect();
    let read = read.map_err(|error| (rows.start, Wrong::Raised(error)))?;
    py.unlocked(|| {
        for row in rows {
            if fields.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Err((row, Wrong::Null));
            }
            out.push(|bytes| {
                read.iter().zip(forms).try_for_each(|(read, form)| form.write(read(row), bytes))
            })
            .map_err(|refused| (row, Wrong::Refused(refused)))?;
        }
        Ok(())
    })
}

fn copy_numpy(
    py: Python<'_>,
    part: &numpy::Part<'_>,
    form: Form,
    out: &mut Rows,
) -> Result<(), (usize, Wrong)> {
    let (elements, len) = (part.elements(), part.len);
    py.unlocked(|| {
        let mut text = String::new();
        for row in 0..len {
            let cell: Cell<'_> =
                elements.cell(row, &mut text).map_err(|found| (row, Wrong::Found(found)))?;
            out.push(|bytes| form.write(cell, bytes))
                .map_err(|refused| (row, Wrong::Refused(refused)))?;
        }
        Ok(())
    })
}

/// Why a row has no bytes.
enum Wrong {
    Null,
    Found(&'static str),
    Refused(Refused),
    Raised(PyErr),
}

impl Wrong {
    #[cold]
    fn raise(self, name: &str, row: usize) -> PyErr {
        match self {
            Wrong::Null => PyValueError::new_err(format!("{name}: row {row} is null")),
            Wrong::Found(found) => PyValueError::new_err(format!("{name}: row {row} is {found}")),
            Wrong::Refused(Refused::Type("bytes")) => PyTypeError::new_err(format!(
                "{name}: expected a column of bytes; texts need a keyspace with keys=\"str\""
            )),
            Wrong::Refused(Refused::Type(expected)) => {
                PyTypeError::new_err(format!("{name}: expected a column of {expected}"))
            }
            Wrong::Refused(Refused::Moment) => PyValueError::new_err(format!(
                "{name}: row {row} is a moment outside of the years 1 to 9999, or has parts of a \
                 microsecond"
            )),
            Wrong::Refused(Refused::Range) => PyOverflowError::new_err(format!(
                "{name}: row {row} does not fit into the 64 bits of the number"
            )),
            Wrong::Raised(error) => error,
        }
    }
}

/// Adds the number of a row to an error of its object.
#[cold]
fn at_row(py: Python<'_>, error: &PyErr, row: usize) -> PyErr {
    let text = format!("{} (row {row})", error.value(py));
    PyErr::from_type(error.get_type(py), text)
}

/// Fills the columns of a tuple equally far, and joins their rows.
fn join(
    py: Python<'_>,
    columns: &mut [(Source<'_>, Rows)],
    most: usize,
    name: &str,
    out: &mut Rows,
) -> PyResult<usize> {
    for (source, rows) in &mut *columns {
        rows.clear();
        while rows.len() < most {
            if source.fill(py, most - rows.len(), rows)? == 0 {
                break;
            }
        }
    }
    let filled = columns[0].1.len();
    if let Some((_, other)) = columns.iter().find(|(_, rows)| rows.len() != filled) {
        let (found, other) = (columns[0].0.row, other.len() + columns[0].0.row - filled);
        return Err(PyValueError::new_err(format!(
            "{name}: the columns have {found} and {other} rows"
        )));
    }
    for row in 0..filled {
        out.push(|bytes| {
            columns.iter().for_each(|(_, rows)| bytes.extend_from_slice(rows.row(row)));
            PyResult::Ok(())
        })?;
    }
    Ok(filled)
}

/// Returns the columns of a tuple of columns; `None` for anything else.
fn columns_of<'a, 'py>(given: &'a Bound<'py, PyAny>) -> PyResult<Option<&'a Bound<'py, PyTuple>>> {
    let Ok(columns) = given.cast::<PyTuple>() else { return Ok(None) };
    for column in columns {
        let is_column = column.hasattr("dtype")?
            || column.hasattr("__arrow_c_stream__")?
            || column.hasattr("__arrow_c_array__")?;
        if !is_column {
            return Ok(None);
        }
    }
    Ok(Some(columns).filter(|columns| !columns.is_empty()))
}

/// Opens an array of NumPy, or what becomes one; `None` if it has objects of Python.
fn array_of<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Array<'py>>> {
    if numpy::is_array(given)? {
        return Array::of(given, name);
    }
    if given.hasattr("to_numpy")? {
        return Array::of(&given.call_method0("to_numpy")?, name);
    }
    Ok(None)
}

fn iterator<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyIterator>> {
    let is_single = given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyString>();
    match given.try_iter() {
        Ok(iterator) if !is_single => Ok(iterator),
        _ => {
            let found = given.get_type().name()?;
            Err(PyTypeError::new_err(format!(
                "{name}: expected a column or an iterable, not {found}"
            )))
        }
    }
}
