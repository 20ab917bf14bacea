//! The other thread of a race, played at a chosen scheduling point of the thread under test.
//!
//! A test runs a call again and again. Each time the action comes one point later, until the call
//! has no more points. So the test needs to know no place in the code, and repeats its runs.

use std::cell::RefCell;

type Action = Box<dyn FnOnce()>;

thread_local! {
    /// What this thread does at a later point, and how many points come before.
    static PLANNED: RefCell<Option<(usize, Action)>> = const { RefCell::new(None) };
}

fn at_each_point() {
    let due = PLANNED.with_borrow_mut(|planned| match planned {
        Some((0, _)) => planned.take().map(|(_, action)| action),
        Some((points, _)) => {
            *points -= 1;
            None
        }
        None => None,
    });
    if let Some(action) = due {
        action();
    }
}

/// Runs `call` with an action at the point after `points` others. Returns what the call returns;
/// `None` if it has no such point.
pub(crate) fn act_at_point<T>(
    points: usize,
    action: impl FnOnce() + 'static,
    call: impl FnOnce() -> T,
) -> Option<T> {
    let _may_be_the_first = foldb_env::at_scheduling_points(at_each_point);
    PLANNED.set(Some((points, Box::new(action))));
    let answer = call();
    PLANNED.take().is_none().then_some(answer)
}
