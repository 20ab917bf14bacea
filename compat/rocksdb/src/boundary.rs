//! The boundary between C and the engine: pointers become references and slices, errors and panics
//! become texts behind `errptr`.
//!
//! Invariant: no panic crosses into C. What the program frees is made by `malloc`, so that it may
//! free it with `free` as well as with `rocksdb_free`.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;

use crate::status::{Code, Outcome, Status};

/// Runs a call. An error is stored behind `errptr`, in place of an earlier one, which is freed.
///
/// # Safety
/// `errptr` points to NULL or to a text made by `malloc`.
#[inline]
pub(crate) unsafe fn call<T>(
    errptr: *mut *mut c_char,
    body: impl FnOnce() -> Outcome<T>,
) -> Option<T> {
    // A call leaves nothing half changed that a later call could see: every result is stored last.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(result)) => Some(result),
        Ok(Err(status)) => {
            store_error(errptr, &status);
            None
        }
        Err(panic) => {
            store_error(errptr, &of_panic(&*panic));
            None
        }
    }
}

/// Runs a call that reports no error. Returns `otherwise` if it fails.
#[inline]
pub(crate) fn quiet<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

fn of_panic(panic: &(dyn std::any::Any + Send)) -> Status {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    Status::new(Code::Aborted, format!("a bug in foldb: {text}"))
}

/// Stores an error behind `errptr`.
#[cold]
pub(crate) unsafe fn store_error(errptr: *mut *mut c_char, status: &Status) {
    if errptr.is_null() {
        return;
    }
    if !(*errptr).is_null() {
        libc::free((*errptr).cast::<c_void>());
    }
    *errptr = text_copy(&status.to_string());
}

/// Returns the bytes at `data`. NULL with a length of 0 is the empty string.
///
/// # Errors
/// `Invalid argument` for NULL with a length.
#[inline]
pub(crate) unsafe fn bytes<'a>(data: *const c_char, len: usize) -> Outcome<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(len).is_err() {
        return Err(Status::invalid(format!("a NULL of {len} bytes")));
    }
    Ok(std::slice::from_raw_parts(data.cast::<u8>(), len))
}

/// Returns an array of the program. NULL with a length of 0 is the empty one.
///
/// # Errors
/// `Invalid argument` for NULL with a length.
pub(crate) unsafe fn array<'a, T>(first: *const T, len: usize) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if first.is_null() || isize::try_from(len.saturating_mul(size_of::<T>())).is_err() {
        return Err(Status::invalid(format!("a NULL of {len} elements")));
    }
    Ok(std::slice::from_raw_parts(first, len))
}

/// Returns the slices of two arrays: where each begins, and how long it is.
pub(crate) unsafe fn slices<'a>(
    starts: *const *const c_char,
    lens: *const usize,
    count: usize,
) -> Outcome<Vec<&'a [u8]>> {
    let (starts, lens) = (array(starts, count)?, array(lens, count)?);
    starts.iter().zip(lens).map(|(&start, &len)| bytes(start, len)).collect()
}

/// Returns what `pointer` points at.
///
/// # Errors
/// `Invalid argument` for NULL, naming the argument.
#[inline]
pub(crate) unsafe fn arg<'a, T>(pointer: *const T, name: &str) -> Outcome<&'a T> {
    pointer.as_ref().ok_or_else(|| Status::invalid(format!("{name} is NULL")))
}

/// Returns what `pointer` points at, to change it.
///
/// # Errors
/// `Invalid argument` for NULL, naming the argument.
#[inline]
pub(crate) unsafe fn arg_mut<'a, T>(pointer: *mut T, name: &str) -> Outcome<&'a mut T> {
    pointer.as_mut().ok_or_else(|| Status::invalid(format!("{name} is NULL")))
}

/// Returns a text of the program.
///
/// # Errors
/// `Invalid argument` for NULL and for bytes that are not UTF-8.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Outcome<&'a str> {
    if text.is_null() {
        return Err(Status::invalid(format!("{name} is NULL")));
    }
    let text = CStr::from_ptr(text).to_str();
    text.map_err(|_| Status::invalid(format!("{name} is not UTF-8")))
}

/// Returns a path of the program. A path is any bytes.
///
/// # Errors
/// `Invalid argument` for NULL.
pub(crate) unsafe fn path(path: *const c_char, name: &str) -> Outcome<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    if path.is_null() {
        return Err(Status::invalid(format!("{name} is NULL")));
    }
    let bytes = CStr::from_ptr(path).to_bytes();
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// Copies bytes into memory that the program frees. Like RocksDB, it adds no NUL.
pub(crate) fn copy(bytes: &[u8]) -> *mut c_char {
    // SAFETY: the new block has at least as many bytes as are copied.
    unsafe {
        let start = libc::malloc(bytes.len().max(1)).cast::<u8>();
        if start.is_null() {
            std::alloc::handle_alloc_error(std::alloc::Layout::for_value(bytes));
        }
        ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
        start.cast::<c_char>()
    }
}

/// Copies a text, with a NUL behind it, into memory that the program frees.
pub(crate) fn text_copy(text: &str) -> *mut c_char {
    let mut bytes = text.replace('\0', "\\0").into_bytes();
    bytes.push(0);
    copy(&bytes)
}

/// Makes an array that the program frees.
pub(crate) fn array_copy<T: Copy>(elements: &[T]) -> *mut T {
    // SAFETY: the elements are plain, and their bytes are initialised wherever they are read.
    let bytes = unsafe {
        std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements))
    };
    copy(bytes).cast::<T>()
}

/// Stores a length, if the program wants it.
#[inline]
pub(crate) unsafe fn store_len(out: *mut usize, len: usize) {
    if !out.is_null() {
        *out = len;
    }
}

/// Returns a copy of the value, NULL if there is none, and stores its length.
#[inline]
pub(crate) unsafe fn value_copy(value: Option<&[u8]>, len: *mut usize) -> *mut c_char {
    store_len(len, value.map_or(0, <[u8]>::len));
    value.map_or(ptr::null_mut(), copy)
}

/// Returns the start of bytes that the object keeps, and stores their length.
#[inline]
pub(crate) unsafe fn lend(bytes: &[u8], len: *mut usize) -> *const c_char {
    store_len(len, bytes.len());
    // A program may look at the first byte before the length.
    let start = if bytes.is_empty() { c"".as_ptr().cast() } else { bytes.as_ptr() };
    start.cast::<c_char>()
}

/// Makes a handle of an object.
pub(crate) fn handle<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Frees a handle. NULL is allowed.
///
/// # Safety
/// `handle` is NULL, or came from [`handle`] and was not freed.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        let handle = Box::from_raw(handle);
        // A drop that panics leaves nothing that a program could act on.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}

/// A destructor of the program's object.
pub(crate) type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// The state of the program's callbacks, which goes with the last user of it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) pointer: *mut c_void,
    destructor: Destructor,
}

// SAFETY: RocksDB's header demands callbacks that any thread may call, several at the same time.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    pub(crate) fn new(pointer: *mut c_void, destructor: Destructor) -> State {
        State { pointer, destructor }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: this is the only owner, and drops once.
            unsafe { destructor(self.pointer) };
        }
    }
}
