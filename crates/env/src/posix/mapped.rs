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
//! This module and `forks` are the only ones in the crate with `unsafe`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{has_name, hints};
use crate::faults::{Fault, mappings_fail, planted};
use crate::fs::WritableFile;

/// Bytes mapped at a time; a multiple of every page size in use. A larger window would take more
/// memory: each open log has one, and a process may have a hundred logs. A smaller window would be
/// replaced more often, and each mapping takes microseconds.
const WINDOW: u64 = 256 << 10;

/// Bytes that become resident at a time, for the memory figures.
const PAGE: usize = 4096;

/// Bytes after a new page that a store makes dirty where stores are synced one by one. Then one
/// block in nine costs a commit of the journal. An idle log uses this much more memory.
const DIRTIED_AHEAD: usize = 32 << 10;

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
    /// Whether a sync came since a store last entered a new page.
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
        self.0.file.sync_data()
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

/// A thread that maps and unmaps, reserves blocks and brings pages in. Each of these may take the
/// file system milliseconds, and appends do not wait for it. The thread exists while there is work.
/// If no thread can be started, windows are mapped when they are needed.
///
/// It works for all files of the process, so one slow disk may hold it up. Its queue is bounded. If
/// [`MOST_WAITING`] tasks wait, a thread that leaves a window unmaps the window itself, and no
/// window is made ready.
mod helper {
    use std::collections::VecDeque;
    use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
    use std::time::Duration;

    use super::super::forks::OfProcess;
    use super::{Shared, Window};

    /// How long it waits for more tasks.
    const PATIENCE: Duration = Duration::from_millis(500);

    /// Tasks that may wait. A process may have some 65 000 mappings in all.
    const MOST_WAITING: usize = 64;

    enum Task {
        Prepare(Weak<Shared>, u64, u64),
        Drop(Window),
    }

    #[derive(Default)]
    struct Tasks {
        waiting: VecDeque<Task>,
        is_running: bool,
    }

    #[derive(Default)]
    struct Helper {
        tasks: Mutex<Tasks>,
        more: Condvar,
    }

    /// A forked child has no helper thread, so it starts its own.
    static HELPER: OfProcess<Helper> = OfProcess::new(|_| Helper::default());

    fn lock() -> MutexGuard<'static, Tasks> {
        HELPER.get().tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that the window of a file from `start` is made ready.
    pub(super) fn prepare(shared: &Arc<Shared>, start: u64, epoch: u64) {
        give(Task::Prepare(Arc::downgrade(shared), start, epoch));
    }

    /// Unmaps windows, later.
    pub(super) fn drop_later(windows: impl Iterator<Item = Window>) {
        windows.for_each(|window| give(Task::Drop(window)));
    }

    fn give(task: Task) {
        let mut tasks = lock();
        if tasks.waiting.len() >= MOST_WAITING {
            drop(tasks);
            // Dropped here: the drop unmaps a window.
            return drop(task);
        }
        tasks.waiting.push_back(task);
        if !tasks.is_running {
            let started = crate::threads::start("foldb-log", run);
            tasks.is_running = started.is_ok();
        }
        let left =
            if tasks.is_running { VecDeque::new() } else { std::mem::take(&mut tasks.waiting) };
        drop(tasks);
        HELPER.get().more.notify_one();
        drop(left);
    }

    fn run() {
        let mut tasks = lock();
        loop {
            while let Some(task) = tasks.waiting.pop_front() {
                drop(tasks);
                match task {
                    Task::Drop(window) => drop(window),
                    Task::Prepare(shared, start, epoch) => {
                        if let Some(shared) = shared.upgrade() {
                            shared.prepare(start, epoch);
                        }
                    }
                }
                tasks = lock();
            }
            let waited = HELPER.get().more.wait_timeout(tasks, PATIENCE);
            let (locked, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            tasks = locked;
            if waited.timed_out() && tasks.waiting.is_empty() {
                tasks.is_running = false;
                return;
            }
        }
    }
}

/// A mapped part of a file, to be stored to.
#[derive(Debug)]
struct Window {
    /// Offset of the first mapped byte.
    start: u64,
    /// End of the pages that were stored to: they are resident.
    touched: usize,
    /// Whether the helper brought all pages in, which makes them dirty.
    is_ready: bool,
    /// The mapped memory; only this window stores to it.
    memory: Arc<Mapping>,
}

/// The memory of a window.
#[derive(Debug)]
struct Mapping {
    len: usize,
    base: NonNull<u8>,
}

// SAFETY: the mapping belongs to this value alone. Its bytes are reached through `Window::store`
// only, by the window's one owner.
unsafe impl Send for Mapping {}
// SAFETY: as above; `bring_in`, which other threads may call, touches no byte.
unsafe impl Sync for Mapping {}

impl Window {
    /// Maps `len` bytes from `start`, a multiple of the page size; they must exist in the file.
    fn map(file: &File, start: u64, len: usize) -> io::Result<Window> {
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
    fn store(&mut self, bytes: &[u8], offset: u64, synced: &AtomicBool) -> bool {
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
    fn note_written(&mut self, end: u64) {
        let inside = end.saturating_sub(self.start).min(self.memory.len as u64) as usize;
        self.touched = self.touched.max(inside.next_multiple_of(PAGE).min(self.memory.len));
    }

    /// Notes that a store which ends at `end` reached a new page. Nothing was written after `end`.
    #[cold]
    fn enter_page(&mut self, end: usize, synced: &AtomicBool) {
        self.touched = end.next_multiple_of(PAGE).min(self.memory.len);
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
    fn bring_in(&self) {
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
    fn bring_in(&self) {}
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length and is not used any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "a mapping that was made can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The helper works for all files, so tests that need it, or hold it up, run one by one.
    static HELPER: Mutex<()> = Mutex::new(());

    fn own_helper() -> MutexGuard<'static, ()> {
        HELPER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_file() -> (tempfile::TempDir, std::path::PathBuf, MappedFile) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        (directory, path, MappedFile::new(file))
    }

    /// The handle may not be read, so the kernel refuses to map it, as some file systems refuse
    /// every file.
    #[test]
    fn where_nothing_can_be_mapped_it_is_written_by_calls() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = File::options().write(true).create_new(true).open(&path).unwrap();
        let file = MappedFile::new(file);
        file.preallocate(2 * WINDOW).unwrap();
        for (bytes, at) in [(b"abc", 0), (b"def", 3), (b"ghi", WINDOW)] {
            file.write_at(bytes, at).unwrap();
        }
        assert!(!file.is_mapped());
        let found = std::fs::read(&path).unwrap();
        assert_eq!((&found[..6], &found[WINDOW as usize..][..3]), (&b"abcdef"[..], &b"ghi"[..]));
    }

    /// A file whose disk does not answer blocks the helper, and must not fail other files. A
    /// process has a limited number of mappings, so old windows must not pile up in its queue.
    #[test]
    fn a_helper_that_is_held_up_keeps_few_windows_of_other_files() {
        let _own = own_helper();
        let (_directory, _path, stuck) = new_file();
        stuck.preallocate(4 * WINDOW).unwrap();
        stuck.write_at(b"a", 0).unwrap();
        let held = stuck.0.lock_length();
        stuck.write_at(b"b", WINDOW).unwrap();
        let (_directory, path, healthy) = new_file();
        let windows = 300;
        healthy.preallocate(windows * WINDOW).unwrap();
        for n in 0..windows {
            healthy.write_at(b"x", n * WINDOW).unwrap();
        }
        assert!(healthy.is_mapped());
        let name = path.to_str().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mapped = maps.lines().filter(|line| line.contains(name)).count();
        drop(held);
        // Later tests find the helper free again.
        let (_directory, _path, file) = new_file();
        for n in 0.. {
            file.preallocate((n + 1) * WINDOW).unwrap();
            file.write_at(b"x", n * WINDOW).unwrap();
            crate::clock::nap(std::time::Duration::from_millis(1));
            if file.0.lock().next.is_some() {
                break;
            }
        }
        assert!(mapped < 100, "{mapped} of {windows} windows are still mapped");
    }

    #[test]
    fn what_was_written_by_calls_survives_a_reservation_that_fails() {
        let (_directory, path, file) = new_file();
        file.preallocate(WINDOW).unwrap();
        file.write_at(b"mapped", 0).unwrap();
        file.write_at(b"by a call", WINDOW).unwrap();
        // More than any disk has.
        file.preallocate(1 << 60).unwrap_err();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), WINDOW + 9);
        file.write_at(b" again", 6).unwrap();
        assert_eq!(&std::fs::read(&path).unwrap()[..12], b"mapped again");
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

    /// Waits until the helper has made a window ready.
    fn wait_for_next(file: &MappedFile) {
        while file.0.lock().next.is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_window_is_made_ready_before_it_is_needed() {
        let _own = own_helper();
        let (_directory, path, file) = new_file();
        file.preallocate(2 * WINDOW).unwrap();
        file.write_at(b"first", 0).unwrap();
        assert!(file.0.lock().next.is_none(), "a file that never slides needs no second window");
        file.write_at(b"second", WINDOW).unwrap();
        wait_for_next(&file);
        let state = file.0.lock();
        let next = state.next.as_ref().unwrap();
        assert_eq!((next.start, state.reserved >= 3 * WINDOW), (2 * WINDOW, true));
        drop(state);
        file.write_at(b"third", 2 * WINDOW).unwrap();
        wait_for_next(&file);
        let found = std::fs::read(&path).unwrap();
        for (bytes, at) in [(b"first".as_slice(), 0), (b"second", WINDOW), (b"third", 2 * WINDOW)] {
            let at = at as usize;
            assert_eq!(&found[at..at + bytes.len()], bytes);
        }
        let written: usize = found.iter().filter(|byte| **byte != 0).count();
        assert_eq!(written, 16, "what is made ready stays zero");
    }

    /// A file may be cut at any moment of the helper's work: then nothing stays mapped after the
    /// end of the file, and the file does not grow again.
    #[test]
    fn what_was_made_ready_is_worth_nothing_after_a_cut() {
        let _own = own_helper();
        for round in 0..50 {
            let (_directory, path, file) = new_file();
            file.preallocate(2 * WINDOW).unwrap();
            file.write_at(b"first", 0).unwrap();
            file.write_at(b"second", WINDOW).unwrap();
            if round % 2 == 0 {
                wait_for_next(&file);
            }
            file.truncate(WINDOW + 6).unwrap();
            assert_eq!(file.memory_bytes(), 0);
            file.write_at(b"third", 2 * WINDOW).unwrap();
            drop(file.0.lock_length());
            let found = std::fs::read(&path).unwrap();
            assert_eq!(found.len() as u64, 2 * WINDOW + 5);
            assert_eq!(&found[2 * WINDOW as usize..], b"third");
        }
    }

    fn dirty_pages(file: &MappedFile) -> usize {
        file.memory_bytes() / PAGE
    }

    /// Each sync of a block that was reserved only commits the file system's journal: where stores
    /// are synced one by one, a store makes the next blocks dirty too.
    #[test]
    fn stores_that_are_synced_one_by_one_make_pages_dirty_ahead() {
        let (_directory, path, file) = new_file();
        file.preallocate(WINDOW).unwrap();
        let record = [7; 1000];
        for n in 0..5 {
            file.write_at(&record, n * 1000).unwrap();
        }
        assert_eq!(dirty_pages(&file), 2, "nothing was synced");
        file.sync().unwrap();
        file.write_at(&record, 5000).unwrap();
        assert_eq!(dirty_pages(&file), 2, "no new page was entered");
        for n in 6..30 {
            file.write_at(&record, n * 1000).unwrap();
            file.sync().unwrap();
        }
        assert_eq!(dirty_pages(&file), 3 + DIRTIED_AHEAD / PAGE);
        file.sync().unwrap();
        for n in 30..200 {
            file.write_at(&record, n * 1000).unwrap();
        }
        // A sync came before the store that entered the first page, and none before the others.
        assert_eq!(dirty_pages(&file), 49.max(11 + 1 + DIRTIED_AHEAD / PAGE));
        let found = std::fs::read(&path).unwrap();
        assert!(found[..200_000].iter().all(|&byte| byte == 7));
        assert!(found[200_000..].iter().all(|&byte| byte == 0), "what is dirty ahead stays zero");
    }

    /// Whatever the order of writes, and however often the file rests, no byte that was written is
    /// lost.
    #[test]
    fn pages_are_made_dirty_only_where_nothing_was_written() {
        let _own = own_helper();
        // What spans two windows is written by a call, with the first of them mapped.
        let (_directory, path, file) = new_file();
        file.preallocate(2 * WINDOW).unwrap();
        file.write_at(b"first", 0).unwrap();
        file.write_at(&[9; 10_000], WINDOW - 8_000).unwrap();
        file.sync().unwrap();
        file.write_at(b"later", WINDOW - 20_000).unwrap();
        let found = std::fs::read(&path).unwrap();
        assert!(found[WINDOW as usize - 8_000..][..10_000].iter().all(|&byte| byte == 9));

        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20 {
            let (_directory, path, file) = new_file();
            file.preallocate(3 * WINDOW).unwrap();
            let mut expected = vec![0; 3 * WINDOW as usize];
            for n in 0..60 {
                let near = WINDOW as usize * random.usize(1..3) - random.usize(1..40_000);
                let anywhere = random.usize(..expected.len() - 9000);
                let at = if random.bool() { near } else { anywhere };
                let bytes = vec![n + 1; random.usize(1..9000)];
                file.write_at(&bytes, at as u64).unwrap();
                expected[at..at + bytes.len()].copy_from_slice(&bytes);
                match random.u8(..6) {
                    0 => file.rest(),
                    1 | 2 => file.sync().unwrap(),
                    _ => {}
                }
            }
            assert!(std::fs::read(&path).unwrap()[..expected.len()] == expected[..]);
        }
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
