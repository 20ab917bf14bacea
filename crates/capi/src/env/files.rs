//! The files of a program's environment, as the engine's adapter asks for them.

use std::ffi::{CString, c_int, c_void};
use std::io;
use std::path::Path;
use std::sync::Arc;

use foldb::env::{AppendOnlyFiles, AppendedFile, FileLock, ReadableFile};

use super::{ForeignEnv, ask, foldb_readable_file_t, foldb_writable_file_t, not_given};
use crate::error::foldb_code_t::FOLDB_UNSUPPORTED;
use crate::operator::foldb_output_t;

/// The files of an environment.
#[derive(Debug)]
pub(super) struct ForeignFiles(Arc<ForeignEnv>);

impl ForeignFiles {
    pub(super) fn new(env: Arc<ForeignEnv>) -> ForeignFiles {
        ForeignFiles(env)
    }

    fn state(&self) -> *mut c_void {
        self.0.own.state
    }

    fn writable(&self, file: foldb_writable_file_t) -> io::Result<Box<dyn AppendedFile>> {
        // The file closes itself if it is refused.
        let file = ForeignWritable { file, is_closed: false, _env: Arc::clone(&self.0) };
        let own = &file.file;
        if own.append.is_none() || own.flush.is_none() || own.sync.is_none() || own.close.is_none()
        {
            return Err(not_given("append, flush, sync or close of a writable file"));
        }
        Ok(Box::new(file))
    }
}

/// Returns a path for C.
fn c_path(path: &Path) -> io::Result<CString> {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    #[cfg(not(unix))]
    let bytes = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?.as_bytes();
    CString::new(bytes).map_err(|_| io::ErrorKind::InvalidFilename.into())
}

const NO_WRITABLE: foldb_writable_file_t = foldb_writable_file_t {
    state: std::ptr::null_mut(),
    append: None,
    flush: None,
    sync: None,
    close: None,
};

const NO_READABLE: foldb_readable_file_t =
    foldb_readable_file_t { state: std::ptr::null_mut(), read: None, close: None };

/// Calls a function of the environment that takes a path.
macro_rules! call {
    ($env:expr, $function:ident, $path:expr $(, $argument:expr)*) => {{
        let function = $env.0.own.$function.ok_or_else(|| not_given(stringify!($function)))?;
        let path = c_path($path)?;
        // SAFETY: the program's function keeps the rules of the header; all arguments live.
        ask(|message| unsafe { function($env.state(), path.as_ptr() $(, $argument)*, message) })
    }};
}

impl AppendOnlyFiles for ForeignFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendedFile>> {
        let mut file = NO_WRITABLE;
        call!(self, create_file, path, &raw mut file)?;
        self.writable(file)
    }

    fn append(&self, path: &Path) -> io::Result<Option<Box<dyn AppendedFile>>> {
        let Some(append_file) = self.0.own.append_file else { return Ok(None) };
        let (mut file, mut code) = (NO_WRITABLE, 0);
        let path = c_path(path)?;
        let asked = ask(|message| {
            // SAFETY: the program's function keeps the rules of the header; all arguments live.
            code = unsafe { append_file(self.state(), path.as_ptr(), &raw mut file, message) };
            code
        });
        match asked {
            Err(_) if code == FOLDB_UNSUPPORTED as c_int => Ok(None),
            asked => asked.and_then(|()| self.writable(file)).map(Some),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadableFile>> {
        let mut file = NO_READABLE;
        call!(self, open_file, path, &raw mut file)?;
        let file = ForeignReadable { file, _env: Arc::clone(&self.0) };
        if file.file.read.is_none() {
            return Err(not_given("read of a readable file"));
        }
        Ok(Box::new(file))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let exists = self.0.own.file_exists.ok_or_else(|| not_given("file_exists"))?;
        let path = c_path(path)?;
        // SAFETY: the program's function keeps the rules of the header; the path lives.
        Ok(unsafe { exists(self.state(), path.as_ptr()) })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = foldb_output_t::default();
        call!(self, list, path, &raw mut names)?;
        let names = names.bytes().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        // The engine creates only names in UTF-8. The list must show other names too.
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        call!(self, remove_file, path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        call!(self, create_dir, path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        call!(self, remove_dir, path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let mut size = 0;
        call!(self, file_size, path, &raw mut size)?;
        Ok(size)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let to = c_path(to)?;
        call!(self, rename_file, from, to.as_ptr())
    }

    fn sync_dir(&self, path: &Path) -> Option<io::Result<()>> {
        self.0.own.sync_dir?;
        let sync = || call!(self, sync_dir, path);
        Some(sync())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let mut lock = std::ptr::null_mut();
        call!(self, lock_file, path, &raw mut lock)?;
        Ok(Box::new(ForeignLock { lock, process: std::process::id(), env: Arc::clone(&self.0) }))
    }
}

#[derive(Debug)]
struct ForeignLock {
    lock: *mut c_void,
    /// The process that took it. A fork has only a copy.
    process: u32,
    env: Arc<ForeignEnv>,
}

// SAFETY: any thread may release a lock; the header demands that of the program.
unsafe impl Send for ForeignLock {}
// SAFETY: a shared reference gives no access to the lock.
unsafe impl Sync for ForeignLock {}

impl FileLock for ForeignLock {
    fn is_held(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for ForeignLock {
    fn drop(&mut self) {
        if let (true, Some(unlock)) = (self.is_held(), self.env.own.unlock_file) {
            // SAFETY: the lock is held, and released once.
            unsafe { unlock(self.env.own.state, self.lock) };
        }
    }
}

struct ForeignWritable {
    file: foldb_writable_file_t,
    is_closed: bool,
    /// The environment outlives its files.
    _env: Arc<ForeignEnv>,
}

// SAFETY: any thread may call the functions, one at a time; the header demands that of the program.
unsafe impl Send for ForeignWritable {}

impl std::fmt::Debug for ForeignWritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ForeignWritable({:?})", self.file.state)
    }
}

impl AppendedFile for ForeignWritable {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let append = self.file.append.ok_or_else(|| not_given("append"))?;
        // SAFETY: the program's function keeps the rules of the header; the file is open.
        ask(|message| unsafe { append(self.file.state, bytes.as_ptr(), bytes.len(), message) })
    }

    fn flush(&mut self) -> io::Result<()> {
        let flush = self.file.flush.ok_or_else(|| not_given("flush"))?;
        // SAFETY: as above.
        ask(|message| unsafe { flush(self.file.state, message) })
    }

    fn sync(&mut self) -> io::Result<()> {
        let sync = self.file.sync.ok_or_else(|| not_given("sync"))?;
        // SAFETY: as above.
        ask(|message| unsafe { sync(self.file.state, message) })
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.is_closed = true;
        let close = self.file.close.ok_or_else(|| not_given("close"))?;
        // SAFETY: as above. No function is called after this.
        ask(|message| unsafe { close(self.file.state, message) })
    }
}

impl Drop for ForeignWritable {
    fn drop(&mut self) {
        if let (false, Some(close)) = (self.is_closed, self.file.close) {
            // SAFETY: the file is open, and no function is called after this.
            let _unreported = ask(|message| unsafe { close(self.file.state, message) });
        }
    }
}

struct ForeignReadable {
    file: foldb_readable_file_t,
    /// The environment outlives its files.
    _env: Arc<ForeignEnv>,
}

// SAFETY: any thread may call `read`, several at the same time, and any thread may close the file;
// the header demands that of the program.
unsafe impl Send for ForeignReadable {}
// SAFETY: as above.
unsafe impl Sync for ForeignReadable {}

impl std::fmt::Debug for ForeignReadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ForeignReadable({:?})", self.file.state)
    }
}

impl ReadableFile for ForeignReadable {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read.ok_or_else(|| not_given("read"))?;
        let mut count = 0;
        // SAFETY: the program's function keeps the rules of the header; the file is open, and the
        // buffer has its length.
        ask(|message| unsafe {
            let (buffer, len) = (buf.as_mut_ptr(), buf.len());
            read(self.file.state, offset, buffer, len, &raw mut count, message)
        })?;
        Ok(count)
    }
}

impl Drop for ForeignReadable {
    fn drop(&mut self) {
        if let Some(close) = self.file.close {
            // SAFETY: the file is open, and no function is called after this.
            unsafe { close(self.file.state) };
        }
    }
}
