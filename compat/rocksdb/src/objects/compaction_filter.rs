//! Compaction filters that programs implement.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::sync::Arc;

use crate::boundary::{Destructor, State, free, handle};
use crate::objects::comparator::{Name, name_of};

/// Looks at an entry. Returns whether to remove it, or stores a new value.
pub type Filter = Option<
    unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *const c_char,
        usize,
        *const c_char,
        usize,
        *mut *mut c_char,
        *mut usize,
        *mut c_uchar,
    ) -> c_uchar,
>;

/// Makes the filter of a compaction.
pub type CreateFilter = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *mut rocksdb_compactionfiltercontext_t,
    ) -> *mut rocksdb_compactionfilter_t,
>;

/// RocksDB: `CompactionFilter`.
pub struct rocksdb_compactionfilter_t(pub(crate) Arc<ForeignFilter>);

/// RocksDB: `CompactionFilterFactory`.
pub struct rocksdb_compactionfilterfactory_t(pub(crate) Arc<ForeignFactory>);

/// RocksDB: `CompactionFilter::Context`.
#[derive(Debug)]
pub struct rocksdb_compactionfiltercontext_t {
    is_full: bool,
    is_manual: bool,
}

/// A filter of the program.
#[derive(Debug)]
pub(crate) struct ForeignFilter {
    name: String,
    state: State,
    filter: Filter,
}

/// A maker of filters of the program.
#[derive(Debug)]
pub(crate) struct ForeignFactory {
    name: String,
    state: State,
    create: CreateFilter,
}

/// Where the filters of a family's compactions come from.
#[derive(Clone, Debug)]
pub(crate) enum FilterSource {
    /// One filter for all compactions.
    One(Arc<ForeignFilter>),
    /// A new filter for each compaction.
    Factory(Arc<ForeignFactory>),
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfilter_create(
    state: *mut c_void,
    destructor: Destructor,
    filter: Filter,
    name: Name,
) -> *mut rocksdb_compactionfilter_t {
    let own =
        ForeignFilter { name: name_of(state, name), state: State::new(state, destructor), filter };
    handle(rocksdb_compactionfilter_t(Arc::new(own)))
}

/// The engine never shows a filter what a snapshot sees, whatever is set.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_compactionfilter_set_ignore_snapshots(
    _filter: *mut rocksdb_compactionfilter_t,
    _ignore: c_uchar,
) {
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfilter_destroy(filter: *mut rocksdb_compactionfilter_t) {
    free(filter);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfiltercontext_is_full_compaction(
    context: *mut rocksdb_compactionfiltercontext_t,
) -> c_uchar {
    (*context).is_full.into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfiltercontext_is_manual_compaction(
    context: *mut rocksdb_compactionfiltercontext_t,
) -> c_uchar {
    (*context).is_manual.into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfilterfactory_create(
    state: *mut c_void,
    destructor: Destructor,
    create: CreateFilter,
    name: Name,
) -> *mut rocksdb_compactionfilterfactory_t {
    let own =
        ForeignFactory { name: name_of(state, name), state: State::new(state, destructor), create };
    handle(rocksdb_compactionfilterfactory_t(Arc::new(own)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfilterfactory_destroy(
    factory: *mut rocksdb_compactionfilterfactory_t,
) {
    free(factory);
}
