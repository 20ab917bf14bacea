//! What the C++ half lends to the formats: bytes, and objects of the program behind functions.
//!
//! `cpp/table/formats.h` declares the same types. Every pointer here comes from C++ and stays right
//! as long as the Rust object that holds it: the C++ classes own both.

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;

use foldb_leveldb_format::Order;
use foldb_leveldb_format::builder::Output;
use foldb_leveldb_format::filter::Policy;
use foldb_leveldb_format::table::Damage;

/// Bytes that C++ owns, or that it borrows from Rust: `leveldb::Slice`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    pub(crate) data: *const u8,
    pub(crate) length: usize,
}

impl Bytes {
    /// Lends bytes to C++.
    pub fn of(bytes: &[u8]) -> Bytes {
        Bytes { data: bytes.as_ptr(), length: bytes.len() }
    }

    /// Returns the bytes. A null pointer is right for no bytes.
    ///
    /// # Safety
    /// The bytes stay as they are while the result is used.
    pub unsafe fn get<'a>(self) -> &'a [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: C++ passes a pointer to `length` bytes; the rest is the caller's promise.
        unsafe { slice::from_raw_parts(self.data, self.length) }
    }
}

/// How a call ended: null for success, an empty text if a function of C++ failed, which keeps its
/// own status, or else the message of damage.
pub type Outcome = *const c_char;

/// Success.
pub const OK: Outcome = std::ptr::null();

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(&'static CStr);

/// A function of C++ failed.
pub const OF_CALLER: Failure = Failure(c"");

/// The file has no room for a footer.
pub const TOO_SHORT: Failure = Failure(c"file is too short to be an sstable");

impl Failure {
    /// Returns the failure for C++.
    pub fn outcome(self) -> Outcome {
        self.0.as_ptr()
    }

    /// Returns the failure that C++ passed. `None` for success.
    ///
    /// # Safety
    /// The text is one that Rust or C++ keeps for ever.
    pub unsafe fn passed(outcome: Outcome) -> Option<Failure> {
        // SAFETY: the caller's promise.
        (!outcome.is_null()).then(|| Failure(unsafe { CStr::from_ptr(outcome) }))
    }
}

/// LevelDB's messages.
impl From<Damage> for Failure {
    fn from(damage: Damage) -> Failure {
        Failure(match damage {
            Damage::FooterLength => c"not an sstable (footer too short)",
            Damage::Magic => c"not an sstable (bad magic number)",
            Damage::Handle => c"bad block handle",
            Damage::Outside => c"truncated block read",
            Damage::Checksum => c"block checksum mismatch",
            Damage::Snappy(_) => c"corrupted compressed block contents",
            Damage::Compression(_) => c"bad block type",
            Damage::Block => c"bad block contents",
            Damage::Entry => c"bad entry in block",
        })
    }
}

/// A `leveldb::Comparator`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Comparator {
    pub(crate) object: *const c_void,
    /// The order of the bytes, for which no call is needed.
    pub(crate) is_bytewise: bool,
    pub(crate) compare: extern "C" fn(*const c_void, Bytes, Bytes) -> c_int,
    /// Both get a key, and append the shorter one with [`foldbport_append`].
    pub(crate) separator: extern "C" fn(*const c_void, &mut Vec<u8>, start: Bytes, limit: Bytes),
    pub(crate) successor: extern "C" fn(*const c_void, &mut Vec<u8>, key: Bytes),
}

impl Order for Comparator {
    #[inline]
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        if self.is_bytewise {
            return one.cmp(other);
        }
        (self.compare)(self.object, Bytes::of(one), Bytes::of(other)).cmp(&0)
    }

    fn separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let mut found = Vec::new();
        (self.separator)(self.object, &mut found, Bytes::of(start), Bytes::of(limit));
        *start = found;
    }

    fn successor(&self, key: &mut Vec<u8>) {
        let mut found = Vec::new();
        (self.successor)(self.object, &mut found, Bytes::of(key));
        *key = found;
    }
}

/// Appends bytes to a key or filter that Rust lends.
///
/// # Safety
/// The bytes stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_append(to: &mut Vec<u8>, bytes: Bytes) {
    // SAFETY: the caller's promise.
    to.extend_from_slice(unsafe { bytes.get() });
}

/// A `leveldb::FilterPolicy`, or none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FilterPolicy {
    /// Null for none.
    pub(crate) object: *const c_void,
    pub(crate) name: Bytes,
    pub(crate) create: extern "C" fn(*const c_void, keys: *const Bytes, count: c_int, &mut Vec<u8>),
    pub(crate) may_match: extern "C" fn(*const c_void, key: Bytes, filter: Bytes) -> bool,
}

impl FilterPolicy {
    /// Returns the policy, if there is one.
    pub fn get(self) -> Option<FilterPolicy> {
        (!self.object.is_null()).then_some(self)
    }
}

impl Policy for FilterPolicy {
    fn name(&self) -> &[u8] {
        // SAFETY: the name lives as long as the policy, which outlives its tables.
        unsafe { self.name.get() }
    }

    fn create(&self, keys: &[&[u8]], filter: &mut Vec<u8>) {
        let keys: Vec<Bytes> = keys.iter().map(|key| Bytes::of(key)).collect();
        (self.create)(self.object, keys.as_ptr(), keys.len() as c_int, filter);
    }

    fn may_match(&self, key: &[u8], filter: &[u8]) -> bool {
        (self.may_match)(self.object, Bytes::of(key), Bytes::of(filter))
    }
}

/// A `leveldb::WritableFile`. Its functions return false after a failure, and keep the status.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Writable {
    pub(crate) object: *mut c_void,
    pub(crate) append: extern "C" fn(*mut c_void, Bytes) -> bool,
    pub(crate) flush: extern "C" fn(*mut c_void) -> bool,
}

impl Output for Writable {
    type Error = Failure;

    fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let done = (self.append)(self.object, Bytes::of(bytes));
        done.then_some(()).ok_or(OF_CALLER)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        (self.flush)(self.object).then_some(()).ok_or(OF_CALLER)
    }
}

/// A `leveldb::RandomAccessFile` with its size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Readable {
    pub(crate) object: *const c_void,
    pub(crate) size: u64,
    /// Reads `length` bytes into `scratch`, or finds them elsewhere. Returns false after a failure,
    /// and keeps the status.
    pub(crate) read: extern "C" fn(
        *const c_void,
        offset: u64,
        length: usize,
        scratch: *mut u8,
        &mut Bytes,
    ) -> bool,
}

/// Bytes of a file.
#[derive(Debug)]
pub enum Read {
    /// They are in memory of the file, which lives as long as the table.
    Lent(Bytes),
    /// They were read.
    Owned(Vec<u8>),
}

impl AsRef<[u8]> for Read {
    fn as_ref(&self) -> &[u8] {
        match self {
            // SAFETY: a file keeps what it lends, and lives longer than its tables and blocks.
            Read::Lent(bytes) => unsafe { bytes.get() },
            Read::Owned(bytes) => bytes,
        }
    }
}

impl Readable {
    /// Returns the size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads bytes of the file: fewer than `length` if the file ends before.
    ///
    /// # Errors
    /// Fails if the file does.
    pub fn read(&self, offset: u64, length: usize) -> Result<Read, Failure> {
        let mut scratch: Vec<u8> = Vec::with_capacity(length);
        let mut found = Bytes::of(&[]);
        if !(self.read)(self.object, offset, length, scratch.as_mut_ptr(), &mut found) {
            return Err(OF_CALLER);
        }
        if !std::ptr::eq(found.data, scratch.as_ptr()) {
            return Ok(Read::Lent(found));
        }
        // SAFETY: the file says that it has written `found.length` bytes to the scratch, which has
        // room for `length`.
        unsafe { scratch.set_len(found.length.min(length)) };
        Ok(Read::Owned(scratch))
    }
}
