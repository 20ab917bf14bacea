//! The change feed: it yields every logged write once, whole, and in commit order.

use std::collections::BTreeMap;

use foldb_model::Operation;

use crate::checker::Wrong;
use crate::history::{Entry, Fed, Outcome, Write};

/// The writes that the feed has still to yield, over all lives, by their first number.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    writes: BTreeMap<u64, Logged>,
    /// Whether calls of the disk failed. A log may then lack its place in the history, and the feed
    /// says that its numbers are in no log.
    pub(super) is_lossy: bool,
}

#[derive(Clone, Debug)]
struct Logged {
    last: u64,
    operations: Vec<Operation>,
    is_logged: bool,
    /// Whether the write failed. It may be absent.
    is_open: bool,
    /// Failed writes with the same first number. A stop may have left any one of them.
    or_these: Vec<Vec<Operation>>,
}

impl Unread {
    pub(super) fn add(&mut self, write: &Write) {
        let logged = Logged {
            last: *write.numbers.end(),
            operations: write.operations.clone(),
            is_logged: write.is_logged,
            is_open: write.outcome == Outcome::Open,
            or_these: Vec::new(),
        };
        self.writes.insert(*write.numbers.start(), logged);
    }

    /// Puts a failed write in the place of the one that has its number, and of all later ones. The
    /// stop may also have left that one, or one of `others`.
    pub(super) fn replace(&mut self, first: u64, write: &Write, others: Vec<Vec<Operation>>) {
        let replaced = self.writes.remove(&first).map(|logged| logged.operations);
        self.truncate(first - 1, first - 1);
        self.add(write);
        if let Some(added) = self.writes.get_mut(&first) {
            added.or_these = others.into_iter().chain(replaced).collect();
        }
    }

    /// Removes the writes after `last`, which a stop took back. It may have taken back those after
    /// `first`, too.
    pub(super) fn truncate(&mut self, first: u64, last: u64) {
        self.writes.retain(|_, logged| logged.last <= last);
        for logged in self.writes.values_mut().filter(|logged| logged.last > first) {
            logged.is_open = true;
        }
    }

    /// Checks the next entries of the feed. Returns the last number that it yielded. `rivals` are
    /// failed writes whose numbers another failed write has too.
    pub(super) fn read(&mut self, feed: &[Fed], rivals: &[Write]) -> Result<u64, Wrong> {
        let mut through = 0;
        for fed in feed {
            let (first, last) = fed.numbers.clone().into_inner();
            match &fed.entry {
                Entry::Batch(operations) => self.take(first, operations, rivals)?,
                Entry::Unlogged => self.pass_unlogged(first, last)?,
                // The follower copied the database.
                Entry::Anew => self.writes.retain(|_, logged| logged.last > last),
            }
            through = through.max(last);
        }
        Ok(through)
    }

    fn take(
        &mut self,
        number: u64,
        operations: &[Operation],
        rivals: &[Write],
    ) -> Result<(), Wrong> {
        while let Some((first, logged)) = self.writes.pop_first() {
            if first == number {
                let is_rival = |rival: &Write| {
                    *rival.numbers.start() == number && rival.operations == operations
                };
                if logged.operations == operations
                    || logged.or_these.iter().any(|other| other == operations)
                    || rivals.iter().any(is_rival)
                {
                    return Ok(());
                }
                let expected = &logged.operations;
                return Err(format!(
                    "the feed has {operations:?} at number {number} instead of {expected:?}"
                ));
            }
            if first > number || !logged.is_open {
                return Err(format!("the feed has number {number}, but {first} comes next"));
            }
        }
        Err(format!("the feed has number {number}, which no write has: {operations:?}"))
    }

    /// Passes loads up to a number.
    fn pass_unlogged(&mut self, first: u64, last: u64) -> Result<(), Wrong> {
        while let Some((&number, _)) = self.writes.first_key_value().filter(|own| *own.0 <= last) {
            let Some(logged) = self.writes.remove(&number) else { break };
            if logged.is_logged && !logged.is_open && !self.is_lossy {
                return Err(format!(
                    "the feed says that {first}..={last} are in no log, but {number} has {:?}",
                    logged.operations
                ));
            }
        }
        Ok(())
    }

    /// # Errors
    /// Fails if the feed has still to yield a write that succeeded.
    pub(super) fn is_empty(&self) -> Result<(), Wrong> {
        match self.writes.iter().find(|(_, logged)| !logged.is_open) {
            None => Ok(()),
            Some((number, _)) => Err(format!("the feed ends before number {number}")),
        }
    }
}
