//! Key ranges and bytes of parts of the tree.

use crate::compaction::policy::decision::Picker;
use crate::compaction::policy::estimate;
use crate::compaction::policy::shape::{CutRange, Key, RunShape, TableShape};

impl Picker<'_> {
    /// Estimates the bytes of neighbouring tables of a run in a range that overlaps each of them.
    pub(super) fn bytes_in(&self, tables: &[TableShape], range: &CutRange) -> u64 {
        let last = tables.len().saturating_sub(1);
        tables
            .iter()
            .enumerate()
            .map(|(i, table)| match i == 0 || i == last {
                true => estimate::bytes_in(table, range, self.cmp),
                false => table.bytes,
            })
            .sum()
    }

    /// Estimates the bytes of a level in a range.
    pub(super) fn bytes_at(&self, level: usize, range: &CutRange) -> u64 {
        let runs = self.runs(level).iter();
        runs.map(|run| self.bytes_in(run.tables_in(range, self.cmp), range)).sum()
    }

    /// Returns a range that holds all of these runs and cuts no table that they do not overlap.
    pub(super) fn exact_range(&self, runs: &[RunShape]) -> CutRange {
        self.hull(runs).map_or(CutRange::ALL, |(lo, hi)| self.up_to_next(lo, hi))
    }

    /// Returns a range that holds all of these runs and cuts no table of `level`.
    pub(super) fn range_over(&self, runs: &[RunShape], level: usize) -> CutRange {
        let Some((lo, hi)) = self.hull(runs) else { return CutRange::ALL };
        let range = self.up_to_next(lo, hi);
        let (mut lo, mut hi) = (lo, hi);
        for run in self.runs(level) {
            let tables = run.tables_in(&range, self.cmp);
            if let (Some(first), Some(last)) = (tables.first(), tables.last()) {
                if self.cmp.compare(&first.lo, lo).is_lt() {
                    lo = &first.lo;
                }
                hi = self.later_end(hi, last);
            }
        }
        self.up_to_next(lo, hi)
    }

    /// Returns the first key and the last table of some runs.
    fn hull<'r>(&self, runs: &'r [RunShape]) -> Option<(&'r Key, &'r TableShape)> {
        let firsts = runs.iter().filter_map(|run| run.tables.first());
        let lasts = runs.iter().filter_map(|run| run.tables.last());
        let lo = firsts.map(|table| &table.lo).min_by(|a, b| self.cmp.compare(a, b))?;
        let hi = lasts.reduce(|a, b| self.later_end(a, b))?;
        Some((lo, hi))
    }

    /// Returns the table that ends later.
    fn later_end<'t>(&self, a: &'t TableShape, b: &'t TableShape) -> &'t TableShape {
        let by_key = self.cmp.compare(&a.hi, &b.hi);
        if by_key.then(a.hi_included.cmp(&b.hi_included)).is_lt() { b } else { a }
    }

    /// Returns the range from a key to just before the tree's first table after the end of another.
    fn up_to_next(&self, lo: &Key, end: &TableShape) -> CutRange {
        let hi = if end.hi_included {
            let tables = self.tree.levels.iter().flatten().flat_map(|run| {
                let behind =
                    run.tables.partition_point(|t| self.cmp.compare(&t.lo, &end.hi).is_le());
                run.tables.get(behind)
            });
            tables.map(|table| &table.lo).min_by(|a, b| self.cmp.compare(a, b)).cloned()
        } else {
            Some(end.hi.clone())
        };
        CutRange { lo: Some(lo.clone()), hi }
    }
}
