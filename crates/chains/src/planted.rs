//! Bugs of publication and pinning that a loom test switches on, to prove that it would notice
//! them. Loom runs all threads of a model on the thread of the test, so a fault affects one test
//! only.

/// A bug that the protocols could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A sequence number is published by a Relaxed store.
    RelaxedPublication,
    /// The link to a new version is published by a Relaxed store.
    RelaxedLink,
    /// The writer folds in place while a reader is pinning.
    FoldWhilePinning,
    /// The writer reads how far was pinned before it reads whether a reader is pinning.
    MaxPinnedFirst,
    /// A pinning reader does not wait for the apply phase in progress.
    PinWithoutWaiting,
    /// A cursor merges stretches that a background thread is merging at the same time.
    MergeBesideMerge,
    /// The writer notes that a key is back before the version is in place.
    ReviveEarly,
    /// A cursor reads how much of the ring it knows after it looked at the version.
    CheckGoneLate,
}

#[cfg(loom)]
mod planting {
    use super::Fault;

    thread_local! {
        static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
    }

    /// Plants a fault on this thread; `None` removes it.
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
