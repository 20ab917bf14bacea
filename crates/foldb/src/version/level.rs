//! Versions: levels of runs of trimmed table references.
//!
//! A [`TableRef`] is (file, lo, hi). Records outside its bounds do not exist for any reader,
//! compaction or statistic (H1). So each slice of a compaction takes effect when it is installed:
//!
//! ```text
//! level 1: t [a..z]            slice [a, m) installs     level 1: t [m..z]
//! level 2: u [a..z]            ------------------->      level 2: v [a..m), u [m..z]
//! ```

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::faults::{Fault, planted};
use crate::key::Comparator;
use crate::segment::SegmentMap;
use crate::version::bounds::{Key, KeyRange, Upper};
use crate::version::file::FileMeta;

/// Id of a run in its database; never reused.
pub(crate) type RunId = u64;

/// The visible part of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableRef {
    pub(crate) file: Arc<FileMeta>,
    pub(crate) lo: Key,
    pub(crate) hi: Upper,
}

impl TableRef {
    /// Returns whether a key lies inside the bounds.
    #[inline]
    pub(crate) fn contains(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        comparator.compare(&self.lo, key) != Ordering::Greater && self.hi.admits(comparator, key)
    }

    /// Returns whether the bounds show the whole file.
    pub(crate) fn is_whole(&self) -> bool {
        self.lo == self.file.smallest && self.hi == self.file.end
    }

    /// Returns whether range tombstones may lie inside the bounds.
    #[inline]
    pub(crate) fn has_range_tombstones(&self) -> bool {
        self.file.range_deletes > 0
    }

    /// Estimates the bytes inside the bounds, from the file's samples.
    pub(crate) fn bytes(&self, comparator: &dyn Comparator) -> u64 {
        self.bytes_within(comparator, &KeyRange::all())
    }

    /// Estimates the bytes inside both the bounds and a range.
    pub(crate) fn bytes_within(&self, comparator: &dyn Comparator, range: &KeyRange) -> u64 {
        if range.lo.is_none() && range.hi.is_none() && self.is_whole() {
            return self.file.len;
        }
        let inside = |key: &[u8]| self.contains(comparator, key) && range.contains(comparator, key);
        let samples = self.file.samples.len().max(1) as u64;
        let share = self.file.samples.iter().filter(|sample| inside(sample)).count() as u64;
        self.file.len * share.clamp(1, samples) / samples
    }

    /// Returns the part below `range` and the part above it.
    fn without(&self, comparator: &dyn Comparator, range: &KeyRange) -> [Option<TableRef>; 2] {
        let below =
            range.lo.as_ref().filter(|lo| comparator.compare(&self.lo, lo) == Ordering::Less);
        let below = below.map(|lo| {
            let cut = Upper::Excluded(Arc::clone(lo));
            let hi = match cut.compare(comparator, &self.hi) {
                Ordering::Less => cut,
                _ => self.hi.clone(),
            };
            TableRef { file: Arc::clone(&self.file), lo: Arc::clone(&self.lo), hi }
        });
        let above = match &range.hi {
            Some(Upper::Excluded(end)) if self.hi.admits(comparator, end) => {
                let lo = match comparator.compare(&self.lo, end) {
                    Ordering::Less => Arc::clone(end),
                    _ => Arc::clone(&self.lo),
                };
                Some(TableRef { file: Arc::clone(&self.file), lo, hi: self.hi.clone() })
            }
            // A slice ends before a key, but a whole table that moves ends with its last key.
            Some(end @ Upper::Included(_)) => {
                assert!(self.hi.compare(comparator, end).is_le(), "a carved range ends in a table");
                None
            }
            _ => None,
        };
        debug_assert!(
            below.as_ref().is_none_or(|left| left.hi.compare(comparator, &self.hi).is_le()),
            "what is left below a carved range lies in the table"
        );
        debug_assert!(
            above.as_ref().is_none_or(|left| comparator.compare(&self.lo, &left.lo).is_le()),
            "what is left above a carved range lies in the table"
        );
        [below, above]
    }
}

/// Tables that do not overlap, in key order.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) tables: Vec<TableRef>,
    /// Whether a table may have range tombstones. Each iterator asks, and the tables may be many.
    has_range_tombstones: bool,
}

impl Run {
    /// Makes a run of tables in key order.
    pub(crate) fn new(id: RunId, tables: Vec<TableRef>) -> Run {
        let has_range_tombstones = tables.iter().any(TableRef::has_range_tombstones);
        Run { id, tables, has_range_tombstones }
    }

    /// Returns whether range tombstones may lie in the run.
    #[inline]
    pub(crate) fn has_range_tombstones(&self) -> bool {
        self.has_range_tombstones
    }

    /// Returns the index of the first table that ends at or above `key`: the only table that may
    /// hold the key.
    #[inline]
    pub(crate) fn find(&self, comparator: &dyn Comparator, key: &[u8]) -> usize {
        self.tables.partition_point(|table| !table.hi.admits(comparator, key))
    }

    /// Returns the table that shows `key`.
    #[inline]
    pub(crate) fn table_of(&self, comparator: &dyn Comparator, key: &[u8]) -> Option<&TableRef> {
        let table = self.tables.get(self.find(comparator, key))?;
        (comparator.compare(&table.lo, key) != Ordering::Greater).then_some(table)
    }

    /// Returns the tables that have keys in a range.
    pub(crate) fn overlapping<'a>(
        &'a self,
        comparator: &dyn Comparator,
        range: &KeyRange,
    ) -> std::slice::Iter<'a, TableRef> {
        self.tables[self.overlapping_range(comparator, range)].iter()
    }

    /// Returns the indexes of the tables that have keys in a range. They are neighbours.
    pub(crate) fn overlapping_range(
        &self,
        comparator: &dyn Comparator,
        range: &KeyRange,
    ) -> Range<usize> {
        let first = range.lo.as_ref().map_or(0, |lo| self.find(comparator, lo));
        let begins = |table: &TableRef| {
            range.hi.as_ref().is_none_or(|end| end.admits(comparator, &table.lo))
        };
        first..first + self.tables[first..].partition_point(begins)
    }

    /// Returns the tables between the first and the last that differ from those of a later state of
    /// the run. Edits change a few neighbours of perhaps very many.
    pub(crate) fn differing(&self, later: Option<&Run>) -> &[TableRef] {
        let later = later.map_or(&[][..], |later| &later.tables);
        if std::ptr::eq(&*self.tables, later) {
            return &[];
        }
        let is_same = |(a, b): &(&TableRef, &TableRef)| Arc::ptr_eq(&a.file, &b.file);
        let before = self.tables.iter().zip(later).take_while(is_same).count();
        let rest = (&self.tables[before..], &later[before..]);
        let behind = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(is_same).count();
        &rest.0[..rest.0.len() - behind]
    }

    /// Estimates the bytes of the run.
    pub(crate) fn bytes(&self, comparator: &dyn Comparator) -> u64 {
        self.tables.iter().map(|table| table.bytes(comparator)).sum()
    }

    /// Returns this run without a key range; `None` if nothing is left.
    pub(crate) fn carve(&self, comparator: &dyn Comparator, range: &KeyRange) -> Option<Run> {
        let mut tables = Vec::with_capacity(self.tables.len() + 1);
        for table in &self.tables {
            if planted(Fault::KeepUsedUpSlice) || !range.overlaps(comparator, &table.lo, &table.hi)
            {
                tables.push(table.clone());
            } else {
                tables.extend(table.without(comparator, range).into_iter().flatten());
            }
        }
        (!tables.is_empty()).then(|| Run::new(self.id, tables))
    }

    /// Inserts a table in key order.
    pub(crate) fn insert(&mut self, comparator: &dyn Comparator, table: TableRef) {
        let at = self
            .tables
            .partition_point(|other| comparator.compare(&other.lo, &table.lo) == Ordering::Less);
        self.has_range_tombstones |= table.has_range_tombstones();
        self.tables.insert(at, table);
    }
}

/// Runs, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub(crate) runs: Vec<Arc<Run>>,
}

impl Level {
    /// Returns the tables of all runs.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableRef> {
        self.runs.iter().flat_map(|run| &run.tables)
    }
}

/// The tree at one moment. Immutable and shared.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) levels: Vec<Level>,
    /// The value segments that its tables refer to.
    pub(crate) segments: SegmentMap,
}

impl Version {
    /// Returns a tree without tables.
    pub(crate) fn empty(num_levels: usize) -> Version {
        Version { levels: vec![Level::default(); num_levels], segments: SegmentMap::default() }
    }

    /// Returns every run from the newest to the oldest, with its level.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (usize, &Arc<Run>)> {
        self.levels
            .iter()
            .enumerate()
            .flat_map(|(index, level)| level.runs.iter().map(move |run| (index, run)))
    }

    /// Returns every table reference.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableRef> {
        self.levels.iter().flat_map(Level::tables)
    }

    /// Returns the level of a run, and the index of the run in that level.
    pub(crate) fn position(&self, id: RunId) -> Option<(usize, usize)> {
        self.levels.iter().enumerate().find_map(|(index, level)| {
            level.runs.iter().position(|run| run.id == id).map(|at| (index, at))
        })
    }

    /// Returns a run by its id.
    pub(crate) fn run(&self, id: RunId) -> Option<&Arc<Run>> {
        self.position(id).map(|(level, at)| &self.levels[level].runs[at])
    }
}
