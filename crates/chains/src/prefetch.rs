//! Prefetches memory before it is needed.
//!
//! A prefetch is a hint: it changes no result, and on processors without it, it does nothing.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Most lines in one prefetch: a core keeps about a dozen misses under way.
const MOST_LINES: usize = 8;

/// Prefetches the first few hundred of these bytes, which will be read soon.
///
/// # Example
/// ```
/// let bytes = vec![7; 100];
/// foldb_chains::prefetch(&bytes);
/// ```
#[inline]
pub fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(LINE).take(MOST_LINES) {
        prefetch_line(line.as_ptr());
    }
}

/// Prefetches the line that this address lies in.
#[inline]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect that a program can observe, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
