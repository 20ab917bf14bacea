//! The damaged parts of a keyspace's tables that the engine has set aside.
//!
//! A compaction that meets damage finds out which keys it concerns ([`crate::db::trees::damage`])
//! and notes them here. The policy then goes round these keys, and reads of them still fail. The
//! notes live in memory: after an open, the first compaction that meets the damage finds it again.
//!
//! Invariant: writers and readers load one flag, which is false as long as there is no damage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::compaction::policy::{CutRange, gaps_between};
use crate::error::{Error, Result};
use crate::key::Comparator;
use crate::locks::Lock;
use crate::locks::rank::DAMAGE;
use crate::version::{KeyRange, TableRef, Upper, Version};

/// A part of a table that cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct DamagedPart {
    /// The number of the table.
    pub(crate) file: u64,
    /// The keys that it may hold, and a key on either side that can be read.
    pub(crate) range: CutRange,
    /// The error of the job that met the table's damage.
    pub(crate) error: Error,
}

/// The damaged parts of a keyspace's tables.
#[derive(Debug, Default)]
pub(crate) struct DamagedParts {
    any: AtomicBool,
    parts: Lock<Arc<[DamagedPart]>, DAMAGE>,
}

impl DamagedParts {
    /// Returns an error if damage lies in a range, for a caller whose compaction went round it.
    pub(crate) fn check(&self, range: &CutRange, comparator: &dyn Comparator) -> Result<()> {
        let parts = self.list();
        match parts.iter().find(|part| part.range.overlaps(range, comparator)) {
            None => Ok(()),
            Some(part) => {
                let advice = "; everything else is compacted: repair the database";
                Err(part.error.clone().advising(advice))
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Acquire: pairs with the stores under the lock. A late look meets the damage itself.
        !self.any.load(Ordering::Acquire)
    }

    pub(crate) fn list(&self) -> Arc<[DamagedPart]> {
        Arc::clone(&self.parts.lock())
    }

    /// Adds parts. Returns those that were not known.
    pub(crate) fn add(&self, found: Vec<DamagedPart>) -> Vec<DamagedPart> {
        let mut parts = self.parts.lock();
        let is_known = |new: &DamagedPart| parts.iter().any(|part| part.is_same(new));
        let new: Vec<_> = found.into_iter().filter(|part| !is_known(part)).collect();
        *parts = parts.iter().chain(&new).cloned().collect();
        self.any.store(!parts.is_empty(), Ordering::Release);
        new
    }

    /// Forgets the parts that a version no longer shows.
    pub(crate) fn keep_shown(&self, version: &Version, comparator: &dyn Comparator) {
        let mut parts = self.parts.lock();
        let is_shown = |part: &&DamagedPart| {
            version.tables().any(|table| part.is_of(table) && part.meets(table, comparator))
        };
        *parts = parts.iter().filter(is_shown).cloned().collect();
        self.any.store(!parts.is_empty(), Ordering::Release);
    }

    /// Returns the runs of level 0 that a compaction can take away. Between two damaged ranges the
    /// policy shapes the tree as usual, so the piece with the most runs counts.
    pub(crate) fn level0_runs(&self, version: &Version, comparator: &dyn Comparator) -> usize {
        let runs = &version.levels[0].runs;
        let damaged: Vec<CutRange> = self.list().iter().map(|part| part.range.clone()).collect();
        let gaps = gaps_between(&damaged, comparator).into_iter().map(|gap| key_range(&gap));
        let runs_in = |gap: KeyRange| {
            runs.iter().filter(|run| run.overlapping(comparator, &gap).next().is_some()).count()
        };
        gaps.map(runs_in).max().unwrap_or(0)
    }
}

impl DamagedPart {
    /// Returns whether the part belongs to the file of a table.
    pub(crate) fn is_of(&self, table: &TableRef) -> bool {
        table.file.number == self.file
    }

    /// Returns whether this is the same part.
    pub(crate) fn is_same(&self, other: &DamagedPart) -> bool {
        (self.file, &self.range) == (other.file, &other.range)
    }

    /// Returns whether a table shows keys of the part's range.
    pub(crate) fn meets(&self, table: &TableRef, comparator: &dyn Comparator) -> bool {
        key_range(&self.range).overlaps(comparator, &table.lo, &table.hi)
    }
}

/// Returns the range as versions describe it.
pub(crate) fn key_range(range: &CutRange) -> KeyRange {
    KeyRange { lo: range.lo.clone(), hi: range.hi.clone().map(Upper::Excluded) }
}
