//! A value of several columns.
//!
//! ```text
//! version varint, 1 | columns varint | columns × ( name, with its length | length varint )
//! | values
//! ```
//!
//! The names ascend. A column without a name is the default one: it comes first, and is what a read
//! of a single value returns.

use foldb_leveldb_format::encoding::Fields;

use crate::{Fault, Read};

/// A column: its name and its value.
pub type Column<'a> = (&'a [u8], &'a [u8]);

/// Reads the columns of a value.
///
/// # Errors
/// Fails for bytes that are no such value, and for another version.
pub fn decode(bytes: &[u8]) -> Read<Vec<Column<'_>>> {
    let damaged = || Fault::damaged("a value of several columns is damaged");
    let mut fields = Fields(bytes);
    let version = fields.varint32().ok_or_else(damaged)?;
    if version != 1 {
        return Err(Fault::unsupported(format!(
            "a value of several columns has version {version}: expected 1"
        )));
    }
    let count = fields.varint32().ok_or_else(damaged)? as usize;
    // Each column has two bytes at least.
    if count > fields.0.len() / 2 {
        return Err(damaged());
    }
    let mut heads = Vec::with_capacity(count);
    for _ in 0..count {
        let name = fields.prefixed().ok_or_else(damaged)?;
        heads.push((name, fields.varint32().ok_or_else(damaged)? as usize));
    }
    let mut columns: Vec<Column<'_>> = Vec::with_capacity(count);
    for (name, len) in heads {
        if columns.last().is_some_and(|(last, _)| *last >= name) {
            return Err(damaged());
        }
        columns.push((name, fields.take(len).ok_or_else(damaged)?));
    }
    match fields.is_empty() {
        true => Ok(columns),
        false => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_and_damage_is_refused() {
        let bytes = b"\x01\x02\x00\x03\x01n\x02onetw";
        assert_eq!(decode(bytes), Ok(vec![(&b""[..], &b"one"[..]), (&b"n"[..], &b"tw"[..])]));
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len}");
        }
        assert!(decode(b"\x01\x02\x01n\x00\x01n\x00").is_err(), "names ascend");
        let version = decode(b"\x02\x00").unwrap_err();
        assert!(matches!(version, Fault::Unsupported(_)), "{version}");
    }
}
