//! Transactions and conditional writes of a program.

use foldb::{CompareAndSwap, ErrorKind, Isolation, Transaction, TransactionOptions};

use super::compare::{assert_get, check_reads, is_between, seen};
use super::program::{Condition, Draft, Key, Place};
use super::run::{Player, has_default_operator};
use super::{Cell, Placed, Seen, World, Write};

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
        let is_failed = |cell: &Cell| matches!(cell, Cell::Failed(_));
        let has_failed =
            self.current.has(plan.place) && self.current.of(plan.place).0.values().any(is_failed);
        let plan = Plan { walks: plan.walks && !has_failed, ..plan };
        let Plan { serial, own, .. } = plan;
        let isolation = if serial { Isolation::Serializable } else { Isolation::Snapshot };
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let transaction = self.db.with(&options).begin().expect("a transaction");
        // The first read of a serializable transaction takes its snapshot.
        assert_get(b"first", transaction.get("first"), self.current.of(Place::DEFAULT));
        let mut snapshot = self.current.clone();
        let mut written = Vec::new();
        let half = own.len() / 2;
        for &(place, draft) in &own[..half] {
            self.write_in(&transaction, place, draft, &mut snapshot, &mut written);
        }
        self.read_in(&transaction, plan, &snapshot);
        for &(place, draft) in meanwhile {
            self.write(place, draft, false);
        }
        for &(place, draft) in &own[half..] {
            self.write_in(&transaction, place, draft, &mut snapshot, &mut written);
        }
        self.read_in(&transaction, plan, &snapshot);
        if !commit {
            return transaction.rollback();
        }
        match transaction.commit() {
            Ok(()) => {
                if serial && !written.is_empty() {
                    let mut replayed = self.current.clone();
                    written.iter().for_each(|write| replayed.apply(write));
                    assert_same_reads(plan, &snapshot, &replayed);
                }
                if !written.is_empty() {
                    self.committed(written, false);
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert!(!written.is_empty(), "a transaction without writes commits");
                let others = meanwhile.iter().filter(|(place, _)| self.at(*place).is_some());
                let others: Vec<Placed> =
                    others.map(|(place, draft)| (*place, self.spell_out(*place, *draft))).collect();
                let has_cause = match serial {
                    true => others.iter().any(|other| reads(plan, other)),
                    false => others.iter().any(|other| excludes(&written, other)),
                };
                assert!(has_cause, "no cause of a conflict: {plan:?}, {written:?}, {others:?}");
                self.conflicts += 1;
            }
        }
    }

    fn write_in(
        &self,
        transaction: &Transaction,
        place: Place,
        draft: Draft,
        snapshot: &mut World,
        written: &mut Vec<Placed>,
    ) {
        let Some(keyspace) = self.at(place) else { return };
        let own = transaction.keyspace(keyspace);
        let write = self.spell_out(place, draft);
        let outcome = match &write {
            Write::Put(key, value) => own.put(key, value),
            Write::Delete(key) => own.delete(key),
            Write::DeleteRange(range) => own.delete_range(range.clone()),
            Write::Merge(_, key, operand) if has_default_operator(draft) => own.merge(key, operand),
            Write::Merge(operator, key, operand) => {
                let operator = self.db.operator(operator.spec()).expect("the operator");
                own.merge_with(&operator, key, operand)
            }
            Write::Lasting(..) => Ok(()),
        };
        outcome.expect("an own write");
        let write = (place, write);
        snapshot.apply(&write);
        written.push(write);
    }

    fn read_in(&self, transaction: &Transaction, plan: Plan<'_>, snapshot: &World) {
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
        let state = self.current.of(place).clone();
        let found = |key: &[u8]| state.0.get(key).map(Cell::seen);
        let value = |key: &[u8]| match found(key) {
            Some(Seen::Value(value)) => Some(value),
            Some(Seen::Failed) | None => None,
        };
        let merge = |key: Key, text| {
            let write = self.spell_out(place, Draft::Merge(None, key, text));
            let mut after = state.clone();
            after.apply(&write);
            (write, after.0.get(&key.bytes()).map(Cell::seen))
        };
        let is_failed = |key: Key| found(&key.bytes()) == Some(Seen::Failed);
        let failed = |kind| assert_eq!(kind, Some(ErrorKind::MergeFailed), "{condition:?}");
        let written = match condition {
            Condition::PutIfAbsent(key, text) => {
                let outcome = keyspace.put_if_absent(key.bytes(), text.bytes());
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                let was_absent = found(&key.bytes()).is_none();
                assert_eq!(outcome.expect("a put"), was_absent);
                was_absent.then(|| Write::Put(key.bytes(), text.bytes()))
            }
            Condition::Swap(key, text, knows) => {
                let has = value(&key.bytes());
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
                    Some(new) => Write::Put(key.bytes(), new),
                    None => Write::Delete(key.bytes()),
                })
            }
            Condition::Take(key) => {
                let outcome = keyspace.take(key.bytes());
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                assert_eq!(seen(outcome), found(&key.bytes()), "{condition:?}");
                found(&key.bytes()).map(|_| Write::Delete(key.bytes()))
            }
            Condition::MergeGet(key, text) => {
                let (write, after) = merge(key, text);
                let Write::Merge(_, _, operand) = &write else { return };
                let outcome = keyspace.merge_get(key.bytes(), operand);
                if is_failed(key) || after == Some(Seen::Failed) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                assert_eq!(seen(outcome), after, "{condition:?}");
                Some(write)
            }
            Condition::MergeIf(key, text, accepts) => {
                let (write, _) = merge(key, text);
                let Write::Merge(_, _, operand) = &write else { return };
                let outcome = keyspace.merge_if(key.bytes(), |_| accepts, operand);
                if is_failed(key) {
                    return failed(outcome.err().map(|error| error.kind()));
                }
                assert_eq!(outcome.expect("a merge"), accepts);
                accepts.then_some(write)
            }
            Condition::TakeFirst(from) => {
                let first = state.0.range(from.bytes()..).next();
                let first = first.map(|(key, cell)| (key.clone(), cell.seen()));
                let outcome = keyspace.take_first(from.bytes()..);
                match first {
                    Some((_, Seen::Failed)) => {
                        return failed(outcome.err().map(|error| error.kind()));
                    }
                    Some((key, Seen::Value(value))) => {
                        let (taken, had) = outcome.expect("a take").expect("an entry");
                        assert_eq!((&taken, &had[..]), (&key, &value[..]));
                        Some(Write::Delete(key))
                    }
                    None => {
                        assert!(outcome.expect("a take").is_none());
                        None
                    }
                }
            }
        };
        if let Some(write) = written {
            self.committed(vec![(place, write)], false);
        }
    }
}

/// Returns whether a write changes what a transaction reads. A walk reads its whole keyspace.
fn reads(plan: Plan<'_>, (place, write): &Placed) -> bool {
    let is_first = *place == Place::DEFAULT && touches(write, b"first");
    let is_own = *place == plan.place;
    is_first || is_own && (plan.walks || plan.keys.iter().any(|key| touches(write, &key.bytes())))
}

/// Returns whether another write and one of these must not both commit under snapshot isolation.
fn excludes(written: &[Placed], (place, other): &Placed) -> bool {
    written.iter().filter(|(own, _)| own == place).any(|(_, own)| match (own, other) {
        (Write::Merge(..), Write::Merge(..)) => false,
        // A table with a newer record may hold an older range delete. The commit of a range delete
        // counts it as a change.
        (Write::DeleteRange(_), _) => true,
        _ => Key::all().any(|key| touches(own, &key) && touches(other, &key)),
    })
}

fn touches(write: &Write, key: &[u8]) -> bool {
    match write {
        Write::Put(own, _) | Write::Delete(own) | Write::Merge(_, own, _) => own == key,
        Write::DeleteRange(range) => is_between(key, range),
        Write::Lasting(_, write) => touches(write, key),
    }
}

/// Checks that the reads of a transaction have the same answers at its commit.
fn assert_same_reads(plan: Plan<'_>, at_snapshot: &World, at_commit: &World) {
    if !at_snapshot.has(plan.place) {
        return;
    }
    let (then, now) = (at_snapshot.of(plan.place), at_commit.of(plan.place));
    for key in plan.keys {
        let answer = |state: &super::State| state.0.get(&key.bytes()).map(Cell::seen);
        assert_eq!(answer(then), answer(now), "{key:?} at the commit");
    }
    if plan.walks {
        assert_eq!(then.seen(), now.seen(), "a walk at the commit");
    }
}
