//! Bytes that cross the boundary: ranges and callbacks' arguments, and values that reads return.

use std::ffi::{CString, c_char};
use std::ops::Bound;
use std::ptr;

use foldb::{Result, Value};

use crate::boundary;

/// A string of bytes. It does not own them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct foldb_bytes_t {
    /// The first byte. It may be NULL if `len` is 0.
    pub data: *const u8,
    /// The number of bytes.
    pub len: usize,
}

impl From<&[u8]> for foldb_bytes_t {
    fn from(bytes: &[u8]) -> foldb_bytes_t {
        foldb_bytes_t { data: bytes.as_ptr(), len: bytes.len() }
    }
}

impl foldb_bytes_t {
    /// Returns the bytes.
    ///
    /// # Safety
    /// `data` points to `len` bytes that nothing changes during `'a`, or is NULL.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`boundary::bytes`].
    pub(crate) unsafe fn get<'a>(self, name: &str) -> Result<&'a [u8]> {
        // SAFETY: as the caller promises.
        unsafe { boundary::bytes(self.data, self.len, name) }
    }
}

/// A range of keys that belong to the caller.
pub(crate) type ForeignRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Returns the range `[lower, upper)`; NULL is no bound.
///
/// # Safety
/// Each bound is NULL, or points to bytes that nothing changes during `'a`.
///
/// # Errors
/// `InvalidArgument`, as [`boundary::bytes`].
pub(crate) unsafe fn range<'a>(
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
) -> Result<ForeignRange<'a>> {
    // SAFETY: as the caller promises.
    let (lower, upper) = unsafe { (lower.as_ref(), upper.as_ref()) };
    // SAFETY: as the caller promises.
    let lower = lower.map(|bytes| unsafe { bytes.get("lower") }).transpose()?;
    // SAFETY: as the caller promises.
    let upper = upper.map(|bytes| unsafe { bytes.get("upper") }).transpose()?;
    let lower = lower.map_or(Bound::Unbounded, Bound::Included);
    Ok((lower, upper.map_or(Bound::Unbounded, Bound::Excluded)))
}

/// A value that a read returned. A large one is not copied: it keeps the memtable or the cached
/// block that it lies in, so free it soon with `foldb_value_free`.
pub struct foldb_value_t(Value);

impl foldb_value_t {
    /// Hands a value to the caller; NULL if there is none.
    pub(crate) fn of(value: Option<Value>) -> *mut foldb_value_t {
        value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(foldb_value_t(value))))
    }
}

/// Returns the first byte of a value. It lives as long as the value. NULL for a NULL value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_value_data(value: *const foldb_value_t) -> *const u8 {
    // SAFETY: the caller passes NULL or a value that it has not freed.
    unsafe { value.as_ref() }.map_or(ptr::null(), |value| value.0.as_slice().as_ptr())
}

/// Returns the number of bytes of a value; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_value_len(value: *const foldb_value_t) -> usize {
    // SAFETY: the caller passes NULL or a value that it has not freed.
    unsafe { value.as_ref() }.map_or(0, |value| value.0.as_slice().len())
}

/// Frees a value. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_value_free(value: *mut foldb_value_t) {
    // SAFETY: the caller passes NULL or a value that it has not freed.
    unsafe { boundary::free(value) };
}

/// Frees a text that a function of this header returned through a `char **`. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the text came from `CString::into_raw` and was not freed, as the caller promises.
        drop(unsafe { CString::from_raw(text) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_no_value() {
        // SAFETY: NULL is allowed.
        unsafe {
            assert!(foldb_value_data(ptr::null()).is_null());
            assert_eq!(foldb_value_len(ptr::null()), 0);
            foldb_value_free(ptr::null_mut());
            foldb_string_free(ptr::null_mut());
        }
    }

    #[test]
    fn a_range_has_its_bounds() {
        let (lower, upper) = (foldb_bytes_t::from(&b"a"[..]), foldb_bytes_t::from(&b"b"[..]));
        // SAFETY: both bounds live long enough, or are NULL.
        unsafe {
            let both = range(&lower, &upper).unwrap();
            assert_eq!(both, (Bound::Included(&b"a"[..]), Bound::Excluded(&b"b"[..])));
            let none = range(ptr::null(), ptr::null()).unwrap();
            assert_eq!(none, (Bound::Unbounded, Bound::Unbounded));
        }
    }
}
