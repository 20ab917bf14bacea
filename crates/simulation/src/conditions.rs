//! Calls of a client that read and write in one step: transactions, conditional writes. And sorted
//! loads, which are one step too.

use std::collections::BTreeSet;

use foldb::numbering;
use foldb::{CompareAndSwap, ErrorKind, Isolation, Transaction, TransactionOptions, WriteOptions};
use foldb_model::{Change, Operation};

use crate::client::{Answer, Client};
use crate::counts::Counted;
use crate::history::Seen;

impl Client<'_> {
    /// Runs a transaction: it reads, then writes, then commits or rolls back. A serializable one
    /// that reads nothing has no cause for a conflict.
    pub(crate) fn transact(&mut self) -> Answer<()> {
        let serial = self.rng.bool();
        let isolation = if serial { Isolation::Serializable } else { Isolation::Snapshot };
        let sync = self.rng.u8(..) < self.stage.features.syncs;
        let write = WriteOptions { sync, ..WriteOptions::default() };
        let options = TransactionOptions { isolation, write, ..TransactionOptions::default() };
        let began = self.stage.ticks.next();
        let transaction = self.stage.db.with(&options).begin()?;
        let reads = self.rng.usize(..4);
        let reads = (0..reads).map(|_| self.read_in(&transaction)).collect::<Answer<Vec<_>>>()?;
        if !reads.is_empty() {
            self.saw(began, Seen::Together(reads.clone()));
        }
        let writes = self.rng.usize(1..5);
        let operations: Vec<_> = (0..writes).map(|_| self.change()).collect();
        operations.iter().try_for_each(|operation| self.write_in(&transaction, operation))?;
        if self.rng.u8(..8) == 0 {
            transaction.rollback();
            return Ok(());
        }
        let began = self.begin_write();
        let answer = transaction.commit();
        if let Err(error) = &answer
            && error.kind() == ErrorKind::Conflict
            && !(serial && reads.is_empty())
        {
            self.stage.counts.add(Counted::Conflict);
            return Ok(());
        }
        if let Some(write) = self.wrote(began, sync, &answer, operations) {
            // A snapshot one is true at its begin only.
            write.before = if serial { reads } else { Vec::new() };
            self.stage.counts.add(if serial { Counted::Commit } else { Counted::SnapshotCommit });
        }
        answer
    }

    fn read_in(&mut self, transaction: &Transaction) -> Answer<Seen> {
        let keyspace = self.rng.usize(..self.stage.keyspaces.len());
        let own = transaction.keyspace(&self.stage.keyspaces[keyspace]);
        if self.rng.u8(..3) > 0 {
            let key = self.key();
            let value = own.get(&key)?.map(|value| value.to_vec());
            return Ok(Seen::Value { keyspace, key, value });
        }
        let range = self.range();
        let entries = own.range(self.stage.features.stored_range(&range))?;
        let entries = self.entries(entries)?;
        Ok(Seen::Entries { keyspace, range: Some(range), entries })
    }

    fn write_in(&self, transaction: &Transaction, operation: &Operation) -> Answer<()> {
        let own = transaction.keyspace(&self.stage.keyspaces[operation.keyspace]);
        match &operation.change {
            Change::Put(key, value) => own.put(key, value),
            Change::Delete(key) => own.delete(key),
            Change::Merge(operator, key, operand) => {
                let operator = self.stage.db.operator(&operator.name())?;
                own.merge_with(&operator, key, operand)
            }
            Change::DeleteRange(range) => own.delete_range(self.stage.features.stored_range(range)),
        }
    }

    /// Takes the first entry of a range, or of all keys.
    fn take_first(&mut self, keyspace: usize) -> Answer<()> {
        let features = self.stage.features;
        let range = self.rng.bool().then(|| self.range());
        let at = &self.stage.keyspaces[keyspace];
        let began = self.begin_write();
        let taken = match &range {
            Some(range) => at.take_first(features.stored_range(range)),
            None => at.take_first(..),
        };
        let key = match &taken {
            Ok(Some((key, _))) => key.clone(),
            Ok(None) => {
                self.saw(began, Seen::Entries { keyspace, range, entries: Vec::new() });
                return Ok(());
            }
            // The write may be visible or not.
            Err(_) => numbering::last_key(),
        };
        let operations = vec![Operation { keyspace, change: Change::Delete(key.clone()) }];
        if let Some(write) = self.wrote(began, false, &taken, operations)
            && let Ok(Some((_, value))) = &taken
        {
            // No other entry of the range was at the key or before it.
            let number = (0..features.keys).find(|number| features.key(*number) == key);
            let behind = number.map_or(features.keys, |number| number + 1).to_be_bytes().to_vec();
            let start = range.map_or_else(|| 0u16.to_be_bytes().to_vec(), |range| range.start);
            let (range, entries) = (Some(start..behind), vec![(key, value.to_vec())]);
            write.before = vec![Seen::Entries { keyspace, range, entries }];
            self.stage.counts.add(Counted::Conditional);
        }
        taken.map(drop)
    }

    /// Writes one key under a condition.
    pub(crate) fn write_on_condition(&mut self) -> Answer<()> {
        let keyspace = self.rng.usize(..self.stage.keyspaces.len());
        let (own, at) = (self.stage.features.operators[keyspace], &self.stage.keyspaces[keyspace]);
        let key = self.key();
        let (value, operand) = (self.value(own, key.len()), self.operand(own));
        let seen = |value: Option<&[u8]>| {
            let (key, value) = (key.clone(), value.map(<[u8]>::to_vec));
            vec![Seen::Value { keyspace, key, value }]
        };
        let put = Change::Put(key.clone(), value.clone());
        let kind = self.rng.u8(..7);
        if kind > 4 {
            return self.take_first(keyspace);
        }
        let expected = if kind == 0 { at.get(&key)? } else { None };
        let began = self.begin_write();
        // The change, what was there before it, and what after it, if that is known.
        let answer = match kind {
            0 => at.compare_and_swap(&key, expected.as_deref(), Some(&value)).map(
                |swap| match swap {
                    CompareAndSwap::Swapped => (Some(put), seen(expected.as_deref()), Vec::new()),
                    CompareAndSwap::Found(found) => (None, seen(found.as_deref()), Vec::new()),
                },
            ),
            1 => at.put_if_absent(&key, &value).map(|was_absent| match was_absent {
                true => (Some(put), seen(None), Vec::new()),
                false => (None, Vec::new(), Vec::new()),
            }),
            2 => at.take(&key).map(|taken| {
                let change = taken.as_ref().map(|_| Change::Delete(key.clone()));
                (change, seen(taken.as_deref()), Vec::new())
            }),
            3 => at
                .fetch_update(&key, |_| Some(value.clone()))
                .map(|found| (Some(put), seen(found.as_deref()), Vec::new())),
            _ => at.merge_get(&key, &operand).map(|merged| {
                let change = Change::Merge(own, key.clone(), operand.clone());
                (Some(change), Vec::new(), seen(merged.as_deref()))
            }),
        };
        let (change, before, after) = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // The write may be visible or not.
                let failed: Answer<()> = Err(error);
                let change = match kind {
                    2 => Change::Delete(key.clone()),
                    4 => Change::Merge(own, key.clone(), operand),
                    _ => Change::Put(key.clone(), value.clone()),
                };
                self.wrote(began, false, &failed, vec![Operation { keyspace, change }]);
                return failed;
            }
        };
        match change {
            Some(change) => {
                let operations = vec![Operation { keyspace, change }];
                if let Some(write) = self.wrote(began, false, &Ok(()), operations) {
                    (write.before, write.after) = (before, after);
                    self.stage.counts.add(Counted::Conditional);
                }
            }
            None => before.into_iter().for_each(|seen| self.saw(began, seen)),
        }
        Ok(())
    }

    /// Loads some keys in order.
    pub(crate) fn load(&mut self) -> Answer<()> {
        let features = self.stage.features;
        let keyspace = self.rng.usize(..self.stage.keyspaces.len());
        let own = features.operators[keyspace];
        let count = self.rng.usize(1..20);
        let keys: BTreeSet<u16> = (0..count).map(|_| self.rng.u16(..features.keys)).collect();
        let mut load = self.stage.keyspaces[keyspace].sorted_load()?;
        let mut operations = Vec::new();
        for key in keys {
            let key = features.key(key);
            let change = if !features.fades(keyspace) && self.rng.u8(..100) < features.merges {
                let operand = self.operand(own);
                load.merge(&key, &operand)?;
                Change::Merge(own, key, operand)
            } else {
                let value = self.value(own, key.len());
                load.put(&key, &value)?;
                Change::Put(key, value)
            };
            operations.push(Operation { keyspace, change });
        }
        let began = self.begin_write();
        let answer = load.finish();
        if let Some(write) = self.wrote(began, true, &answer, operations) {
            write.is_logged = false;
            self.stage.counts.add(Counted::Load);
        }
        answer.map(drop)
    }
}
