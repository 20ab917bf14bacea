//! Operands of one key brought together, before the engine sees them.
//!
//! Many rows of a column have the same key. Their operands become one merge, so the engine writes a
//! record for each key and not for each row:
//!
//! ```text
//! a.MERGE.1 b.MERGE.1 a.MERGE.1   becomes   a.MERGE.2 b.MERGE.1
//! ```
//!
//! Keys keep the order of their rows among themselves; the order between keys does not matter to a
//! merge.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use foldb::operators::{hyperloglog, list, set};
use hashbrown::{DefaultHashBuilder, HashTable};

use super::rows::Rows;

/// Most keys that wait, so that their table stays in the caches; and about the most bytes of all.
const MOST_KEYS: usize = 1 << 17;
const MOST_ROWS: usize = 1 << 20;
const MOST_BYTES: usize = 64 << 20;

/// How the operands of a key become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    /// The sum of whole numbers of 8 bytes, which wraps around as the engine's does.
    Sum,
    /// One set operand of all members.
    Set,
    /// One list operand of the last elements, in the order of the rows.
    List { last: usize },
    /// One sketch operand of all elements.
    Sketch,
}

impl Together {
    /// Returns the operand of the elements of a key.
    pub(crate) fn operand(self, elements: &[&[u8]]) -> Vec<u8> {
        match self {
            Together::Sum => unreachable!("amounts have no elements"),
            Together::Set => {
                // An operand has its members ascending, each once.
                let ascending: BTreeSet<_> = elements.iter().collect();
                ascending.into_iter().flat_map(set::add).collect()
            }
            Together::List { last } => {
                list::operand(&elements[elements.len().saturating_sub(last)..])
            }
            Together::Sketch => hyperloglog::operand(elements),
        }
    }
}

/// Keys that were met, numbered in the order of their first rows.
#[derive(Default)]
struct Keys {
    table: HashTable<u32>,
    keys: Rows,
    hasher: DefaultHashBuilder,
}

impl Keys {
    #[inline]
    fn number(&mut self, key: &[u8]) -> usize {
        let Keys { table, keys, hasher } = self;
        let found = table.entry(
            hasher.hash_one(key),
            |number| keys.row(*number as usize) == key,
            |number| hasher.hash_one(keys.row(*number as usize)),
        );
        *found
            .or_insert_with(|| {
                let number = keys.len() as u32;
                keys.push_row(key);
                number
            })
            .get() as usize
    }
}

/// Operands that wait for others of their keys.
pub(super) struct Groups {
    together: Together,
    keys: Keys,
    /// The sum of each key.
    sums: Vec<u64>,
    /// The element of each row, and the number of its key.
    elements: Rows,
    owners: Vec<u32>,
}

impl Groups {
    pub(super) fn new(together: Together) -> Groups {
        let (keys, elements) = (Keys::default(), Rows::default());
        Groups { together, keys, sums: Vec::new(), elements, owners: Vec::new() }
    }

    /// Adds an operand. Returns false if it is of a form that does not add up.
    #[inline]
    #[must_use]
    pub(super) fn add(&mut self, key: &[u8], operand: &[u8]) -> bool {
        match self.together {
            Together::Sum => {
                let Ok(amount) = <[u8; 8]>::try_from(operand) else { return false };
                let number = self.keys.number(key);
                if number == self.sums.len() {
                    self.sums.push(0);
                }
                self.sums[number] = self.sums[number].wrapping_add(u64::from_le_bytes(amount));
            }
            Together::Set | Together::List { .. } | Together::Sketch => {
                self.owners.push(self.keys.number(key) as u32);
                self.elements.push_row(operand);
            }
        }
        true
    }

    pub(super) fn is_full(&self) -> bool {
        self.keys.keys.len() >= MOST_KEYS
            || self.owners.len() >= MOST_ROWS
            || self.keys.keys.byte_len() + self.elements.byte_len() >= MOST_BYTES
    }

    /// Yields one operand for each key, and forgets all.
    pub(super) fn drain<E>(
        &mut self,
        mut merge: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Keys { table, keys, .. } = &mut self.keys;
        match self.together {
            Together::Sum => {
                for (number, sum) in self.sums.iter().enumerate() {
                    merge(keys.row(number), &sum.to_le_bytes())?;
                }
            }
            Together::Set | Together::List { .. } | Together::Sketch => {
                // A stable sort by key keeps the rows of a key in their order.
                let mut rows: Vec<u32> = (0..self.owners.len() as u32).collect();
                rows.sort_by_key(|row| self.owners[*row as usize]);
                let mut elements = Vec::new();
                for of_key in
                    rows.chunk_by(|a, b| self.owners[*a as usize] == self.owners[*b as usize])
                {
                    elements.clear();
                    elements.extend(of_key.iter().map(|row| self.elements.row(*row as usize)));
                    let number = self.owners[of_key[0] as usize] as usize;
                    merge(keys.row(number), &self.together.operand(&elements))?;
                }
            }
        }
        table.clear();
        keys.clear();
        self.sums.clear();
        self.elements.clear();
        self.owners.clear();
        Ok(())
    }
}
