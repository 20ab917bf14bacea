//! CRC-32C and snappy for the C++ half. `cpp/port/crc32c.h` and `cpp/port/snappy.h` declare them.
//!
//! The library keeps these names to itself: its version script exports no `foldbport_`.

use std::slice;

/// Returns the CRC-32C of the bytes of `crc` followed by these bytes.
///
/// # Safety
/// `data` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_crc32c_extend(crc: u32, data: *const u8, length: usize) -> u32 {
    // SAFETY: the caller's promise.
    let data = unsafe { bytes(data, length) };
    crc32c::crc32c_append(crc, data)
}

/// Returns the bytes that the compressed form of `length` bytes takes at most, or 0 if snappy
/// cannot compress as many.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_snappy_bound(length: usize) -> usize {
    snap::raw::max_compress_len(length)
}

/// Compresses `length` bytes into `room` bytes at `output`. Returns the length of the result, or 0
/// if `room` is less than the bound.
///
/// # Safety
/// `input` points to `length` bytes, and `output` to `room` others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_snappy_compress(
    input: *const u8,
    length: usize,
    output: *mut u8,
    room: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let (input, output) = unsafe { (bytes(input, length), bytes_mut(output, room)) };
    snap::raw::Encoder::new().compress(input, output).unwrap_or(0)
}

/// Stores the length that the compressed bytes have when decompressed. Returns false if they are
/// damaged.
///
/// # Safety
/// `input` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_snappy_length(
    input: *const u8,
    length: usize,
    decompressed: &mut usize,
) -> bool {
    // SAFETY: the caller's promise.
    let input = unsafe { bytes(input, length) };
    snap::raw::decompress_len(input).map(|found| *decompressed = found).is_ok()
}

/// Decompresses into exactly `room` bytes at `output`. Returns false if the input is damaged or
/// has another length when decompressed.
///
/// # Safety
/// `input` points to `length` bytes, and `output` to `room` others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_snappy_decompress(
    input: *const u8,
    length: usize,
    output: *mut u8,
    room: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let (input, output) = unsafe { (bytes(input, length), bytes_mut(output, room)) };
    snap::raw::Decoder::new().decompress(input, output).is_ok_and(|length| length == room)
}

/// Returns the bytes that C++ passes. A null pointer is right for no bytes.
///
/// # Safety
/// `data` points to `length` bytes that stay unchanged while the result is used.
unsafe fn bytes<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(data, length) }
}

/// Returns the room that C++ passes. A null pointer is right for no room.
///
/// # Safety
/// `data` points to `length` bytes that only the result reaches while it is used. The codecs write
/// a byte before they read it, so the bytes may be fresh from malloc.
unsafe fn bytes_mut<'a>(data: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(data, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32C, and the same bytes in two pieces.
    #[test]
    fn crc32c_is_the_one_of_iscsi() {
        // SAFETY: the pointers are those of literals.
        unsafe {
            assert_eq!(foldbport_crc32c_extend(0, b"123456789".as_ptr(), 9), 0xe306_9283);
            let begin = foldbport_crc32c_extend(0, b"1234".as_ptr(), 4);
            assert_eq!(foldbport_crc32c_extend(begin, b"56789".as_ptr(), 5), 0xe306_9283);
            assert_eq!(foldbport_crc32c_extend(7, std::ptr::null(), 0), 7);
        }
    }

    #[test]
    fn snappy_returns_what_it_was_given() {
        let text = b"fold fold fold fold fold fold fold fold fold".repeat(20);
        let mut packed = vec![0; foldbport_snappy_bound(text.len())];
        let mut out = vec![0; text.len()];
        let mut length = 0;
        // SAFETY: every pointer is that of a vector with its length.
        unsafe {
            let n = foldbport_snappy_compress(
                text.as_ptr(),
                text.len(),
                packed.as_mut_ptr(),
                packed.len(),
            );
            assert!(0 < n && n < text.len() / 4, "{n}");
            assert!(foldbport_snappy_length(packed.as_ptr(), n, &mut length));
            assert_eq!(length, text.len());
            assert!(foldbport_snappy_decompress(packed.as_ptr(), n, out.as_mut_ptr(), length));
            assert_eq!(out, text);
            // Neither too little room nor missing bytes are taken for a success.
            assert!(!foldbport_snappy_decompress(packed.as_ptr(), n, out.as_mut_ptr(), length - 1));
            assert!(!foldbport_snappy_decompress(packed.as_ptr(), n - 1, out.as_mut_ptr(), length));
            assert_eq!(
                foldbport_snappy_compress(text.as_ptr(), text.len(), packed.as_mut_ptr(), 10),
                0
            );
        }
    }
}
