//! The checksums of blocks and footers.
//!
//! ```text
//! 0 none | 1 CRC-32C, masked | 2 xxHash32 | 3 xxHash64, low half | 4 XXH3, low half
//! ```
//!
//! A checksum covers the contents and one byte more. XXH3 mixes this byte into the checksum of the
//! contents. From format version 6 on, the place in the file is added to each checksum, so that a
//! block in a wrong place is noticed.

use foldb_leveldb_format::encoding::masked;
use xxhash_rust::{xxh3::xxh3_64, xxh32::Xxh32, xxh64::Xxh64};

/// How the blocks of a table are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Not at all.
    None,
    /// CRC-32C.
    Crc32c,
    /// 32-bit xxHash.
    XxHash32,
    /// 64-bit xxHash.
    XxHash64,
    /// XXH3.
    Xxh3,
}

/// An odd number with which XXH3 mixes the last byte into a checksum.
const LAST_BYTE_FACTOR: u32 = 0x6b90_83d9;

impl Checksum {
    /// Returns the checksum of this number. `None` if there is none.
    pub fn of_number(number: u8) -> Option<Checksum> {
        use Checksum::{Crc32c, None as NoChecksum, XxHash32, XxHash64, Xxh3};
        [NoChecksum, Crc32c, XxHash32, XxHash64, Xxh3].get(usize::from(number)).copied()
    }

    /// Returns the checksum of contents and one byte more.
    pub fn of(self, contents: &[u8], last: u8) -> u32 {
        match self {
            Checksum::None => 0,
            Checksum::Crc32c => masked(crc32c::crc32c_append(crc32c::crc32c(contents), &[last])),
            Checksum::XxHash32 => {
                let mut hash = Xxh32::new(0);
                hash.update(contents);
                hash.update(&[last]);
                hash.digest()
            }
            Checksum::XxHash64 => {
                let mut hash = Xxh64::new(0);
                hash.update(contents);
                hash.update(&[last]);
                hash.digest() as u32
            }
            Checksum::Xxh3 => {
                xxh3_64(contents) as u32 ^ u32::from(last).wrapping_mul(LAST_BYTE_FACTOR)
            }
        }
    }
}

/// Returns what is added to a checksum of a block at an offset. A file without `base` adds nothing.
pub fn of_place(base: u32, offset: u64) -> u32 {
    match base {
        0 => 0,
        _ => base ^ (offset as u32).wrapping_add((offset >> 32) as u32),
    }
}
