//! The atomics and locks, or the model checker's.
//!
//! Under `--cfg loom`, every atomic becomes one that loom schedules. [`Written`] reports accesses
//! to plain bytes to loom, so that it finds a missing Release or Acquire.

#[cfg(not(loom))]
pub(crate) use arc_swap::ArcSwap;
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

/// Replaces the crate `arc-swap` under loom, which cannot look into that crate (it has loom tests
/// of its own). A lock gives the same order to loads and replacements.
#[cfg(loom)]
pub(crate) struct ArcSwap<T>(Mutex<std::sync::Arc<T>>);

#[cfg(loom)]
impl<T> ArcSwap<T> {
    pub(crate) fn from_pointee(value: T) -> ArcSwap<T> {
        ArcSwap(Mutex::new(std::sync::Arc::new(value)))
    }

    pub(crate) fn load(&self) -> std::sync::Arc<T> {
        self.load_full()
    }

    pub(crate) fn load_full(&self) -> std::sync::Arc<T> {
        self.lock().clone()
    }

    pub(crate) fn rcu(&self, replace: impl FnOnce(&T) -> T) {
        let mut value = self.lock();
        *value = std::sync::Arc::new(replace(&value));
    }

    fn lock(&self) -> MutexGuard<'_, std::sync::Arc<T>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Keeps a `SeqCst` store and a later `SeqCst` load in order. Loom treats `SeqCst` accesses as
/// acquire and release, so under loom this is a fence; elsewhere it is nothing.
#[inline(always)]
pub(crate) fn store_before_load() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Lets other threads run. A thread calls it while it waits microseconds for another thread.
pub(crate) fn wait_a_moment(tries: u32) {
    #[cfg(loom)]
    let _ = (tries, loom::thread::yield_now());
    #[cfg(not(loom))]
    if tries < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// Stands for the plain bytes of a record, which are written once before the record is published
/// and read after. It costs nothing except under loom, where it reports a read that could race the
/// write.
#[cfg(not(loom))]
#[derive(Clone, Copy)]
pub(crate) struct Written;

#[cfg(not(loom))]
impl Written {
    /// Notes the write of the bytes. Called where they are written.
    #[inline]
    pub(crate) fn now() -> Written {
        Written
    }

    /// Checks a read of the bytes. Called before they are read.
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

/// The value of 8 bytes of a record: a word that may change while it is the newest. It lies in the
/// arena like any value, and all accesses to it are whole and atomic. Under loom, whose atomics are
/// larger, the word is here instead.
#[cfg(not(loom))]
pub(crate) struct Word;

#[cfg(not(loom))]
impl Word {
    /// Returns the word of a record that is being written, if its value is one.
    #[inline(always)]
    pub(crate) fn of(_value: &[u8]) -> Word {
        Word
    }

    /// # Safety
    /// At `at`, a multiple of 8, lie 8 bytes that were written before they were published, by
    /// memory that stays, and are accessed by this and [`Word::store`] only.
    #[inline(always)]
    pub(crate) unsafe fn load(&self, at: *const u8) -> [u8; 8] {
        // SAFETY: by the caller's promise.
        let word = unsafe { AtomicU64::from_ptr(at.cast_mut().cast()) };
        // Acquire: pairs with the Release in `store`. A thread that sees the last write also sees
        // the earlier writes, also to other keys.
        word.load(Ordering::Acquire).to_ne_bytes()
    }

    /// # Safety
    /// As [`Word::load`]; and the caller is the writer.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, at: *const u8, bytes: [u8; 8]) {
        // SAFETY: by the caller's promise.
        let word = unsafe { AtomicU64::from_ptr(at.cast_mut().cast()) };
        word.store(u64::from_ne_bytes(bytes), Ordering::Release);
    }
}

/// The word under loom, with the Acquire and the Release of the other one.
#[cfg(loom)]
pub(crate) struct Word(AtomicU64);

#[cfg(loom)]
impl Word {
    pub(crate) fn of(value: &[u8]) -> Word {
        Word(AtomicU64::new(value.try_into().map_or(0, u64::from_ne_bytes)))
    }

    pub(crate) unsafe fn load(&self, _at: *const u8) -> [u8; 8] {
        self.0.load(Ordering::Acquire).to_ne_bytes()
    }

    pub(crate) unsafe fn store(&self, _at: *const u8, bytes: [u8; 8]) {
        self.0.store(u64::from_ne_bytes(bytes), Ordering::Release);
    }
}
