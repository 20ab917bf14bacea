//! Transactions and conditional writes of a program.

use foldb::{CompareAndSwap, ErrorKind, Isolation, Transaction, TransactionOptions};
use foldb_model::{Cell, Change, Model, Moment, Operation, View};

use super::compare::{assert_get, check_reads, entries, seen};
use super::program::{Condition, Draft, Key, Place};
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
        let Some(keyspace) = self.at(place).cloned() else { return };
        let found = |key: &[u8]| self.view(place).get(key).cloned();
        let merge = |key: Key, text| {
            let write = self.spell_out(place, Draft::Merge(None, key, text));
            let mut after = self.own();
            after.write(write.clone());
            let Change::Merge(_, _, operand) = write.change.clone() else {
                unreachable!("a merge")
            };
            (write.change, operand, after.of(place).get(&key.bytes()).cloned())
        };
        let is_failed = |key: Key| found(&key.bytes()) == Some(Cell::Failed);
        let failed = |kind| assert_eq!(kind, Some(ErrorKind::MergeFailed), "{condition:?}");
        let written = match condition {
            Condition::PutIfAbsent(key, text) => {
                let outcome = keyspace.put_if_absent(key.bytes(), text.bytes());
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                let was_absent = found(&key.bytes()).is_none();
                assert_eq!(outcome.expect("a put"), was_absent);
                was_absent.then(|| Change::Put(key.bytes(), text.bytes()))
            }
            Condition::Swap(key, text, knows) => {
                let has = match found(&key.bytes()) {
                    Some(Cell::Value(value)) => Some(value),
                    Some(Cell::Failed) | None => None,
                };
                let expected = if knows { has.clone() } else { Some(b"another".to_vec()) };
                let new = (text.len % 3 > 0).then(|| text.bytes());
                let outcome =
                    keyspace.compare_and_swap(key.bytes(), expected.as_deref(), new.as_deref());
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                let outcome = outcome.expect("a swap");
                if has != expected {
                    assert_eq!(outcome, CompareAndSwap::Found(has.as_deref().map(Into::into)));
                    return;
                }
                assert!(outcome.is_swapped());
                Some(match new {
                    Some(new) => Change::Put(key.bytes(), new),
                    None => Change::Delete(key.bytes()),
                })
            }
            Condition::Take(key) => {
                let outcome = keyspace.take(key.bytes());
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                assert_eq!(seen(outcome), found(&key.bytes()), "{condition:?}");
                found(&key.bytes()).map(|_| Change::Delete(key.bytes()))
            }
            Condition::MergeGet(key, text) => {
                let (change, operand, after) = merge(key, text);
                let outcome = keyspace.merge_get(key.bytes(), operand);
                if is_failed(key) || after == Some(Cell::Failed) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                assert_eq!(seen(outcome), after, "{condition:?}");
                Some(change)
            }
            Condition::MergeIf(key, text, accepts) => {
                let (change, operand, _) = merge(key, text);
                let outcome = keyspace.merge_if(key.bytes(), |_| accepts, operand);
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                assert_eq!(outcome.expect("a merge"), accepts);
                accepts.then_some(change)
            }
            Condition::TakeFirst(from) => {
                let first = self.view(place).range(from.bytes()..).next();
                let outcome = keyspace.take_first(from.bytes()..);
                match first {
                    Some((_, Cell::Failed)) => {
                        return failed(outcome.err().map(|error| error.kind()));
                    }
                    Some((key, Cell::Value(value))) => {
                        let (taken, had) = outcome.expect("a take").expect("an entry");
                        assert_eq!((&taken, &had[..]), (key, &value[..]));
                        Some(Change::Delete(taken))
                    }
                    None => {
                        assert!(outcome.expect("a take").is_none());
                        None
                    }
                }
            }
        };
        if let Some(change) = written {
            self.committed(vec![Operation { keyspace: place.index(), change }], false);
        }
    }
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
