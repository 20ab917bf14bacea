//! Points at which a simulated machine may let another thread run.
//!
//! A free lock is taken without a call to the system, and a store that publishes
//! something makes none either. A machine that owns the system's calls sees neither, so it could
//! not run another thread there. The engine therefore names such places.
//!
//! Invariant: builds without debug assertions have no such points, and elsewhere they do nothing
//! unless the program asks for them.

#[cfg(debug_assertions)]
mod asked {
    use std::sync::OnceLock;

    static ASKED: OnceLock<fn()> = OnceLock::new();

    /// Calls `at_each` at every point from now on. Whether this is the first time.
    pub fn at_scheduling_points(at_each: fn()) -> bool {
        ASKED.set(at_each).is_ok()
    }

    /// Another thread may run here.
    #[inline]
    pub fn scheduling_point() {
        if let Some(at_each) = ASKED.get() {
            at_each();
        }
    }
}

#[cfg(not(debug_assertions))]
mod asked {
    /// Nothing, in this build.
    #[inline(always)]
    pub fn scheduling_point() {}
}

#[cfg(debug_assertions)]
pub use asked::at_scheduling_points;
pub use asked::scheduling_point;
