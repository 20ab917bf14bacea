//! Stepping background work by hand.

use foldb::Db;

/// More steps than any test of these needs: work that goes on beyond is work that never ends.
const STEPS: usize = 2_000;

/// Does all pending background work, and calls `between` after each step.
///
/// # Panics
/// When a step fails, or there is no end of it.
pub fn run_background(db: &Db, mut between: impl FnMut(usize)) -> usize {
    for step in 0..STEPS {
        if !db.step_background().expect("a background step") {
            return step;
        }
        between(step);
    }
    panic!("background work goes on after {STEPS} steps");
}
