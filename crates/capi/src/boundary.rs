//! The boundary between C and the engine: pointers become references and slices, errors and panics
//! become `foldb_error_t`.
//!
//! Invariant: a pointer is looked at only here, after a check for NULL.

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;

use foldb::{Error, ErrorKind, Result};

use crate::error::foldb_code_t::FOLDB_PANIC;
use crate::error::foldb_error_t;

/// Runs a call. Returns NULL, or the error or panic that ended it.
#[inline]
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> *mut foldb_error_t {
    // A call leaves nothing half changed that a later call could see: the engine takes panics of
    // callbacks into account, and every result is stored last.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => ptr::null_mut(),
        Ok(Err(error)) => foldb_error_t::of(&error),
        Err(panic) => foldb_error_t::new(FOLDB_PANIC, &message_of(&*panic)),
    }
}

/// Returns what a panic said.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a bug in foldb: {}", text.unwrap_or("a panic without a message"))
}

/// Returns what `pointer` points at.
///
/// # Safety
/// `pointer` is NULL, or points to a `T` that nothing changes or frees during `'a`.
///
/// # Errors
/// `InvalidArgument` for NULL, naming the argument.
#[inline]
pub(crate) unsafe fn arg<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// A struct of functions that C programs fill. Its first field is its size, as the program's header
/// has it. Later headers may add fields at the end.
///
/// # Safety
/// The first field is a `usize`, and a value of zero bytes only is one of the type.
pub(crate) unsafe trait Functions: Copy {}

/// Copies a struct of functions. Fields that the program's header does not have are NULL.
///
/// # Safety
/// `pointer` is NULL, or points to as many bytes as the first field says.
///
/// # Errors
/// `InvalidArgument` for NULL and without a size; `Unsupported` if the program's header is newer
/// than this library.
pub(crate) unsafe fn functions<T: Functions>(pointer: *const T, name: &str) -> Result<T> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, and the first field is a `usize`.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < size_of::<usize>() {
        let message = format!("{name}.size is {size}: set it to the sizeof of the struct");
        return Err(Error::invalid_argument(message));
    }
    if size > size_of::<T>() {
        let message = format!(
            "{name}.size is {size}, and this library knows {} bytes: the program was compiled with \
             a newer foldb.h; load the library that belongs to it",
            size_of::<T>()
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let mut own = MaybeUninit::<T>::zeroed();
    // SAFETY: the program's struct has `size` bytes, no more than `own`, whose other bytes are 0.
    unsafe {
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), own.as_mut_ptr().cast::<u8>(), size);
        Ok(own.assume_init())
    }
}

/// Returns what `pointer` points at, to change it.
///
/// # Safety
/// `pointer` is NULL, or points to a `T` that nothing else uses during `'a`.
///
/// # Errors
/// `InvalidArgument` for NULL, naming the argument.
#[inline]
pub(crate) unsafe fn arg_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

#[cold]
fn null(name: &str) -> Error {
    Error::invalid_argument(format!("{name} is NULL"))
}

/// Returns the bytes at `data`. NULL with a length of 0 is the empty string.
///
/// # Safety
/// `data` points to `len` bytes that nothing changes during `'a`, or is NULL.
///
/// # Errors
/// `InvalidArgument` for NULL with a length, and for a length that no object can have.
#[inline]
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize, name: &str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::invalid_argument(format!("{name} is NULL, but its length is {len}")));
    }
    if isize::try_from(len).is_err() {
        let message = format!("the length of {name} is {len}, more than an object can have");
        return Err(Error::invalid_argument(message));
    }
    // SAFETY: not NULL, of a possible length, and as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// Returns the elements of an array. NULL with a length of 0 is the empty array.
///
/// # Safety
/// `first` points to `len` elements that nothing changes during `'a`, or is NULL.
///
/// # Errors
/// `InvalidArgument` for NULL with a length, and for a length that no object can have.
pub(crate) unsafe fn array<'a, T>(first: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    check_array(first, len, name)?;
    // SAFETY: not NULL unless it is empty, of a possible length, and as the caller promises.
    Ok(if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, len) } })
}

/// Checks that an array of `len` elements may begin at `first`.
pub(crate) fn check_array<T>(first: *const T, len: usize, name: &str) -> Result<()> {
    if len > 0 && first.is_null() {
        return Err(Error::invalid_argument(format!("{name} is NULL, but it has {len} elements")));
    }
    let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| isize::try_from(bytes).ok());
    let too_long = || format!("{name} has {len} elements, more than an array can have");
    bytes.map(drop).ok_or_else(|| Error::invalid_argument(too_long()))
}

/// Returns a text argument.
///
/// # Safety
/// `text` is NULL, or points to bytes that end with a NUL and that nothing changes during `'a`.
///
/// # Errors
/// `InvalidArgument` for NULL, and for bytes that are not UTF-8.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL, and as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::invalid_argument(format!("{name} is not UTF-8")))
}

/// Returns a path argument. On Unix a path is any bytes, elsewhere UTF-8.
///
/// # Safety
/// As [`text`].
///
/// # Errors
/// `InvalidArgument` for NULL; elsewhere than on Unix for bytes that are not UTF-8.
pub(crate) unsafe fn path(path: *const c_char) -> Result<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        if path.is_null() {
            return Err(null("path"));
        }
        // SAFETY: not NULL, and as the caller promises.
        let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    // SAFETY: as the caller promises.
    unsafe { text(path, "path") }.map(PathBuf::from)
}

/// Stores a result. The caller has checked that it can be stored ([`check_out`]).
///
/// # Safety
/// `out` points to a place for a `T`.
pub(crate) unsafe fn store<T>(out: *mut T, result: T) {
    // SAFETY: as the caller promises. The place may hold no valid `T` yet.
    unsafe { out.write(result) };
}

/// Checks, before the work, that its result can be stored.
///
/// # Errors
/// `InvalidArgument` for NULL, naming the argument.
pub(crate) fn check_out<T>(out: *mut T, name: &str) -> Result<()> {
    if out.is_null() { Err(null(name)) } else { Ok(()) }
}

/// Frees a handle. NULL is allowed.
///
/// # Safety
/// `handle` is NULL, or came from `Box::into_raw` and was not freed.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: as the caller promises.
        let handle = unsafe { Box::from_raw(handle) };
        // A drop that panics leaves nothing that a caller could act on.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_char;

    use super::*;
    use crate::error::{foldb_error_code, foldb_error_free, foldb_error_message};

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Two {
        size: usize,
        first: u64,
        second: u64,
    }

    // SAFETY: the size comes first, and zero bytes are zeros.
    unsafe impl Functions for Two {}

    #[test]
    fn fields_that_an_older_header_does_not_have_are_null() {
        let older = Two { size: 16, first: 7, second: 8 };
        // SAFETY: the struct has the size that it says.
        let found = unsafe { functions(&older, "two") };
        assert_eq!(found.unwrap(), Two { size: 16, first: 7, second: 0 });
    }

    #[test]
    fn a_newer_header_and_a_missing_size_are_refused() {
        for (size, kind) in [
            (0, ErrorKind::InvalidArgument),
            (7, ErrorKind::InvalidArgument),
            (25, ErrorKind::Unsupported),
        ] {
            // SAFETY: nothing is read behind the size.
            let error = unsafe { functions(&Two { size, first: 0, second: 0 }, "two") };
            let error = error.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(&format!("two.size is {size}")), "{error}");
        }
        // SAFETY: NULL is allowed.
        let error = unsafe { functions::<Two>(ptr::null(), "two") }.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn a_panic_becomes_an_error() {
        let error = call(|| panic!("of {}", 7));
        // SAFETY: the error was just made, and is freed once.
        unsafe {
            assert_eq!(foldb_error_code(error), FOLDB_PANIC);
            assert_eq!(CStr::from_ptr(foldb_error_message(error)), c"a bug in foldb: of 7");
            foldb_error_free(error);
        }
    }

    #[test]
    fn bad_pointers_are_refused() {
        let null = ptr::null();
        // SAFETY: NULL is allowed.
        let results = unsafe {
            [
                bytes(null, 3, "key").err(),
                bytes(ptr::dangling(), usize::MAX, "key").err(),
                array::<u64>(ptr::null(), 1, "keys").err(),
                array::<u64>(ptr::dangling(), usize::MAX, "keys").err(),
                text(null.cast::<c_char>(), "name").err(),
                text(c"\xff".as_ptr(), "name").err(),
                path(null.cast::<c_char>()).err(),
                arg::<u64>(ptr::null(), "db").err(),
                check_out::<u64>(ptr::null_mut(), "value").err(),
            ]
        };
        for error in results {
            let error = error.expect("an error");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
        // SAFETY: NULL is allowed with a length of 0.
        unsafe {
            assert_eq!(bytes(null, 0, "key").unwrap(), b"");
            assert!(array::<u64>(ptr::null(), 0, "keys").unwrap().is_empty());
        }
    }
}
