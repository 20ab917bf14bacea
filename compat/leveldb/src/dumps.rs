//! The texts of `leveldb::DumpFile`. `cpp/table/formats.h` declares the functions.

use std::ffi::c_void;

use foldb_leveldb_format::dump;

use crate::foreign::Bytes;

/// Gets a text piece by piece.
pub type Append = extern "C" fn(*mut c_void, Bytes);

/// Prints the records of a log.
///
/// # Safety
/// The bytes stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_dump_log(file: Bytes, out: *mut c_void, append: Append) {
    // SAFETY: the caller's promise.
    dump::log(unsafe { file.get() }, &mut |text| append(out, Bytes::of(text)));
}

/// Prints the records of a manifest.
///
/// # Safety
/// The bytes stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_dump_manifest(file: Bytes, out: *mut c_void, append: Append) {
    // SAFETY: the caller's promise.
    dump::manifest(unsafe { file.get() }, &mut |text| append(out, Bytes::of(text)));
}

/// Prints an entry of a table.
///
/// # Safety
/// The bytes stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_dump_entry(
    key: Bytes,
    value: Bytes,
    out: *mut c_void,
    append: Append,
) {
    // SAFETY: the caller's promise.
    let text = dump::entry(unsafe { key.get() }, unsafe { value.get() });
    append(out, Bytes::of(text.as_bytes()));
}
