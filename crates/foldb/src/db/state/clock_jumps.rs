//! Jumps of the machine's time of day.
//!
//! The time of day should advance as the monotonic clock does. A call that notes a new second
//! compares how far both went since the last such call. If they differ by more than
//! [`TOLERANCE`], the time of day was set, or the machine slept: the monotonic clock of most
//! systems stands still while the machine is suspended.
//!
//! Two opens have no monotonic clock in common. So the first call of an open compares the time of
//! day with the stored time, and finds only clocks that are behind it.

use std::time::Duration;

use foldb_env::Clock;

use crate::fold::stamp::{Moment, time_of};
use crate::locks::Lock;
use crate::locks::rank::CLOCK;

/// The largest difference that is no jump. Daemons that correct a clock slowly, and threads that
/// pause between two readings, stay below it.
const TOLERANCE: Duration = Duration::from_secs(2);

/// The readings of both clocks at the last look.
#[derive(Clone, Copy, Debug)]
struct Look {
    monotonic: Duration,
    time_of_day: Duration,
}

/// How far the time of day jumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    pub(crate) forward: bool,
    pub(crate) by: Duration,
    time_of_day: Duration,
}

impl Jump {
    /// Returns how far the time of a database is ahead of the clock after the jump.
    pub(crate) fn behind(&self, database: Moment) -> Duration {
        since_1970(database).saturating_sub(self.time_of_day)
    }
}

/// Compares the two clocks.
#[derive(Debug, Default)]
pub(crate) struct JumpDetector {
    last: Lock<Option<Look>, CLOCK>,
}

impl JumpDetector {
    /// Returns how far the time of day jumped since the last look, if it did. The first look
    /// compares it with `database`, the time of the database. While another thread looks, this call
    /// finds nothing.
    pub(crate) fn look(&self, clock: &dyn Clock, database: Moment) -> Option<Jump> {
        let mut last = self.last.try_lock()?;
        // The thread may pause between two readings. So the time of day may be as early as the
        // first monotonic reading says, and as late as the second.
        let before = clock.now();
        let time_of_day = clock.time_of_day();
        let after = clock.now();
        let (earliest, latest) = match *last {
            Some(last) => {
                let went = |now: Duration| now.saturating_sub(last.monotonic);
                let expected = |now| last.time_of_day.saturating_add(went(now));
                (expected(before), expected(after))
            }
            None => (since_1970(database), Duration::MAX),
        };
        *last = Some(Look { monotonic: after, time_of_day });
        let ahead = time_of_day.saturating_sub(latest);
        let behind = earliest.saturating_sub(time_of_day);
        let (forward, by) = if ahead > behind { (true, ahead) } else { (false, behind) };
        (by > TOLERANCE).then_some(Jump { forward, by, time_of_day })
    }

    /// Forgets the last look, for a caller that sets the time anew.
    pub(crate) fn forget(&self) {
        *self.last.lock() = None;
    }
}

/// Returns the beginning of a moment.
fn since_1970(moment: Moment) -> Duration {
    let time = time_of(moment).and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    time.unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use foldb_env::ManualClock;

    use super::*;
    use crate::fold::stamp::moment_of;

    #[test]
    fn jumps_are_differences_between_the_two_clocks() {
        let (clock, detector) = (ManualClock::default(), JumpDetector::default());
        let start = clock.time_of_day().as_secs();
        let look = || {
            let jump = detector.look(&clock, moment_of(Duration::from_secs(start)));
            jump.map(|jump| (jump.forward, jump.by.as_secs()))
        };
        assert_eq!(look(), None);
        clock.advance(Duration::from_secs(1_000_000));
        assert_eq!(look(), None, "both went on");
        clock.set_time_of_day(start + 1_000_002);
        assert_eq!(look(), None, "within the tolerance");
        clock.set_time_of_day(start + 1_000_102);
        assert_eq!(look(), Some((true, 100)));
        assert_eq!(look(), None, "told once");
        clock.advance(Duration::from_secs(7));
        clock.set_time_of_day(start);
        assert_eq!(look(), Some((false, 1_000_109)));
        assert_eq!(look(), None);
    }

    #[test]
    fn the_first_look_finds_a_clock_behind_the_stored_time() {
        let clock = ManualClock::default();
        let now = moment_of(clock.time_of_day());
        for (stored, expected) in [(0, None), (now + 2, None), (now + 500, Some((false, 500)))] {
            let jump = JumpDetector::default().look(&clock, stored);
            assert_eq!(jump.map(|jump| (jump.forward, jump.by.as_secs())), expected);
        }
    }
}
