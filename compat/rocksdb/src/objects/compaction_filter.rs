//! Compaction filters that programs implement.
//!
//! The engine shows a filter whole values only, and never what a snapshot sees.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::sync::Arc;

use foldb::custom::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};

use crate::boundary::{Destructor, State, bytes, free, handle};
use crate::objects::comparator::Name;

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
    state: State,
    filter: Filter,
}

/// A maker of filters of the program.
#[derive(Debug)]
pub(crate) struct ForeignFactory {
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
    _name: Name,
) -> *mut rocksdb_compactionfilter_t {
    let own = ForeignFilter { state: State::new(state, destructor), filter };
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
    _name: Name,
) -> *mut rocksdb_compactionfilterfactory_t {
    let own = ForeignFactory { state: State::new(state, destructor), create };
    handle(rocksdb_compactionfilterfactory_t(Arc::new(own)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionfilterfactory_destroy(
    factory: *mut rocksdb_compactionfilterfactory_t,
) {
    free(factory);
}

impl CompactionFilterFactory for FilterSource {
    fn filter(&self, context: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>> {
        let filter = match self {
            FilterSource::One(own) => own.clone(),
            FilterSource::Factory(own) => own.create(context)?,
        };
        Some(Box::new(Filtering(filter)))
    }
}

impl ForeignFactory {
    fn create(&self, context: &FilterContext<'_>) -> Option<Arc<ForeignFilter>> {
        let mut context = rocksdb_compactionfiltercontext_t {
            is_full: context.is_full,
            is_manual: context.is_manual,
        };
        // SAFETY: the program's function keeps the rules of the header; the filter that it returns
        // is this library's to free.
        unsafe {
            let made = (self.create?)(self.state.pointer, &mut context);
            let filter = made.as_ref().map(|own| own.0.clone());
            free(made);
            filter
        }
    }
}

/// A filter of the program at work.
#[derive(Debug)]
struct Filtering(Arc<ForeignFilter>);

impl CompactionFilter for Filtering {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict {
        let Some(filter) = self.0.filter else { return Verdict::Keep };
        let (mut new_value, mut new_len, mut is_changed) = (std::ptr::null_mut(), 0, 0);
        let level = c_int::try_from(level).unwrap_or(c_int::MAX);
        // SAFETY: the program's function keeps the rules of the header; all arguments live. The
        // new value stays the program's.
        unsafe {
            let removes = filter(
                self.0.state.pointer,
                level,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &mut new_value,
                &mut new_len,
                &mut is_changed,
            );
            match (removes, is_changed, bytes(new_value, new_len)) {
                (0, 0, _) | (0, _, Err(_)) => Verdict::Keep,
                (0, _, Ok(value)) => Verdict::Change(value.to_vec()),
                _ => Verdict::Remove,
            }
        }
    }
}
