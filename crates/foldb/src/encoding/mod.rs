//! How numbers, lengths and checksums are written: the one home of what all file formats share.
//!
//! Fixed-width integers are little-endian. Reading is total: any bytes give a value or a
//! [`crate::ErrorKind::Corruption`], never a panic and never an allocation.

mod byte_reader;
mod checksum;
pub(crate) mod format;
mod hash;
mod short_bytes;
mod varint;

#[cfg(test)]
mod tests;

pub(crate) use byte_reader::ByteReader;
pub(crate) use checksum::{ChecksumKind, checksum, checksum_seed};
pub use hash::key_hash;
pub(crate) use short_bytes::{common_prefix, copy_short, is_same_key, key_prefix};
pub(crate) use varint::{
    decode_varint, decode_varint56, encode_varint56, put_length_delimited, put_varint,
};
