//! Counts the requests of the whole process to the allocator, their bytes, and the most bytes held
//! at once.
//!
//! Each thread counts in one of several shards. So threads that allocate at once do not wait for
//! each other's cache lines, which would slow the measured load. A shard checks the peak after each
//! [`LOOK_BYTES`] of requests, so the peak may be low by that much per shard. Mapped memory is not
//! counted.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// Shards of the counts.
const SHARDS: usize = 16;
/// Bytes of requests of a shard between two checks of the peak.
const LOOK_BYTES: u64 = 32 << 10;

/// The system's allocator, with counts.
pub(crate) struct Counting;

/// Requests of some of the threads.
#[repr(align(128))]
struct Shard {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// Allocated bytes less freed bytes. Negative if these threads free what others allocated.
    held: AtomicI64,
}

static COUNTS: [Shard; SHARDS] = [const {
    Shard { requests: AtomicU64::new(0), bytes: AtomicU64::new(0), held: AtomicI64::new(0) }
}; SHARDS];
/// The most bytes held at any check.
static PEAK: AtomicI64 = AtomicI64::new(0);
/// Number of threads that have a shard.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The thread's shard plus one; 0 before it has one. It has no destructor, so a thread can read
    /// it until its end.
    static SHARD: Cell<usize> = const { Cell::new(0) };
}

fn shard() -> &'static Shard {
    SHARD.with(|own| {
        if own.get() == 0 {
            own.set(THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS + 1);
        }
        &COUNTS[own.get() - 1]
    })
}

fn note_request(bytes: usize, freed: usize) {
    let shard = shard();
    shard.requests.fetch_add(1, Ordering::Relaxed);
    let before = shard.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    shard.held.fetch_add(bytes as i64 - freed as i64, Ordering::Relaxed);
    if (before + bytes as u64) / LOOK_BYTES != before / LOOK_BYTES {
        PEAK.fetch_max(held(), Ordering::Relaxed);
    }
}

fn held() -> i64 {
    COUNTS.iter().map(|shard| shard.held.load(Ordering::Relaxed)).sum()
}

// SAFETY: every call and its answer pass to and from the system's allocator unchanged. So this
// allocator keeps `GlobalAlloc`'s contract because that one does. Counting touches static atomics
// and a thread-local `Cell` that needs neither initialisation nor destruction: it does not
// allocate, does not panic, and does not unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note_request(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note_request(layout.size(), 0);
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note_request(new_size, layout.size());
        // SAFETY: `pointer` came from this allocator, hence from the system's, with `layout`; the
        // caller answers for `new_size`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shard().held.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: `pointer` came from this allocator, hence from the system's, with `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The requests since the start of a [`Since`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requested {
    /// Number of requests.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// The most bytes held at once, above the bytes held at the start.
    pub peak: u64,
}

/// The start of a count of requests. A new start ends the peak of an earlier one.
pub(crate) struct Since {
    requests: u64,
    bytes: u64,
    held: i64,
}

impl Since {
    /// Begins now.
    pub(crate) fn now() -> Since {
        let held = held();
        PEAK.store(held, Ordering::Relaxed);
        Since { requests: sum(|shard| &shard.requests), bytes: sum(|shard| &shard.bytes), held }
    }

    /// Returns the requests since then.
    pub(crate) fn requested(&self) -> Requested {
        let peak = PEAK.load(Ordering::Relaxed).max(held());
        Requested {
            requests: sum(|shard| &shard.requests) - self.requests,
            bytes: sum(|shard| &shard.bytes) - self.bytes,
            peak: u64::try_from(peak - self.held).unwrap_or_default(),
        }
    }
}

fn sum(of: impl Fn(&Shard) -> &AtomicU64) -> u64 {
    COUNTS.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests allocate at the same time, so the counts are lower bounds.
    #[test]
    fn requests_bytes_and_peak_are_counted() {
        let _alone = crate::tests::alone();
        let since = Since::now();
        let large = std::hint::black_box(vec![1u8; 8 << 20]);
        drop(large);
        for _ in 0..100 {
            std::hint::black_box(vec![1u8; 1000]);
        }
        let requested = since.requested();
        assert!(requested.requests >= 101, "{requested:?}");
        assert!(requested.bytes >= (8 << 20) + 100_000, "{requested:?}");
        assert!(requested.peak >= (8 << 20) - LOOK_BYTES, "{requested:?}");
    }

    #[test]
    fn what_another_thread_frees_is_not_held() {
        let _alone = crate::tests::alone();
        let before = held();
        // Never touched, so it takes no memory. It is larger than the requests of all other tests
        // together.
        let large = std::hint::black_box(Vec::<u8>::with_capacity(4 << 30));
        assert!(held() - before > 2 << 30);
        std::thread::spawn(move || drop(large)).join().unwrap();
        assert!(held() - before < 2 << 30);
    }
}
