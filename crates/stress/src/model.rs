//! The expected contents of a thread's keys after its first writes.

use std::collections::{BTreeMap, BTreeSet};

use foldb_model::{Cell, Change, Moment, View};

use crate::features::Features;
use crate::write::{Operation, TALLIES, Write, bulk_value};

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A thread compares only its last write, and nothing expires.
const NOW: Moment = Moment { number: 0, second: 0 };

/// The keys of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    keyspaces: foldb_model::Model,
    /// What the thread added to each tally.
    pub tallies: [u64; TALLIES as usize],
}

impl Model {
    fn new(features: &Features) -> Model {
        let mut keyspaces = foldb_model::Model::default();
        (0..features.operators.len()).for_each(|at| keyspaces.create(at, None));
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
                Operation::Own(own) => self.keyspaces.apply(own, NOW),
                Operation::Bulk { keyspace, key, count } => {
                    let change = Change::Put(key.clone(), bulk_value(*count));
                    let own = foldb_model::Operation { keyspace: *keyspace, change };
                    self.keyspaces.apply(&own, NOW);
                }
                Operation::Tally { slot } => self.tallies[usize::from(*slot)] += 1,
            }
        }
    }

    fn of(&self, keyspace: usize) -> View<'_> {
        self.keyspaces.of(keyspace, NOW)
    }

    pub(crate) fn get(&self, keyspace: usize, key: &[u8]) -> Option<&Vec<u8>> {
        self.of(keyspace).get(key).map(Cell::value)
    }

    /// Returns the entries of a keyspace, in the order of keys.
    pub(crate) fn entries(&self, keyspace: usize) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        self.of(keyspace).entries().map(|(key, cell)| (key, cell.value()))
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
            let mut keyspaces = 0..features.operators.len();
            assert!(keyspaces.any(|at| once.entries(at).next().is_some()), "seed {seed}");
        }
    }

    #[test]
    fn threads_own_disjoint_keys() {
        for seed in 0..20 {
            let features = Features::draw(seed);
            for thread in 0..4 {
                let model = Model::after(&features, thread, 200, &BTreeSet::new());
                let mut keys =
                    (0..features.operators.len()).flat_map(|at| model.entries(at)).map(|own| own.0);
                assert!(keys.all(|key| features.owner(key) == Some(thread)), "seed {seed}");
            }
        }
    }
}
