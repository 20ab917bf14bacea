//! Variable-length integers: seven bits a byte, low bits first, the top bit says "more follows".
//!
//! ```text
//! 300 = 0b10_0101100  ->  1010_1100  0000_0010
//!                         more|low 7      |high 2
//! ```
//!
//! The 56-bit pair does without a loop or a branch per byte: eight bytes hold exactly the 56 bits
//! of a sequence number, so groups of seven bits are spread and gathered in three steps of masks.

/// Longest encoding of a `u64`, in bytes.
const MAX_VARINT_LEN: usize = 10;

const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// Appends `value` as a varint.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of `bytes` as a varint, then `bytes`.
pub(crate) fn put_length_delimited(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The varint at the start of `bytes` and its length; `None` if it does not end within them or
/// does not fit a `u64`.
#[inline]
pub(crate) fn decode_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(MAX_VARINT_LEN).enumerate() {
        let group = u64::from(byte & 0x7f);
        if i == MAX_VARINT_LEN - 1 && group > 1 {
            return None;
        }
        value |= group << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// The varint of `value`, which must be below 2^56, in the low bytes of a little-endian word, and
/// its length of 1 to 8 bytes.
#[inline]
pub(crate) fn encode_varint56(value: u64) -> (u64, usize) {
    debug_assert!(value < 1 << 56);
    let len = (70 - (value | 1).leading_zeros() as usize) / 7;
    let x = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x0fff_c000_0fff_c000) << 2);
    let x = (x & 0x007f_007f_007f_007f) | ((x & 0x3f80_3f80_3f80_3f80) << 1);
    let more = CONTINUE & ((1 << (8 * (len - 1))) - 1);
    debug_assert_eq!(decode_varint56(x | more), Some((value, len)), "a reader finds the number");
    (x | more, len)
}

/// The varint in the low bytes of a little-endian word, and its length; `None` if it is longer
/// than eight bytes.
#[inline]
pub(crate) fn decode_varint56(word: u64) -> Option<(u64, usize)> {
    let stop = !word & CONTINUE;
    if stop == 0 {
        return None;
    }
    let len = (stop.trailing_zeros() as usize + 1) / 8;
    let x = word & (stop ^ (stop - 1)) & !CONTINUE;
    let x = (x & 0x007f_007f_007f_007f) | ((x & 0x7f00_7f00_7f00_7f00) >> 1);
    let x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x3fff_0000_3fff_0000) >> 2);
    let x = (x & 0x0fff_ffff) | ((x & 0x0fff_ffff_0000_0000) >> 4);
    Some((x, len))
}
