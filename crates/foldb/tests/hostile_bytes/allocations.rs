//! How large the largest allocation of a thread was, so that a length read from damaged bytes is
//! noticed where it makes the engine ask for gigabytes.
//!
//! The invariant is that of any allocator that only looks on: every call goes to the system's
//! allocator with what it was given.

#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, watched.
pub struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn note(bytes: usize) {
    // A thread that ends may allocate after its cell is gone.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: all calls are handed on unchanged, so the contract is the one of `System`. `note` neither
// allocates nor panics: its cell is initialized by a constant and needs no destructor.
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

/// Runs `work` and answers the bytes of the largest single allocation of this thread meanwhile.
pub fn largest_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.set(0);
    let result = work();
    (result, LARGEST.get())
}
