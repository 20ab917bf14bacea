//! Merge operators that C programs implement.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;

use foldb::operators::{Full, Growth, MergeOperator, Partial};
use foldb::{Error, Result};
use smallvec::SmallVec;

use crate::boundary::{Functions, bytes, text};
use crate::bytes::foldb_bytes_t;

/// What folding the operands of a key gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_fold_t {
    /// The operands cannot be folded. Reads of this key fail with `FOLDB_MERGE_FAILED`, and the
    /// operands are kept. From `partial`: the operands stay as they are, which is no failure.
    FOLDB_FOLD_FAILED = 0,
    /// The value that was appended to the output. From `partial`: the value of the key, whatever
    /// is older.
    FOLDB_FOLD_VALUE = 1,
    /// The operand that was appended to the output. Only from `partial`.
    FOLDB_FOLD_OPERAND = 2,
    /// The base, unchanged and not copied. Only from `full`.
    FOLDB_FOLD_BASE = 3,
    /// The newest operand, unchanged and not copied. Only from `full`.
    FOLDB_FOLD_NEWEST = 4,
    /// The key is deleted.
    FOLDB_FOLD_DELETE = 5,
}

use foldb_fold_t::*;

/// Where a callback puts bytes: the result of a fold, a shorter key, a filter, or the message of an
/// error. It lives during the call.
#[derive(Default)]
pub struct foldb_output_t(Vec<u8>);

impl foldb_output_t {
    /// Returns the bytes that were appended.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Calls a function of the program with an output that continues `out`.
    pub(crate) fn lend<T>(out: &mut Vec<u8>, call: impl FnOnce(*mut foldb_output_t) -> T) -> T {
        let mut output = foldb_output_t(std::mem::take(out));
        let answer = call(&mut output);
        *out = output.0;
        answer
    }
}

/// Appends bytes to the output of a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_output_append(
    output: *mut foldb_output_t,
    data: *const u8,
    len: usize,
) {
    // SAFETY: the caller keeps the rules of the header.
    if let (Some(output), Ok(data)) = unsafe { (output.as_mut(), bytes(data, len, "data")) } {
        output.0.extend_from_slice(data);
    }
}

/// Folds the operands of a key over its base. `base` is NULL if the key has none. `operands` has at
/// least one element, the oldest first. All arguments live during the call. Returns a
/// `foldb_fold_t`.
pub type foldb_full_fn = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        key: foldb_bytes_t,
        base: *const foldb_bytes_t,
        operands: *const foldb_bytes_t,
        operand_count: usize,
        output: *mut foldb_output_t,
    ) -> c_int,
>;

/// Folds at least two operands, the oldest first, without a base. All arguments live during the
/// call. Returns a `foldb_fold_t`.
pub type foldb_partial_fn = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        key: foldb_bytes_t,
        operands: *const foldb_bytes_t,
        operand_count: usize,
        output: *mut foldb_output_t,
    ) -> c_int,
>;

/// A merge operator of the program. Any thread may call its functions, several at the same time.
/// They must not call foldb, except `foldb_output_append`, and must return: no `longjmp`, no
/// exception.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_operator_t {
    /// `sizeof` of this struct. It tells the library which fields the program's header has.
    pub size: usize,
    /// Passed to all functions. May be NULL.
    pub state: *mut c_void,
    /// Frees `state`. May be NULL.
    pub destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The name that the database remembers, with a dot in it: `"app.max"`. Copied.
    pub name: *const c_char,
    /// The version of the operands' format. Start with 0.
    pub version: u32,
    /// Folds operands over a base.
    pub full: foldb_full_fn,
    /// Folds operands without a base. NULL: the engine keeps them until it meets the base.
    pub partial: foldb_partial_fn,
    /// Whether `partial` gives about the size of one operand, as a sum does. False: about the size
    /// of all operands together, as a list does.
    pub shrinks: bool,
}

// SAFETY: the size comes first, and zero bytes are NULL, 0 and false.
unsafe impl Functions for foldb_operator_t {}

/// A [`foldb_operator_t`] in the engine.
pub(crate) struct ForeignOperator {
    name: String,
    own: foldb_operator_t,
}

// SAFETY: any thread may call the functions with `state`, several at the same time, and any thread
// may call the destructor; the header demands that of the program.
unsafe impl Send for ForeignOperator {}
// SAFETY: as above.
unsafe impl Sync for ForeignOperator {}

impl ForeignOperator {
    /// Takes an operator of the program, with its state.
    ///
    /// # Safety
    /// The struct keeps the rules of the header.
    ///
    /// # Errors
    /// `InvalidArgument` without a name or `full`. The state is freed then too.
    pub(crate) unsafe fn take(own: &foldb_operator_t) -> Result<ForeignOperator> {
        let mut operator = ForeignOperator { name: String::new(), own: *own };
        // SAFETY: as the caller promises.
        operator.name = unsafe { text(own.name, "operator.name")? }.to_owned();
        if own.full.is_none() {
            return Err(Error::invalid_argument("operator.full is NULL"));
        }
        Ok(operator)
    }
}

impl Drop for ForeignOperator {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the state, and drops once.
        unsafe { destroy(self.own.state, self.own.destructor) };
    }
}

/// Calls the destructor of a callback's state, if there are both.
///
/// # Safety
/// Nothing uses the state any more.
pub(crate) unsafe fn destroy(
    state: *mut c_void,
    destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
) {
    if let (Some(destructor), false) = (destructor, state.is_null()) {
        // SAFETY: as the caller promises.
        unsafe { destructor(state) };
    }
}

impl fmt::Debug for ForeignOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignOperator").field(&self.name).finish()
    }
}

/// Calls `fold` with an output that continues `out`.
fn with_output(out: &mut Vec<u8>, fold: impl FnOnce(*mut foldb_output_t) -> c_int) -> foldb_fold_t {
    fold_of(foldb_output_t::lend(out, fold))
}

/// Returns the answer of a C function. Another number is a failure.
fn fold_of(answer: c_int) -> foldb_fold_t {
    let all = [FOLDB_FOLD_VALUE, FOLDB_FOLD_OPERAND, FOLDB_FOLD_BASE, FOLDB_FOLD_NEWEST];
    let all = all.into_iter().chain([FOLDB_FOLD_DELETE]);
    all.into_iter().find(|&fold| fold as c_int == answer).unwrap_or(FOLDB_FOLD_FAILED)
}

fn c_bytes(operands: &[&[u8]]) -> SmallVec<[foldb_bytes_t; 16]> {
    operands.iter().map(|&operand| operand.into()).collect()
}

impl MergeOperator for ForeignOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        self.own.version
    }

    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let Some(full) = self.own.full else { return Full::Fail };
        let base = base.map(foldb_bytes_t::from);
        let base = base.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let all = c_bytes(operands);
        // SAFETY: the program's function keeps the rules of the header; all arguments live.
        let answer = with_output(out, |output| unsafe {
            full(self.own.state, key.into(), base, all.as_ptr(), all.len(), output)
        });
        match answer {
            FOLDB_FOLD_VALUE => Full::Value,
            FOLDB_FOLD_BASE => Full::Existing,
            FOLDB_FOLD_NEWEST => Full::Operand(operands.len() - 1),
            FOLDB_FOLD_DELETE => Full::Delete,
            FOLDB_FOLD_FAILED | FOLDB_FOLD_OPERAND => Full::Fail,
        }
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let Some(partial) = self.own.partial else { return Partial::Keep };
        let all = c_bytes(operands);
        // SAFETY: the program's function keeps the rules of the header; all arguments live.
        let answer = with_output(out, |output| unsafe {
            partial(self.own.state, key.into(), all.as_ptr(), all.len(), output)
        });
        match answer {
            FOLDB_FOLD_OPERAND => Partial::Operand,
            FOLDB_FOLD_VALUE => Partial::Value,
            FOLDB_FOLD_DELETE => Partial::Delete,
            FOLDB_FOLD_FAILED | FOLDB_FOLD_BASE | FOLDB_FOLD_NEWEST => Partial::Keep,
        }
    }

    fn growth(&self) -> Growth {
        if self.own.shrinks { Growth::Shrinks } else { Growth::Grows }
    }
}
