//! What a forked child must not inherit: the word that marks its parent, the parent's locks of
//! files, and locks of memory that the parent's threads hold.
//!
//! The word lies in a page that the kernel fills with zeros in the child (`MADV_WIPEONFORK`, Linux
//! 4.14). Where the kernel cannot, the word lies in ordinary memory. A function that runs in each
//! child sets it to zero too, because qemu's emulation of a processor promises the zeros and does
//! not keep that promise. The C library calls the function in `fork`, but not in a bare `clone`.
//!
//! The same function closes the child's copies of locked descriptors. A lock by `flock` ends with
//! the last copy of its descriptor. Without this, a killed program could not open its database
//! again while a child of it lives.
//!
//! A fork may come between the open of a file and the entry of its descriptor in the list below.
//! The child would keep that copy. So two more functions count the forks that begin and end, and a
//! lock counts only if no fork came in between ([`Forks`]).
//!
//! A child of a process with several threads may do little before `exec`. So the functions take no
//! lock and allocate nothing. A child may open a database of its own, though. A lock of memory that
//! it needs for this may be held by a thread that the child does not have, so it gets a new one
//! ([`OfProcess`]).

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};

use crate::faults::{Fault, planted};
use crate::process::Process;

/// The word where the kernel wipes no page.
static ORDINARY: AtomicU64 = AtomicU64::new(0);

/// The word of this process, once it is chosen. Not a `OnceLock`: a child would wait for a thread
/// of its parent that was at the first call.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Returns the word that a fork sets to zero in the child.
pub(crate) fn word_of_process() -> &'static AtomicU64 {
    // Acquire: pairs with the exchange below, so the page behind the pointer is mapped here.
    // SAFETY: the word, if there is one, lives until the process ends.
    if let Some(word) = unsafe { WORD.load(Ordering::Acquire).as_ref() } {
        return word;
    }
    watch_forks();
    let word = wiped_word().unwrap_or(&ORDINARY);
    let own = ptr::from_ref(word).cast_mut();
    match WORD.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => word,
        // This thread's page stays, unused.
        // SAFETY: the other thread's word lives until the process ends.
        Err(other) => unsafe { &*other },
    }
}

/// Maps a page that the kernel wipes in a forked child; `None` if it cannot.
#[cfg(all(target_os = "linux", not(miri)))]
fn wiped_word() -> Option<&'static AtomicU64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
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

/// Has the functions below called at each fork.
fn watch_forks() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Two threads may both come here first. Then each function is called twice, and does no harm.
    // Acquire: pairs with the Release below, so a thread that finds the mark is watched.
    if !WATCHED.load(Ordering::Acquire) {
        // Miri knows no forks.
        if cfg!(not(miri)) {
            // SAFETY: the functions do nothing that is forbidden in a child, and they live as long
            // as this library. Without memory for the entry, the kernel's page remains.
            let _without_memory =
                unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
        }
        WATCHED.store(true, Ordering::Release);
    }
}

/// Forks of this process that have begun, and those of them that have ended or failed.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

extern "C" fn before_fork() {
    BEGUN.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn in_parent() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

/// The forks of this process at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forks {
    begun: u64,
    is_one_running: bool,
}

impl Forks {
    pub(super) fn now() -> Forks {
        watch_forks();
        // A fork may end between the two looks. Then it counts as running.
        let ended = ENDED.load(Ordering::SeqCst);
        let begun = BEGUN.load(Ordering::SeqCst);
        Forks { begun, is_one_running: ended < begun }
    }

    /// Returns whether a child may have been made since then.
    pub(super) fn may_have_made_a_child(self) -> bool {
        self.is_one_running || BEGUN.load(Ordering::SeqCst) != self.begun
    }
}

extern "C" fn in_child() {
    // SAFETY: the word, if there is one, lives until the process ends.
    if let Some(word) = unsafe { WORD.load(Ordering::Acquire).as_ref() } {
        // Relaxed, as below: a child has one thread here.
        word.store(0, Ordering::Relaxed);
    }
    // The other forks of the parent do not end here.
    ENDED.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
    if planted(Fault::LockOutlivesFork) {
        return;
    }
    let mut next = FIRST.load(Ordering::Acquire);
    // SAFETY: entries are never freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        // Relaxed: the child has this thread only, and its memory is that of the fork.
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
    /// Set before the entry gets into the list. `Relaxed`: the exchange that adds the entry is a
    /// Release, and who walks the list begins with an Acquire.
    next: AtomicPtr<Entry>,
}

impl Entry {
    /// Returns an entry for this descriptor.
    fn of(descriptor: i32) -> &'static Entry {
        watch_forks();
        // Acquire: pairs with the exchange that adds an entry, so the whole list is written here.
        let mut next = FIRST.load(Ordering::Acquire);
        // SAFETY: entries are never freed.
        while let Some(entry) = unsafe { next.as_ref() } {
            let free = &entry.descriptor;
            // Relaxed: the exchange has one winner, and the number is all that it takes.
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
    process: Process,
}

impl OwnFile {
    pub(super) fn new(file: File) -> OwnFile {
        let entry = Entry::of(file.as_raw_fd());
        OwnFile { file: ManuallyDrop::new(file), entry, process: Process::current() }
    }

    /// Returns the file. In a child it is closed, and may not be used.
    pub(super) fn get(&self) -> &File {
        &self.file
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // In a child the file is closed. Other files may have its number and its entry by now.
        if self.process.is_current() && self.entry.descriptor.swap(NONE, Ordering::Relaxed) != NONE
        {
            // SAFETY: this is the only drop of the file, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// A value of one process. A forked child makes a new one when it first asks.
///
/// Invariant: values are never freed. A process has at most one for each process that it descends
/// from, besides its own.
#[derive(Debug)]
pub(super) struct OfProcess<T: 'static> {
    /// Written with `AcqRel` and read with `Acquire`: who finds a value sees all of it.
    current: AtomicPtr<Owned<T>>,
    make: fn(Option<&T>) -> T,
}

#[derive(Debug)]
struct Owned<T> {
    process: Process,
    value: T,
}

impl<T: Send + Sync> OfProcess<T> {
    /// `make` gets the value of the parent process. A thread that the child does not have may hold
    /// a lock in it.
    pub(super) const fn new(make: fn(Option<&T>) -> T) -> OfProcess<T> {
        OfProcess { current: AtomicPtr::new(ptr::null_mut()), make }
    }

    pub(super) fn get(&self) -> &'static T {
        let mut found = self.current.load(Ordering::Acquire);
        loop {
            // SAFETY: values are never freed.
            let owned = unsafe { found.as_ref() };
            match owned {
                Some(owned) if owned.process.is_current() => return &owned.value,
                _ => {}
            }
            let value = (self.make)(owned.map(|parent| &parent.value));
            let new = Box::into_raw(Box::new(Owned { process: Process::current(), value }));
            match self.current.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => found = new,
                Err(other) => {
                    // SAFETY: no other thread has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    found = other;
                }
            }
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use rustix::mm::{Advice, madvise};

    use super::*;

    /// A regression test: qemu's emulation of a processor wipes no page although it says so, and a
    /// child took itself for its parent there.
    #[test]
    fn a_child_has_no_word_even_where_the_kernel_does_not_wipe_it() {
        let process = Process::current();
        let page = ptr::from_ref(word_of_process()).cast_mut().cast();
        // SAFETY: advice about forks changes no memory of this process.
        let advise = |advice| unsafe { madvise(page, size_of::<AtomicU64>(), advice) };
        let kept = advise(Advice::LinuxKeepOnFork);
        // SAFETY: the child does nothing but look and end.
        let child = match unsafe { libc::fork() } {
            // SAFETY: ends the child at once.
            0 => unsafe { libc::_exit(i32::from(process.is_current())) },
            child => child,
        };
        let mut status = -1;
        // SAFETY: `status` is there for the answer.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        advise(Advice::LinuxWipeOnFork).and(kept).unwrap();
        assert_eq!(status, 0, "the child takes itself for its parent");
        assert!(process.is_current());
    }
}

/// Tests without a fork, which Miri runs too, with its emulation of weak memory.
#[cfg(test)]
mod tests_of_threads {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    const THREADS: usize = 3;

    /// Has threads do something at the same time. Returns what each got.
    fn at_once<T: Send>(act: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let barrier = Barrier::new(THREADS);
        let act = |thread| {
            barrier.wait();
            act(thread)
        };
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|thread| scope.spawn(move || act(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn threads_that_ask_first_at_once_get_one_value_and_see_all_of_it() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        static OWN: OfProcess<Vec<usize>> = OfProcess::new(|parent| {
            assert!(parent.is_none(), "no process forked");
            vec![MADE.fetch_add(1, Ordering::Relaxed); 3]
        });
        let values = at_once(|_| OWN.get());
        assert!(values.iter().all(|value| ptr::eq(*value, values[0])), "{values:?}");
        assert!(values[0].iter().all(|made| made == &values[0][0]) && values[0].len() == 3);
        assert!(MADE.load(Ordering::Relaxed) <= THREADS);
    }

    #[test]
    fn words_of_one_process_are_one() {
        let words = at_once(|_| word_of_process());
        assert!(words.iter().all(|word| ptr::eq(*word, words[0])));
    }

    /// The numbers are larger than those of open descriptors, so a child of another test that
    /// closes them does no harm.
    #[test]
    fn each_descriptor_has_an_entry_of_its_own_in_the_list() {
        let number = |thread| i32::MAX - i32::try_from(thread).unwrap();
        for _ in 0..2 {
            let entries = at_once(|thread| Entry::of(number(thread)));
            for (thread, entry) in entries.iter().enumerate() {
                assert_eq!(entry.descriptor.load(Ordering::Relaxed), number(thread));
                let others = entries.iter().filter(|other| ptr::eq(**other, *entry));
                assert_eq!(others.count(), 1);
            }
            let known = at_once(|_| listed());
            assert!(known.iter().all(|count| *count >= THREADS));
            at_once(|thread| entries[thread].descriptor.store(NONE, Ordering::Relaxed));
        }
    }

    /// Counts the entries of the list.
    fn listed() -> usize {
        let (mut count, mut next) = (0, FIRST.load(Ordering::Acquire));
        // SAFETY: entries are never freed.
        while let Some(entry) = unsafe { next.as_ref() } {
            count += 1;
            next = entry.next.load(Ordering::Relaxed);
        }
        count
    }
}
