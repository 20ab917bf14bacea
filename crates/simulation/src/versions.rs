//! Every version of every key: the contents of a database at each sequence number.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::history::{Change, Operation};

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
        Versions { keyspaces: vec![BTreeMap::new(); lifetimes.len()], lifetimes }
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

    /// Removes every version later than `number`, because a stop lost it. Of each key's other
    /// versions, keeps only the last.
    pub fn truncate(&mut self, number: u64) {
        for keys in &mut self.keyspaces {
            for versions in keys.values_mut() {
                let later = versions.partition_point(|version| version.from <= number);
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
