//! Texts and bytes. Those without a fixed length end with 00, so 00 and 01 in them are escaped.

use foldb::{Error, Result};

use crate::borrowed::AsKey;
use crate::key::{Key, take};

const END: u8 = 0;
const ESCAPE: u8 = 1;

/// Appends bytes without the end, as the front of longer ones.
pub(crate) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for &byte in bytes {
        match byte {
            END | ESCAPE => out.extend_from_slice(&[ESCAPE, byte + 1]),
            other => out.push(other),
        }
    }
}

fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    escape(bytes, out);
    out.push(END);
}

/// Takes bytes up to their end.
fn decode(bytes: &mut &[u8], what: &str) -> Result<Vec<u8>> {
    let wrong = |expected: &str, found: &str| {
        Error::corruption(format!("key of type {what}: expected {expected}, found {found}"))
    };
    let end = bytes.iter().position(|byte| *byte == END);
    let end = end.ok_or_else(|| wrong("an end 00", "none"))?;
    let (escaped, rest) = (&bytes[..end], &bytes[end + 1..]);
    let mut plain = Vec::with_capacity(escaped.len());
    let mut escaped = escaped.iter();
    while let Some(&byte) = escaped.next() {
        match byte {
            ESCAPE => match escaped.next() {
                Some(&after @ (1 | 2)) => plain.push(after - 1),
                Some(after) => return Err(wrong("01 or 02 after 01", &format!("{after:02x}"))),
                None => return Err(wrong("01 or 02 after 01", "the end")),
            },
            other => plain.push(other),
        }
    }
    *bytes = rest;
    Ok(plain)
}

impl AsKey<String> for str {
    fn encode_key(&self, out: &mut Vec<u8>) {
        encode(self.as_bytes(), out);
    }
}

impl AsKey<String> for String {
    fn encode_key(&self, out: &mut Vec<u8>) {
        encode(self.as_bytes(), out);
    }
}

impl Key for String {
    fn schema() -> String {
        "str".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<String> {
        String::from_utf8(decode(bytes, "str")?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::corruption(format!(
                "key of type str: expected UTF-8, found another byte at {at}"
            ))
        })
    }
}

impl AsKey<Vec<u8>> for [u8] {
    fn encode_key(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }
}

impl AsKey<Vec<u8>> for Vec<u8> {
    fn encode_key(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }
}

impl<const N: usize> AsKey<Vec<u8>> for [u8; N] {
    fn encode_key(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }
}

impl AsKey<Vec<u8>> for str {
    fn encode_key(&self, out: &mut Vec<u8>) {
        encode(self.as_bytes(), out);
    }
}

impl Key for Vec<u8> {
    fn schema() -> String {
        "bytes".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<Vec<u8>> {
        decode(bytes, "bytes")
    }
}

impl<const N: usize> AsKey<[u8; N]> for [u8; N] {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl<const N: usize> Key for [u8; N] {
    fn schema() -> String {
        format!("bytes({N})")
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<[u8; N]> {
        take(bytes, "bytes of a fixed number")
    }
}
