//! When entries expire.

/// What makes entries of a keyspace expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Each write begins a new lifetime.
    AfterLast,
    /// A put begins a lifetime; a merge leaves it as it is.
    AfterFirst,
    /// Only writes that say so expire.
    PerWrite,
}

/// When the entries of a keyspace expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The rule of the keyspace.
    pub rule: Rule,
    /// Seconds that an entry lives, unless its write says otherwise.
    pub lifetime: u64,
    /// Seconds to whose next multiple ends are moved. Multiples count from 2020-01-01.
    pub bucket: u64,
}

/// 2020-01-01T00:00:00Z in seconds since 1970.
const ORIGIN: u64 = 1_577_836_800;

/// The end of entries that never expire.
pub(crate) const NEVER: u64 = u64::MAX;

impl Expiry {
    /// Returns the second at which an entry ends that is written now, perhaps with a lifetime of
    /// its own. `before` is the end of the entry that a merge found.
    pub(crate) fn end(self, now: u64, lifetime: Option<u64>, before: Option<u64>) -> u64 {
        let after = |lifetime: u64| {
            let (end, shift) = (now + lifetime, self.bucket - ORIGIN % self.bucket);
            (end + shift).next_multiple_of(self.bucket) - shift
        };
        match (lifetime, self.rule, before) {
            (Some(lifetime), ..) => after(lifetime),
            (None, Rule::AfterLast, _) => after(self.lifetime),
            (None, _, Some(before)) => before,
            (None, Rule::AfterFirst, None) => after(self.lifetime),
            (None, Rule::PerWrite, None) => NEVER,
        }
    }
}
