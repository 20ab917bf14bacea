//! Every version of every key: the contents of a database at each sequence number.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::history::{Change, Operation};

/// Versions of one key, oldest first: the number from which each is valid, and its value.
type OfKey = Vec<(u64, Option<Vec<u8>>)>;

/// The versions of all keys of all keyspaces.
#[derive(Clone, Debug)]
pub struct Versions {
    keyspaces: Vec<BTreeMap<Vec<u8>, OfKey>>,
}

fn at(versions: &OfKey, number: u64) -> Option<&Vec<u8>> {
    let later = versions.partition_point(|(from, _)| *from <= number);
    versions[..later].last().and_then(|(_, value)| value.as_ref())
}

impl Versions {
    /// Makes the versions of an empty database.
    pub fn new(keyspaces: usize) -> Versions {
        Versions { keyspaces: vec![BTreeMap::new(); keyspaces] }
    }

    /// Adds an operation that is visible from `number` on. No earlier operation has a greater
    /// number.
    pub fn apply(&mut self, operation: &Operation, number: u64) {
        let keys = &mut self.keyspaces[operation.keyspace];
        let mut set = |key: &[u8], value| match keys.get_mut(key) {
            Some(versions) => versions.push((number, value)),
            None => drop(keys.insert(key.to_vec(), vec![(number, value)])),
        };
        match &operation.change {
            Change::Put(key, value) => set(key, Some(value.clone())),
            Change::Delete(key) => set(key, None),
            Change::Merge(operator, key, operand) => {
                let value = keys.get(key).and_then(|versions| at(versions, number));
                let merged = operator.merge(value.cloned(), operand);
                keys.entry(key.clone()).or_default().push((number, merged));
            }
            Change::DeleteRange(range) => {
                for (_, versions) in keys.range_mut(range.clone()) {
                    versions.push((number, None));
                }
            }
        }
    }

    /// Returns a key's value at `number`.
    pub fn get(&self, keyspace: usize, key: &[u8], number: u64) -> Option<&Vec<u8>> {
        self.keyspaces[keyspace].get(key).and_then(|versions| at(versions, number))
    }

    /// Returns the entries of a range at `number`; `None`: of all keys.
    pub fn entries(
        &self,
        keyspace: usize,
        range: Option<&Range<Vec<u8>>>,
        number: u64,
    ) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        let keys = &self.keyspaces[keyspace];
        let all = range.is_none().then(|| keys.iter());
        let some = range.map(|range| keys.range(range.clone()));
        let chosen = all.into_iter().flatten().chain(some.into_iter().flatten());
        chosen.filter_map(move |(key, versions)| Some((key, at(versions, number)?)))
    }

    /// Removes every version later than `number`, because a stop lost it. Of each key's other
    /// versions, keeps only the last.
    pub fn truncate(&mut self, number: u64) {
        for keys in &mut self.keyspaces {
            for versions in keys.values_mut() {
                let later = versions.partition_point(|(from, _)| *from <= number);
                versions.truncate(later);
                // No read after the stop asks for a number below `number`.
                if later > 1 {
                    versions.drain(..later - 1);
                }
            }
            keys.retain(|_, versions| versions.last().is_some_and(|(_, value)| value.is_some()));
        }
    }
}
