//! Parts of a job: key ranges that several workers compact at the same time.
//!
//! A job into the last level may read hundreds of megabytes. One worker would take seconds for it,
//! while writers wait and other processors have nothing to do.
//!
//! ```text
//! job [a, z) into run 1     part [a, m)       part [m, z)
//! run 3  |--t--------u--|   |--t---|          |---u--|
//! run 1  |--v--------w--|   |--v---|          |---w--|
//! ```
//!
//! Each part is a job of its own: it carves only its own range out of the runs. So their slices may
//! be written and installed in any order.
//!
//! Invariant: the ranges of the parts do not overlap, and together they are the range of the job.
//!
//! Source: RocksDB's subcompactions.

use std::sync::Arc;

use crate::compaction::job::{Job, Moves};
use crate::key::Comparator;
use crate::version::{Key, KeyRange, TableRef, Upper, Version};

/// A run with at least this many tables for each part is cut between tables.
const TABLES_OF_A_PART: usize = 4;

impl Job {
    /// Divides the job into at most `most` parts, in key order. Each has about the same share of
    /// the largest run, and `least_bytes` or more if the other runs lie as that one does. A job
    /// that only moves tables stays whole.
    pub(crate) fn parts(
        self,
        most: usize,
        least_bytes: u64,
        version: &Version,
        comparator: &dyn Comparator,
    ) -> Vec<Job> {
        if most < 2 || self.moves == Moves::All {
            return vec![self];
        }
        let tables = self.tables(version, comparator);
        let bytes: u64 =
            tables.iter().map(|table| table.bytes_within(comparator, &self.range)).sum();
        let count = (bytes / least_bytes.max(1)).min(most as u64) as usize;
        let mut cuts = match count {
            0 | 1 => Vec::new(),
            _ => self.cuts(count, version, comparator),
        };
        cuts.dedup_by(|a, b| comparator.compare(a, b).is_eq());
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        let mut rest = self;
        for cut in cuts {
            let Some((part, behind)) = rest.clone().cut_at(cut, comparator) else { continue };
            parts.push(part);
            rest = behind;
        }
        parts.push(rest);
        parts
    }

    /// Returns whether this is the same part of the same job.
    pub(crate) fn is_same_part(&self, other: &Job) -> bool {
        self.output_run == other.output_run && self.range == other.range
    }

    /// Returns whether this is another part of the same job.
    pub(crate) fn is_other_part_of(&self, other: &Job) -> bool {
        self.output_run == other.output_run
            && self.inputs == other.inputs
            && self.range != other.range
    }

    /// Divides the job before a key. Returns `None` if one side would have no keys.
    fn cut_at(self, cut: Key, comparator: &dyn Comparator) -> Option<(Job, Job)> {
        let KeyRange { lo, hi } = self.range.clone();
        // A comparator may call a key less than itself.
        let is_behind = |lo: &Key| *lo != cut && comparator.compare(lo, &cut).is_lt();
        let is_inside = lo.as_ref().is_none_or(is_behind)
            && hi.as_ref().is_none_or(|hi| hi.admits(comparator, &cut));
        let before = KeyRange { lo, hi: Some(Upper::Excluded(Arc::clone(&cut))) };
        let behind = KeyRange { lo: Some(cut), hi };
        is_inside.then(|| (Job { range: before, ..self.clone() }, Job { range: behind, ..self }))
    }

    /// Returns the keys that divide the largest run of the job into `count` parts, in key order.
    fn cuts(&self, count: usize, version: &Version, comparator: &dyn Comparator) -> Vec<Key> {
        let bytes_in = |table: &TableRef| table.bytes_within(comparator, &self.range);
        let runs = self.sources(version).into_iter();
        let largest = runs
            .max_by_key(|run| run.overlapping(comparator, &self.range).map(bytes_in).sum::<u64>());
        let Some(largest) = largest else { return Vec::new() };
        let tables = || largest.overlapping(comparator, &self.range);
        let all: u64 = tables().map(bytes_in).sum();
        // A cut between tables divides none. A few tables must be divided all the same.
        let divides = tables().len() < TABLES_OF_A_PART * count;
        let mut goals = (1..count as u64).map(|part| all * part / count as u64).peekable();
        let (mut before, mut cuts) = (0, Vec::new());
        for table in tables() {
            let bytes = bytes_in(table);
            while let Some(goal) = goals.next_if(|&goal| goal < before + bytes) {
                let share = (goal - before) as f64 / bytes as f64;
                cuts.push(match divides {
                    true => self.cut_within(table, share, comparator),
                    false => Arc::clone(&table.lo),
                });
            }
            before += bytes;
        }
        cuts
    }

    /// Returns a key that has about this share of a table's bytes before it.
    fn cut_within(&self, table: &TableRef, share: f64, comparator: &dyn Comparator) -> Key {
        let is_shown = |sample: &&[u8]| {
            table.contains(comparator, sample) && self.range.contains(comparator, sample)
        };
        let shown: Vec<&[u8]> = table.file.samples.iter().filter(is_shown).collect();
        // The samples divide the table into one piece more than there are samples.
        let place = ((shown.len() + 1) as f64 * share) as usize;
        match place.checked_sub(1).and_then(|at| shown.get(at)) {
            Some(sample) => (*sample).into(),
            None => Arc::clone(&table.lo),
        }
    }
}
