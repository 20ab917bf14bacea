//! Entries packed into one array, so that one crossing between Java and Rust carries many.
//!
//! ```text
//! entry = [kind: u8, in batches only] [key length: u32 BE] [value length: u32 BE] [key] [value]
//! ```
//!
//! The value length `0xFFFF_FFFF` stands for no value.

use foldb::{Error, Result};

/// The value length of an entry without a value.
const NONE: u32 = u32::MAX;

/// The bytes of the two lengths.
const HEADER: usize = 8;

/// A packed key, and its value if it has one.
pub type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

/// What an entry of a batch does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sets the value; without one, deletes the key.
    Put = 0,
    /// Merges the value as an operand.
    Merge = 1,
}

/// Appends an entry.
///
/// # Errors
/// `InvalidArgument` for a key or value of 4 GiB.
pub fn append(out: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) -> Result<()> {
    let value_length = match value {
        None => NONE,
        Some(value) => length(value)?,
    };
    out.extend_from_slice(&length(key)?.to_be_bytes());
    out.extend_from_slice(&value_length.to_be_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value.unwrap_or_default());
    Ok(())
}

fn length(bytes: &[u8]) -> Result<u32> {
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length != NONE);
    length.ok_or_else(|| Error::invalid_argument("a key or value has 4 GiB or more"))
}

/// Reads packed entries, one after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Returns a reader of packed entries.
    pub fn new(packed: &'a [u8]) -> Reader<'a> {
        Reader { rest: packed }
    }

    /// Returns the next entry; `None` at the end.
    ///
    /// # Errors
    /// `InvalidArgument` if the array ends inside an entry.
    pub fn entry(&mut self) -> Result<Option<Entry<'a>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let header = self.take(HEADER)?;
        let [key, value] = [&header[..4], &header[4..]]
            .map(|bytes| bytes.iter().fold(0, |length, &byte| length << 8 | u32::from(byte)));
        let key = self.take(key as usize)?;
        let value = if value == NONE { None } else { Some(self.take(value as usize)?) };
        Ok(Some((key, value)))
    }

    /// Returns the next entry of a batch; `None` at the end.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown kind, and if the array ends inside an entry.
    pub fn operation(&mut self) -> Result<Option<(Kind, Entry<'a>)>> {
        let Some(&kind) = self.rest.first() else { return Ok(None) };
        let kind = match kind {
            0 => Kind::Put,
            1 => Kind::Merge,
            _ => return Err(Error::invalid_argument(format!("a batch has no kind {kind}"))),
        };
        self.rest = &self.rest[1..];
        let entry = self.entry()?.ok_or_else(ends_early)?;
        Ok(Some((kind, entry)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cold]
fn ends_early() -> Error {
    Error::invalid_argument("a packed array ends inside an entry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_order() {
        let entries: [Entry<'_>; 3] = [(b"a", Some(b"one")), (b"", None), (b"b", Some(b""))];
        let mut packed = Vec::new();
        for (key, value) in entries {
            append(&mut packed, key, value).unwrap();
        }
        let mut reader = Reader::new(&packed);
        for entry in entries {
            assert_eq!(reader.entry().unwrap(), Some(entry));
        }
        assert_eq!(reader.entry().unwrap(), None);
    }

    #[test]
    fn an_array_cut_anywhere_is_an_error() {
        let mut packed = vec![Kind::Merge as u8];
        append(&mut packed, b"key", Some(b"value")).unwrap();
        let whole = Reader::new(&packed).operation().unwrap();
        assert_eq!(whole, Some((Kind::Merge, (&b"key"[..], Some(&b"value"[..])))));
        for cut in 1..packed.len() {
            assert!(Reader::new(&packed[..cut]).operation().is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn an_unknown_kind_is_an_error() {
        let error = Reader::new(&[7]).operation().unwrap_err();
        assert_eq!(error.to_string(), "a batch has no kind 7");
    }
}
