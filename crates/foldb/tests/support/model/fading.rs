//! Entries that expire: the rules of keyspaces, and a clock that steps move.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldb::env::{Clock, ManualClock};
use foldb_model::{Expiry, Rule};

/// A clock whose time of day moves only if a step moves it. Pauses of the engine leave it alone.
#[derive(Debug)]
pub(super) struct DayClock {
    manual: ManualClock,
    second: AtomicU64,
}

impl Default for DayClock {
    fn default() -> DayClock {
        let manual = ManualClock::default();
        let second = AtomicU64::new(manual.time_of_day().as_secs());
        DayClock { manual, second }
    }
}

impl DayClock {
    /// Returns the time of day in seconds since 1970.
    pub(super) fn second(&self) -> u64 {
        self.second.load(Ordering::SeqCst)
    }

    /// Moves the time of day, perhaps back.
    pub(super) fn move_by(&self, seconds: i64) {
        self.second.store(self.second().saturating_add_signed(seconds), Ordering::SeqCst);
    }
}

impl Clock for DayClock {
    fn now(&self) -> Duration {
        self.manual.now()
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_secs(self.second())
    }

    fn sleep(&self, duration: Duration) {
        self.manual.sleep(duration);
    }
}

/// The rules that programs use.
pub(crate) const RULES: [Expiry; 4] = [
    Expiry { rule: Rule::AfterLast, lifetime: 10, bucket: 1 },
    Expiry { rule: Rule::AfterFirst, lifetime: 10, bucket: 1 },
    Expiry { rule: Rule::AfterFirst, lifetime: 10, bucket: 4 },
    Expiry { rule: Rule::PerWrite, lifetime: 10, bucket: 3 },
];

/// Returns a rule as the engine knows it.
pub(crate) fn expiry_of(own: Expiry) -> foldb::expiry::Expiry {
    let lifetime = Duration::from_secs(own.lifetime);
    let expiry = match own.rule {
        Rule::AfterLast => foldb::expiry::Expiry::after_last_write(lifetime),
        Rule::AfterFirst => foldb::expiry::Expiry::after_first_write(lifetime),
        Rule::PerWrite => foldb::expiry::Expiry::per_write(),
    };
    expiry.with_bucket(Duration::from_secs(own.bucket))
}
