//! The model: every version of every key.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};

use crate::expiry::{Expiry, NEVER};
use crate::operation::{Change, Keys, Operation};
use crate::operator::{Cell, Operator};

/// A moment that a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The number of the last write before it.
    pub number: u64,
    /// The second of the database's time.
    pub second: u64,
}

/// The contents of a database at every moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    keyspaces: BTreeMap<usize, Keyspace>,
    /// The number at which this life began.
    begun: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Keyspace {
    expiry: Option<Expiry>,
    keys: BTreeMap<Vec<u8>, Versions>,
    /// Versions of keys that the last stop may have left instead of the last one. They all look
    /// alike until a reset of the time.
    doubtful: BTreeMap<Vec<u8>, Vec<Version>>,
}

/// The versions of one key, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Versions(Vec<Version>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    /// The number from which it is valid.
    from: u64,
    /// `None`: the key is gone.
    cell: Option<Cell>,
    /// The second at which the entry expires.
    end: u64,
    /// The operator of the last operand over a failed merge, if two operands of it make the key
    /// readable again.
    last: Option<Operator>,
}

impl Version {
    fn new(from: u64, cell: Option<Cell>, end: u64) -> Version {
        Version { from, cell, end, last: None }
    }

    /// Returns the version after a merge onto an entry, or onto nothing.
    fn merged(
        before: Option<&Version>,
        operator: Operator,
        operand: &[u8],
        (from, end): (u64, u64),
    ) -> Version {
        let base = match before.and_then(|before| before.cell.as_ref()) {
            Some(Cell::Value(value)) => Some(&value[..]),
            Some(Cell::Failed) => {
                let last = operator.is_absolute().then_some(operator);
                if last.is_none() || before.and_then(|before| before.last) != last {
                    return Version { from, cell: Some(Cell::Failed), end, last };
                }
                None
            }
            None => None,
        };
        Version::new(from, operator.merge(base, operand), end)
    }
}

impl Versions {
    /// Adds a version. It replaces one of the same number.
    fn push(&mut self, version: Version) {
        self.0.pop_if(|last| last.from == version.from);
        self.0.push(version);
    }

    /// Returns how many versions a number sees.
    fn up_to(&self, number: u64) -> usize {
        self.0.partition_point(|version| version.from <= number)
    }

    /// Returns the version of the entry that is there at a moment.
    fn at(&self, at: Moment) -> Option<&Version> {
        let last = self.0[..self.up_to(at.number)].last()?;
        (last.cell.is_some() && last.end > at.second).then_some(last)
    }
}

impl Model {
    /// Creates a keyspace, which has been empty at every moment.
    pub fn create(&mut self, keyspace: usize, expiry: Option<Expiry>) {
        self.keyspaces.insert(keyspace, Keyspace { expiry, ..Keyspace::default() });
    }

    /// Drops a keyspace, for every moment.
    pub fn remove(&mut self, keyspace: usize) {
        self.keyspaces.remove(&keyspace);
    }

    /// Returns whether a keyspace exists.
    pub fn has(&self, keyspace: usize) -> bool {
        self.keyspaces.contains_key(&keyspace)
    }

    /// Returns whether entries of a keyspace expire.
    pub fn may_expire(&self) -> bool {
        self.keyspaces.values().any(|keyspace| keyspace.expiry.is_some())
    }

    /// Returns a keyspace at a moment.
    ///
    /// # Panics
    /// When it does not exist.
    pub fn of(&self, keyspace: usize, at: Moment) -> View<'_> {
        View { keyspace: self.keyspaces.get(&keyspace).expect("the keyspace exists"), at }
    }

    fn of_mut(&mut self, keyspace: usize) -> &mut Keyspace {
        self.keyspaces.get_mut(&keyspace).expect("the keyspace exists")
    }

    /// Applies an operation of this second, which readers from its number on see. No earlier
    /// operation has a greater number.
    ///
    /// # Panics
    /// When its keyspace does not exist.
    pub fn apply(&mut self, operation: &Operation, at: Moment) {
        self.apply_lasting(operation, None, at);
    }

    /// Applies an operation whose entry has a lifetime of its own, in seconds, if one is given.
    /// Where nothing expires, the lifetime means nothing.
    ///
    /// # Panics
    /// When its keyspace does not exist.
    pub fn apply_lasting(&mut self, operation: &Operation, lifetime: Option<u64>, at: Moment) {
        let Keyspace { expiry, keys, .. } = self.of_mut(operation.keyspace);
        let end = |before: Option<&Version>| {
            let before = before.map(|version| version.end);
            expiry.map_or(NEVER, |expiry| expiry.end(at.second, lifetime, before))
        };
        let (key, version) = match &operation.change {
            Change::Put(key, value) => {
                (key, Version::new(at.number, Some(Cell::Value(value.clone())), end(None)))
            }
            Change::Delete(key) => (key, Version::new(at.number, None, NEVER)),
            Change::Merge(operator, key, operand) => {
                let before = keys.get(key).and_then(|versions| versions.at(at));
                let valid = (at.number, end(before));
                (key, Version::merged(before, *operator, operand, valid))
            }
            Change::DeleteRange(range) => {
                if !is_empty(range) {
                    let gone = |(_, versions): (_, &mut Versions)| {
                        versions.push(Version::new(at.number, None, NEVER));
                    };
                    keys.range_mut(range.clone()).for_each(gone);
                }
                return;
            }
        };
        match keys.get_mut(key) {
            Some(versions) => versions.push(version),
            None => drop(keys.insert(key.clone(), Versions(vec![version]))),
        }
    }

    /// Returns a model that has only what readers see at a moment, for writes that may never be
    /// made.
    pub fn fork(&self, at: Moment) -> Model {
        let seen = |versions: &Versions| Some(Versions(vec![versions.at(at)?.clone()]));
        let fork = |own: &Keyspace| Keyspace {
            expiry: own.expiry,
            keys: own
                .keys
                .iter()
                .filter_map(|(key, own)| Some((key.clone(), seen(own)?)))
                .collect(),
            doubtful: BTreeMap::new(),
        };
        let keyspaces = self.keyspaces.iter().map(|(number, own)| (*number, fork(own))).collect();
        Model { keyspaces, begun: at.number }
    }

    /// Removes every version later than `number`, because a stop lost it. Of each key's other
    /// versions, keeps only the last. The stop may have left any of the numbers `alike` instead:
    /// they differ in entries that have expired. What earlier stops may have left stays possible
    /// for a key that this life may not have written:
    ///
    /// ```text
    /// a.PUT.1 to second 5, a.DEL.2 at second 9, stop    a is gone, even if the stop lost the DEL
    /// stop, reset to second 3                           a may be there again
    /// ```
    pub fn truncate(&mut self, number: u64, alike: &[u64]) {
        let begun = std::mem::replace(&mut self.begun, number);
        let least = alike.iter().copied().min().unwrap_or(number).min(number);
        for Keyspace { expiry, keys, doubtful } in self.keyspaces.values_mut() {
            doubtful.retain(|key, _| {
                let written = |versions: &Versions| {
                    versions
                        .up_to(least)
                        .checked_sub(1)
                        .is_some_and(|at| versions.0[at].from > begun)
                };
                !keys.get(key).is_some_and(written)
            });
            for (key, versions) in keys.iter_mut() {
                if expiry.is_some() {
                    let last = |&number: &u64| versions.up_to(number).checked_sub(1);
                    let others: BTreeSet<_> = alike.iter().filter_map(last).collect();
                    let others = others.into_iter().map(|at| versions.0[at].clone());
                    doubtful.entry(key.clone()).or_default().extend(others);
                }
                let later = versions.up_to(number);
                versions.0.truncate(later);
                // No read after the stop asks for a number below `number`.
                versions.0.drain(..later.saturating_sub(1));
            }
            keys.retain(|_, versions| versions.0.last().is_some_and(|last| last.cell.is_some()));
        }
    }

    /// Takes over what a reset of the time has left. What had expired only by the time before it
    /// is there again, unless a flush or compaction has dropped it.
    ///
    /// # Errors
    /// A description of an entry that may not be there, or must be.
    ///
    /// # Panics
    /// When its keyspace does not exist.
    pub fn reset(&mut self, reset: &Reset) -> Result<(), String> {
        let Reset { number, before, after, keyspace, entries } = reset;
        let (begun, at) = (self.begun, Moment { number: *number, second: *after });
        let Keyspace { keys: all, doubtful, .. } = self.of_mut(*keyspace);
        let found: BTreeMap<_, _> = entries.iter().map(|(key, value)| (key, value)).collect();
        let keys: BTreeSet<_> = all.keys().chain(found.keys().copied()).cloned().collect();
        for key in keys {
            let versions = all.entry(key.clone()).or_default();
            let (expected, found) = (versions.at(at), found.get(&key).copied());
            let value = |version: &Version| version.cell.as_ref().map(Cell::value).cloned();
            if expected.and_then(value).as_ref() == found {
                continue;
            }
            let is_older = versions.0.last().is_none_or(|version| version.from <= begun);
            let others = doubtful.get(&key).filter(|_| is_older);
            let is_found = |other: &&Version| value(other).as_ref() == found && other.end > *after;
            let left = match found {
                None if expected.is_some_and(|expected| expected.end <= *before) => {
                    Some((None, NEVER))
                }
                None => None,
                Some(value) => others
                    .and_then(|others| others.iter().find(is_found))
                    .map(|other| (Some(Cell::Value(value.clone())), other.end)),
            };
            let (cell, end) = left.ok_or_else(|| {
                format!(
                    "after a reset from second {before} to {after}, at number {number}, key \
                     {key:?}: expected {expected:?}, found {found:?}"
                )
            })?;
            versions.push(Version::new(*number, cell, end));
        }
        doubtful.clear();
        Ok(())
    }
}

/// A reset of the database's time. No other call ran meanwhile.
#[derive(Clone, Debug)]
pub struct Reset {
    /// A number right after the reset. All reads of smaller numbers began before it.
    pub number: u64,
    /// The second of the database's time before it.
    pub before: u64,
    /// The second of the database's time after it.
    pub after: u64,
    /// Number of the keyspace whose entries expire.
    pub keyspace: usize,
    /// The entries of the keyspace right after the reset.
    pub entries: Vec<(Vec<u8>, Vec<u8>)>,
}

/// One keyspace at one moment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    keyspace: &'a Keyspace,
    at: Moment,
}

impl<'a> View<'a> {
    /// Returns what a key holds.
    pub fn get(self, key: &[u8]) -> Option<&'a Cell> {
        self.keyspace.keys.get(key)?.at(self.at)?.cell.as_ref()
    }

    /// Returns the second at which an entry expires; `None` if it is missing or never expires.
    pub fn end_of(self, key: &[u8]) -> Option<u64> {
        let version = self.keyspace.keys.get(key)?.at(self.at)?;
        (version.end != NEVER).then_some(version.end)
    }

    /// Returns all entries, in the order of keys.
    pub fn entries(self) -> impl DoubleEndedIterator<Item = (&'a Vec<u8>, &'a Cell)> {
        self.range(..)
    }

    /// Returns the entries of a range, in the order of keys.
    ///
    /// # Panics
    /// When the range ends before it starts.
    pub fn range(
        self,
        range: impl RangeBounds<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = (&'a Vec<u8>, &'a Cell)> {
        let at = self.at;
        let versions = self.keyspace.keys.range(range);
        versions.filter_map(move |(key, own)| Some((key, own.at(at)?.cell.as_ref()?)))
    }
}

/// Returns whether no key can lie in a range.
fn is_empty((lower, upper): &Keys) -> bool {
    let (Bound::Included(first) | Bound::Excluded(first)) = lower else { return false };
    match upper {
        Bound::Included(last) if matches!(lower, Bound::Included(_)) => first > last,
        Bound::Included(last) | Bound::Excluded(last) => first >= last,
        Bound::Unbounded => false,
    }
}
