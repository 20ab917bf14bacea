//! The expected contents of a thread's keys after its first writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::features::Features;
use crate::write::{Operation, TALLIES, Write, bulk_value};

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The keys of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    /// One map for each keyspace.
    pub keyspaces: Vec<Map>,
    /// What the thread added to each tally.
    pub tallies: [u64; TALLIES as usize],
}

impl Model {
    pub(crate) fn new(features: &Features) -> Model {
        let keyspaces = vec![Map::new(); features.operators.len()];
        Model { keyspaces, tallies: [0; TALLIES as usize] }
    }

    /// Returns the model after the first writes of a thread, without those that failed.
    pub(crate) fn after(
        features: &Features,
        thread: u8,
        writes: u64,
        failed: &BTreeSet<u64>,
    ) -> Model {
        let mut model = Model::new(features);
        for number in (0..writes).filter(|number| !failed.contains(number)) {
            model.apply(&features.write(thread, number));
        }
        model
    }

    pub(crate) fn apply(&mut self, write: &Write) {
        for operation in &write.operations {
            match operation {
                Operation::Put { keyspace, key, value } => {
                    self.keyspaces[*keyspace].insert(key.clone(), value.clone());
                }
                Operation::Delete { keyspace, key } => {
                    self.keyspaces[*keyspace].remove(key);
                }
                Operation::Merge { keyspace, operator, key, operand } => {
                    let map = &mut self.keyspaces[*keyspace];
                    if let Some(merged) = operator.merge(map.remove(key), operand) {
                        map.insert(key.clone(), merged);
                    }
                }
                Operation::DeleteRange { keyspace, range } => {
                    let map = &mut self.keyspaces[*keyspace];
                    let keys: Vec<_> =
                        map.range(range.clone()).map(|(key, _)| key.clone()).collect();
                    for key in keys {
                        map.remove(&key);
                    }
                }
                Operation::Bulk { keyspace, key, count } => {
                    self.keyspaces[*keyspace].insert(key.clone(), bulk_value(*count));
                }
                Operation::Tally { slot } => self.tallies[usize::from(*slot)] += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_models_are_functions_of_the_seed() {
        let after = |features: &Features| Model::after(features, 0, 200, &BTreeSet::new());
        for seed in 0..20 {
            let features = Features::draw(seed);
            let (once, again) = (after(&features), after(&Features::draw(seed)));
            assert_eq!(once, again, "seed {seed}");
            assert!(once.keyspaces.iter().any(|map| !map.is_empty()), "seed {seed}");
        }
    }

    #[test]
    fn threads_own_disjoint_keys() {
        for seed in 0..20 {
            let features = Features::draw(seed);
            for thread in 0..4 {
                let model = Model::after(&features, thread, 200, &BTreeSet::new());
                let mut keys = model.keyspaces.iter().flat_map(Map::keys);
                assert!(keys.all(|key| features.owner(key) == Some(thread)), "seed {seed}");
            }
        }
    }
}
