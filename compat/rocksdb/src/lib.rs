//! RocksDB's C interface over foldb.

/// Frees memory that another function of the library returned.
///
/// # Safety
/// `ptr` is NULL, or comes from this library and was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_free(ptr: *mut libc::c_void) {
    // SAFETY: this library allocates with malloc what programs free.
    unsafe { libc::free(ptr) }
}
