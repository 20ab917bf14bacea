//! Environments that C programs provide: files, and optionally threads and time.
//!
//! Reading order: this file has what the header shows; `files` gives the engine a file system;
//! `machine` gives it threads and a clock.

mod files;
mod machine;

use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::io;
use std::sync::Arc;

use foldb::env::{AppendOnlyFs, Env};
use foldb::{Error, Result};

use self::files::ForeignFiles;
use self::machine::{ForeignClock, ForeignThreads};
use crate::boundary::Functions;
use crate::error::foldb_code_t::*;
use crate::operator::{destroy, foldb_output_t};

/// A file that grows at its end. foldb calls its functions from one thread at a time. They return
/// a `foldb_code_t`; any code but `FOLDB_OK` is a failure, and `foldb_output_append` adds its text
/// to `message`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_writable_file_t {
    /// Passed to all functions.
    pub state: *mut c_void,
    /// Appends bytes. They may stay in a buffer until `flush`. After a failure foldb appends no
    /// more, and writes the good part of the file anew if it needs the file.
    pub append: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            data: *const u8,
            len: usize,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Hands buffered bytes to the operating system. A kill of the process then loses none.
    pub flush:
        Option<unsafe extern "C" fn(state: *mut c_void, message: *mut foldb_output_t) -> c_int>,
    /// Flushes, and makes the bytes durable.
    pub sync:
        Option<unsafe extern "C" fn(state: *mut c_void, message: *mut foldb_output_t) -> c_int>,
    /// Flushes, closes the file and frees `state`, also if it fails. Called once, last.
    pub close:
        Option<unsafe extern "C" fn(state: *mut c_void, message: *mut foldb_output_t) -> c_int>,
}

/// A file for reads. Several threads may call `read` at the same time.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_readable_file_t {
    /// Passed to all functions.
    pub state: *mut c_void,
    /// Reads up to `len` bytes from `offset` into `buffer`, and stores in `*count` how many. Fewer
    /// are allowed anywhere; 0 says that the file ends there.
    pub read: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            offset: u64,
            buffer: *mut u8,
            len: usize,
            count: *mut usize,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Closes the file and frees `state`. Called once, last.
    pub close: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

/// An environment of the program: files that grow only at their end, and if the program likes,
/// threads and time. Any thread may call its functions, several at the same time. They must not use
/// a database that uses this environment, and must return: no `longjmp`, no exception.
///
/// A function that returns `int` returns a `foldb_code_t`. `FOLDB_OK` is success.
/// `FOLDB_FILE_MISSING` says that the file does not exist, `FOLDB_NO_SPACE` that the disk is full,
/// `FOLDB_LOCKED` that a lock is held. Every other code is an I/O error. After a failure, the text
/// that `foldb_output_append` added to `message` is part of the message of foldb's error. Paths are
/// those of the open, with the name of a file after a `/`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_env_t {
    /// `sizeof` of this struct. It tells the library which fields the program's header has.
    pub size: usize,
    /// Passed to all functions. May be NULL.
    pub state: *mut c_void,
    /// Frees `state`. May be NULL. Called once all databases and files of the environment are
    /// closed.
    pub destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Creates a file, or empties it, and fills `*file`.
    pub create_file: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            file: *mut foldb_writable_file_t,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Opens an existing file to append to it, and fills `*file`. NULL, or `FOLDB_UNSUPPORTED`: not
    /// possible, and an open file must stay usable after a rename.
    pub append_file: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            file: *mut foldb_writable_file_t,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Opens a file for reads, and fills `*file`. The file may be renamed, removed, or grow while
    /// it is open. Reads then need to find the bytes that it had at its open.
    pub open_file: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            file: *mut foldb_readable_file_t,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Returns whether a file exists. A directory may count or not.
    pub file_exists: Option<unsafe extern "C" fn(state: *mut c_void, path: *const c_char) -> bool>,
    /// Appends the names of a directory's files to `names`, each with a NUL after it. Names of
    /// directories, `.` and `..` may be among them.
    pub list: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            names: *mut foldb_output_t,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Removes a file.
    pub remove_file: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Creates a directory whose parent exists.
    pub create_dir: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Removes an empty directory.
    pub remove_dir: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Stores the length of a file, with all flushed bytes, in `*size`.
    pub file_size: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            size: *mut u64,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Renames a file within its directory. It replaces the target atomically.
    pub rename_file: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            from: *const c_char,
            to: *const c_char,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Makes creations, renames and removals in a directory durable. NULL: foldb creates, syncs and
    /// removes a file `MANIFEST.tmp` in the directory instead. The sync of that file must then make
    /// the earlier changes of the directory durable, or a power loss may destroy the database.
    pub sync_dir: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Locks a file, which may be missing, against other processes and handles. Stores in `*lock`
    /// what `unlock_file` gets.
    pub lock_file: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            path: *const c_char,
            lock: *mut *mut c_void,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Releases a lock.
    pub unlock_file: Option<unsafe extern "C" fn(state: *mut c_void, lock: *mut c_void)>,
    /// Starts a thread that calls `body(argument)` once. After a failure it never calls it. NULL:
    /// foldb starts its own threads.
    pub start_thread: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            body: Option<unsafe extern "C" fn(argument: *mut c_void)>,
            argument: *mut c_void,
            message: *mut foldb_output_t,
        ) -> c_int,
    >,
    /// Returns the microseconds since some moment. NULL: foldb reads the machine's clock. Give both
    /// functions of time or none.
    pub now_micros: Option<unsafe extern "C" fn(state: *mut c_void) -> u64>,
    /// Returns after this many microseconds of `now_micros`.
    pub sleep_micros: Option<unsafe extern "C" fn(state: *mut c_void, micros: u64)>,
}

// SAFETY: the size comes first, and zero bytes are NULL, 0 and false.
unsafe impl Functions for foldb_env_t {}

/// A [`foldb_env_t`] that the engine uses. The state is freed with the last user.
pub(crate) struct ForeignEnv {
    own: foldb_env_t,
}

// SAFETY: any thread may call the functions with `state`, several at the same time, and any thread
// may call the destructor; the header demands that of the program.
unsafe impl Send for ForeignEnv {}
// SAFETY: as above.
unsafe impl Sync for ForeignEnv {}

impl Drop for ForeignEnv {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the state, and drops once.
        unsafe { destroy(self.own.state, self.own.destructor) };
    }
}

impl fmt::Debug for ForeignEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignEnv({:?})", self.own.state)
    }
}

/// Takes an environment of the program, with its state.
///
/// # Safety
/// The struct keeps the rules of the header.
///
/// # Errors
/// `InvalidArgument` if a function is missing. The state is freed then too.
pub(crate) unsafe fn take(own: &foldb_env_t) -> Result<Env> {
    let env = Arc::new(ForeignEnv { own: *own });
    let given = [
        ("create_file", own.create_file.is_some()),
        ("open_file", own.open_file.is_some()),
        ("file_exists", own.file_exists.is_some()),
        ("list", own.list.is_some()),
        ("remove_file", own.remove_file.is_some()),
        ("create_dir", own.create_dir.is_some()),
        ("remove_dir", own.remove_dir.is_some()),
        ("file_size", own.file_size.is_some()),
        ("rename_file", own.rename_file.is_some()),
        ("lock_file", own.lock_file.is_some()),
        ("unlock_file", own.unlock_file.is_some()),
    ];
    if let Some((name, _)) = given.into_iter().find(|(_, is_given)| !is_given) {
        return Err(Error::invalid_argument(format!("env.{name} is NULL")));
    }
    if own.now_micros.is_some() != own.sleep_micros.is_some() {
        let message = "env has one of now_micros and sleep_micros: give both or none";
        return Err(Error::invalid_argument(message));
    }
    let mut machine = Env::system();
    machine.fs = Arc::new(AppendOnlyFs::new(Arc::new(ForeignFiles::new(Arc::clone(&env)))));
    if own.start_thread.is_some() {
        machine.threads = Arc::new(ForeignThreads::new(Arc::clone(&env)));
    }
    if own.now_micros.is_some() {
        machine.clock = Arc::new(ForeignClock::new(env));
    }
    Ok(machine)
}

/// Calls a function of the program that returns a code and may give a message.
fn ask(call: impl FnOnce(*mut foldb_output_t) -> c_int) -> io::Result<()> {
    let mut message = foldb_output_t::default();
    match call(&mut message) {
        code if code == FOLDB_OK as c_int => Ok(()),
        code => Err(failure(code, &message)),
    }
}

/// Returns the error that a code and a message of the program make.
#[cold]
fn failure(code: c_int, message: &foldb_output_t) -> io::Error {
    let kinds = [
        (FOLDB_FILE_MISSING, io::ErrorKind::NotFound),
        (FOLDB_NO_SPACE, io::ErrorKind::StorageFull),
        (FOLDB_LOCKED, io::ErrorKind::WouldBlock),
        (FOLDB_UNSUPPORTED, io::ErrorKind::Unsupported),
    ];
    let kind = kinds.into_iter().find(|(own, _)| *own as c_int == code);
    let kind = kind.map_or(io::ErrorKind::Other, |(_, kind)| kind);
    match String::from_utf8_lossy(message.bytes()).into_owned() {
        empty if empty.is_empty() => {
            io::Error::new(kind, format!("the environment of the program failed with code {code}"))
        }
        text => io::Error::new(kind, text),
    }
}

/// The error for a function that the program did not give.
#[cold]
fn not_given(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("the environment has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::foldb_output_append;

    #[test]
    fn a_failure_keeps_its_code_and_message() {
        for (code, kind) in [
            (FOLDB_FILE_MISSING, io::ErrorKind::NotFound),
            (FOLDB_NO_SPACE, io::ErrorKind::StorageFull),
            (FOLDB_LOCKED, io::ErrorKind::WouldBlock),
            (FOLDB_IO, io::ErrorKind::Other),
        ] {
            let error = ask(|message| {
                // SAFETY: both live.
                unsafe { foldb_output_append(message, b"disk 7".as_ptr(), 6) };
                code as c_int
            });
            let error = error.unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (kind, "disk 7".to_owned()));
        }
        let error = ask(|_| 12345).unwrap_err();
        assert!(error.to_string().contains("12345"), "{error}");
    }
}
