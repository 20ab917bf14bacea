//! Keys: values of a program whose encodings have the order of the values.
//!
//! ```text
//! u8 … u128         big-endian
//! i8 … i128         big-endian, the sign bit inverted
//! f32, f64          the bits big-endian: all inverted if negative, else the sign bit
//! bool              00 or 01
//! char              as a u32
//! str, bytes        the bytes, then 00; in them 00 is written 01 01, and 01 is written 01 02
//! [u8; N]           the bytes
//! Uuid              16 bytes
//! SystemTime        seconds since 1970 as an i64, then nanoseconds as a u32
//! Duration          seconds as a u64, then nanoseconds as a u32
//! Option            00, or 01 and the value
//! tuple, struct     the fields, one after the other
//! enum              the number of the variant u8, then its fields
//! ```
//!
//! Invariant: of two different encodings of one type, neither begins with the other. So the bytes
//! of a tuple compare like its fields, and an encoded field is a prefix that no other field has.
//! (An end of 00 with 00 written as 00 FF would break this: the next field may begin with FF.)

mod float;
mod integer;
mod option;
pub(crate) mod text;
pub(crate) mod time;
mod tuple;
#[cfg(feature = "uuid")]
mod uuid;

use foldb::{Error, Result};

use crate::borrowed::AsKey;

/// A type of keys. Its encoding has the order of its values, and says where it ends.
///
/// The trait is implemented for integers, floats, `bool`, `char`, `String`, `Vec<u8>`, `[u8; N]`,
/// `SystemTime`, `Duration`, `Option`, tuples of up to 8 keys, and with the cargo feature `uuid`
/// for `Uuid`. Structs and enums derive it:
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb_typed::{Key, Table, foldb::Db};
///
/// #[derive(Clone, Debug, PartialEq, Key)]
/// struct Reading {
///     sensor: String,
///     second: u64,
/// }
///
/// let db = Db::create(dir.path().join("db"))?;
/// let degrees = Table::<Reading, f64>::open(&db, "degrees")?;
/// let noon = Reading { sensor: "roof".to_owned(), second: 43_200 };
/// degrees.put(&noon, 21.5)?;
/// assert_eq!(degrees.get(&noon)?, Some(21.5));
/// // A tuple stands for the first fields of a struct.
/// assert_eq!(degrees.range(("roof", 40_000..))?.next().unwrap()?, (noon, 21.5));
/// # Ok::<(), foldb_typed::Error>(())
/// ```
///
/// The names of fields and variants are stored. `#[key(name = "…")]` keeps the old name of one that
/// the program renames. A type of keys is fixed once a table has it: a new field or variant is
/// another type.
pub trait Key: AsKey<Self> + Sized {
    /// Returns the text that describes the encoding: see [`crate::schema`].
    fn schema() -> String;

    /// Reads a key from the front of the bytes, and moves them behind it.
    ///
    /// # Errors
    /// `Corruption`, with what was expected and what was found.
    fn decode_key(bytes: &mut &[u8]) -> Result<Self>;
}

/// Returns the encoding of a key.
///
/// # Example
/// ```
/// assert_eq!(foldb_typed::encode::<(String, u16)>(("a", 7)), b"a\0\0\x07");
/// ```
pub fn encode<K: Key>(key: impl AsKey<K>) -> Vec<u8> {
    let mut out = Vec::new();
    key.encode_key(&mut out);
    out
}

/// Reads a key that takes all of the bytes.
///
/// # Errors
/// `Corruption`, also for bytes behind the key.
///
/// # Example
/// ```
/// assert_eq!(foldb_typed::decode::<u16>(&[1, 0])?, 256);
/// assert!(foldb_typed::decode::<u16>(&[1, 0, 0]).is_err());
/// # Ok::<(), foldb_typed::Error>(())
/// ```
pub fn decode<K: Key>(bytes: &[u8]) -> Result<K> {
    let mut rest = bytes;
    let key = K::decode_key(&mut rest)?;
    check_end(rest, "key")?;
    Ok(key)
}

/// # Errors
/// `Corruption` if bytes are left.
pub(crate) fn check_end(rest: &[u8], what: &str) -> Result<()> {
    match rest.len() {
        0 => Ok(()),
        left => {
            Err(Error::corruption(format!("expected the end of the {what}, found {left} bytes")))
        }
    }
}

/// Takes the next bytes of a fixed number.
///
/// # Errors
/// `Corruption` if there are fewer.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8], what: &str) -> Result<[u8; N]> {
    match bytes.split_first_chunk() {
        Some((taken, rest)) => {
            *bytes = rest;
            Ok(*taken)
        }
        None => Err(Error::corruption(format!(
            "key of type {what}: expected {N} bytes, found {}",
            bytes.len()
        ))),
    }
}

/// Returns the error of a byte that stands for nothing.
pub(crate) fn unexpected(what: &str, expected: &str, found: u8) -> Error {
    Error::corruption(format!("key of type {what}: expected {expected}, found {found:02x}"))
}

/// What the derived code calls.
#[doc(hidden)]
pub mod derived {
    use super::{Error, Result};

    /// Takes the number of a variant.
    ///
    /// # Errors
    /// `Corruption` if there is no byte.
    pub fn take_variant(bytes: &mut &[u8], name: &str) -> Result<u8> {
        super::take::<1>(bytes, name).map(|[number]| number)
    }

    /// Returns the error of a number that no variant has.
    pub fn unknown_variant(name: &str, found: u8, count: usize) -> Error {
        super::unexpected(name, &format!("a variant below {count:02x}"), found)
    }
}
