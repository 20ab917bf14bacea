//! A mapped part of a file: the only module that stores to mapped memory.
//!
//! Invariant: a window lies in blocks that the file has, so a store needs no disk space, and the
//! file is never cut while it has a window. Then a store cannot reach beyond the end of the file.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::faults::mappings_fail;

/// Bytes that become resident at a time, for the memory figures.
pub(super) const PAGE: usize = 4096;

/// Bytes after a new page that a store makes dirty where stores are synced one by one. Then one
/// block in nine costs a commit of the journal. An idle log uses this much more memory.
pub(super) const DIRTIED_AHEAD: usize = 32 << 10;

/// A mapped part of a file, to be stored to.
#[derive(Debug)]
pub(super) struct Window {
    /// Offset of the first mapped byte.
    pub(super) start: u64,
    /// End of the pages that were stored to: they are resident.
    pub(super) touched: usize,
    /// Whether the helper brought all pages in, which makes them dirty.
    pub(super) is_ready: bool,
    /// The mapped memory; only this window stores to it.
    pub(super) memory: Arc<Mapping>,
}

/// The memory of a window.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) len: usize,
    base: NonNull<u8>,
}

// SAFETY: the mapping belongs to this value alone. Its bytes are reached through `Window::store`
// only, by the window's one owner.
unsafe impl Send for Mapping {}
// SAFETY: as above; `bring_in`, which other threads may call, touches no byte.
unsafe impl Sync for Mapping {}

impl Window {
    /// Maps `len` bytes from `start`, a multiple of the page size; they must exist in the file.
    pub(super) fn map(file: &File, start: u64, len: usize) -> io::Result<Window> {
        if mappings_fail() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses the address, so nothing that exists is mapped over.
        let memory = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, file, start)? };
        let base = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Window { start, touched: 0, is_ready: false, memory: Arc::new(Mapping { len, base }) })
    }

    /// Stores `bytes` at `offset` of the file, if all of them lie in the window.
    #[inline]
    pub(super) fn store(&mut self, bytes: &[u8], offset: u64, synced: &AtomicBool) -> bool {
        let Some(at) = offset.checked_sub(self.start) else { return false };
        if at + bytes.len() as u64 > self.memory.len as u64 {
            return false;
        }
        // SAFETY: `[at, at + bytes.len())` lies inside the mapping, which is writable and lives as
        // long as `self`. No reference to mapped memory exists anywhere, and no other thread stores
        // to it. `bytes` is a Rust slice, so the two do not overlap.
        unsafe {
            let target = self.memory.base.as_ptr().add(at as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        let end = at as usize + bytes.len();
        if end > self.touched {
            self.enter_page(end, synced);
        }
        true
    }

    /// Notes that the file was written up to `end`: a store makes only pages after `end` dirty
    /// ahead.
    pub(super) fn note_written(&mut self, end: u64) {
        let inside = end.saturating_sub(self.start).min(self.memory.len as u64) as usize;
        self.touched = self.touched.max(inside.next_multiple_of(PAGE).min(self.memory.len));
    }

    /// Notes that a store which ends at `end` reached a new page. Nothing was written after `end`.
    #[cold]
    fn enter_page(&mut self, end: usize, synced: &AtomicBool) {
        self.touched = end.next_multiple_of(PAGE).min(self.memory.len);
        // Relaxed: a hint, as said where it lies. A sync that it misses costs one commit of the
        // journal.
        if !synced.swap(false, Ordering::Relaxed) || self.is_ready {
            return;
        }
        let ahead = (self.touched + DIRTIED_AHEAD).min(self.memory.len);
        for page in (self.touched..ahead).step_by(PAGE) {
            // SAFETY: inside the mapping, as in `store`. The write is volatile, because it changes
            // nothing that the program could see: the byte is zero.
            unsafe { self.memory.base.as_ptr().add(page).write_volatile(0) };
        }
        self.touched = ahead;
    }
}

impl Mapping {
    /// Makes the kernel bring all pages in, ready to be stored to. Changes no byte.
    #[cfg(target_os = "linux")]
    pub(super) fn bring_in(&self) {
        /// Short enough that no writer waits long for the lock on the process' mappings.
        const STEP: usize = 64 << 10;
        for at in (0..self.len).step_by(STEP) {
            let len = STEP.min(self.len - at);
            let advice = rustix::mm::Advice::LinuxPopulateWrite;
            // SAFETY: inside the mapping; populating pages changes nothing that can be observed. A
            // kernel without this advice refuses, and the pages come in as they are stored to.
            let brought =
                unsafe { rustix::mm::madvise(self.base.as_ptr().add(at).cast(), len, advice) };
            if brought.is_err() {
                return;
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn bring_in(&self) {}
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length and is not used any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "a mapping that was made can be unmapped");
    }
}
