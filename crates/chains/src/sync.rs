//! The atomics, or the model checker's.
//!
//! Under `--cfg loom` every atomic becomes one that loom schedules, and [`Written`] lets it see
//! the plain bytes beside them, so that a missing Release or Acquire is found.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Stands for the plain bytes of a record: written once before the record is published, read
/// after. Costs nothing except under loom, where it reports a read that could race the write.
#[cfg(not(loom))]
#[derive(Clone, Copy)]
pub(crate) struct Written;

#[cfg(not(loom))]
impl Written {
    /// Call where the bytes are written.
    #[inline]
    pub(crate) fn now() -> Written {
        Written
    }

    /// Call before the bytes are read.
    #[inline]
    pub(crate) fn check(&self) {}
}

#[cfg(loom)]
pub(crate) struct Written(loom::cell::UnsafeCell<()>);

#[cfg(loom)]
impl Written {
    pub(crate) fn now() -> Written {
        let cell = loom::cell::UnsafeCell::new(());
        cell.with_mut(|_| ());
        Written(cell)
    }

    pub(crate) fn check(&self) {
        self.0.with(|_| ());
    }
}
