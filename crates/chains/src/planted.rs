//! Deliberate bugs of publication and pinning. A loom test switches one on to prove that it detects
//! the bug. Loom runs all threads of a model on the thread of the test, so a bug affects one test
//! only.

/// A bug that the protocols could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A sequence number is published by a Relaxed store.
    RelaxedPublication,
    /// The link to a new version is published by a Relaxed store.
    RelaxedLink,
    /// The links to a new tower of the skiplist are published by Relaxed stores.
    RelaxedTower,
    /// The writer folds in place while a reader is pinning.
    FoldWhilePinning,
    /// The writer reads the largest pinned number before it reads whether a reader is pinning.
    MaxPinnedFirst,
    /// A pinning reader does not wait for the apply phase in progress.
    PinWithoutWaiting,
    /// A cursor merges stretches that a background thread is merging at the same time.
    MergeBesideMerge,
    /// The writer notes that a key is back before the version is in place.
    ReviveEarly,
    /// A cursor reads the position of the ring after it looked at the version, not before.
    CheckGoneLate,
}

#[cfg(loom)]
mod planting {
    use super::Fault;

    thread_local! {
        static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
    }

    /// Switches a bug on for this thread; `None` switches it off.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.set(fault);
    }

    pub(crate) fn planted(fault: Fault) -> bool {
        PLANTED.get() == Some(fault)
    }
}

#[cfg(not(loom))]
mod planting {
    #[inline(always)]
    pub(crate) fn planted(_: super::Fault) -> bool {
        false
    }
}

#[cfg(loom)]
pub use planting::plant;
pub(crate) use planting::planted;
