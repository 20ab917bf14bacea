//! The ways in which a thread makes a write: plainly, in a transaction, or as a conditional write.
//!
//! A transaction first reads the write's keys, and expects what the thread's own writes left. It
//! adds to a tally by a read and a put, which must not lose what other threads add meanwhile. A
//! conditional write expects the key's own value.
//!
//! Invariant: a wrong value in a read is an error of the kind `Aborted`, which no disk causes.

use foldb::{CompareAndSwap, Error, Keyspace, Result, Value, WriteOptions};
use foldb::{Transaction, TransactionOptions};
use foldb_model::{Cell, Change};

use crate::features::Features;
use crate::model::Model;
use crate::stage::Stage;
use crate::write::{Operation, Write};

/// How a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Plain,
    Transaction,
    /// A write of one operation that also checks or returns a value.
    Conditional,
}

impl Way {
    /// Draws the way of a write with these operations.
    pub(crate) fn draw(
        features: &Features,
        operations: &[Operation],
        rng: &mut fastrand::Rng,
    ) -> Way {
        // A large batch would exceed what a transaction may hold.
        if !features.transactions || !operations.iter().all(Operation::is_small) {
            return Way::Plain;
        }
        match (rng.u8(..4), operations) {
            (0, _) => Way::Transaction,
            (1, [Operation::Own(own)]) => match &own.change {
                Change::Put(..) | Change::Delete(_) => Way::Conditional,
                // `merge_get` takes the keyspace's operator.
                Change::Merge(operator, ..) if features.operators[own.keyspace] == *operator => {
                    Way::Conditional
                }
                _ => Way::Plain,
            },
            _ => Way::Plain,
        }
    }
}

/// Makes a write in one transaction. `model` has the thread's keys before it.
///
/// # Errors
/// Of the engine. `Aborted` if the transaction reads something else than the model has.
pub(crate) fn transact(stage: &Stage, model: &Model, write: &Write) -> Result<()> {
    let write_options = WriteOptions { sync: write.sync, ..WriteOptions::default() };
    let options = TransactionOptions { write: write_options, ..TransactionOptions::default() };
    stage.db.with(&options).transact(|transaction| {
        for operation in &write.operations {
            expect_own_key(stage, model, transaction, operation)?;
        }
        write.operations.iter().try_for_each(|operation| apply(stage, transaction, operation))
    })
}

/// Compares the key of an operation, as the transaction sees it, with the model.
fn expect_own_key(
    stage: &Stage,
    model: &Model,
    transaction: &Transaction,
    operation: &Operation,
) -> Result<()> {
    let Some((at, key)) = key_of(operation) else { return Ok(()) };
    let expected = model.get(at, key);
    let found = transaction.keyspace(&stage.keyspaces[at]).get(stage.features.stored_key(key))?;
    expect("a transaction", key, found.as_ref(), expected)
}

fn apply(stage: &Stage, transaction: &Transaction, operation: &Operation) -> Result<()> {
    let stored = |key: &[u8]| stage.features.stored_key(key);
    match operation {
        Operation::Own(own) => {
            let keyspace = transaction.keyspace(&stage.keyspaces[own.keyspace]);
            match &own.change {
                Change::Put(key, value) => keyspace.put(stored(key), value),
                Change::Delete(key) => keyspace.delete(stored(key)),
                Change::Merge(operator, key, operand) => {
                    keyspace.merge_with(stage.operator(*operator), stored(key), operand)
                }
                Change::DeleteRange(range) => {
                    keyspace.delete_range(stage.features.stored_range(range))
                }
            }
        }
        Operation::Tally { slot } => {
            let tally = transaction.keyspace(&stage.tally);
            let before = tally.get([*slot])?.map_or(0, |value| number_of(&value));
            tally.put([*slot], (before + 1).to_le_bytes())
        }
        Operation::Bulk { .. } => unreachable!("a large batch is a plain write"),
    }
}

fn number_of(value: &[u8]) -> u64 {
    let bytes = value.first_chunk().expect("a tally has eight bytes");
    u64::from_le_bytes(*bytes)
}

/// Makes a write of one operation as a conditional write. `model` has the thread's keys before it.
///
/// # Errors
/// Of the engine. `Aborted` if the write finds something else than the model has.
pub(crate) fn write_if(stage: &Stage, model: &Model, write: &Write) -> Result<()> {
    let options = WriteOptions { sync: write.sync, ..WriteOptions::default() };
    let [operation @ Operation::Own(own)] = &write.operations[..] else {
        unreachable!("a conditional write has one operation")
    };
    let (at, key) = key_of(operation).expect("a conditional write has a key");
    let keyspace: &Keyspace = &stage.keyspaces[at];
    let conditional = keyspace.with(&options);
    let (stored, before) = (stage.features.stored_key(key), model.get(at, key));
    match &own.change {
        Change::Put(_, value) => {
            let expected = before.map(Vec::as_slice);
            match conditional.compare_and_swap(&stored, expected, Some(value))? {
                CompareAndSwap::Swapped => Ok(()),
                CompareAndSwap::Found(found) => expect("a swap", key, found.as_ref(), before),
            }
        }
        Change::Delete(_) => expect("a take", key, conditional.take(&stored)?.as_ref(), before),
        Change::Merge(operator, _, operand) => {
            let after = operator.merge(before.map(Vec::as_slice), operand);
            let found = conditional.merge_get(&stored, operand)?;
            expect("a merge", key, found.as_ref(), after.as_ref().map(Cell::value))
        }
        Change::DeleteRange(_) => unreachable!("a conditional write has one key"),
    }
}

/// Returns the keyspace and the key that an operation writes, if it writes one key of its thread.
fn key_of(operation: &Operation) -> Option<(usize, &[u8])> {
    match operation {
        Operation::Own(own) => Some((own.keyspace, own.change.key()?)),
        Operation::Bulk { keyspace, key, .. } => Some((*keyspace, key)),
        Operation::Tally { .. } => None,
    }
}

fn expect(
    reader: &str,
    key: &[u8],
    found: Option<&Value>,
    expected: Option<&Vec<u8>>,
) -> Result<()> {
    if found.map(|value| &value[..]) == expected.map(Vec::as_slice) {
        return Ok(());
    }
    let message = format!("{reader} of the key {key:?} found {found:?}, expected {expected:?}");
    Err(Error::aborted(message))
}
