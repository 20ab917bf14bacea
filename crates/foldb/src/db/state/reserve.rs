//! The state of the reserve: how large its file is, and whether the disk is full.
//!
//! Whether it is open, or lent, is stored with `Release` and read with `Acquire`: a thread that
//! sees the change also sees what was done to the file before. A request for a look is stored with
//! `Release`, and a worker takes it by a swap, as in [`crate::db::state::requests`]. All other
//! accesses are `Relaxed`: figures and times for a guess. With an old one a thread looks, waits or
//! gives up a little early or late.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The reserve of a database ([`crate::db::throttle::full_disk`]).
#[derive(Debug)]
pub(crate) struct Reserve {
    /// Bytes of the file while the reserve is whole; 0: there is none.
    bytes: AtomicU64,
    /// Whether the reserve was given back to the disk. Set under the writer lock.
    is_open: AtomicBool,
    /// Whether a flush uses the part that deletes leave. Set under the lock of the directory.
    is_lent: AtomicBool,
    /// Whether a worker should look whether the file is large enough.
    is_due: AtomicBool,
    /// The bytes of logs at which a writer asks for the next look.
    next_look: AtomicU64,
    /// The count of background steps when a delete last found no space, and 1 more.
    used_up_at: AtomicU64,
    /// When a refused write last looked for space, in milliseconds of the environment's clock, and
    /// 1 more.
    looked_at: AtomicU64,
}

/// A part of the reserve is lent. If the flush unwinds, deletes may pass again.
pub(crate) struct Lent<'a>(&'a Reserve);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.is_lent.store(false, Ordering::Release);
    }
}

/// A smaller reserve is not worth a file.
pub(crate) const LEAST: u64 = 256 << 10;
/// Milliseconds between two looks of refused writes.
const LOOK_EVERY: u64 = 50;

impl Reserve {
    /// Describes a reserve whose file has this many bytes. Writers ask for a look when the logs
    /// have `first_look` bytes.
    pub(crate) fn of(bytes: u64, first_look: u64) -> Reserve {
        Reserve {
            bytes: AtomicU64::new(bytes),
            is_open: AtomicBool::new(false),
            is_lent: AtomicBool::new(false),
            is_due: AtomicBool::new(true),
            next_look: AtomicU64::new(first_look),
            used_up_at: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
        }
    }

    /// Returns the bytes of the file while the reserve is whole; 0: there is none.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether the disk is full and deletes use the reserve.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    pub(crate) fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Release);
    }

    /// Returns whether a flush uses the part that deletes leave.
    pub(crate) fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Acquire)
    }

    /// Lends that part to a flush, until the guard is dropped.
    pub(crate) fn lend(&self) -> Lent<'_> {
        self.is_lent.store(true, Ordering::Release);
        Lent(self)
    }

    /// Returns whether a reserve of this many bytes is worth a file, and larger by a quarter than
    /// the present one.
    pub(crate) fn is_outgrown_by(&self, bytes: u64) -> bool {
        let held = self.bytes();
        bytes >= LEAST && bytes >= held + held / 4
    }

    /// Asks a worker to look whether the file is large enough.
    pub(crate) fn look_soon(&self) {
        self.is_due.store(true, Ordering::Release);
    }

    /// Returns whether a look was asked for since the last call.
    pub(crate) fn take_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed) && self.is_due.swap(false, Ordering::AcqRel)
    }

    /// Notes the bytes of the needed logs. Returns whether a look is due now. The caller holds the
    /// writer lock.
    pub(crate) fn note_logs(&self, bytes: u64) -> bool {
        let is_due = bytes >= self.next_look.load(Ordering::Relaxed);
        if is_due {
            self.next_look.store(bytes + bytes / 4, Ordering::Relaxed);
            self.look_soon();
        }
        is_due
    }

    /// Notes that a delete found no space. `done` counts the steps of background work by then.
    pub(crate) fn note_used_up(&self, done: u64) {
        self.used_up_at.store(done + 1, Ordering::Relaxed);
    }

    /// Returns whether a delete found no space, and no step was done since.
    pub(crate) fn is_used_up_at(&self, done: u64) -> bool {
        self.used_up_at.load(Ordering::Relaxed) == done + 1
    }

    /// Returns whether a refused write may look for space: `false` directly after another look.
    pub(crate) fn may_look(&self, now: Duration) -> bool {
        let now = now.as_millis() as u64 + 1;
        let last = self.looked_at.load(Ordering::Relaxed);
        let is_due = last == 0 || now >= last + LOOK_EVERY;
        is_due
            && self
                .looked_at
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
