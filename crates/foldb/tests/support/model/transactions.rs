//! Transactions and conditional writes of a program.

use foldb::{CompareAndSwap, ErrorKind, Isolation, Keyspace, Transaction, TransactionOptions};
use foldb_model::{Cell, Change, Model, Moment, Operation, View};

use super::compare::{assert_get, check_reads, entries, seen};
use super::program::{Condition, Draft, Key, Place, Text};
use super::run::Player;
use super::writes::has_default_operator;

/// What a transaction sees: the database as it was, and its own writes.
struct Own {
    model: Model,
    at: Moment,
    written: Vec<Operation>,
}

impl Own {
    fn write(&mut self, write: Operation) {
        self.model.apply(&write, self.at);
        self.written.push(write);
    }

    fn of(&self, place: Place) -> View<'_> {
        self.model.of(place.index(), self.at)
    }
}

/// What a transaction reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub place: Place,
    pub serial: bool,
    pub own: &'a [(Place, Draft)],
    pub keys: &'a [Key],
    pub walks: bool,
}

impl Player {
    /// Runs a transaction. What a serializable one read is true at its commit; a snapshot one reads
    /// its begin. A conflict needs another write.
    pub(super) fn transaction(
        &mut self,
        plan: Plan<'_>,
        meanwhile: &[(Place, Draft)],
        commit: bool,
    ) {
        // An operand may make a key readable again whose merge failed: for gets, not for walks.
        let is_failed = |(_, cell): (_, &Cell)| *cell == Cell::Failed;
        let has_failed =
            self.at(plan.place).is_some() && self.view(plan.place).entries().any(is_failed);
        let plan = Plan { walks: plan.walks && !has_failed, ..plan };
        let Plan { serial, own, .. } = plan;
        let isolation = if serial { Isolation::Serializable } else { Isolation::Snapshot };
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let transaction = self.db.with(&options).begin().expect("a transaction");
        // The first read of a serializable transaction takes its snapshot.
        assert_get(b"first", transaction.get("first"), self.view(Place::DEFAULT));
        let mut snapshot = self.own();
        let half = own.len() / 2;
        for &(place, draft) in &own[..half] {
            self.write_in(&transaction, place, draft, &mut snapshot);
        }
        self.read_in(&transaction, plan, &snapshot);
        for &(place, draft) in meanwhile {
            self.write(place, draft, false);
        }
        for &(place, draft) in &own[half..] {
            self.write_in(&transaction, place, draft, &mut snapshot);
        }
        self.read_in(&transaction, plan, &snapshot);
        if !commit {
            return transaction.rollback();
        }
        match transaction.commit() {
            Ok(()) => {
                if snapshot.written.is_empty() {
                    return;
                }
                if serial && self.at(plan.place).is_some() {
                    let mut replayed = self.own();
                    snapshot.written.iter().for_each(|write| replayed.write(write.clone()));
                    assert_same_reads(plan, snapshot.of(plan.place), replayed.of(plan.place));
                }
                self.committed(snapshot.written, false);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                let written = snapshot.written;
                assert!(!written.is_empty(), "a transaction without writes commits");
                let others = meanwhile.iter().filter(|(place, _)| self.at(*place).is_some());
                let others: Vec<Operation> =
                    others.map(|(place, draft)| self.spell_out(*place, *draft)).collect();
                let has_cause = match serial {
                    true => others.iter().any(|other| reads(plan, other)),
                    false => others.iter().any(|other| excludes(&written, other)),
                };
                assert!(has_cause, "no cause of a conflict: {plan:?}, {written:?}, {others:?}");
                self.conflicts += 1;
            }
        }
    }

    fn write_in(&self, transaction: &Transaction, place: Place, draft: Draft, snapshot: &mut Own) {
        let Some(keyspace) = self.at(place) else { return };
        let own = transaction.keyspace(keyspace);
        let write = self.spell_out(place, draft);
        let outcome = match &write.change {
            Change::Put(key, value) => own.put(key, value),
            Change::Delete(key) => own.delete(key),
            Change::DeleteRange(range) => own.delete_range(range.clone()),
            Change::Merge(_, key, operand) if has_default_operator(draft) => {
                own.merge(key, operand)
            }
            Change::Merge(operator, key, operand) => {
                let operator = self.operator(*operator);
                own.merge_with(&operator, key, operand)
            }
        };
        outcome.expect("an own write");
        snapshot.write(write);
    }

    /// Returns what a transaction sees that begins now.
    fn own(&self) -> Own {
        let at = self.now();
        let model = self.model.fork(at);
        Own { model, at: Moment { number: at.number + 1, ..at }, written: Vec::new() }
    }

    fn read_in(&self, transaction: &Transaction, plan: Plan<'_>, snapshot: &Own) {
        let Some(keyspace) = self.at(plan.place) else { return };
        let own = transaction.keyspace(keyspace);
        for key in plan.keys {
            let key = key.bytes();
            assert_get(&key, own.get(&key), snapshot.of(plan.place));
        }
        if plan.walks {
            check_reads(&own, snapshot.of(plan.place));
        }
    }

    /// Runs a conditional write, and checks its answer. One that fails writes nothing.
    pub(super) fn conditional(&mut self, place: Place, condition: Condition) {
        let Some(keyspace) = self.at(place) else { return };
        let change = match condition {
            Condition::PutIfAbsent(key, text) => self.put_if_absent(keyspace, place, key, text),
            Condition::Swap(key, text, knows) => self.swap(keyspace, place, (key, text), knows),
            Condition::Take(key) => {
                let (outcome, has) =
                    (keyspace.take(key.bytes()), self.view(place).get(&key.bytes()));
                assert_eq!(seen(outcome).as_ref(), has, "{condition:?}");
                matches!(has, Some(Cell::Value(_))).then(|| Change::Delete(key.bytes()))
            }
            Condition::MergeGet(key, text) => {
                let (change, operand, after) = self.merged(place, key, text);
                assert_eq!(seen(keyspace.merge_get(key.bytes(), operand)), after, "{condition:?}");
                (after != Some(Cell::Failed)).then_some(change)
            }
            Condition::MergeIf(key, text, accepts) => {
                let (change, operand, _) = self.merged(place, key, text);
                let outcome = keyspace.merge_if(key.bytes(), |_| accepts, operand);
                if self.is_failed(place, key) {
                    return assert_failed(outcome);
                }
                assert_eq!(outcome.expect("a merge"), accepts);
                accepts.then_some(change)
            }
            Condition::TakeFirst(from) => {
                let first = self.view(place).range(from.bytes()..).next();
                let outcome = keyspace.take_first(from.bytes()..);
                if let Some((_, Cell::Failed)) = first {
                    return assert_failed(outcome);
                }
                let taken = outcome.expect("a take");
                let found = taken.as_ref().map(|(key, value)| (key, &value[..]));
                assert_eq!(found, first.map(|(key, cell)| (key, &cell.value()[..])));
                taken.map(|(key, _)| Change::Delete(key))
            }
        };
        if let Some(change) = change {
            self.committed(vec![Operation { keyspace: place.index(), change }], false);
        }
    }

    fn is_failed(&self, place: Place, key: Key) -> bool {
        self.view(place).get(&key.bytes()) == Some(&Cell::Failed)
    }

    /// Returns a merge with the default operator, its operand, and what it leaves in the key.
    fn merged(&self, place: Place, key: Key, text: Text) -> (Change, Vec<u8>, Option<Cell>) {
        let write = self.spell_out(place, Draft::Merge(None, key, text));
        let mut after = self.own();
        after.write(write.clone());
        let after = after.of(place).get(&key.bytes()).cloned();
        let Change::Merge(_, _, operand) = &write.change else { unreachable!("a merge") };
        // The engine reads the value first, and that fails whatever the operand is.
        let after = if self.is_failed(place, key) { Some(Cell::Failed) } else { after };
        (write.change.clone(), operand.clone(), after)
    }

    fn put_if_absent(
        &self,
        keyspace: &Keyspace,
        place: Place,
        key: Key,
        text: Text,
    ) -> Option<Change> {
        let outcome = keyspace.put_if_absent(key.bytes(), text.bytes());
        if self.is_failed(place, key) {
            assert_failed(outcome);
            return None;
        }
        let was_absent = self.view(place).get(&key.bytes()).is_none();
        assert_eq!(outcome.expect("a put"), was_absent);
        was_absent.then(|| Change::Put(key.bytes(), text.bytes()))
    }

    /// Swaps a key's value, knowing it or not.
    fn swap(
        &self,
        keyspace: &Keyspace,
        place: Place,
        (key, text): (Key, Text),
        knows: bool,
    ) -> Option<Change> {
        let has = match self.view(place).get(&key.bytes()) {
            Some(Cell::Value(value)) => Some(&value[..]),
            Some(Cell::Failed) | None => None,
        };
        let expected = if knows { has } else { Some(&b"another"[..]) };
        let new = (text.len % 3 > 0).then(|| text.bytes());
        let outcome = keyspace.compare_and_swap(key.bytes(), expected, new.as_deref());
        if self.is_failed(place, key) {
            assert_failed(outcome);
            return None;
        }
        let outcome = outcome.expect("a swap");
        if has != expected {
            assert_eq!(outcome, CompareAndSwap::Found(has.map(Into::into)));
            return None;
        }
        assert!(outcome.is_swapped());
        Some(match new {
            Some(new) => Change::Put(key.bytes(), new),
            None => Change::Delete(key.bytes()),
        })
    }
}

fn assert_failed<T>(outcome: foldb::Result<T>) {
    let kind = outcome.err().map(|error| error.kind());
    assert_eq!(kind, Some(ErrorKind::MergeFailed));
}

/// Returns whether a write changes what a transaction reads. A walk reads its whole keyspace.
fn reads(plan: Plan<'_>, Operation { keyspace, change }: &Operation) -> bool {
    let is_first = *keyspace == Place::DEFAULT.index() && change.touches(b"first");
    let is_own = *keyspace == plan.place.index();
    let is_read = || plan.walks || plan.keys.iter().any(|key| change.touches(&key.bytes()));
    is_first || is_own && is_read()
}

/// Returns whether another write and one of these must not both commit under snapshot isolation.
fn excludes(written: &[Operation], other: &Operation) -> bool {
    let mut here = written.iter().filter(|own| own.keyspace == other.keyspace);
    // A table with a newer record may hold an older range delete. The commit of a range delete
    // counts it as a change.
    let is_range = |own: &Operation| matches!(own.change, Change::DeleteRange(_));
    here.any(|own| is_range(own) || Key::all().any(|key| own.change.excludes(&other.change, &key)))
}

/// Checks that the reads of a transaction have the same answers at its commit.
fn assert_same_reads(plan: Plan<'_>, then: View<'_>, now: View<'_>) {
    for key in plan.keys {
        assert_eq!(then.get(&key.bytes()), now.get(&key.bytes()), "{key:?} at the commit");
    }
    if plan.walks {
        assert_eq!(entries(then), entries(now), "a walk at the commit");
    }
}
