//! The model: the expected answers of a database, as an ordered map that folds at once.
//!
//! [`program`] draws random programs, [`decode`] makes them from bytes, and [`run`] plays one
//! against the database and this model.

pub(crate) mod compare;
pub(crate) mod decode;
pub(crate) mod fading;
mod feed;
mod held;
pub(crate) mod program;
pub(crate) mod run;
mod transactions;

use std::collections::BTreeMap;
use std::ops::Bound;

use fading::Fading;
use program::{Operator, Place};

/// The model's knowledge of one key. A missing key has no cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Value(Vec<u8>),
    /// The merge failed. Some operators' operands make the key readable again when two follow each
    /// other, whatever the base is. So the cell remembers the last operator.
    Failed(Option<Operator>),
}

/// One write, with all its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange((Bound<Vec<u8>>, Bound<Vec<u8>>)),
    Merge(Operator, Vec<u8>, Vec<u8>),
    /// A put or merge of an entry that expires after these seconds.
    Lasting(u64, Box<Write>),
}

/// All keys of a keyspace at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State(pub BTreeMap<Vec<u8>, Cell>, Option<Fading>);

/// A write and its keyspace.
pub(crate) type Placed = (Place, Write);

/// All keyspaces at one moment; the default one always exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct World([Option<State>; Place::COUNT]);

impl Default for World {
    fn default() -> World {
        let mut world = World(Default::default());
        world.create(Place::DEFAULT, None);
        world
    }
}

impl World {
    /// Creates a keyspace, in which entries expire if `fading` is given.
    pub(crate) fn create(&mut self, place: Place, fading: Option<Fading>) {
        self.0[place.index()] = Some(State(BTreeMap::new(), fading));
    }

    /// Removes what expires up to this second.
    pub(crate) fn advance(&mut self, second: u64) {
        self.0.iter_mut().flatten().for_each(|state| state.advance(second));
    }

    pub(crate) fn drop(&mut self, place: Place) {
        self.0[place.index()] = None;
    }

    pub(crate) fn has(&self, place: Place) -> bool {
        self.0[place.index()].is_some()
    }

    /// Returns the contents of a keyspace.
    ///
    /// # Panics
    /// When it does not exist.
    pub(crate) fn of(&self, place: Place) -> &State {
        self.0[place.index()].as_ref().expect("the keyspace exists")
    }

    pub(crate) fn apply(&mut self, (place, write): &Placed) {
        self.0[place.index()].as_mut().expect("the keyspace exists").apply(write);
    }

    /// Returns what full scans see.
    pub(crate) fn seen(&self) -> Vec<Option<Entries>> {
        self.0.iter().map(|state| state.as_ref().map(State::seen)).collect()
    }
}

/// The result of a scan.
pub(crate) type Entries = Vec<(Vec<u8>, Seen)>;

/// A cell as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Value(Vec<u8>),
    Failed,
}

impl Cell {
    pub(crate) fn seen(&self) -> Seen {
        match self {
            Cell::Value(value) => Seen::Value(value.clone()),
            Cell::Failed(_) => Seen::Failed,
        }
    }
}

impl State {
    pub(crate) fn apply(&mut self, write: &Write) {
        self.apply_for(write, None);
    }

    /// Applies a write whose entry has a lifetime of its own, if one is given.
    fn apply_for(&mut self, write: &Write, lifetime: Option<u64>) {
        match write {
            Write::Put(key, value) => {
                self.0.insert(key.clone(), Cell::Value(value.clone()));
                self.1.iter_mut().for_each(|fading| fading.put(key, lifetime));
            }
            Write::Delete(key) => {
                self.0.remove(key);
            }
            Write::DeleteRange(range) => self.0.retain(|key, _| !compare::is_between(key, range)),
            Write::Merge(operator, key, operand) => {
                let is_there = self.0.contains_key(key);
                self.1.iter_mut().for_each(|fading| fading.merge(key, lifetime, is_there));
                match merge(*operator, self.0.get(key), operand) {
                    Some(cell) => self.0.insert(key.clone(), cell),
                    None => self.0.remove(key),
                };
            }
            Write::Lasting(lifetime, write) => self.apply_for(write, Some(*lifetime)),
        }
    }

    /// Removes what expires up to this second.
    fn advance(&mut self, second: u64) {
        if let Some(fading) = &mut self.1 {
            fading.advance(second);
            self.0.retain(|key, _| fading.is_alive(key));
        }
    }

    /// Returns the second at which an entry expires; `None` if it never does.
    pub(crate) fn end_of(&self, key: &[u8]) -> Option<u64> {
        self.1.as_ref().filter(|_| self.0.contains_key(key))?.end_of(key)
    }

    /// Returns what a full scan sees.
    pub(crate) fn seen(&self) -> Entries {
        self.0.iter().map(|(key, cell)| (key.clone(), cell.seen())).collect()
    }
}

/// Returns the cell after one merge; `None` when the key is gone.
fn merge(operator: Operator, cell: Option<&Cell>, operand: &[u8]) -> Option<Cell> {
    let base = match cell {
        None => None,
        Some(Cell::Value(value)) => Some(&value[..]),
        Some(Cell::Failed(last)) => {
            if !operator.is_absolute() {
                return Some(Cell::Failed(None));
            }
            if *last != Some(operator) {
                return Some(Cell::Failed(Some(operator)));
            }
            None
        }
    };
    let value = match operator {
        Operator::Add | Operator::References => {
            let base: Option<[u8; 8]> = base.map_or(Some([0; 8]), |base| base.try_into().ok());
            let Some(base) = base else { return Some(Cell::Failed(None)) };
            let operand = u64::from_le_bytes(operand.try_into().expect("8 bytes"));
            let sum = u64::from_le_bytes(base).wrapping_add(operand);
            if operator == Operator::References && sum == 0 {
                return None;
            }
            sum.to_le_bytes().to_vec()
        }
        Operator::Append => match base {
            None => operand.to_vec(),
            Some(base) => [base, operand].join(&b','),
        },
        Operator::Max => base.unwrap_or_default().max(operand).to_vec(),
        Operator::Put => operand.to_vec(),
        Operator::Register if operand.is_empty() => return None,
        Operator::Register => operand.to_vec(),
    };
    Some(Cell::Value(value))
}
