//! Merge operators that programs implement.
//!
//! RocksDB lets a program open a family with another operator than before, and then applies the
//! new one to the old operands. The engine remembers the operator of each operand by its name. So
//! this library registers the operator of a family under a name of the family, whatever the
//! program's own name for it is:
//!
//! ```text
//! open with "counter":  a.MERGE.1, stored as an operand of "rocksdb.default"
//! open with "adder":    a read folds it with "adder", which is "rocksdb.default" now
//! ```

use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb::operators::{Full, Growth, MergeOperator, Partial, TextForm, builtins};
use foldb_rocksdb_format::names;
use parking_lot::RwLock;
use smallvec::SmallVec;

use crate::boundary::{Destructor, State, free, handle};
use crate::objects::comparator::{Name, name_of};
use crate::status::{Outcome, Status};

/// Folds the operands of a key, the oldest first, over its value; NULL if it has none. Returns a
/// new value and its length, and stores whether the fold succeeded.
pub type FullMerge = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        usize,
        *const c_char,
        usize,
        *const *const c_char,
        *const usize,
        c_int,
        *mut c_uchar,
        *mut usize,
    ) -> *mut c_char,
>;

/// Folds operands, the oldest first, into one.
pub type PartialMerge = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        usize,
        *const *const c_char,
        *const usize,
        c_int,
        *mut c_uchar,
        *mut usize,
    ) -> *mut c_char,
>;

/// Frees a result of the two functions.
pub type DeleteValue = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>;

/// RocksDB: `MergeOperator`.
pub struct rocksdb_mergeoperator_t(pub(crate) Arc<ForeignOperator>);

/// An operator of the program.
#[derive(Debug)]
pub(crate) struct ForeignOperator {
    /// The program's name for it.
    pub(crate) name: String,
    state: State,
    full: FullMerge,
    partial: PartialMerge,
    delete_value: DeleteValue,
}

/// The operator that a program chose for a family.
#[derive(Clone, Debug)]
pub(crate) enum FamilyOperator {
    /// One of the engine's: `NAME` or `NAME:PARAM`.
    Builtin(Arc<str>),
    Foreign(Arc<ForeignOperator>),
}

impl FamilyOperator {
    /// RocksDB's counter. It counts a value or an operand of another width as 0.
    pub(crate) const UINT64_ADD: &str = "uint64add:rocksdb_lenient";
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_mergeoperator_create(
    state: *mut c_void,
    destructor: Destructor,
    full: FullMerge,
    partial: PartialMerge,
    delete_value: DeleteValue,
    name: Name,
) -> *mut rocksdb_mergeoperator_t {
    let own = ForeignOperator {
        name: name_of(state, name),
        state: State::new(state, destructor),
        full,
        partial,
        delete_value,
    };
    handle(rocksdb_mergeoperator_t(Arc::new(own)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_mergeoperator_destroy(operator: *mut rocksdb_mergeoperator_t) {
    free(operator);
}

/// Where each operand begins, and how long it is.
struct Operands {
    starts: SmallVec<[*const c_char; 16]>,
    lens: SmallVec<[usize; 16]>,
}

impl Operands {
    fn of(operands: &[&[u8]]) -> Operands {
        Operands {
            starts: operands.iter().map(|operand| operand.as_ptr().cast()).collect(),
            lens: operands.iter().map(|operand| operand.len()).collect(),
        }
    }

    fn count(&self) -> Option<c_int> {
        c_int::try_from(self.starts.len()).ok()
    }
}

impl ForeignOperator {
    /// Appends a result of the program to `out`, and frees it. Returns whether there was one.
    unsafe fn take(
        &self,
        result: *mut c_char,
        len: usize,
        success: c_uchar,
        out: &mut Vec<u8>,
    ) -> bool {
        let is_value = success != 0 && (!result.is_null() || len == 0);
        if is_value && len > 0 {
            out.extend_from_slice(std::slice::from_raw_parts(result.cast::<u8>(), len));
        }
        match self.delete_value {
            Some(delete_value) => delete_value(self.state.pointer, result, len),
            None => libc::free(result.cast::<c_void>()),
        }
        is_value
    }

    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let all = Operands::of(operands);
        let (Some(full), Some(count)) = (self.full, all.count()) else { return Full::Fail };
        let base_len = base.map_or(0, <[u8]>::len);
        let base = base.map_or(std::ptr::null(), |base| base.as_ptr().cast());
        let (mut success, mut len) = (0, 0);
        // SAFETY: the program's function keeps the rules of the header; all arguments live.
        let is_value = unsafe {
            let result = full(
                self.state.pointer,
                key.as_ptr().cast(),
                key.len(),
                base,
                base_len,
                all.starts.as_ptr(),
                all.lens.as_ptr(),
                count,
                &mut success,
                &mut len,
            );
            self.take(result, len, success, out)
        };
        if is_value { Full::Value } else { Full::Fail }
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let all = Operands::of(operands);
        let (Some(partial), Some(count)) = (self.partial, all.count()) else {
            return Partial::Keep;
        };
        let (mut success, mut len) = (0, 0);
        // SAFETY: the program's function keeps the rules of the header; all arguments live.
        let is_operand = unsafe {
            let result = partial(
                self.state.pointer,
                key.as_ptr().cast(),
                key.len(),
                all.starts.as_ptr(),
                all.lens.as_ptr(),
                count,
                &mut success,
                &mut len,
            );
            self.take(result, len, success, out)
        };
        if is_operand { Partial::Operand } else { Partial::Keep }
    }
}

/// The operator of a family, under the name that the engine remembers.
#[derive(Debug)]
pub(crate) struct NamedOperator {
    name: String,
    first: Inner,
    /// A family that is created again under its name brings another one.
    later: RwLock<Option<Inner>>,
    /// Whether there is a later one: a fold without it takes no lock.
    is_replaced: AtomicBool,
}

#[derive(Clone, Debug)]
enum Inner {
    Builtin(Arc<dyn MergeOperator>),
    Foreign(Arc<ForeignOperator>),
}

/// Returns the name under which the engine remembers the operator of a family.
///
/// # Errors
/// `Not implemented` for a name that is too long.
pub(crate) fn operator_name(family: &str) -> Outcome<String> {
    names::operator_of(family).ok_or_else(|| {
        let (len, most) = (family.len(), names::LONGEST_FAMILY);
        Status::unsupported(format!(
            "a merge operator in a column family with a name of {len} bytes: {most} is the limit"
        ))
    })
}

impl NamedOperator {
    /// Makes the operator of a family.
    ///
    /// # Errors
    /// As [`operator_name`].
    pub(crate) fn of(family: &str, operator: &FamilyOperator) -> Outcome<NamedOperator> {
        let (name, first) = (operator_name(family)?, NamedOperator::inner_of(operator)?);
        let (later, is_replaced) = (RwLock::new(None), AtomicBool::new(false));
        Ok(NamedOperator { name, first, later, is_replaced })
    }

    /// Takes the operator of a family that is created again.
    ///
    /// # Errors
    /// As [`NamedOperator::of`].
    pub(crate) fn replace(&self, operator: &FamilyOperator) -> Outcome<()> {
        let inner = NamedOperator::inner_of(operator)?;
        *self.later.write() = Some(inner);
        self.is_replaced.store(true, Ordering::Release);
        Ok(())
    }

    fn inner_of(operator: &FamilyOperator) -> Outcome<Inner> {
        Ok(match operator {
            FamilyOperator::Foreign(own) => Inner::Foreign(own.clone()),
            FamilyOperator::Builtin(spec) => {
                let (name, parameter) = spec
                    .split_once(':')
                    .map_or((&**spec, None), |(name, parameter)| (name, Some(parameter)));
                let found = builtins().iter().find(|builtin| builtin.name == name);
                let found = found.ok_or_else(|| Status::unsupported(format!("operator {name}")))?;
                Inner::Builtin(found.instantiate(parameter.map(str::as_bytes))?)
            }
        })
    }

    /// Returns the operator of now. A fold may call the program, so it holds no lock.
    #[inline]
    fn now(&self) -> Cow<'_, Inner> {
        if !self.is_replaced.load(Ordering::Acquire) {
            return Cow::Borrowed(&self.first);
        }
        self.later.read().clone().map_or(Cow::Borrowed(&self.first), Cow::Owned)
    }
}

impl MergeOperator for NamedOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        match &*self.now() {
            Inner::Builtin(own) => own.full(key, base, operands, out),
            Inner::Foreign(own) => own.full(key, base, operands, out),
        }
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        match &*self.now() {
            Inner::Builtin(own) => own.partial(key, operands, out),
            Inner::Foreign(own) => own.partial(key, operands, out),
        }
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        match &*self.now() {
            Inner::Builtin(own) => own.fold_word(accumulator, operand),
            Inner::Foreign(_) => None,
        }
    }

    fn growth(&self) -> Growth {
        match &*self.now() {
            Inner::Builtin(own) => own.growth(),
            Inner::Foreign(_) => Growth::Grows,
        }
    }

    fn text(&self) -> TextForm {
        match &*self.now() {
            Inner::Builtin(own) => own.text(),
            Inner::Foreign(_) => TextForm::Bytes,
        }
    }
}
