//! Bugs in the part that uses the operating system. A program plants them to prove that it would
//! notice them. Mappings can be made to fail, too, which is not a bug.
//!
//! Invariant: builds without debug assertions have neither.

/// A bug that the real file system's part could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The lock of a file counts though the file has lost its name.
    LockWithoutName,
    /// A log that cannot be mapped cannot be written.
    MapOrFail,
}

impl Fault {
    /// All faults.
    pub const ALL: [Fault; 2] = [Fault::LockWithoutName, Fault::MapOrFail];

    /// Returns the fault of a name, as [`std::fmt::Debug`] writes it.
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| format!("{fault:?}") == name)
    }
}

#[cfg(debug_assertions)]
mod planting {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::Fault;

    static PLANTED: OnceLock<Fault> = OnceLock::new();
    static MAPPINGS_FAIL: AtomicBool = AtomicBool::new(false);

    /// Plants a fault in everything that this process does from now on. Returns whether it is the
    /// first.
    pub fn plant_everywhere(fault: Fault) -> bool {
        PLANTED.set(fault).is_ok()
    }

    /// Makes mappings of files fail from now on, as under a limit or on some file systems, or stops
    /// that.
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

#[cfg(not(debug_assertions))]
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

#[cfg(debug_assertions)]
pub use planting::{fail_mappings, plant_everywhere};
pub(crate) use planting::{mappings_fail, planted};
