//! Checksums of the bytes in files.
//!
//! A checksum is seeded with where its bytes belong: file number and offset. Bytes that are intact
//! but came from elsewhere (a misdirected write, a file under another's name) therefore fail it
//! like damaged ones.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Error, Result};

/// The checksum functions. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ChecksumKind {
    /// XXH3, 64 bits, seeded with file number and offset.
    Xxh3 = 1,
}

impl ChecksumKind {
    /// Returns the kind with this number.
    ///
    /// # Errors
    /// `Corruption` for another number. A file with checksums of another kind has a newer format
    /// version; its footer or header, checked before, names that version.
    pub(crate) fn from_u8(byte: u8) -> Result<ChecksumKind> {
        match byte {
            1 => Ok(ChecksumKind::Xxh3),
            _ => Err(Error::corruption(format!("checksum type: expected 1, found {byte}"))),
        }
    }
}

/// The seed of a checksum over bytes that belong at `offset` of file `file_number`.
#[inline]
pub(crate) fn checksum_seed(file_number: u64, offset: u64) -> u64 {
    // Two odd constants (from the golden ratio and from splitmix64) keep (1, 2) and (2, 1) apart.
    file_number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
        ^ offset.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// XXH3-64 of `bytes` under `seed`.
#[inline]
pub(crate) fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}
