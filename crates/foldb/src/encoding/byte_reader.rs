//! Reading untrusted bytes front to back.

use crate::encoding::varint::decode_varint;
use crate::error::{Error, Result};

/// Reads numbers and byte strings from the front of a slice; every step checks its bounds.
///
/// Errors name what was being read (`what`), the position in the slice, and the bytes expected
/// and found.
#[derive(Clone, Debug)]
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// Makes a reader at the front of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { bytes, at: 0 }
    }

    /// Returns whether everything has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads the next `len` bytes.
    pub(crate) fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8]> {
        if len > self.remaining() {
            return Err(Error::corruption(format!(
                "{what} at position {}: expected {len} bytes, found {}",
                self.at,
                self.remaining()
            )));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    /// Reads the next byte.
    pub(crate) fn u8(&mut self, what: &str) -> Result<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    /// Reads the next four bytes, little-endian.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// Reads the next eight bytes, little-endian.
    pub(crate) fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Reads the next varint.
    pub(crate) fn varint(&mut self, what: &str) -> Result<u64> {
        let Some((value, len)) = decode_varint(&self.bytes[self.at..]) else {
            return Err(Error::corruption(format!(
                "{what} at position {}: expected a varint of at most 64 bits, found {} bytes that \
                 are none",
                self.at,
                self.remaining()
            )));
        };
        self.at += len;
        Ok(value)
    }

    /// Reads the next varint, which must fit 32 bits.
    pub(crate) fn varint32(&mut self, what: &str) -> Result<u32> {
        let at = self.at;
        let value = self.varint(what)?;
        u32::try_from(value).map_err(|_| {
            Error::corruption(format!(
                "{what} at position {at}: expected at most {}, found {value}",
                u32::MAX
            ))
        })
    }

    /// Reads the next byte string: its length as a varint, then its bytes.
    pub(crate) fn length_delimited(&mut self, what: &str) -> Result<&'a [u8]> {
        let len = self.varint(what)?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX), what)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }
}
