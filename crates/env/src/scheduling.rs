//! Points at which a simulated machine may let another thread run.
//!
//! Taking a free lock needs no system call, and neither does a store that publishes a value. A
//! simulated machine that intercepts system calls sees neither, so it could not run another thread
//! there. The engine therefore calls [`scheduling_point`] at such places.
//!
//! Invariant: only builds with debug assertions and the feature `internals` have such points. They
//! do nothing unless the program asks for them.

#[cfg(all(debug_assertions, feature = "internals"))]
mod asked {
    use std::sync::OnceLock;

    static ASKED: OnceLock<fn()> = OnceLock::new();

    /// Calls `at_each` at every point from now on. Returns whether this is the first call.
    pub fn at_scheduling_points(at_each: fn()) -> bool {
        ASKED.set(at_each).is_ok()
    }

    /// Lets another thread run here in a simulation.
    #[inline]
    pub fn scheduling_point() {
        if let Some(at_each) = ASKED.get() {
            at_each();
        }
    }
}

#[cfg(not(all(debug_assertions, feature = "internals")))]
mod asked {
    /// Does nothing in this build.
    #[inline(always)]
    pub fn scheduling_point() {}
}

#[cfg(all(debug_assertions, feature = "internals"))]
pub use asked::at_scheduling_points;
pub use asked::scheduling_point;
