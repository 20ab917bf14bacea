//! How long a write waits before it begins.

use std::time::Duration;

use foldb_env::Clock;

use crate::error::{Error, ErrorKind};
use crate::options::WriteOptions;

/// How long a write may wait before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The end of the wait, on the environment's clock; `None` without a limit.
    pub(crate) until: Option<Duration>,
}

impl Patience {
    pub(crate) const ENDLESS: Patience = Patience { until: None };

    #[inline]
    pub(crate) fn of(options: &WriteOptions, clock: &dyn Clock) -> Patience {
        Patience::from_now(options.deadline, clock)
    }

    /// Returns the patience to wait this long; `None` stands for no limit.
    #[inline]
    pub(crate) fn from_now(deadline: Option<Duration>, clock: &dyn Clock) -> Patience {
        Patience { until: deadline.map(|deadline| clock.now().saturating_add(deadline)) }
    }

    /// Returns the options of a write, with what is left of this patience as its deadline.
    pub(crate) fn limit(self, options: &WriteOptions, clock: &dyn Clock) -> WriteOptions {
        WriteOptions { deadline: self.left(clock), ..*options }
    }

    /// Returns the patience that ends first.
    pub(crate) fn or(self, other: Patience) -> Patience {
        other.until.map_or(self, |until| self.up_to(until))
    }

    /// Returns whether no time is left.
    pub(crate) fn is_over(self, clock: &dyn Clock) -> bool {
        self.left(clock).is_some_and(|left| left.is_zero())
    }

    /// Returns the time that is left; `None` without a limit.
    pub(crate) fn left(self, clock: &dyn Clock) -> Option<Duration> {
        self.until.map(|until| until.saturating_sub(clock.now()))
    }

    pub(crate) fn covers(self, moment: Duration) -> bool {
        self.until.is_none_or(|until| moment <= until)
    }

    /// Returns the patience, limited to a moment.
    pub(crate) fn up_to(self, moment: Duration) -> Patience {
        Patience { until: Some(self.until.map_or(moment, |until| until.min(moment))) }
    }
}

/// Returns the error of a write that would exceed its deadline.
pub(crate) fn busy(because: &str) -> Error {
    Error::new(ErrorKind::Busy, format!("nothing was written: {because}; try again later"))
}
