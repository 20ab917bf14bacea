//! Deliberate bugs in `posix`. A test program switches one on to prove that it detects the bug.
//! A program can also make mappings of files fail, which is not a bug.
//!
//! Invariant: only builds with debug assertions and the feature `internals` have these bugs and
//! failing mappings.

/// A deliberate bug of the real file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A lock counts even if its file has lost its name.
    LockWithoutName,
    /// A write to a log fails if the log cannot be mapped.
    MapOrFail,
    /// A forked child counts as the process that opened the database.
    ForkIsParent,
    /// A forked child keeps its copies of locked descriptors.
    LockOutlivesFork,
    /// A relative path stays relative.
    PathStaysRelative,
    /// A directory counts as held wherever its lock file is.
    MoveUnnoticed,
}

#[cfg(all(debug_assertions, feature = "internals"))]
impl Fault {
    /// All faults.
    pub const ALL: [Fault; 6] = [
        Fault::LockWithoutName,
        Fault::MapOrFail,
        Fault::ForkIsParent,
        Fault::LockOutlivesFork,
        Fault::PathStaysRelative,
        Fault::MoveUnnoticed,
    ];

    /// Returns the fault of a name, as [`std::fmt::Debug`] writes it.
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| format!("{fault:?}") == name)
    }
}

#[cfg(all(debug_assertions, feature = "internals"))]
mod planting {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::Fault;

    static PLANTED: OnceLock<Fault> = OnceLock::new();
    /// `Relaxed`: a test sets it, and no data follows from it.
    static MAPPINGS_FAIL: AtomicBool = AtomicBool::new(false);

    /// Switches a fault on for the rest of this process. Returns `false` if the process already has
    /// a fault: that fault stays.
    pub fn plant_everywhere(fault: Fault) -> bool {
        PLANTED.set(fault).is_ok()
    }

    /// If `fail`, makes mappings of files fail from now on, as under a limit or on some file
    /// systems. Otherwise, lets them succeed again.
    pub fn fail_mappings(fail: bool) {
        MAPPINGS_FAIL.store(fail, Ordering::Relaxed);
    }

    pub(crate) fn planted(fault: Fault) -> bool {
        PLANTED.get() == Some(&fault)
    }

    pub(crate) fn mappings_fail() -> bool {
        MAPPINGS_FAIL.load(Ordering::Relaxed)
    }
}

#[cfg(not(all(debug_assertions, feature = "internals")))]
mod planting {
    #[inline(always)]
    pub(crate) fn planted(_fault: super::Fault) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn mappings_fail() -> bool {
        false
    }
}

#[cfg(all(debug_assertions, feature = "internals"))]
pub use planting::{fail_mappings, plant_everywhere};
pub(crate) use planting::{mappings_fail, planted};
