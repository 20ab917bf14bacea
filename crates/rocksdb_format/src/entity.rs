//! A value of several columns.
//!
//! ```text
//! version 1:  1 | columns varint | columns × ( name, with its length | length varint ) | values
//! version 2:  2 | columns varint | bytes of the lengths of names, of those of values, and of the
//!             names, varint each | kinds, a byte each | lengths of names, varint each
//!             | lengths of values, varint each | names | values
//! ```
//!
//! The names ascend. A column without a name is the default one: it comes first, and is what a read
//! of a single value returns. The kind of a column is that of a record: a value, or a reference to
//! a blob.

use foldb_leveldb_format::encoding::Fields;

use crate::kind::{BLOB_INDEX, VALUE};
use crate::{Fault, Read};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its name. That of the default column is empty.
    pub name: &'a [u8],
    /// Its value, or the reference to it.
    pub value: &'a [u8],
    /// Whether the value is a reference to a blob.
    pub is_blob: bool,
}

/// Reads the columns of a value.
///
/// # Errors
/// Fails for bytes that are no such value, and for another version.
pub fn decode(bytes: &[u8]) -> Read<Vec<Column<'_>>> {
    let damaged = || Fault::damaged("a value of several columns is damaged");
    let mut fields = Fields(bytes);
    let version = fields.varint32().ok_or_else(damaged)?;
    let count = fields.varint32().ok_or_else(damaged)? as usize;
    // Each column has two bytes at least.
    if count > fields.0.len() / 2 {
        return Err(damaged());
    }
    let columns = match version {
        1 => first(fields, count),
        2 => second(fields, count),
        other => {
            return Err(Fault::unsupported(format!(
                "a value of several columns has version {other}: expected 1 or 2"
            )));
        }
    };
    let columns = columns.ok_or_else(damaged)?;
    match columns.windows(2).all(|pair| pair[0].name < pair[1].name) {
        true => Ok(columns),
        false => Err(damaged()),
    }
}

fn first(mut fields: Fields<'_>, count: usize) -> Option<Vec<Column<'_>>> {
    let mut heads = Vec::with_capacity(count);
    for _ in 0..count {
        heads.push((fields.prefixed()?, fields.varint32()? as usize));
    }
    let column = |(name, len)| Some(Column { name, value: fields.take(len)?, is_blob: false });
    let columns = heads.into_iter().map(column).collect::<Option<Vec<_>>>()?;
    fields.is_empty().then_some(columns)
}

fn second(mut fields: Fields<'_>, count: usize) -> Option<Vec<Column<'_>>> {
    let mut len = || fields.varint32().map(|len| len as usize);
    let (name_lengths, value_lengths, names) = (len()?, len()?, len()?);
    let kinds = fields.take(count)?;
    let mut name_lengths = Fields(fields.take(name_lengths)?);
    let mut value_lengths = Fields(fields.take(value_lengths)?);
    let mut names = Fields(fields.take(names)?);
    let mut columns = Vec::with_capacity(count);
    for kind in kinds {
        let name = names.take(name_lengths.varint32()? as usize)?;
        let value = fields.take(value_lengths.varint32()? as usize)?;
        let is_blob = match *kind {
            VALUE => false,
            BLOB_INDEX => true,
            _ => return None,
        };
        columns.push(Column { name, value, is_blob });
    }
    let rests = [fields, names, name_lengths, value_lengths];
    rests.iter().all(Fields::is_empty).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_both_versions_are_read_and_damage_is_refused() {
        let column = |name, value, is_blob| Column { name, value, is_blob };
        let first = b"\x01\x02\x00\x03\x01n\x02onetw";
        let expected = [column(&b""[..], &b"one"[..], false), column(b"n", b"tw", false)];
        assert_eq!(decode(first).unwrap(), expected);
        let second = b"\x02\x02\x02\x02\x01\x11\x01\x00\x01\x03\x02nonetw";
        let expected = [column(&b""[..], &b"one"[..], true), column(b"n", b"tw", false)];
        assert_eq!(decode(second).unwrap(), expected);
        for bytes in [&first[..], second] {
            for len in 0..bytes.len() {
                assert!(decode(&bytes[..len]).is_err(), "{len}");
            }
        }
        assert!(decode(b"\x01\x02\x01n\x00\x01n\x00").is_err(), "names ascend");
        let version = decode(b"\x03\x00").unwrap_err();
        assert!(matches!(version, Fault::Unsupported(_)), "{version}");
    }
}
