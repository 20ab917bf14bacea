//! Columns of NumPy: arrays of bytes, texts, numbers, flags and moments.
//!
//! A part of an array is copied while the GIL is held, because its owner may change it later.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

use super::arrow::moment;
use super::cell::Cell;

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    /// Bytes of one width, with zeros behind shorter ones.
    Padded(usize),
    /// Bytes of one width.
    Fixed(usize),
    /// UCS-4 of one width, with zeros behind shorter texts.
    Text(usize),
    Bool,
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    /// Ticks since 1970; the number says how many a second has.
    Moment(i64),
}

/// A NumPy array of one dimension, or of rows of bytes.
pub(super) struct Array<'py> {
    array: Bound<'py, PyAny>,
    element: Element,
    len: usize,
    next: usize,
}

/// Whether an object is an array of NumPy.
pub(super) fn is_array(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr("dtype")? && given.hasattr("tobytes")? && given.hasattr("ndim")?)
}

impl<'py> Array<'py> {
    /// Opens an array; `None` if its elements are objects of Python.
    pub(super) fn of(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Array<'py>>> {
        if given.hasattr("mask")? && given.getattr("mask")?.call_method0("any")?.is_truthy()? {
            return Err(PyValueError::new_err(format!("{name}: the array has masked elements")));
        }
        let dtype = given.getattr("dtype")?;
        let kind: char = dtype.getattr("kind")?.extract()?;
        if matches!(kind, 'O' | 'T') {
            return Ok(None);
        }
        let width: usize = dtype.getattr("itemsize")?.extract()?;
        let dimensions: usize = given.getattr("ndim")?.extract()?;
        let len = given.len().map_err(|_| dimensions_wrong(name, dimensions))?;
        let element = match (kind, width, dimensions) {
            ('u', 1, 2) => {
                let shape: (usize, usize) = given.getattr("shape")?.extract()?;
                Element::Fixed(shape.1)
            }
            (.., dimensions) if dimensions != 1 => return Err(dimensions_wrong(name, dimensions)),
            ('S', width, _) => Element::Padded(width),
            ('V', width, _) if dtype.getattr("names")?.is_none() => Element::Fixed(width),
            ('U', width, _) => Element::Text(width),
            ('b', ..) => Element::Bool,
            ('i', 1 | 2 | 4 | 8, _) => Element::Signed(width),
            ('u', 1 | 2 | 4 | 8, _) => Element::Unsigned(width),
            ('f', 4 | 8, _) => Element::Float(width),
            ('M', ..) => Element::Moment(ticks(&dtype, name)?),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{name}: expected an array of bytes, texts, numbers, flags or moments, not \
                     of {dtype}"
                )));
            }
        };
        // The loops below read little-endian numbers.
        let order: String = dtype.getattr("str")?.extract()?;
        let array = if order.starts_with('>') {
            given.call_method1("astype", (dtype.call_method1("newbyteorder", ("<",))?,))?
        } else {
            given.clone()
        };
        Ok(Some(Array { array, element, len, next: 0 }))
    }

    /// Copies at most `most` elements.
    pub(super) fn part(&mut self, most: usize) -> PyResult<Part<'py>> {
        let end = self.len.min(self.next.saturating_add(most));
        let slice = PySlice::new(self.array.py(), self.next as isize, end as isize, 1);
        let bytes = self.array.get_item(slice)?.call_method0("tobytes")?;
        let part = Part {
            bytes: bytes.cast_into::<PyBytes>()?,
            element: self.element,
            len: end - self.next,
        };
        self.next = end;
        Ok(part)
    }
}

fn dimensions_wrong(name: &str, found: usize) -> PyErr {
    PyValueError::new_err(format!(
        "{name}: expected an array of one dimension, or rows of bytes (uint8), not of {found}"
    ))
}

/// Returns how many ticks of a `datetime64` a second has.
fn ticks(dtype: &Bound<'_, PyAny>, name: &str) -> PyResult<i64> {
    let text: String = dtype.getattr("str")?.extract()?;
    match text.get(1..).unwrap_or_default() {
        "M8[s]" => Ok(1),
        "M8[ms]" => Ok(1_000),
        "M8[us]" => Ok(1_000_000),
        "M8[ns]" => Ok(1_000_000_000),
        _ => Err(PyTypeError::new_err(format!(
            "{name}: expected moments in s, ms, us or ns, not {text}"
        ))),
    }
}

/// Copied elements of an array.
pub(super) struct Part<'py> {
    bytes: Bound<'py, PyBytes>,
    element: Element,
    pub(super) len: usize,
}

/// Why an element is no cell.
pub(super) const NO_TEXT: &str = "a text with a surrogate, which UTF-8 cannot express";
pub(super) const NO_MOMENT: &str = "not a time (NaT)";

impl Part<'_> {
    pub(super) fn elements(&self) -> Elements<'_> {
        Elements { bytes: self.bytes.as_bytes(), element: self.element }
    }
}

/// Elements as NumPy lays them out.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    element: Element,
}

impl<'a> Elements<'a> {
    /// Reads an element. `text` holds a decoded text.
    pub(super) fn cell<'t>(
        &self,
        row: usize,
        text: &'t mut String,
    ) -> Result<Cell<'t>, &'static str>
    where
        'a: 't,
    {
        let of = |width: usize| &self.bytes[row * width..(row + 1) * width];
        Ok(match self.element {
            Element::Padded(width) => {
                let padded = of(width);
                let len = padded.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                Cell::Bytes(&padded[..len])
            }
            Element::Fixed(width) => Cell::Bytes(of(width)),
            Element::Text(width) => {
                decode(of(width), text)?;
                Cell::Text(text)
            }
            Element::Bool => Cell::Bool(self.bytes[row] != 0),
            Element::Signed(width) => Cell::Signed(signed(of(width))),
            Element::Unsigned(width) => Cell::Unsigned(unsigned(of(width))),
            Element::Float(4) => Cell::Float(f32::from_bits(unsigned(of(4)) as u32).into()),
            Element::Float(width) => Cell::Float(f64::from_bits(unsigned(of(width)))),
            Element::Moment(a_second) => match signed(of(8)) {
                i64::MIN => return Err(NO_MOMENT),
                time => moment(time, a_second),
            },
        })
    }
}

/// Reads a little-endian number of 1, 2, 4 or 8 bytes.
fn unsigned(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    // The shift to the right copies the sign.
    (unsigned(bytes) << unused) as i64 >> unused
}

fn decode(ucs4: &[u8], text: &mut String) -> Result<(), &'static str> {
    text.clear();
    let mut zeros = 0;
    for point in ucs4.chunks_exact(4) {
        match unsigned(point) as u32 {
            0 => zeros += 1,
            point => {
                // Zeros at the end are padding; those before another character are of the text.
                text.extend(std::iter::repeat_n('\0', std::mem::take(&mut zeros)));
                text.push(char::from_u32(point).ok_or(NO_TEXT)?);
            }
        }
    }
    Ok(())
}
