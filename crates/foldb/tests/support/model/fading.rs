//! Entries that expire: when each one ends, by the rule of its keyspace.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldb::env::{Clock, ManualClock};
use foldb::expiry::Expiry;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    AfterLast,
    AfterFirst,
    /// In buckets of four seconds.
    AfterFirstInBuckets,
    /// In buckets of three seconds.
    PerWrite,
}

impl Rule {
    pub(crate) const ALL: [Rule; 4] =
        [Rule::AfterLast, Rule::AfterFirst, Rule::AfterFirstInBuckets, Rule::PerWrite];

    /// Lifetime of entries, in seconds.
    const LIFETIME: u64 = 10;

    pub(super) fn expiry(self) -> Expiry {
        let lifetime = Duration::from_secs(Rule::LIFETIME);
        let expiry = match self {
            Rule::AfterLast => Expiry::after_last_write(lifetime),
            Rule::AfterFirst | Rule::AfterFirstInBuckets => Expiry::after_first_write(lifetime),
            Rule::PerWrite => Expiry::per_write(),
        };
        expiry.with_bucket(Duration::from_secs(self.bucket()))
    }

    fn bucket(self) -> u64 {
        match self {
            Rule::AfterLast | Rule::AfterFirst => 1,
            Rule::AfterFirstInBuckets => 4,
            Rule::PerWrite => 3,
        }
    }

    /// Returns the second at which an entry ends that is written at `now`, and had this end before.
    fn end(self, now: u64, lifetime: Option<u64>, before: Option<Option<u64>>) -> Option<u64> {
        // Buckets count from 2020-01-01.
        let origin = 1_577_836_800;
        let bucket = self.bucket();
        let after = |lifetime: u64| (now + lifetime - origin).next_multiple_of(bucket) + origin;
        match (lifetime, self, before) {
            (Some(lifetime), ..) => Some(after(lifetime)),
            (None, Rule::AfterLast, _) => Some(after(Rule::LIFETIME)),
            (None, _, Some(before)) => before,
            (None, Rule::PerWrite, None) => None,
            (None, _, None) => Some(after(Rule::LIFETIME)),
        }
    }
}

/// The ends of the entries of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fading {
    rule: Rule,
    now: u64,
    /// `None`: never. Keys without an entry may have an end from before.
    ends: BTreeMap<Vec<u8>, Option<u64>>,
}

impl Fading {
    pub(super) fn new(rule: Rule, now: u64) -> Fading {
        Fading { rule, now, ends: BTreeMap::new() }
    }

    pub(super) fn put(&mut self, key: &[u8], lifetime: Option<u64>) {
        self.ends.insert(key.to_vec(), self.rule.end(self.now, lifetime, None));
    }

    /// Notes a merge onto an entry, or onto nothing.
    pub(super) fn merge(&mut self, key: &[u8], lifetime: Option<u64>, is_there: bool) {
        let before = self.ends.get(key).copied().filter(|_| is_there);
        self.ends.insert(key.to_vec(), self.rule.end(self.now, lifetime, before));
    }

    pub(super) fn advance(&mut self, second: u64) {
        self.now = self.now.max(second);
    }

    pub(super) fn is_alive(&self, key: &[u8]) -> bool {
        self.end_of(key).is_none_or(|end| end > self.now)
    }

    pub(super) fn end_of(&self, key: &[u8]) -> Option<u64> {
        self.ends.get(key).copied().flatten()
    }
}
