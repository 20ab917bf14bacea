//! The writes of a program: to the database, to the model, and to the feed.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use foldb::expiry::Expires;
use foldb::{ErrorKind, Keyspace, WriteBatch, WriteOptions};
use foldb_model::{Change, Keys, Operation, Operator};

use super::program::{Draft, Key, Place};
use super::run::Player;

impl Player {
    pub(super) fn write(&mut self, place: Place, draft: Draft, sync: bool) {
        let Some(keyspace) = self.at(place) else { return };
        let options = WriteOptions { sync, ..WriteOptions::default() };
        let write = self.spell_out(place, draft);
        let outcome = match &write.change {
            Change::Put(key, value) => keyspace.with(&options).put(key, value),
            Change::Delete(key) => keyspace.with(&options).delete(key),
            Change::DeleteRange(range) => keyspace.with(&options).delete_range(range.clone()),
            Change::Merge(_, key, operand) if has_default_operator(draft) => {
                keyspace.with(&options).merge(key, operand)
            }
            Change::Merge(operator, key, operand) => {
                let operator = self.operator(*operator);
                keyspace.with(&options).merge_with(&operator, key, operand)
            }
        };
        outcome.expect("a write");
        self.committed(vec![write], sync);
    }

    /// Puts or merges an entry with a lifetime of its own.
    pub(super) fn lasting(&mut self, draft: Draft, lifetime: u8) {
        let place = Place::FADING;
        let Some(keyspace) = self.at(place) else { return };
        let expires = Some(Expires::After(Duration::from_secs(lifetime.into())));
        let options = WriteOptions { expires, ..WriteOptions::default() };
        let write = self.spell_out(place, draft);
        match &write.change {
            Change::Put(key, value) => keyspace.with(&options).put(key, value).expect("a put"),
            Change::Merge(operator, key, operand) => {
                let operator = self.operator(*operator);
                let outcome = keyspace.with(&options).merge_with(&operator, key, operand);
                outcome.expect("a merge");
            }
            _ => return,
        }
        self.committed_lasting(vec![write], Some(lifetime.into()), false);
    }

    /// Loads the first draft of each key, in order. A finished load is durable, with every logged
    /// write before it.
    pub(super) fn load(
        &mut self,
        place: Place,
        drafts: &[Draft],
        meanwhile: &[(Place, Draft)],
        finish: bool,
    ) {
        let Some(keyspace) = self.at(place) else { return };
        let mut load = keyspace.sorted_load().expect("a load");
        let mut writes = BTreeMap::new();
        for &draft in drafts {
            let write = self.spell_out(place, draft);
            // A load into a keyspace with expiry takes no merges.
            if matches!(write.change, Change::Merge(..)) && place == Place::FADING {
                continue;
            }
            if let Change::Put(key, _) | Change::Merge(_, key, _) = &write.change {
                writes.entry(key.clone()).or_insert((draft, write));
            }
        }
        let mut placed = Vec::new();
        for (key, (draft, write)) in writes {
            let outcome = match &write.change {
                Change::Put(_, value) => load.put(&key, value),
                Change::Merge(_, _, operand) if has_default_operator(draft) => {
                    load.merge(&key, operand)
                }
                Change::Merge(operator, _, operand) => {
                    let operator = self.operator(*operator);
                    load.merge_with(&operator, &key, operand)
                }
                _ => Ok(()),
            };
            outcome.expect("a loaded key");
            let again = load.put(&key, "again").unwrap_err();
            assert_eq!(again.kind(), ErrorKind::InvalidArgument, "{again}");
            placed.push(write);
        }
        for &(place, draft) in meanwhile {
            self.write(place, draft, false);
        }
        if !finish {
            drop(load);
            return self.check_all();
        }
        let report = load.finish().expect("a finished load");
        assert_eq!(report.entries, placed.len() as u64);
        if !placed.is_empty() {
            self.apply(&placed, None);
            if let Some(feed) = &mut self.feed {
                feed.add_load(self.number);
            }
            self.now_durable();
        }
        self.check_all();
    }

    pub(super) fn batch(&mut self, drafts: &[(Place, Draft)], sync: bool) {
        let mut batch = WriteBatch::new();
        let mut writes = Vec::new();
        for &(place, draft) in drafts {
            let Some(keyspace) = self.at(place) else { continue };
            let write = self.spell_out(place, draft);
            self.add(&mut batch, keyspace, draft, &write.change);
            writes.push(write);
        }
        assert_eq!(batch.len(), writes.len());
        let options = WriteOptions { sync, ..WriteOptions::default() };
        self.db.with(&options).write(&batch).expect("a batch");
        let synced = sync && !writes.is_empty();
        self.committed(writes, synced);
    }

    fn add(&self, batch: &mut WriteBatch, keyspace: &Keyspace, draft: Draft, change: &Change) {
        let by_itself = keyspace.name() == Place::DEFAULT.name();
        let operator = |own: &Operator| self.operator(*own);
        match change {
            Change::Put(key, value) if by_itself => batch.put(key, value),
            Change::Put(key, value) => batch.put_in(keyspace, key, value),
            Change::Delete(key) if by_itself => batch.delete(key),
            Change::Delete(key) => batch.delete_in(keyspace, key),
            Change::DeleteRange(range) if by_itself => batch.delete_range(range.clone()),
            Change::DeleteRange(range) => batch.delete_range_in(keyspace, range.clone()),
            Change::Merge(_, key, operand) if has_default_operator(draft) && by_itself => {
                batch.merge(key, operand)
            }
            Change::Merge(_, key, operand) if has_default_operator(draft) => {
                batch.merge_in(keyspace, key, operand)
            }
            Change::Merge(own, key, operand) if by_itself => {
                batch.merge_with(&operator(own), key, operand)
            }
            Change::Merge(own, key, operand) => {
                batch.merge_with_in(&operator(own), keyspace, key, operand)
            }
        };
    }

    pub(super) fn operator(&self, own: Operator) -> foldb::operators::Operator {
        self.db.operator(&own.name()).expect("the operator")
    }

    pub(super) fn spell_out(&self, place: Place, draft: Draft) -> Operation {
        let change = match draft {
            Draft::Put(key, text) => Change::Put(key.bytes(), text.bytes()),
            Draft::PutNumber(key, text) => Change::Put(key.bytes(), text.number()),
            Draft::Delete(key) => Change::Delete(key.bytes()),
            Draft::DeleteRange(start, end) => Change::DeleteRange(in_order(start, end)),
            Draft::Merge(operator, key, text) => {
                let default = place.operator().unwrap_or(self.settings.default_operator);
                let operator = operator.unwrap_or(default);
                // No merge onto an entry that may expire fails.
                let fails = operator.is_number() && place == Place::FADING;
                let operator = if fails { Operator::Append(b',') } else { operator };
                let operand = if operator.is_number() { text.number() } else { text.bytes() };
                Change::Merge(operator, key.bytes(), operand)
            }
        };
        Operation { keyspace: place.index(), change }
    }

    pub(super) fn committed(&mut self, writes: Vec<Operation>, synced: bool) {
        self.committed_lasting(writes, None, synced);
    }

    /// Notes writes that were made together, perhaps with a lifetime of their own.
    fn committed_lasting(&mut self, writes: Vec<Operation>, lifetime: Option<u64>, synced: bool) {
        self.apply(&writes, lifetime);
        if let Some(feed) = &mut self.feed {
            feed.add(self.number, &writes);
        }
        if synced {
            self.now_durable();
        }
    }

    /// Applies writes to the model, as one moment.
    fn apply(&mut self, writes: &[Operation], lifetime: Option<u64>) {
        self.number += 1;
        let at = self.now();
        writes.iter().for_each(|write| self.model.apply_lasting(write, lifetime, at));
    }

    /// Notes that no stop takes back what was written.
    pub(super) fn now_durable(&mut self) {
        self.durable = self.number;
    }
}

pub(super) fn has_default_operator(draft: Draft) -> bool {
    matches!(draft, Draft::Merge(None, ..))
}

/// Returns a range that does not end before it starts.
fn in_order(start: Bound<Key>, end: Bound<Key>) -> Keys {
    let (start, end) = (start.map(Key::bytes), end.map(Key::bytes));
    let key = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
    };
    match (key(&start), key(&end)) {
        (Some(first), Some(last)) if first > last => (end, start),
        _ => (start, end),
    }
}
