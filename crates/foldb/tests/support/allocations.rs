//! Records the number of allocations of a thread, and the largest one. A length read from damaged
//! bytes shows up when the engine asks for gigabytes because of it.
//!
//! The allocator only watches: every call goes to the system's allocator unchanged. A program that
//! has this module runs with it.

#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]
#![allow(dead_code, reason = "every program uses a part of this")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, watched.
pub(crate) struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn note(bytes: usize) {
    // A thread that ends may allocate after its cells are gone.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: all calls are handed on unchanged, so the contract is the one of `System`. `note` neither
// allocates nor panics: its cells are initialized by constants and need no destructor.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promised us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised us; all memory here is of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promised us.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes);
        // SAFETY: as the caller promised us; all memory here is of `System`.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

/// Runs `work`. Returns its result and the bytes of this thread's largest allocation meanwhile.
pub(crate) fn largest_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.set(0);
    let result = work();
    (result, LARGEST.get())
}

/// Runs `work`. Returns its result and how often this thread allocated meanwhile.
pub(crate) fn count_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = COUNT.get();
    let result = work();
    (result, COUNT.get() - before)
}
