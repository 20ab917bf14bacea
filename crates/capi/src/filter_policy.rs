//! Filters of keys that C programs implement.

use std::ffi::{c_char, c_void};
use std::fmt;

use foldb::custom::FilterPolicy;
use foldb::{Error, Result};
use smallvec::SmallVec;

use crate::boundary::{Functions, text};
use crate::bytes::foldb_bytes_t;
use crate::operator::{destroy, foldb_output_t};

/// Appends a filter of `key_count` keys to the output, with `foldb_output_append`. There is at
/// least one key. The keys ascend in the order of the comparator.
pub type foldb_create_filter_fn = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        keys: *const foldb_bytes_t,
        key_count: usize,
        output: *mut foldb_output_t,
    ),
>;

/// Returns whether `key` may be one of the keys that this filter was made of. False is certain.
pub type foldb_may_contain_fn = Option<
    unsafe extern "C" fn(state: *mut c_void, key: foldb_bytes_t, filter: foldb_bytes_t) -> bool,
>;

/// A filter policy of the program: it makes the filters of tables, with which reads skip tables
/// that do not have a key. A filter must admit each key that it was made of, and each key that the
/// comparator calls equal to one of them; otherwise reads miss that key. Any thread may call its
/// functions, several at the same time. They must not call foldb, except `foldb_output_append`, and
/// must return: no `longjmp`, no exception.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_filter_policy_t {
    /// `sizeof` of this struct. It tells the library which fields the program's header has.
    pub size: usize,
    /// Passed to all functions. May be NULL.
    pub state: *mut c_void,
    /// Frees `state`. May be NULL.
    pub destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The name that each table stores with its filter. A table whose filter has another name is
    /// read without its filter. Change it whenever the filters of the same keys change. Copied.
    pub name: *const c_char,
    /// Makes a filter.
    pub create_filter: foldb_create_filter_fn,
    /// Asks a filter.
    pub may_contain: foldb_may_contain_fn,
}

// SAFETY: the size comes first, and zero bytes are NULL, 0 and false.
unsafe impl Functions for foldb_filter_policy_t {}

/// A [`foldb_filter_policy_t`] in the engine.
pub(crate) struct ForeignPolicy {
    name: String,
    own: foldb_filter_policy_t,
}

// SAFETY: any thread may call the functions with `state`, several at the same time, and any thread
// may call the destructor; the header demands that of the program.
unsafe impl Send for ForeignPolicy {}
// SAFETY: as above.
unsafe impl Sync for ForeignPolicy {}

impl ForeignPolicy {
    /// Takes a policy of the program, with its state.
    ///
    /// # Safety
    /// The struct keeps the rules of the header.
    ///
    /// # Errors
    /// `InvalidArgument` without a name or one of the functions. The state is freed then too.
    pub(crate) unsafe fn take(own: &foldb_filter_policy_t) -> Result<ForeignPolicy> {
        let mut policy = ForeignPolicy { name: String::new(), own: *own };
        // SAFETY: as the caller promises.
        policy.name = unsafe { text(own.name, "policy.name")? }.to_owned();
        if own.create_filter.is_none() {
            return Err(Error::invalid_argument("policy.create_filter is NULL"));
        }
        if own.may_contain.is_none() {
            return Err(Error::invalid_argument("policy.may_contain is NULL"));
        }
        Ok(policy)
    }
}

impl Drop for ForeignPolicy {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the state, and drops once.
        unsafe { destroy(self.own.state, self.own.destructor) };
    }
}

impl fmt::Debug for ForeignPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignPolicy").field(&self.name).finish()
    }
}

impl FilterPolicy for ForeignPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>) {
        // `take` refuses a policy without the function.
        let Some(create_filter) = self.own.create_filter else { return };
        let keys: SmallVec<[foldb_bytes_t; 16]> = keys.iter().map(|&key| key.into()).collect();
        foldb_output_t::lend(out, |output| {
            // SAFETY: the program's function keeps the rules of the header; all arguments live.
            unsafe { create_filter(self.own.state, keys.as_ptr(), keys.len(), output) }
        });
    }

    fn may_contain(&self, key: &[u8], filter: &[u8]) -> bool {
        // `take` refuses a policy without the function.
        let Some(may_contain) = self.own.may_contain else { return true };
        // SAFETY: the program's function keeps the rules of the header; both arguments live.
        unsafe { may_contain(self.own.state, key.into(), filter.into()) }
    }
}
