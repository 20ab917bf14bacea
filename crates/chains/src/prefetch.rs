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

/// Prefetches the first few dozen of these words, as [`prefetch`] does with bytes.
#[inline]
pub fn prefetch_words(words: &[u64]) {
    for line in words.chunks(LINE / 8).take(MOST_LINES) {
        prefetch_line(line.as_ptr().cast());
    }
}

/// Prefetches a value, which will be read soon: its first few hundred bytes, without what it points
/// to.
#[inline]
pub fn prefetch_value<T>(value: &T) {
    let start: *const u8 = std::ptr::from_ref(value).cast();
    let lines = size_of::<T>().saturating_sub(1) / LINE;
    for line in 0..=lines.min(MOST_LINES - 1) {
        prefetch_line(start.wrapping_add(line * LINE));
    }
    if size_of::<T>() > 1 && lines < MOST_LINES {
        // A value that is not aligned to a line ends on one more.
        prefetch_line(start.wrapping_add(size_of::<T>() - 1));
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
