//! A file written through a window of memory: appending a small record costs a copy, not a system
//! call.
//!
//! What is stored into a shared mapping is in the page cache at once, so a killed process loses
//! nothing of it, and `fdatasync` writes it like any other dirty page. Only blocks that were
//! reserved are mapped: storing then never needs space that might not be there. Everything else
//! goes through `pwrite`. The window is small and slides along, so that a long log does not stay
//! resident.
//!
//! This is the one place in the crate that is `unsafe`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::hints;
use crate::fs::WritableFile;

/// Bytes mapped at a time; a multiple of every page size in use. More would be resident in each of a
/// hundred databases' logs; less would map anew more often than the microseconds of it disappear in
/// the thousands of records between.
const WINDOW: u64 = 256 << 10;

/// Bytes that become resident at a time, as far as the figures care.
const PAGE: usize = 4096;

/// A file for appending.
#[derive(Debug)]
pub(super) struct MappedFile {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes from the start of the file whose blocks are reserved.
    reserved: u64,
    window: Option<Window>,
}

impl MappedFile {
    pub(super) fn new(file: File) -> MappedFile {
        MappedFile { file, state: Mutex::default() }
    }
}

impl WritableFile for MappedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.window.as_mut().is_some_and(|window| window.store(bytes, offset)) {
            return Ok(());
        }
        if state.slide_to(&self.file, offset)?.is_some_and(|window| window.store(bytes, offset)) {
            return Ok(());
        }
        self.file.write_all_at(bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if hints::preallocate(&self.file, len)? {
            state.reserved = state.reserved.max(len);
        }
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing may stay mapped behind the end of the file: storing there would kill the process.
        state.window = None;
        state.reserved = state.reserved.min(len);
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn memory_bytes(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.window.as_ref().map_or(0, |window| window.touched.next_multiple_of(PAGE))
    }

    fn rest(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).window = None;
    }
}

impl State {
    /// Moves the window to the reserved blocks around `offset`; `None` if there are none.
    fn slide_to(&mut self, file: &File, offset: u64) -> io::Result<Option<&mut Window>> {
        let start = offset - offset % WINDOW;
        let len = self.reserved.saturating_sub(start).min(WINDOW);
        let covered = self.window.as_ref().is_some_and(|w| w.start == start && w.len as u64 == len);
        if len == 0 || covered {
            return Ok(None);
        }
        self.window = None;
        self.window = Some(Window::map(file, start, len as usize)?);
        Ok(self.window.as_mut())
    }
}

/// A mapped stretch of a file.
#[derive(Debug)]
struct Window {
    /// Offset of the first mapped byte.
    start: u64,
    len: usize,
    /// End of what was stored: the pages up to it are resident.
    touched: usize,
    memory: NonNull<u8>,
}

// SAFETY: the mapping belongs to this value alone and is reached through `&mut self` only.
unsafe impl Send for Window {}

impl Window {
    /// Maps `len` bytes from `start`, a multiple of the page size; they must exist in the file.
    fn map(file: &File, start: u64, len: usize) -> io::Result<Window> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses the address, so nothing that exists is mapped over.
        let memory = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, file, start)? };
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Window { start, len, touched: 0, memory })
    }

    /// Stores `bytes` at `offset` of the file, if all of them lie in the window.
    fn store(&mut self, bytes: &[u8], offset: u64) -> bool {
        let Some(at) = offset.checked_sub(self.start) else { return false };
        if at + bytes.len() as u64 > self.len as u64 {
            return false;
        }
        // SAFETY: `[at, at + bytes.len())` lies inside the mapping, which is writable and lives as
        // long as `self`; no reference to mapped memory exists anywhere, and `bytes` is a Rust
        // slice, so the two do not overlap.
        unsafe {
            let target = self.memory.as_ptr().add(at as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        self.touched = self.touched.max(at as usize + bytes.len());
        true
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length and is not used any more.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "a mapping that was made can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_file() -> (tempfile::TempDir, std::path::PathBuf, MappedFile) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        (directory, path, MappedFile::new(file))
    }

    #[test]
    fn what_is_written_across_windows_is_in_the_file() {
        let (_directory, path, file) = new_file();
        file.preallocate(3 * WINDOW / 2).unwrap();
        let mut expected = Vec::new();
        let mut n = 0u32;
        while (expected.len() as u64) < 3 * WINDOW {
            let record = n.to_le_bytes().repeat(1 + n as usize % 300);
            file.write_at(&record, expected.len() as u64).unwrap();
            expected.extend_from_slice(&record);
            n += 1;
            if n == 2000 {
                file.preallocate(2 * WINDOW).unwrap();
            }
        }
        let found = std::fs::read(&path).unwrap();
        assert!(found[..expected.len()] == expected[..]);
    }

    #[test]
    fn a_file_at_rest_takes_no_memory_and_can_be_written_again() {
        let (_directory, path, file) = new_file();
        file.preallocate(WINDOW).unwrap();
        assert_eq!(file.memory_bytes(), 0);
        file.write_at(b"abc", 5000).unwrap();
        assert_eq!(file.memory_bytes(), 2 * PAGE);
        file.rest();
        assert_eq!(file.memory_bytes(), 0);
        file.write_at(b"def", 5003).unwrap();
        assert_eq!(&std::fs::read(&path).unwrap()[5000..5006], b"abcdef");
    }

    #[test]
    fn a_truncated_file_can_be_written_again() {
        let (_directory, path, file) = new_file();
        file.preallocate(WINDOW).unwrap();
        file.write_at(b"abcdef", 0).unwrap();
        file.truncate(3).unwrap();
        file.write_at(b"xyz", 3).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abcxyz");
        file.preallocate(WINDOW).unwrap();
        file.write_at(b"!", 6).unwrap();
        file.sync().unwrap();
        assert_eq!(&std::fs::read(&path).unwrap()[..7], b"abcxyz!");
    }
}
