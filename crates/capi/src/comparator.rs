//! Orders of keys that C programs implement.

use std::cmp::Ordering;
use std::ffi::{c_char, c_int, c_void};
use std::fmt;

use foldb::custom::Comparator;
use foldb::{Error, Result};

use crate::boundary::{Functions, text};
use crate::bytes::foldb_bytes_t;
use crate::operator::{destroy, foldb_output_t};

/// Compares two keys: negative, 0 or positive, as `memcmp` does.
pub type foldb_compare_fn =
    Option<unsafe extern "C" fn(state: *mut c_void, a: foldb_bytes_t, b: foldb_bytes_t) -> c_int>;

/// Appends a short key `s` with `start <= s < limit` to the output, with `foldb_output_append`. The
/// index of a table stores `s` in place of `start`. An answer that is not shorter than `start`, or
/// that breaks the rule, is ignored. LevelDB: `FindShortestSeparator`.
pub type foldb_separator_fn = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        start: foldb_bytes_t,
        limit: foldb_bytes_t,
        output: *mut foldb_output_t,
    ),
>;

/// Appends a short key `s` with `key <= s` to the output, with `foldb_output_append`. Otherwise as
/// `foldb_separator_fn`. LevelDB: `FindShortSuccessor`.
pub type foldb_successor_fn = Option<
    unsafe extern "C" fn(state: *mut c_void, key: foldb_bytes_t, output: *mut foldb_output_t),
>;

/// An order of keys of the program. It must be a total order. Any thread may call its functions,
/// several at the same time. They must not call foldb, except `foldb_output_append`, and must
/// return: no `longjmp`, no exception.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_comparator_t {
    /// `sizeof` of this struct. It tells the library which fields the program's header has.
    pub size: usize,
    /// Passed to all functions. May be NULL.
    pub state: *mut c_void,
    /// Frees `state`. May be NULL.
    pub destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The name that the database remembers. Change it whenever the order changes. Copied.
    pub name: *const c_char,
    /// Compares two keys. It gets only whole keys: keys that were written, keys that the program
    /// passes to reads, seeks and ranges, and keys that `separator` and `successor` return.
    pub compare: foldb_compare_fn,
    /// Shortens keys in the index of a table. NULL: the index has whole keys.
    pub separator: foldb_separator_fn,
    /// Shortens the last key in the index of a table. NULL: the index has the whole key.
    pub successor: foldb_successor_fn,
    /// Whether `compare` may call keys of different bytes equal. Such keys are spellings of one
    /// key: the newest write wins or merges, and iterators show its spelling. False promises that
    /// equal keys have the same bytes; writes and reads are then faster, and tables have filters.
    pub equal_keys_may_differ: bool,
}

// SAFETY: the size comes first, and zero bytes are NULL, 0 and false.
unsafe impl Functions for foldb_comparator_t {}

/// A [`foldb_comparator_t`] in the engine.
pub(crate) struct ForeignComparator {
    name: String,
    own: foldb_comparator_t,
}

// SAFETY: any thread may call the functions with `state`, several at the same time, and any thread
// may call the destructor; the header demands that of the program.
unsafe impl Send for ForeignComparator {}
// SAFETY: as above.
unsafe impl Sync for ForeignComparator {}

impl ForeignComparator {
    /// Takes a comparator of the program, with its state.
    ///
    /// # Safety
    /// The struct keeps the rules of the header.
    ///
    /// # Errors
    /// `InvalidArgument` without a name or `compare`. The state is freed then too.
    pub(crate) unsafe fn take(own: &foldb_comparator_t) -> Result<ForeignComparator> {
        let mut comparator = ForeignComparator { name: String::new(), own: *own };
        // SAFETY: as the caller promises.
        comparator.name = unsafe { text(own.name, "comparator.name")? }.to_owned();
        if own.compare.is_none() {
            return Err(Error::invalid_argument("comparator.compare is NULL"));
        }
        Ok(comparator)
    }
}

impl Drop for ForeignComparator {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the state, and drops once.
        unsafe { destroy(self.own.state, self.own.destructor) };
    }
}

impl fmt::Debug for ForeignComparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignComparator").field(&self.name).finish()
    }
}

impl Comparator for ForeignComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        // `take` refuses a comparator without the function.
        let Some(compare) = self.own.compare else { return Ordering::Equal };
        // SAFETY: the program's function keeps the rules of the header; both keys live.
        unsafe { compare(self.own.state, a.into(), b.into()) }.cmp(&0)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        !self.own.equal_keys_may_differ
    }

    fn separator(&self, start: &[u8], limit: &[u8], out: &mut Vec<u8>) {
        let Some(separator) = self.own.separator else { return out.extend_from_slice(start) };
        foldb_output_t::lend(out, |output| {
            // SAFETY: the program's function keeps the rules of the header; all arguments live.
            unsafe { separator(self.own.state, start.into(), limit.into(), output) }
        });
    }

    fn successor(&self, key: &[u8], out: &mut Vec<u8>) {
        let Some(successor) = self.own.successor else { return out.extend_from_slice(key) };
        foldb_output_t::lend(out, |output| {
            // SAFETY: the program's function keeps the rules of the header; all arguments live.
            unsafe { successor(self.own.state, key.into(), output) }
        });
    }
}
