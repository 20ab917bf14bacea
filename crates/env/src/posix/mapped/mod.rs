//! A file written through a window of mapped memory: appending a small record costs a copy, not a
//! system call.
//!
//! A store into a shared mapping is in the page cache at once. So a killed process loses no stored
//! byte, and `fdatasync` writes the page like any other dirty page. Only reserved blocks are
//! mapped, and only on file systems that keep them: then a store never needs free disk space.
//! Everything else goes through `pwrite`, also where mapping fails.
//!
//! The window is small and slides along, so that a long log does not stay resident. While it
//! slides, a helper thread makes the next one ready. The helper reserves the blocks, maps them and
//! brings their pages into memory before they are needed. The first store to a page costs as much
//! as ten thousand others, and sometimes waits for the file system's journal.
//!
//! ```text
//! stored ████████████████ window ████░░░░ │ next, brought in │ reserved, not mapped      │
//! ```
//!
//! If a block was reserved and never written, the sync of its first bytes commits the file system's
//! journal. So where stores are synced one by one, the store that enters a new page also makes the
//! next few pages dirty, with the zeros that they hold. The next sync writes all these pages. Later
//! syncs find blocks that were already written once, and commit no journal.
//!
//! A store cannot return an error. The kernel may have to read back a page that it evicted, and the
//! disk may fail; or another program may truncate the file. Then the store raises SIGBUS, which
//! ends the process: like a kill, this loses nothing that was synced. A failed write-back of a page
//! raises no signal: the next sync returns the error.
//!
//! Only [`window`] and `forks` have `unsafe` blocks in this crate.

mod helper;
#[cfg(test)]
mod tests;
#[allow(unsafe_code)]
mod window;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::window::{PAGE, Window};
use super::{flush, has_name, hints};
use crate::faults::{Fault, mappings_fail, planted};
use crate::fs::WritableFile;

/// Bytes mapped at a time; a multiple of every page size in use. A larger window would take more
/// memory: each open log has one, and a process may have a hundred logs. A smaller window would be
/// replaced more often, and each mapping takes microseconds.
const WINDOW: u64 = 256 << 10;

/// Bytes of blocks reserved after the mapped part, once a file grows fast: as many as the file has,
/// within these bounds.
const RESERVED_AHEAD: std::ops::RangeInclusive<u64> = WINDOW..=(16 << 20);

/// The share of the disk's free space that may be reserved ahead, as a divisor.
const SHARE_OF_FREE_SPACE: u64 = 32;

/// A file for appending.
#[derive(Debug)]
pub(super) struct MappedFile(Arc<Shared>);

/// The state that the file and its [`helper`] share.
#[derive(Debug)]
struct Shared {
    file: File,
    state: Mutex<State>,
    /// Whether a sync came since a store last entered a new page. All accesses are `Relaxed`: it
    /// decides whether pages are made dirty ahead, which changes no byte.
    synced: AtomicBool,
    /// Held by a thread that changes the length of the file, or reserves blocks. Taken before the
    /// state.
    resizing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes from the start of the file whose blocks are reserved.
    reserved: u64,
    window: Option<Window>,
    /// The window after this one, made ready by the helper.
    next: Option<Window>,
    /// End of the bytes written by system calls.
    written: u64,
    /// End of the pages that were stored to, through windows that are gone.
    stored: u64,
    /// Offset of the window that could not be mapped last. It is not tried again.
    unmappable: Option<u64>,
    /// Incremented when windows become invalid, the helper's next one included.
    epoch: u64,
}

impl MappedFile {
    pub(super) fn new(file: File) -> MappedFile {
        let (state, resizing) = (Mutex::default(), Mutex::default());
        let synced = AtomicBool::new(false);
        MappedFile(Arc::new(Shared { file, state, synced, resizing }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_length(&self) -> MutexGuard<'_, ()> {
        self.resizing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves blocks up to `len`. The caller holds the lock on the length of the file.
    fn reserve(&self, len: u64) -> io::Result<()> {
        if self.lock().reserved >= len {
            return Ok(());
        }
        let is_reserved = hints::preallocate(&self.file, len);
        let mut state = self.lock();
        match is_reserved {
            Ok(true) => state.reserved = state.reserved.max(len),
            Ok(false) => {}
            Err(error) => {
                // Some file systems keep the part that they could reserve. No window lies after
                // the cut.
                self.file.set_len(state.reserved.max(state.written))?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes the window from `start` ready, unless windows became invalid since `epoch`. Runs on
    /// the helper's thread. If this fails, a writer tries again and reports the error.
    fn prepare(&self, start: u64, epoch: u64) {
        let end = start + WINDOW;
        let length = self.lock_length();
        let state = self.lock();
        if state.epoch != epoch {
            return;
        }
        let reserved = state.reserved;
        drop(state);
        if reserved < end + WINDOW {
            let (least, most) = RESERVED_AHEAD.into_inner();
            let free = hints::free_space(&self.file).unwrap_or(u64::MAX);
            let ahead = reserved.clamp(least, most).min(free / SHARE_OF_FREE_SPACE);
            let _tried_again = self.reserve(end.max(reserved + ahead));
        }
        let is_reserved = self.lock().reserved >= end;
        drop(length);
        if !is_reserved {
            return;
        }
        let Ok(mut window) = Window::map(&self.file, start, WINDOW as usize) else { return };
        window.is_ready = true;
        let memory = Arc::clone(&window.memory);
        let mut state = self.lock();
        if state.epoch != epoch {
            return;
        }
        // The writer may take the window already: the pages then come in ahead of its writes.
        assert!(
            end <= state.reserved,
            "a mapping lies in reserved blocks, so no store needs space"
        );
        state.next = Some(window);
        drop(state);
        memory.bring_in();
    }
}

impl WritableFile for MappedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let shared = &self.0;
        let mut state = shared.lock();
        let store = |window: &mut Window| window.store(bytes, offset, &shared.synced);
        if state.window.as_mut().is_some_and(store) {
            return Ok(());
        }
        if state.slide_to(shared, offset).is_some_and(store) {
            return Ok(());
        }
        if state.window.is_none() && planted(Fault::MapOrFail) && mappings_fail() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let end = offset + bytes.len() as u64;
        state.written = state.written.max(end);
        if let Some(window) = &mut state.window {
            window.note_written(end);
        }
        shared.file.write_all_at(bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        if self.0.lock().reserved >= len {
            return Ok(());
        }
        let _length = self.0.lock_length();
        self.0.reserve(len)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let _length = self.0.lock_length();
        let mut state = self.0.lock();
        // Nothing may stay mapped after the end of the file: a store there would kill the process.
        state.forget_windows();
        state.reserved = state.reserved.min(len);
        state.written = state.written.min(len);
        state.stored = state.stored.min(len);
        self.0.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.synced.store(true, Ordering::Relaxed);
        flush::sync_data(&self.0.file)
    }

    fn free_space(&self) -> Option<u64> {
        hints::free_space(&self.0.file)
    }

    fn is_mapped(&self) -> bool {
        self.0.lock().unmappable.is_none()
    }

    fn has_name(&self) -> bool {
        has_name(&self.0.file)
    }

    fn memory_bytes(&self) -> usize {
        let state = self.0.lock();
        let ready = state.next.as_ref().map_or(0, |window| window.memory.len);
        ready + state.window.as_ref().map_or(0, |window| window.touched.next_multiple_of(PAGE))
    }

    fn rest(&self) {
        let windows = self.0.lock().forget_windows();
        helper::drop_later(windows.into_iter().flatten());
    }
}

impl State {
    fn forget_windows(&mut self) -> [Option<Window>; 2] {
        self.epoch += 1;
        let window = self.window.take();
        let end = window.as_ref().map_or(0, |window| window.start + window.touched as u64);
        self.stored = self.stored.max(end);
        [window, self.next.take()]
    }

    /// Moves the window to the reserved blocks around `offset`. Returns `None` if there are none,
    /// or if they cannot be mapped. From the second window on, it requests the next window ahead. A
    /// file that never fills its first window needs no second.
    fn slide_to(&mut self, shared: &Arc<Shared>, offset: u64) -> Option<&mut Window> {
        let start = offset - offset % WINDOW;
        let len = self.reserved.saturating_sub(start).min(WINDOW);
        let covers = |w: &Window| w.start == start && w.memory.len as u64 == len;
        let is_useless = len == 0 || self.unmappable == Some(start);
        if is_useless || self.window.as_ref().is_some_and(covers) {
            return None;
        }
        let [window, next] = self.forget_windows();
        let advances = window.as_ref().is_some_and(|window| window.start < start);
        let (ready, useless) = match next {
            Some(next) if covers(&next) => (Some(next), None),
            next => (None, next),
        };
        helper::drop_later([window, useless].into_iter().flatten());
        // If mapping fails, for a limit or for the file system, the caller writes by system calls.
        self.window = ready.or_else(|| Window::map(&shared.file, start, len as usize).ok());
        assert!(
            self.window.as_ref().is_none_or(|w| w.start + w.memory.len as u64 <= self.reserved),
            "a mapping lies in reserved blocks, so no store needs space"
        );
        self.unmappable = self.window.is_none().then_some(start);
        let written = self.written.max(self.stored);
        if let Some(window) = &mut self.window {
            window.note_written(written);
        }
        if advances && len == WINDOW {
            helper::prepare(shared, start + WINDOW, self.epoch);
        }
        self.window.as_mut()
    }
}
