//! `all` ends in time, on slow machines too: it does fewer repetitions then, and says so.

use std::time::{Duration, Instant};

/// How long `all` takes at most.
pub const LIMIT: Duration = Duration::from_secs(45 * 60);
/// What of it is left for what takes longer than expected.
const RESERVE: Duration = Duration::from_secs(90);

/// When everything has to be done.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    began: Instant,
    limit: Option<Duration>,
}

impl Deadline {
    /// So long from now; `None`: it takes what it takes.
    pub fn new(limit: Option<Duration>) -> Deadline {
        Deadline { began: Instant::now(), limit }
    }

    /// Whether there is time for something beside the rest, given how long both would take on the
    /// machine that was expected, and what was done until now.
    pub fn admits(&self, next: Duration, rest: Duration, done: Duration) -> bool {
        self.admits_at(self.began.elapsed(), next, rest, done)
    }

    fn admits_at(&self, now: Duration, next: Duration, rest: Duration, done: Duration) -> bool {
        let Some(limit) = self.limit else { return true };
        // A slow machine goes on being slow. What was done tells nothing before it took a while.
        let slowness = match done > Duration::from_secs(20) {
            true => (now.as_secs_f64() / done.as_secs_f64()).max(0.2),
            false => 1.0,
        };
        now + (next + rest).mul_f64(slowness) + RESERVE < limit
    }

    /// Whether it is nearly over: what goes on until it has enough should stop.
    pub fn is_near(&self) -> bool {
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
        assert!(!admits(20, 1, 20, 10), "the machine takes twice the time");
        assert!(admits(20, 1, 30, 40), "half the time");
    }

    #[test]
    fn without_a_limit_there_is_always_time() {
        let deadline = Deadline::new(None);
        assert!(deadline.admits(LIMIT, LIMIT, Duration::ZERO) && !deadline.is_near());
    }
}
