//! Locks of files for the C++ half. `cpp/port/file_locks.h` declares them.
//!
//! They are the engine's own locks, so `Env::LockFile` sees the databases that are open in this
//! process, and an open sees the files that `Env::LockFile` has locked. Between processes they
//! exclude LevelDB's locks.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use foldb_env::{FileLock, FileSystem, Holder, LockHeld, PosixFs};

/// A locked file.
pub struct FileLocked {
    _lock: Box<dyn FileLock>,
}

/// What [`foldbport_lock_file`] returns if this process has the lock already.
pub const HELD_HERE: c_int = -1;

/// Locks a file, and creates it if it is missing. Returns 0 and stores the lock, or returns
/// [`HELD_HERE`] or the number of a system error.
///
/// # Safety
/// `path` is a text that ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_lock_file(
    path: *const c_char,
    lock: &mut *mut FileLocked,
) -> c_int {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    let error = match PosixFs.lock(Path::new(OsStr::from_bytes(path.to_bytes()))) {
        Ok(locked) => {
            *lock = Box::into_raw(Box::new(FileLocked { _lock: locked }));
            return 0;
        }
        Err(error) => error,
    };
    match error.get_ref().and_then(|cause| cause.downcast_ref::<LockHeld>()) {
        Some(LockHeld { holder: Holder::ThisProcess, .. }) => HELD_HERE,
        Some(_) => libc::EAGAIN,
        None => error.raw_os_error().unwrap_or(libc::EINVAL),
    }
}

/// Releases a lock.
///
/// # Safety
/// `lock` comes from [`foldbport_lock_file`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_unlock_file(lock: *mut FileLocked) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(lock) });
}
