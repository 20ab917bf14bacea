//! Published and pinned sequence numbers: which readers may see a change in place (H2).
//!
//! A hot counter is cheap if the writer may add to the newest record instead of laying a new one on
//! top. The record keeps its first sequence number. So it must not change once a reader reads at a
//! sequence number between the first and the last write in it:
//!
//! ```text
//! a.MERGE.90(+1), snapshot at 100, then write 101 added to the record: the snapshot shows 101
//! ```
//!
//! A reader that needs the same answer twice *pins* a sequence number. The writer reads the largest
//! pinned number in a *phase*, which it marks by an odd counter:
//!
//! ```text
//! the pinning reader                        the writer
//! pending += 1                              phase := odd
//! wait until the phase in progress ends     pending = 0 ? floor := max_pinned : nothing in place
//! S := published                            apply; only records above the floor change in place
//! max_pinned := max(max_pinned, S)          published := the write
//! pending -= 1                              phase := even
//! ```
//!
//! Invariant: no record at or below a pinned S changes. Either the pin sees the phase and waits for
//! its end, or the writer sees the pin. There is no unpinning: a `max_pinned` that no reader needs
//! any more costs one more record per key. While nothing is published after a pin, it holds for all
//! later readers too. A read that looks at one key once does not pin: it takes effect when it loads
//! the record.

use crate::planted::{Fault, planted};
use crate::sync::{AtomicU64, Ordering, store_before_load, wait_a_moment};

/// The last published sequence number, and the largest one that a reader pinned.
#[derive(Debug)]
pub struct Pins {
    written: WrittenByWriter,
    pinned: WrittenByPins,
}

/// Stored with each write: on a cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct WrittenByWriter {
    published: AtomicU64,
    /// Odd while a write is applied that may change records in place.
    phase: AtomicU64,
}

/// Loaded with each write, stored rarely.
#[derive(Debug)]
#[repr(align(128))]
struct WrittenByPins {
    /// How many readers are pinning at this moment.
    pending: AtomicU64,
    max_pinned: AtomicU64,
}

impl Pins {
    /// Starts with `published` visible and nothing pinned.
    pub fn new(published: u64) -> Pins {
        Pins {
            written: WrittenByWriter {
                published: AtomicU64::new(published),
                phase: AtomicU64::new(0),
            },
            pinned: WrittenByPins { pending: AtomicU64::new(0), max_pinned: AtomicU64::new(0) },
        }
    }

    /// Returns the last sequence number that reads may see.
    #[inline]
    pub fn published(&self) -> u64 {
        // Acquire: pairs with the Release in `publish`, so all writes up to it are visible here.
        self.written.published.load(Ordering::Acquire)
    }

    /// Makes all writes up to `seqno` visible. Only the writer calls this, after it applied the
    /// writes, and inside its [`Pins::begin_apply`] if it began one.
    #[inline]
    pub fn publish(&self, seqno: u64) {
        // Release: pairs with the Acquire in `published`.
        let relaxed = planted(Fault::RelaxedPublication);
        let order = if relaxed { Ordering::Relaxed } else { Ordering::Release };
        debug_assert!(seqno >= self.published(), "what readers have seen stays visible");
        self.written.published.store(seqno, order);
    }

    /// Pins the last sequence number that reads may see, and returns it. From now on, no record at
    /// or below it changes. Takes no lock. Waits for a write that is being applied, unless an
    /// earlier pin holds the same number.
    #[inline]
    pub fn pin(&self) -> u64 {
        // The order matters. A pin between two loads in the other order would be of a later number,
        // and the writes up to it may have changed records below.
        // Acquire: pairs with the store of the earlier pin, which has waited for the write before.
        let pinned = self.pinned.max_pinned.load(Ordering::Acquire);
        if pinned == self.published() {
            return pinned;
        }
        self.begin_pin().pin()
    }

    /// Begins a pin: waits for a write that is being applied. The caller may then take a lock for
    /// which that write could wait. Until the pin ends, no write changes records in place.
    pub fn begin_pin(&self) -> Pinning<'_> {
        self.pinned.pending.fetch_add(1, Ordering::SeqCst);
        store_before_load();
        let phase = self.written.phase.load(Ordering::SeqCst);
        if phase % 2 == 1 && !planted(Fault::PinWithoutWaiting) {
            let mut tries = 0;
            // Acquire: pairs with the Release at the end of the phase.
            while self.written.phase.load(Ordering::Acquire) == phase {
                wait_a_moment(tries);
                tries += 1;
            }
        }
        Pinning(self)
    }

    /// Returns whether a write is being applied that may change records in place. Only the thread
    /// of the writer gets an answer that lasts.
    pub fn is_applying(&self) -> bool {
        // Relaxed: the thread that stored it asks.
        self.written.phase.load(Ordering::Relaxed) % 2 == 1
    }

    /// Marks that the writer is about to apply a write that may change records in place. Between
    /// this and the end of the phase the writer waits for nothing.
    #[inline]
    pub fn begin_apply(&self) -> ApplyPhase<'_> {
        // Relaxed: only the writer stores it.
        let phase = self.written.phase.load(Ordering::Relaxed) + 1;
        debug_assert!(phase % 2 == 1, "one write at a time is applied");
        self.written.phase.store(phase, Ordering::SeqCst);
        store_before_load();
        let max_pinned = || self.pinned.max_pinned.load(Ordering::SeqCst);
        let too_early = planted(Fault::MaxPinnedFirst).then(max_pinned);
        // The order matters. If the writer loaded `max_pinned` first, it would miss a pin that a
        // reader completes before the load of `pending`.
        let pending = self.pinned.pending.load(Ordering::SeqCst);
        let floor = too_early.unwrap_or_else(max_pinned);
        let free = pending == 0 || planted(Fault::FoldWhilePinning);
        ApplyPhase { pins: self, phase, floor: free.then_some(floor) }
    }
}

/// A pin that has begun. It ends on drop.
#[derive(Debug)]
pub struct Pinning<'a>(&'a Pins);

impl Pinning<'_> {
    /// Pins the last sequence number that reads may see now, and returns it. Waits for nothing.
    pub fn pin(self) -> u64 {
        let seqno = self.0.published();
        self.0.pinned.max_pinned.fetch_max(seqno, Ordering::SeqCst);
        seqno
    }
}

impl Drop for Pinning<'_> {
    fn drop(&mut self) {
        // Release, included in SeqCst: a writer that sees this decrement also sees the new
        // `max_pinned`.
        self.0.pinned.pending.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The writer's phase. It ends on drop, after the write was published.
#[derive(Debug)]
pub struct ApplyPhase<'a> {
    pins: &'a Pins,
    phase: u64,
    floor: Option<u64>,
}

impl ApplyPhase<'_> {
    /// Returns the sequence number above which records may change in place; `None` if none may.
    #[inline]
    pub fn floor(&self) -> Option<u64> {
        self.floor
    }
}

impl Drop for ApplyPhase<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: a thread that sees the end sees what was applied and published.
        self.pins.written.phase.store(self.phase + 1, Ordering::Release);
    }
}
