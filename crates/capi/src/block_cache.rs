//! Block caches that C programs implement.

use std::ffi::c_void;
use std::fmt;

use foldb::custom::{CustomCache, SharedBlock};
use foldb::{Error, Result};

use crate::boundary::{Functions, free};
use crate::bytes::foldb_bytes_t;
use crate::operator::destroy;

/// A cache of blocks, with the model of LevelDB's `Cache`. Any thread may call its functions,
/// several at the same time. They must not call foldb, except `foldb_cached_block_free`, and must
/// return: no `longjmp`, no exception.
///
/// A handle is what the cache returns for an entry. It keeps the entry's value until `release`. The
/// cache calls `foldb_cached_block_free` with the value, once the entry is dropped and all its
/// handles are released. It may do this after the database is closed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_block_cache_t {
    /// `sizeof` of this struct. It tells the library which fields the program's header has.
    pub size: usize,
    /// Passed to all functions. May be NULL.
    pub state: *mut c_void,
    /// Frees `state`. May be NULL.
    pub destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Stores a value under a key, in place of an earlier one, and returns a handle. The value
    /// takes about `charge` bytes of memory.
    pub insert: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            key: foldb_bytes_t,
            value: *mut c_void,
            charge: usize,
        ) -> *mut c_void,
    >,
    /// Returns a handle of the key's entry; NULL if there is none.
    pub lookup: Option<unsafe extern "C" fn(state: *mut c_void, key: foldb_bytes_t) -> *mut c_void>,
    /// Returns the value of a handle.
    pub value: Option<unsafe extern "C" fn(state: *mut c_void, handle: *mut c_void) -> *mut c_void>,
    /// Releases a handle.
    pub release: Option<unsafe extern "C" fn(state: *mut c_void, handle: *mut c_void)>,
    /// Returns a number that no earlier call returned. Each database asks once, and its keys begin
    /// with the number.
    pub new_id: Option<unsafe extern "C" fn(state: *mut c_void) -> u64>,
}

// SAFETY: the size comes first, and zero bytes are NULL, 0 and false.
unsafe impl Functions for foldb_block_cache_t {}

/// Frees the value of an entry that a cache of the program dropped. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_cached_block_free(value: *mut c_void) {
    // SAFETY: the caller passes NULL, or a value that `insert` got and that nothing uses.
    unsafe { free(value.cast::<SharedBlock>()) };
}

/// A [`foldb_block_cache_t`] in the engine.
pub(crate) struct ForeignCache(foldb_block_cache_t);

// SAFETY: any thread may call the functions with `state`, several at the same time, and any thread
// may call the destructor; the header demands that of the program.
unsafe impl Send for ForeignCache {}
// SAFETY: as above.
unsafe impl Sync for ForeignCache {}

impl ForeignCache {
    /// Takes a cache of the program, with its state.
    ///
    /// # Safety
    /// The struct keeps the rules of the header.
    ///
    /// # Errors
    /// `InvalidArgument` if a function is missing. The state is freed then too.
    pub(crate) unsafe fn take(own: &foldb_block_cache_t) -> Result<ForeignCache> {
        let cache = ForeignCache(*own);
        let given = [
            ("insert", own.insert.is_some()),
            ("lookup", own.lookup.is_some()),
            ("value", own.value.is_some()),
            ("release", own.release.is_some()),
            ("new_id", own.new_id.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| !is_given) {
            Some((name, _)) => Err(Error::invalid_argument(format!("cache.{name} is NULL"))),
            None => Ok(cache),
        }
    }
}

impl Drop for ForeignCache {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the state, and drops once.
        unsafe { destroy(self.0.state, self.0.destructor) };
    }
}

impl fmt::Debug for ForeignCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignCache({:?})", self.0.state)
    }
}

impl CustomCache for ForeignCache {
    fn new_id(&self) -> u64 {
        // SAFETY: the program's function keeps the rules of the header.
        self.0.new_id.map_or(0, |new_id| unsafe { new_id(self.0.state) })
    }

    fn insert(&self, key: &[u8], block: SharedBlock, charge: usize) {
        let (Some(insert), Some(release)) = (self.0.insert, self.0.release) else { return };
        let value = Box::into_raw(Box::new(block)).cast();
        // SAFETY: the program's functions keep the rules of the header. The cache owns the value
        // now, and the handle is released once.
        unsafe {
            let handle = insert(self.0.state, key.into(), value, charge);
            if !handle.is_null() {
                release(self.0.state, handle);
            }
        }
    }

    fn lookup(&self, key: &[u8]) -> Option<SharedBlock> {
        let (lookup, value, release) = (self.0.lookup?, self.0.value?, self.0.release?);
        // SAFETY: the program's functions keep the rules of the header. Until `release`, the handle
        // keeps the value, which is one that `insert` got.
        unsafe {
            let handle = lookup(self.0.state, key.into());
            if handle.is_null() {
                return None;
            }
            let block = value(self.0.state, handle).cast::<SharedBlock>().as_ref().cloned();
            release(self.0.state, handle);
            block
        }
    }
}
