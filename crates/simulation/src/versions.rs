//! Every version of every key: the contents of a database at each sequence number.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::history::{Change, Operation, Reset};

/// Versions of one key, oldest first.
type OfKey = Vec<Version>;

#[derive(Clone, Debug)]
struct Version {
    /// The number from which it is valid.
    from: u64,
    value: Option<Vec<u8>>,
    /// The second at which the value expires.
    end: u64,
}

/// When the entries of a keyspace expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Seconds that an entry lives.
    pub seconds: u64,
    /// Whether a merge renews the entry.
    pub renews: bool,
}

/// The last byte of a value that lives for [`BRIEF_SECONDS`], because its put said so. Other values
/// do not end with it. So an older value of the key may outlive a newer one.
pub const BRIEF: u8 = b'!';

/// Seconds that a brief value lives.
pub const BRIEF_SECONDS: u64 = 1;

/// The versions of all keys of all keyspaces.
#[derive(Clone, Debug)]
pub struct Versions {
    keyspaces: Vec<BTreeMap<Vec<u8>, OfKey>>,
    lifetimes: Vec<Option<Lifetime>>,
    /// The number at which this life began.
    begun: u64,
    /// Versions of keys that the last stop may have left instead of the last one. They all look
    /// alike until a reset of the time.
    doubtful: BTreeMap<(usize, Vec<u8>), Vec<Version>>,
}

/// Returns the value at a number and a second, with its end.
fn at(versions: &OfKey, number: u64, second: u64) -> Option<(&Vec<u8>, u64)> {
    let later = versions.partition_point(|version| version.from <= number);
    let version = versions[..later].last().filter(|version| version.end > second)?;
    Some((version.value.as_ref()?, version.end))
}

impl Versions {
    /// Makes the versions of an empty database.
    pub fn new(lifetimes: Vec<Option<Lifetime>>) -> Versions {
        let (keyspaces, doubtful) = (vec![BTreeMap::new(); lifetimes.len()], BTreeMap::new());
        Versions { keyspaces, lifetimes, begun: 0, doubtful }
    }

    /// Adds an operation of this second that is visible from `number` on. No earlier operation has
    /// a greater number.
    pub fn apply(&mut self, operation: &Operation, number: u64, second: u64) {
        let keys = &mut self.keyspaces[operation.keyspace];
        let lifetime = self.lifetimes[operation.keyspace];
        let end_of = |before: Option<u64>| match (lifetime, before) {
            (None, _) => u64::MAX,
            (Some(lifetime), Some(before)) if !lifetime.renews => before,
            (Some(lifetime), _) => second + lifetime.seconds,
        };
        let mut set = |key: &[u8], value, end| {
            let version = Version { from: number, value, end };
            match keys.get_mut(key) {
                Some(versions) => versions.push(version),
                None => drop(keys.insert(key.to_vec(), vec![version])),
            }
        };
        match &operation.change {
            Change::Put(key, value) if lifetime.is_some() && value.last() == Some(&BRIEF) => {
                set(key, Some(value.clone()), second + BRIEF_SECONDS);
            }
            Change::Put(key, value) => set(key, Some(value.clone()), end_of(None)),
            Change::Delete(key) => set(key, None, u64::MAX),
            Change::Merge(operator, key, operand) => {
                let found = keys.get(key).and_then(|versions| at(versions, number, second));
                let end = end_of(found.map(|(_, end)| end));
                let value = operator.merge(found.map(|(value, _)| value.clone()), operand);
                let version = Version { from: number, value, end };
                keys.entry(key.clone()).or_default().push(version);
            }
            Change::DeleteRange(range) => {
                for (_, versions) in keys.range_mut(range.clone()) {
                    versions.push(Version { from: number, value: None, end: u64::MAX });
                }
            }
        }
    }

    /// Returns a key's value at a number and a second.
    pub fn get(&self, keyspace: usize, key: &[u8], number: u64, second: u64) -> Option<&Vec<u8>> {
        let versions = self.keyspaces[keyspace].get(key)?;
        at(versions, number, second).map(|(value, _)| value)
    }

    /// Returns the entries of a range at a number and a second; `None`: of all keys.
    pub fn entries(
        &self,
        keyspace: usize,
        range: Option<&Range<Vec<u8>>>,
        number: u64,
        second: u64,
    ) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        let keys = &self.keyspaces[keyspace];
        let all = range.is_none().then(|| keys.iter());
        let some = range.map(|range| keys.range(range.clone()));
        let chosen = all.into_iter().flatten().chain(some.into_iter().flatten());
        chosen.filter_map(move |(key, versions)| Some((key, at(versions, number, second)?.0)))
    }

    /// Returns whether entries of a keyspace expire.
    pub fn may_expire(&self) -> bool {
        self.lifetimes.iter().any(Option::is_some)
    }

    /// Takes over what a reset of the time has left. What had expired by the time before it only is
    /// there again, unless a flush or compaction has dropped it.
    ///
    /// # Errors
    /// A description of an entry that may not be there, or must be.
    pub fn reset(&mut self, reset: &Reset) -> Result<(), String> {
        let Reset { number, before, after, keyspace, entries } = reset;
        let all = &mut self.keyspaces[*keyspace];
        let found: BTreeMap<_, _> = entries.iter().map(|(key, value)| (key, value)).collect();
        let keys: BTreeSet<_> = all.keys().chain(found.keys().copied()).cloned().collect();
        for key in keys {
            let versions = all.entry(key.clone()).or_default();
            let (expected, found) = (at(versions, *number, *after), found.get(&key).copied());
            if expected.map(|(value, _)| value) == found {
                continue;
            }
            let is_older = versions.last().is_none_or(|version| version.from <= self.begun);
            let other = self.doubtful.get(&(*keyspace, key.clone())).filter(|_| is_older);
            let is_found = |other: &&Version| other.value.as_ref() == found && other.end > *after;
            let left = match found {
                None if expected.is_some_and(|(_, end)| end <= *before) => Some((None, u64::MAX)),
                None => None,
                Some(value) => other
                    .and_then(|others| others.iter().find(is_found))
                    .map(|other| (Some(value.clone()), other.end)),
            };
            let (value, end) = left.ok_or_else(|| {
                format!(
                    "after a reset from second {before} to {after}, at number {number}, key \
                     {key:?}: expected {expected:?}, found {found:?}"
                )
            })?;
            versions.push(Version { from: *number, value, end });
        }
        self.doubtful.clear();
        Ok(())
    }

    /// Removes every version later than `number`, because a stop lost it. Of each key's other
    /// versions, keeps only the last. The stop may have left any of the moments `alike` instead:
    /// they differ in entries that have expired.
    pub fn truncate(&mut self, number: u64, alike: &[u64]) {
        self.begun = number;
        self.doubtful.clear();
        for (keyspace, keys) in self.keyspaces.iter_mut().enumerate() {
            for (key, versions) in keys.iter_mut() {
                let later_than = |number| versions.partition_point(|own| own.from <= number);
                let later = later_than(number);
                if self.lifetimes[keyspace].is_some() {
                    let last = |&moment: &u64| later_than(moment).checked_sub(1);
                    let others: BTreeSet<_> = alike.iter().filter_map(last).collect();
                    let others = others.into_iter().map(|at| versions[at].clone());
                    self.doubtful.insert((keyspace, key.clone()), others.collect());
                }
                versions.truncate(later);
                // No read after the stop asks for a number below `number`.
                if later > 1 {
                    versions.drain(..later - 1);
                }
            }
            let is_there = |version: &Version| version.value.is_some();
            keys.retain(|_, versions| versions.last().is_some_and(is_there));
        }
    }
}
