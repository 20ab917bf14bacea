//! One value of a column, and its bytes as a key or as a value.

use foldb_typed::AsKey;

use crate::buffers::Numbers;
use crate::keys::Part;

/// A value of a column of NumPy or Arrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Bytes(&'a [u8]),
    Text(&'a str),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    /// Microseconds or finer since 1970 in UTC.
    Moment {
        seconds: i64,
        nanos: u32,
    },
}

/// The seconds since 1970 of the years 1 to 9999.
const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// What the bytes of a cell are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A key, or a value, that is bytes already.
    Raw,
    /// A key of one type, or a field of a tuple.
    Part(Part),
    /// A value or an operand of an operator of numbers, or its bytes.
    Value(Numbers),
    /// An element that is only told from others: bytes, a text in UTF-8, or 8 bytes of a number.
    Element,
}

/// Why a cell has no bytes of this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The cell is of another type than this.
    Type(&'static str),
    /// The number does not fit into 64 bits.
    Range,
    /// The moment is no `datetime` of Python.
    Moment,
}

impl Form {
    /// Appends the bytes of a cell.
    #[inline]
    pub(super) fn write(self, cell: Cell<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
        match (self, cell) {
            (Form::Raw | Form::Value(_), Cell::Bytes(bytes)) => out.extend_from_slice(bytes),
            (Form::Raw, _) => return Err(Refused::Type("bytes")),
            (Form::Element, Cell::Bytes(bytes)) => out.extend_from_slice(bytes),
            (Form::Element, Cell::Text(text)) => out.extend_from_slice(text.as_bytes()),
            (Form::Element, Cell::Signed(number)) => put(out, number.to_le_bytes()),
            (Form::Element, Cell::Unsigned(number)) => put(out, number.to_le_bytes()),
            (Form::Element, _) => return Err(Refused::Type("bytes, texts or whole numbers")),
            (Form::Part(part), cell) => return write_key(part, cell, out),
            (Form::Value(Numbers::Signed), Cell::Signed(number)) => put(out, number.to_le_bytes()),
            (Form::Value(Numbers::Signed), Cell::Unsigned(number)) => {
                put(out, i64::try_from(number).map_err(|_| Refused::Range)?.to_le_bytes());
            }
            (Form::Value(Numbers::Unsigned), Cell::Unsigned(number)) => {
                put(out, number.to_le_bytes());
            }
            (Form::Value(Numbers::Unsigned), Cell::Signed(number)) => {
                put(out, u64::try_from(number).map_err(|_| Refused::Range)?.to_le_bytes());
            }
            (Form::Value(Numbers::Float), Cell::Float(number)) => put(out, number.to_le_bytes()),
            (Form::Value(Numbers::Float), Cell::Signed(number)) => {
                put(out, (number as f64).to_le_bytes());
            }
            (Form::Value(Numbers::Float), Cell::Unsigned(number)) => {
                put(out, (number as f64).to_le_bytes());
            }
            (Form::Value(numbers), _) => {
                return Err(Refused::Type(match numbers {
                    Numbers::None => "bytes",
                    Numbers::Signed | Numbers::Unsigned => "whole numbers or bytes",
                    Numbers::Float => "numbers or bytes",
                }));
            }
        }
        Ok(())
    }
}

fn put(out: &mut Vec<u8>, number: [u8; 8]) {
    out.extend_from_slice(&number);
}

fn write_key(part: Part, cell: Cell<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
    match (part, cell) {
        (Part::Str, Cell::Text(text)) => AsKey::<String>::encode_key(text, out),
        (Part::Bytes, Cell::Bytes(bytes)) => AsKey::<Vec<u8>>::encode_key(bytes, out),
        (Part::Int, Cell::Signed(number)) => number.encode_key(out),
        (Part::Int, Cell::Unsigned(number)) => {
            i64::try_from(number).map_err(|_| Refused::Range)?.encode_key(out);
        }
        (Part::Float, Cell::Float(number)) => number.encode_key(out),
        (Part::Float, Cell::Signed(number)) => (number as f64).encode_key(out),
        (Part::Float, Cell::Unsigned(number)) => (number as f64).encode_key(out),
        (Part::Bool, Cell::Bool(flag)) => flag.encode_key(out),
        (Part::Datetime, Cell::Moment { seconds, nanos }) => {
            // What Python could not read back as the same key is refused.
            if !YEARS.contains(&seconds) || nanos % 1000 != 0 {
                return Err(Refused::Moment);
            }
            seconds.encode_key(out);
            nanos.encode_key(out);
        }
        (Part::Uuid, Cell::Bytes(bytes)) if bytes.len() == 16 => out.extend_from_slice(bytes),
        (Part::Uuid, _) => return Err(Refused::Type("the 16 bytes of a uuid")),
        (part, _) => return Err(Refused::Type(part.names().0)),
    }
    Ok(())
}
