//! Prefixes of keys.
//!
//! The engine needs no extractor: its filters serve whole keys, and its iterators the whole order.
//! An iterator of this library asks the extractor where `prefix_same_as_start` bounds it.

use std::ffi::{c_char, c_uchar, c_void};
use std::sync::Arc;

use crate::boundary::{Destructor, State, free, handle};
use crate::objects::comparator::Name;

/// Returns the start of the prefix of a key, and stores its length.
pub type Transform =
    Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut usize) -> *mut c_char>;

/// Returns whether a key has a prefix.
pub type InDomain = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_uchar>;

/// RocksDB: `SliceTransform`.
pub struct rocksdb_slicetransform_t(pub(crate) Arc<SliceTransform>);

/// Which bytes of a key are its prefix.
#[derive(Debug)]
pub(crate) enum SliceTransform {
    /// The first bytes. A shorter key has no prefix.
    Fixed(usize),
    /// The whole key.
    Noop,
    Foreign {
        state: State,
        transform: Transform,
        in_domain: InDomain,
    },
}

impl SliceTransform {
    /// Returns the prefix of a key, if it has one.
    pub(crate) fn prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        match self {
            SliceTransform::Fixed(len) => key.get(..*len),
            SliceTransform::Noop => Some(key),
            SliceTransform::Foreign { state, transform, in_domain, .. } => {
                let (start, len) = (key.as_ptr().cast::<c_char>(), key.len());
                // SAFETY: the program's functions keep the rules of the header; the key lives.
                unsafe {
                    if in_domain.is_some_and(|has| has(state.pointer, start, len) == 0) {
                        return None;
                    }
                    let mut prefix_len = 0;
                    (*transform)?(state.pointer, start, len, &mut prefix_len);
                    key.get(..prefix_len)
                }
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_slicetransform_create(
    state: *mut c_void,
    destructor: Destructor,
    transform: Transform,
    in_domain: InDomain,
    _in_range: InDomain,
    _name: Name,
) -> *mut rocksdb_slicetransform_t {
    let own =
        SliceTransform::Foreign { state: State::new(state, destructor), transform, in_domain };
    handle(rocksdb_slicetransform_t(Arc::new(own)))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_slicetransform_create_fixed_prefix(
    len: usize,
) -> *mut rocksdb_slicetransform_t {
    handle(rocksdb_slicetransform_t(Arc::new(SliceTransform::Fixed(len))))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_slicetransform_create_noop() -> *mut rocksdb_slicetransform_t {
    handle(rocksdb_slicetransform_t(Arc::new(SliceTransform::Noop)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_slicetransform_destroy(own: *mut rocksdb_slicetransform_t) {
    free(own);
}
