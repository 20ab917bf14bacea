//! The functions that put writes into a batch, once for both kinds of batches.

use std::ffi::{c_char, c_int};

use crate::batch::rep::Kind;
use crate::boundary::{bytes, quiet, slices};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::status::Outcome;

/// A batch that takes writes.
pub(crate) trait Fill {
    /// Appends a write to a family; `None` is the default one. Key and value are given in parts.
    fn push(
        &mut self,
        family: Option<&rocksdb_column_family_handle_t>,
        kind: Kind,
        key: &[&[u8]],
        value: &[&[u8]],
    ) -> Outcome<()>;

    /// Appends bytes of the program that are no write.
    fn push_log_data(&mut self, blob: &[u8]);
}

/// Bytes of the program.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(pub(crate) *const c_char, pub(crate) usize);

/// Bytes of the program in several parts.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) count: c_int,
    pub(crate) starts: *const *const c_char,
    pub(crate) lens: *const usize,
}

/// Appends a write. RocksDB's functions report no error, so a write that fails is left out.
pub(crate) unsafe fn push<B: Fill>(
    batch: *mut B,
    family: *const rocksdb_column_family_handle_t,
    kind: Kind,
    key: Bytes,
    value: Bytes,
) {
    let (Some(batch), Ok(key)) = (batch.as_mut(), bytes(key.0, key.1)) else { return };
    let Ok(value) = bytes(value.0, value.1) else { return };
    quiet((), || drop(batch.push(family.as_ref(), kind, &[key], &[value])));
}

/// Appends a write whose key and value are the parts put together.
pub(crate) unsafe fn push_parts<B: Fill>(
    batch: *mut B,
    family: *const rocksdb_column_family_handle_t,
    kind: Kind,
    key: Parts,
    value: Parts,
) {
    let parts =
        |parts: Parts| slices(parts.starts, parts.lens, usize::try_from(parts.count).unwrap_or(0));
    let (Some(batch), Ok(key), Ok(value)) = (batch.as_mut(), parts(key), parts(value)) else {
        return;
    };
    quiet((), || drop(batch.push(family.as_ref(), kind, &key, &value)));
}

/// No bytes.
pub(crate) const NOTHING: Bytes = Bytes(std::ptr::null(), 0);

/// No parts.
pub(crate) const NO_PARTS: Parts =
    Parts { count: 0, starts: std::ptr::null(), lens: std::ptr::null() };

/// Declares the functions of a batch that put writes into it.
macro_rules! filling {
    (
        $batch:ident;
        pairs { $($kind:ident: $pair:ident, $pair_of:ident, $pairs:ident, $pairs_of:ident;)* }
        keys { $($key_kind:ident: $key:ident, $key_of:ident;)* }
        key_parts { $($parts_kind:ident: $keys:ident, $keys_of:ident;)* }
        ranges { $range:ident, $range_of:ident, $ranges:ident, $ranges_of:ident }
        log_data { $log_data:ident }
    ) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $pair(
                batch: *mut $batch,
                key: *const c_char,
                key_len: usize,
                value: *const c_char,
                value_len: usize,
            ) {
                let (key, value) = (Bytes(key, key_len), Bytes(value, value_len));
                push(batch, std::ptr::null(), Kind::$kind, key, value);
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $pair_of(
                batch: *mut $batch,
                family: *mut rocksdb_column_family_handle_t,
                key: *const c_char,
                key_len: usize,
                value: *const c_char,
                value_len: usize,
            ) {
                let (key, value) = (Bytes(key, key_len), Bytes(value, value_len));
                push(batch, family, Kind::$kind, key, value);
            }

            /// Puts one entry: its key is all keys together, and its value all values.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $pairs(
                batch: *mut $batch,
                keys: c_int,
                key_starts: *const *const c_char,
                key_lens: *const usize,
                values: c_int,
                value_starts: *const *const c_char,
                value_lens: *const usize,
            ) {
                let key = Parts { count: keys, starts: key_starts, lens: key_lens };
                let value = Parts { count: values, starts: value_starts, lens: value_lens };
                push_parts(batch, std::ptr::null(), Kind::$kind, key, value);
            }

            /// Puts one entry: its key is all keys together, and its value all values.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $pairs_of(
                batch: *mut $batch,
                family: *mut rocksdb_column_family_handle_t,
                keys: c_int,
                key_starts: *const *const c_char,
                key_lens: *const usize,
                values: c_int,
                value_starts: *const *const c_char,
                value_lens: *const usize,
            ) {
                let key = Parts { count: keys, starts: key_starts, lens: key_lens };
                let value = Parts { count: values, starts: value_starts, lens: value_lens };
                push_parts(batch, family, Kind::$kind, key, value);
            }
        )*
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $key(
                batch: *mut $batch,
                key: *const c_char,
                key_len: usize,
            ) {
                push(batch, std::ptr::null(), Kind::$key_kind, Bytes(key, key_len), NOTHING);
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $key_of(
                batch: *mut $batch,
                family: *mut rocksdb_column_family_handle_t,
                key: *const c_char,
                key_len: usize,
            ) {
                push(batch, family, Kind::$key_kind, Bytes(key, key_len), NOTHING);
            }
        )*
        $(
            /// Deletes one key, which is all keys together.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $keys(
                batch: *mut $batch,
                keys: c_int,
                key_starts: *const *const c_char,
                key_lens: *const usize,
            ) {
                let key = Parts { count: keys, starts: key_starts, lens: key_lens };
                push_parts(batch, std::ptr::null(), Kind::$parts_kind, key, NO_PARTS);
            }

            /// Deletes one key, which is all keys together.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $keys_of(
                batch: *mut $batch,
                family: *mut rocksdb_column_family_handle_t,
                keys: c_int,
                key_starts: *const *const c_char,
                key_lens: *const usize,
            ) {
                let key = Parts { count: keys, starts: key_starts, lens: key_lens };
                push_parts(batch, family, Kind::$parts_kind, key, NO_PARTS);
            }
        )*

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $range(
            batch: *mut $batch,
            start: *const c_char,
            start_len: usize,
            end: *const c_char,
            end_len: usize,
        ) {
            let (start, end) = (Bytes(start, start_len), Bytes(end, end_len));
            push(batch, std::ptr::null(), Kind::DeleteRange, start, end);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $range_of(
            batch: *mut $batch,
            family: *mut rocksdb_column_family_handle_t,
            start: *const c_char,
            start_len: usize,
            end: *const c_char,
            end_len: usize,
        ) {
            let (start, end) = (Bytes(start, start_len), Bytes(end, end_len));
            push(batch, family, Kind::DeleteRange, start, end);
        }

        /// Deletes one range: its start is all starts together, and its end all ends.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ranges(
            batch: *mut $batch,
            count: c_int,
            starts: *const *const c_char,
            start_lens: *const usize,
            ends: *const *const c_char,
            end_lens: *const usize,
        ) {
            let start = Parts { count, starts, lens: start_lens };
            let end = Parts { count, starts: ends, lens: end_lens };
            push_parts(batch, std::ptr::null(), Kind::DeleteRange, start, end);
        }

        /// Deletes one range: its start is all starts together, and its end all ends.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ranges_of(
            batch: *mut $batch,
            family: *mut rocksdb_column_family_handle_t,
            count: c_int,
            starts: *const *const c_char,
            start_lens: *const usize,
            ends: *const *const c_char,
            end_lens: *const usize,
        ) {
            let start = Parts { count, starts, lens: start_lens };
            let end = Parts { count, starts: ends, lens: end_lens };
            push_parts(batch, family, Kind::DeleteRange, start, end);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $log_data(
            batch: *mut $batch,
            blob: *const c_char,
            len: usize,
        ) {
            if let (Some(batch), Ok(blob)) = (batch.as_mut(), bytes(blob, len)) {
                batch.push_log_data(blob);
            }
        }
    };
}

pub(crate) use filling;
