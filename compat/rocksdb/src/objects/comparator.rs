//! Orders of keys that programs implement.

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::sync::Arc;

use foldb::custom::Comparator;

use crate::boundary::{Destructor, State, bytes, free, handle};

/// Compares two keys: negative, 0 or positive, as `memcmp` does.
pub type Compare =
    Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int>;

/// Compares two keys without their timestamps.
pub type CompareWithoutTimestamp = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        usize,
        c_uchar,
        *const c_char,
        usize,
        c_uchar,
    ) -> c_int,
>;

/// Returns the name of an object of the program.
pub type Name = Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>;

/// RocksDB: `Comparator`.
pub struct rocksdb_comparator_t(pub(crate) Arc<ForeignComparator>);

/// An order of keys of the program, as the engine calls it.
#[derive(Debug)]
pub(crate) struct ForeignComparator {
    name: String,
    state: State,
    compare: Compare,
    pub(crate) has_timestamps: bool,
}

/// Asks the program for the name of its object.
pub(crate) unsafe fn name_of(state: *mut c_void, name: Name) -> String {
    let name = name.map_or(std::ptr::null(), |name| name(state));
    if name.is_null() {
        return "unnamed".to_owned();
    }
    CStr::from_ptr(name).to_string_lossy().into_owned()
}

/// Compares the bytes of keys, the larger ones first.
unsafe extern "C" fn compare_reverse(
    _state: *mut c_void,
    a: *const c_char,
    a_len: usize,
    b: *const c_char,
    b_len: usize,
) -> c_int {
    let (a, b) = (bytes(a, a_len).unwrap_or_default(), bytes(b, b_len).unwrap_or_default());
    b.cmp(a) as c_int
}

impl ForeignComparator {
    /// RocksDB's name of the reverse order of bytes.
    pub(crate) const REVERSE: &str = "rocksdb.ReverseBytewiseComparator";

    /// Returns the reverse order of bytes, which RocksDB has without the program.
    pub(crate) fn reverse() -> ForeignComparator {
        ForeignComparator {
            name: ForeignComparator::REVERSE.to_owned(),
            state: State::new(std::ptr::null_mut(), None),
            compare: Some(compare_reverse),
            has_timestamps: false,
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_comparator_create(
    state: *mut c_void,
    destructor: Destructor,
    compare: Compare,
    name: Name,
) -> *mut rocksdb_comparator_t {
    let own = ForeignComparator {
        name: name_of(state, name),
        state: State::new(state, destructor),
        compare,
        has_timestamps: false,
    };
    handle(rocksdb_comparator_t(Arc::new(own)))
}

/// Databases refuse to open with such a comparator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_comparator_with_ts_create(
    state: *mut c_void,
    destructor: Destructor,
    compare: Compare,
    _compare_timestamps: Compare,
    _compare_without: CompareWithoutTimestamp,
    name: Name,
    _timestamp_size: usize,
) -> *mut rocksdb_comparator_t {
    let own = ForeignComparator {
        name: name_of(state, name),
        state: State::new(state, destructor),
        compare,
        has_timestamps: true,
    };
    handle(rocksdb_comparator_t(Arc::new(own)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_comparator_destroy(comparator: *mut rocksdb_comparator_t) {
    free(comparator);
}

impl Comparator for ForeignComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let Some(compare) = self.compare else { return a.cmp(b) };
        let (a, b) = ((a.as_ptr().cast(), a.len()), (b.as_ptr().cast(), b.len()));
        // SAFETY: the program's function keeps the rules of the header; both keys live.
        unsafe { compare(self.state.pointer, a.0, a.1, b.0, b.1) }.cmp(&0)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    /// RocksDB lets an order of the program call keys of different bytes equal.
    fn bytewise_equality(&self) -> bool {
        false
    }

    fn separator(&self, start: &[u8], _limit: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(start);
    }

    fn successor(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(key);
    }
}
