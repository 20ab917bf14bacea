//! Ends `all` in time, on slow machines too: it drops repetitions, and the output reports how many
//! ran.

use std::time::{Duration, Instant};

/// Longest time that `all` takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(45 * 60);
/// The part of the limit reserved for work that takes longer than expected.
const RESERVE: Duration = Duration::from_secs(90);

/// The time at which everything must be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    began: Instant,
    limit: Option<Duration>,
}

impl Deadline {
    /// Returns a deadline this far from now; with `None`, there is no limit.
    pub(crate) fn new(limit: Option<Duration>) -> Deadline {
        Deadline { began: Instant::now(), limit }
    }

    /// Returns whether there is time for `next` in addition to `rest`. Both are times on the
    /// expected machine, as is `done`, the work so far.
    pub(crate) fn admits(&self, next: Duration, rest: Duration, done: Duration) -> bool {
        self.admits_at(self.began.elapsed(), next, rest, done)
    }

    fn admits_at(&self, now: Duration, next: Duration, rest: Duration, done: Duration) -> bool {
        let Some(limit) = self.limit else { return true };
        // A slow machine stays slow. The first seconds of work tell nothing about that.
        let slowness = match done > Duration::from_secs(20) {
            true => (now.as_secs_f64() / done.as_secs_f64()).max(0.2),
            false => 1.0,
        };
        now + (next + rest).mul_f64(slowness) + RESERVE < limit
    }

    /// Returns whether the deadline is near: work that repeats until it has enough should stop.
    pub(crate) fn is_near(&self) -> bool {
        self.limit.is_some_and(|limit| self.began.elapsed() + RESERVE / 2 > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn there_is_time_until_the_rest_would_be_late() {
        let deadline = Deadline::new(Some(LIMIT));
        let admits = |now, next, rest, done| {
            deadline.admits_at(MINUTE * now, MINUTE * next, MINUTE * rest, MINUTE * done)
        };
        assert!(admits(0, 1, 40, 0));
        assert!(!admits(0, 1, 44, 0));
        assert!(admits(20, 1, 20, 20));
        assert!(!admits(20, 1, 20, 10), "the machine is half as fast as expected");
        assert!(admits(20, 1, 30, 40), "the machine is twice as fast as expected");
    }

    #[test]
    fn without_a_limit_there_is_always_time() {
        let deadline = Deadline::new(None);
        assert!(deadline.admits(LIMIT, LIMIT, Duration::ZERO) && !deadline.is_near());
    }
}
