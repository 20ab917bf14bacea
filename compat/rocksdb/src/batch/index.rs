//! A batch that finds its own writes by key.
//!
//! The bytes of the batch are those of any other; an index beside them leads from each key to the
//! places of its writes. A rollback builds the index anew from the bytes.
//!
//! Invariant: each key of the index has at least one write, oldest first.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, Range};
use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use smallvec::SmallVec;

use crate::batch::rep::{Kind, Rep};
use crate::database::Family;
use crate::options::effect::comparator;
use crate::status::Outcome;

/// A batch with an index.
#[derive(Debug)]
pub(crate) struct IndexedBatch {
    pub(crate) rep: Rep,
    families: HashMap<u32, FamilyIndex>,
    /// The order of families that the batch was not given a handle of.
    default_order: Arc<dyn Comparator>,
}

#[derive(Debug)]
struct FamilyIndex {
    order: Arc<dyn Comparator>,
    keys: BTreeMap<OrderedKey, SmallVec<[IndexedWrite; 2]>>,
}

/// A write of a key: what it does, and where its value lies in the bytes.
#[derive(Clone, Debug)]
struct IndexedWrite {
    kind: Kind,
    value: Range<usize>,
}

/// A key in the order of its family.
#[derive(Clone, Debug)]
struct OrderedKey {
    bytes: Vec<u8>,
    order: Arc<dyn Comparator>,
}

impl PartialEq for OrderedKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OrderedKey {}

impl PartialOrd for OrderedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare(&self.bytes, &other.bytes)
    }
}

/// What a batch says about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnState {
    /// Nothing: the database decides.
    Untouched,
    /// The key is deleted; operands, oldest first, may follow.
    Deleted(Vec<Vec<u8>>),
    /// The key has this value; operands, oldest first, may follow.
    Put(Vec<u8>, Vec<Vec<u8>>),
    /// Operands, oldest first, over what the database has.
    Merged(Vec<Vec<u8>>),
}

impl Default for IndexedBatch {
    fn default() -> Self {
        IndexedBatch::of(Rep::default(), Arc::new(BytewiseComparator))
    }
}

impl IndexedBatch {
    /// Indexes the writes of a batch.
    pub(crate) fn of(rep: Rep, default_order: Arc<dyn Comparator>) -> IndexedBatch {
        let mut own = IndexedBatch { rep, families: HashMap::new(), default_order };
        own.index_again();
        own
    }

    /// Appends a write.
    ///
    /// # Errors
    /// As [`Rep::push_parts`].
    pub(crate) fn push(
        &mut self,
        family: Option<&Family>,
        kind: Kind,
        key: &[&[u8]],
        value: &[&[u8]],
    ) -> Outcome<()> {
        let id = family.map_or(0, |own| own.id);
        self.rep.push_parts(id, kind, key, value)?;
        if let (Some(family), false) = (family, self.families.contains_key(&id)) {
            let order = comparator(&family.options);
            self.families.insert(id, FamilyIndex { order, keys: BTreeMap::new() });
        }
        let value_len: usize = match kind {
            Kind::Delete | Kind::SingleDelete => 0,
            _ => value.iter().map(|part| part.len()).sum(),
        };
        let end = self.rep.bytes().len();
        self.note(id, kind, key.concat(), end - value_len..end);
        Ok(())
    }

    fn note(&mut self, family: u32, kind: Kind, key: Vec<u8>, value: Range<usize>) {
        let default_order = &self.default_order;
        let index = self
            .families
            .entry(family)
            .or_insert_with(|| FamilyIndex { order: default_order.clone(), keys: BTreeMap::new() });
        let key = OrderedKey { bytes: key, order: index.order.clone() };
        index.keys.entry(key).or_default().push(IndexedWrite { kind, value });
    }

    /// Builds the index from the bytes.
    fn index_again(&mut self) {
        self.families.values_mut().for_each(|family| family.keys.clear());
        let start = self.rep.bytes().as_ptr() as usize;
        let found: Vec<_> = self
            .rep
            .ops()
            .map_while(Result::ok)
            .map(|op| {
                let at = (op.value.as_ptr() as usize).saturating_sub(start);
                let at = if op.value.is_empty() { 0 } else { at };
                (op.family, op.kind, op.key.to_vec(), at..at + op.value.len())
            })
            .collect();
        for (family, kind, key, value) in found {
            self.note(family, kind, key, value);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rep.clear();
        self.families.values_mut().for_each(|family| family.keys.clear());
    }

    /// Goes back to the last save point.
    ///
    /// # Errors
    /// `NotFound` without one.
    pub(crate) fn rollback(&mut self) -> Outcome<()> {
        self.rep.rollback()?;
        self.index_again();
        Ok(())
    }

    /// Tells the order of a family before its first write.
    pub(crate) fn introduce(&mut self, family: &Family) {
        self.families.entry(family.id).or_insert_with(|| FamilyIndex {
            order: comparator(&family.options),
            keys: BTreeMap::new(),
        });
    }

    /// Returns what the batch says about a key.
    pub(crate) fn state(&self, family: u32, key: &[u8]) -> OwnState {
        let Some(index) = self.families.get(&family) else { return OwnState::Untouched };
        let key = OrderedKey { bytes: key.to_vec(), order: index.order.clone() };
        let Some(writes) = index.keys.get(&key) else { return OwnState::Untouched };
        let mut operands = Vec::new();
        let bytes = |write: &IndexedWrite| self.rep.bytes()[write.value.clone()].to_vec();
        for write in writes.iter().rev() {
            match write.kind {
                Kind::Merge => operands.push(bytes(write)),
                Kind::Put => {
                    operands.reverse();
                    return OwnState::Put(bytes(write), operands);
                }
                Kind::Delete | Kind::SingleDelete | Kind::DeleteRange => {
                    operands.reverse();
                    return OwnState::Deleted(operands);
                }
            }
        }
        operands.reverse();
        OwnState::Merged(operands)
    }

    /// Returns the first key of a family within bounds, or the last one.
    pub(crate) fn key_within(
        &self,
        family: u32,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        last: bool,
    ) -> Option<Vec<u8>> {
        let index = self.families.get(&family)?;
        let bound = |bound: Bound<&[u8]>| {
            bound.map(|key| OrderedKey { bytes: key.to_vec(), order: index.order.clone() })
        };
        if is_empty(&*index.order, from, to) {
            return None;
        }
        let mut within = index.keys.range((bound(from), bound(to)));
        let found = if last { within.next_back() } else { within.next() };
        found.map(|(key, _)| key.bytes.clone())
    }
}

/// Returns whether no key can lie within bounds. The map refuses such a range.
fn is_empty(order: &dyn Comparator, from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    let (
        Bound::Included(from) | Bound::Excluded(from),
        Bound::Included(end) | Bound::Excluded(end),
    ) = (from, to)
    else {
        return false;
    };
    match order.compare(from, end) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => !matches!(to, Bound::Included(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(ops: &[(Kind, &str, &str)]) -> IndexedBatch {
        let mut batch = IndexedBatch::default();
        for (kind, key, value) in ops {
            batch.push(None, *kind, &[key.as_bytes()], &[value.as_bytes()]).unwrap();
        }
        batch
    }

    #[test]
    fn the_state_of_a_key_is_that_of_its_writes_in_order() {
        use Kind::{Delete, Merge, Put};
        let batch = pushed(&[
            (Put, "a", "1"),
            (Merge, "a", "2"),
            (Merge, "a", "3"),
            (Merge, "b", "4"),
            (Put, "c", "5"),
            (Delete, "c", ""),
            (Merge, "c", "6"),
        ]);
        let bytes = |text: &str| text.as_bytes().to_vec();
        let two = vec![bytes("2"), bytes("3")];
        assert_eq!(batch.state(0, b"a"), OwnState::Put(bytes("1"), two));
        assert_eq!(batch.state(0, b"b"), OwnState::Merged(vec![bytes("4")]));
        assert_eq!(batch.state(0, b"c"), OwnState::Deleted(vec![bytes("6")]));
        assert_eq!(batch.state(0, b"d"), OwnState::Untouched);
        assert_eq!(batch.state(1, b"a"), OwnState::Untouched);
    }

    #[test]
    fn a_rollback_forgets_the_writes_in_the_index_too() {
        let mut batch = pushed(&[(Kind::Put, "a", "1")]);
        batch.rep.set_savepoint();
        batch.push(None, Kind::Put, &[b"b"], &[b"2"]).unwrap();
        batch.push(None, Kind::Delete, &[b"a"], &[b""]).unwrap();
        batch.rollback().unwrap();
        assert_eq!(batch.state(0, b"b"), OwnState::Untouched);
        assert_eq!(batch.state(0, b"a"), OwnState::Put(b"1".to_vec(), Vec::new()));
    }

    #[test]
    fn keys_are_found_in_order_within_bounds() {
        let batch = pushed(&[(Kind::Put, "b", ""), (Kind::Put, "d", ""), (Kind::Put, "f", "")]);
        let all = (Bound::Unbounded, Bound::Unbounded);
        let find = |from, to, last| batch.key_within(0, from, to, last);
        assert_eq!(find(all.0, all.1, false).unwrap(), b"b");
        assert_eq!(find(all.0, all.1, true).unwrap(), b"f");
        assert_eq!(find(Bound::Excluded(b"b"), all.1, false).unwrap(), b"d");
        assert_eq!(find(all.0, Bound::Excluded(b"d"), true).unwrap(), b"b");
        assert_eq!(find(Bound::Excluded(b"d"), Bound::Excluded(b"d"), false), None);
        assert_eq!(find(Bound::Included(b"z"), Bound::Excluded(b"a"), false), None);
    }
}
