//! How long a thread works: for a number of operations, or for a time.

use std::time::{Duration, Instant};

/// The rest of a thread's operations or time.
///
/// A thread never exceeds its number of operations: it does not begin a call that no longer fits.
/// With a duration the number is ignored, and the thread reads the clock once in some operations.
#[derive(Debug)]
pub(crate) struct Budget {
    operations: u64,
    deadline: Option<Instant>,
    /// Operations between two reads of the clock.
    look_every: u64,
    taken: u64,
}

impl Budget {
    /// Returns a budget of `operations`.
    pub(crate) fn new(operations: u64) -> Budget {
        Budget { operations, deadline: None, look_every: 1, taken: 0 }
    }

    /// Returns a budget of `operations`, or of `seconds` from now if they are not 0.
    pub(crate) fn timed(operations: u64, seconds: u64, look_every: u64) -> Budget {
        let deadline = (seconds > 0)
            .then(|| Instant::now().checked_add(Duration::from_secs(seconds)))
            .flatten();
        Budget { operations, deadline, look_every: look_every.max(1), taken: 0 }
    }

    /// Takes `operations` more; false if the thread is done.
    #[inline]
    pub(crate) fn take(&mut self, operations: u64) -> bool {
        let before = self.taken;
        self.taken += operations;
        match self.deadline {
            None => self.taken <= self.operations,
            Some(_) if self.taken / self.look_every == before / self.look_every => true,
            Some(deadline) => Instant::now() < deadline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_by(budget: &mut Budget, step: u64) -> u64 {
        let mut taken = 0;
        while budget.take(step) {
            taken += step;
        }
        taken
    }

    #[test]
    fn operations_are_never_exceeded() {
        assert_eq!(taken_by(&mut Budget::new(10), 1), 10);
        assert_eq!(taken_by(&mut Budget::new(10), 4), 8);
        assert_eq!(taken_by(&mut Budget::new(0), 1), 0);
    }

    #[test]
    fn the_clock_is_read_once_in_the_given_operations() {
        let over = |look_every| Budget {
            operations: 0,
            deadline: Some(Instant::now()),
            look_every,
            taken: 0,
        };
        assert_eq!(taken_by(&mut over(1000), 1), 999);
        assert_eq!(taken_by(&mut over(10), 1), 9);
        assert_eq!(taken_by(&mut over(10), 4), 8);
    }

    #[test]
    fn duration_overrides_operations() {
        let mut budget = Budget::timed(10, 1, 1000);
        let start = Instant::now();
        assert!(taken_by(&mut budget, 1) > 10);
        assert!(start.elapsed() >= Duration::from_millis(990));
    }
}
