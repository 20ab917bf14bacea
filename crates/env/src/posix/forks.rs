//! What a forked child must not inherit: the word that marks its parent, and the parent's locks.
//!
//! The word lies in a page that the kernel fills with zeros in the child (`MADV_WIPEONFORK`, Linux
//! 4.14). Where the kernel cannot, the word lies in ordinary memory, and a function that runs in
//! each child sets it to zero. The C library calls that function in `fork`, but not in a bare
//! `clone`.
//!
//! The same function closes the child's copies of locked descriptors. A lock by `flock` ends with
//! the last copy of its descriptor. Without this, a killed program could not open its database
//! again while a child of it lives.
//!
//! A child of a process with several threads may do little before `exec`. So the function takes no
//! lock and allocates nothing.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use crate::faults::{Fault, planted};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The word where the kernel wipes no page.
static ORDINARY: AtomicU64 = AtomicU64::new(0);

/// Returns the word that a fork sets to zero in the child.
pub(crate) fn word_of_process() -> &'static AtomicU64 {
    static WORD: OnceLock<&'static AtomicU64> = OnceLock::new();
    WORD.get_or_init(|| {
        watch_forks();
        wiped_word().unwrap_or(&ORDINARY)
    })
}

/// Maps a page that the kernel wipes in a forked child; `None` if it cannot.
#[cfg(all(target_os = "linux", not(miri)))]
fn wiped_word() -> Option<&'static AtomicU64> {
    let len = size_of::<AtomicU64>();
    // SAFETY: the kernel chooses the place of a new mapping of this process alone.
    let page = unsafe {
        mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    let page = page.ok()?;
    // SAFETY: the page was just mapped, and no reference to it exists.
    match unsafe { madvise(page, len, Advice::LinuxWipeOnFork) } {
        // SAFETY: the page is zero, aligned, and stays mapped until the process ends. It is only
        // used through this atomic.
        Ok(()) => Some(unsafe { &*page.cast::<AtomicU64>() }),
        Err(_) => {
            // SAFETY: nothing refers to the page.
            let _unused = unsafe { munmap(page, len) };
            None
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn wiped_word() -> Option<&'static AtomicU64> {
    None
}

/// Has [`in_child`] called in each forked child.
fn watch_forks() {
    static WATCHED: OnceLock<()> = OnceLock::new();
    WATCHED.get_or_init(|| {
        #[cfg(not(miri))]
        // SAFETY: the function does nothing that is forbidden in a child, and it lives as long as
        // this library. Without memory for the entry, the kernel's page remains.
        let _without_memory = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

extern "C" fn in_child() {
    ORDINARY.store(0, Ordering::Relaxed);
    if planted(Fault::LockOutlivesFork) {
        return;
    }
    let mut next = FIRST.load(Ordering::Acquire);
    // SAFETY: entries are never freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        let descriptor = entry.descriptor.swap(NONE, Ordering::Relaxed);
        if descriptor != NONE {
            // SAFETY: the entry owned the descriptor, and gave it up.
            unsafe { libc::close(descriptor) };
        }
        next = entry.next.load(Ordering::Relaxed);
    }
}

/// The descriptor of an entry that is free.
const NONE: i32 = -1;

/// The list of descriptors. Entries are never freed, but used again.
static FIRST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

#[derive(Debug)]
struct Entry {
    descriptor: AtomicI32,
    /// Set before the entry gets into the list.
    next: AtomicPtr<Entry>,
}

impl Entry {
    /// Returns an entry for this descriptor.
    fn of(descriptor: i32) -> &'static Entry {
        watch_forks();
        let mut next = FIRST.load(Ordering::Acquire);
        // SAFETY: entries are never freed.
        while let Some(entry) = unsafe { next.as_ref() } {
            let free = &entry.descriptor;
            let taken =
                free.compare_exchange(NONE, descriptor, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
                return entry;
            }
            next = entry.next.load(Ordering::Relaxed);
        }
        let (descriptor, next) = (AtomicI32::new(descriptor), AtomicPtr::default());
        let entry: &'static Entry = Box::leak(Box::new(Entry { descriptor, next }));
        let mut first = FIRST.load(Ordering::Acquire);
        loop {
            entry.next.store(first, Ordering::Relaxed);
            let own = ptr::from_ref(entry).cast_mut();
            match FIRST.compare_exchange(first, own, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return entry,
                Err(found) => first = found,
            }
        }
    }
}

/// A file whose descriptor a forked child closes.
#[derive(Debug)]
pub(super) struct OwnFile {
    file: ManuallyDrop<File>,
    entry: &'static Entry,
}

impl OwnFile {
    pub(super) fn new(file: File) -> OwnFile {
        let entry = Entry::of(file.as_raw_fd());
        OwnFile { file: ManuallyDrop::new(file), entry }
    }

    /// Returns the file. In a child it is closed, and may not be used.
    pub(super) fn get(&self) -> &File {
        &self.file
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // In a child another file may have the number by now.
        if self.entry.descriptor.swap(NONE, Ordering::Relaxed) != NONE {
            // SAFETY: this is the only drop of the file, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}
