//! Steps background work by hand.

use foldb::Db;

/// More steps than any of these tests needs. Work that takes more never ends.
const STEPS: usize = 2_000;

/// Does all pending background work, and calls `between` after each step.
///
/// # Panics
/// When a step fails, or when the work does not end.
pub(crate) fn run_background(db: &Db, mut between: impl FnMut(usize)) -> usize {
    for step in 0..STEPS {
        if !db.step_background().expect("a background step") {
            return step;
        }
        between(step);
    }
    panic!("background work goes on after {STEPS} steps");
}
