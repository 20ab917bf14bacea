//! What the policy sees: the tree without its bytes.
//!
//! A shape is cheap to build for thousands of tables: keys are shared, never copied. It says
//! nothing about files; a file that two references share counts as two tables.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::key::{Comparator, KeyList};

/// A shared user key.
pub(super) type Key = Arc<[u8]>;

/// The tree as the policy sees it.
#[derive(Clone, Debug)]
pub(crate) struct TreeShape {
    /// Level 0 first; runs of a level newest first.
    pub levels: Vec<Vec<RunShape>>,
    /// The share of recent compactions' bytes that replaced or deleted something in the oldest
    /// data: `(bytes in - bytes out) / bytes from above`, a moving average in 0..=1. It is 1 when
    /// unknown. Where it is low (new keys), staged bytes are not dead and may wait longer.
    pub dead_share: f64,
    /// The parts that cannot be read.
    pub damage: Vec<Damage>,
}

/// A part of a run that cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    /// Id of the run.
    pub run: u64,
    /// The keys that it may hold, and a key on either side that can be read.
    pub range: CutRange,
}

/// A sorted run: tables that do not overlap, in key order.
#[derive(Clone, Debug)]
pub(crate) struct RunShape {
    /// Id of the run, unique in the tree.
    pub id: u64,
    /// Whether a running job reads the run or adds to it.
    pub busy: bool,
    /// In key order.
    pub tables: Vec<TableShape>,
}

/// A table reference: what lies outside its bounds does not exist.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    /// First key, included.
    pub lo: Key,
    /// Last key.
    pub hi: Key,
    /// Whether `hi` itself belongs to the table. False for a bound that a slice left behind.
    pub hi_included: bool,
    /// Estimated bytes inside the bounds.
    pub bytes: u64,
    /// Keys evenly spaced by bytes inside the file, in order: about 32 at most, perhaps none. Those
    /// outside the bounds are ignored.
    pub samples: KeyList,
    /// Estimated tombstones inside the bounds.
    pub deletes: u64,
    /// Estimated records inside the bounds, tombstones included.
    pub entries: u64,
    /// Whether the table holds records that a snapshot kept apart and that may fold now.
    pub released: bool,
}

/// A job that has begun and not ended.
#[derive(Clone, Debug)]
pub(crate) struct RunningJob {
    /// Level of its newest inputs.
    pub input_level: usize,
    /// Level of its output.
    pub output_level: usize,
    /// The keys it covers.
    pub range: CutRange,
    /// Bytes that the job has still to read: part of the debt.
    pub remaining_bytes: u64,
}

/// The keys between two cuts, `[lo, hi)`; `None` is no bound. A job begins and ends at cuts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CutRange {
    /// First key, included.
    pub lo: Option<Key>,
    /// End, excluded.
    pub hi: Option<Key>,
}

impl CutRange {
    /// Every key.
    pub(crate) const ALL: CutRange = CutRange { lo: None, hi: None };

    /// Returns whether no key lies inside: the range ends before it begins.
    pub(crate) fn is_empty(&self, cmp: &dyn Comparator) -> bool {
        matches!((&self.lo, &self.hi), (Some(lo), Some(hi)) if cmp.compare(lo, hi).is_ge())
    }

    /// Returns the part of this range inside another one.
    pub(crate) fn clipped(&self, other: &CutRange, cmp: &dyn Comparator) -> CutRange {
        let pick = |a: &Option<Key>, b: &Option<Key>, wanted: Ordering| match (a, b) {
            (Some(a), Some(b)) if cmp.compare(a, b) == wanted => Some(a.clone()),
            (Some(a), None) => Some(a.clone()),
            (_, b) => b.clone(),
        };
        CutRange {
            lo: pick(&self.lo, &other.lo, Ordering::Greater),
            hi: pick(&self.hi, &other.hi, Ordering::Less),
        }
    }

    /// Returns whether some key lies in both ranges.
    pub(crate) fn overlaps(&self, other: &CutRange, cmp: &dyn Comparator) -> bool {
        let begins_before_end = |lo: &Option<Key>, hi: &Option<Key>| match (lo, hi) {
            (Some(lo), Some(hi)) => cmp.compare(lo, hi) == Ordering::Less,
            _ => true,
        };
        begins_before_end(&self.lo, &other.hi) && begins_before_end(&other.lo, &self.hi)
    }
}

impl TableShape {
    /// Returns whether every key of the table is below `key`.
    pub(crate) fn ends_before(&self, key: &[u8], cmp: &dyn Comparator) -> bool {
        match cmp.compare(&self.hi, key) {
            Ordering::Less => true,
            Ordering::Equal => !self.hi_included,
            Ordering::Greater => false,
        }
    }

    /// Returns whether more than half of the table's records are tombstones.
    pub(crate) fn is_delete_heavy(&self) -> bool {
        self.deletes * 2 > self.entries
    }
}

impl RunShape {
    /// Returns the bytes of all tables of the run.
    pub(crate) fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).sum()
    }

    /// Returns the run's tables with keys in the range.
    pub(crate) fn tables_in<'a>(
        &'a self,
        range: &CutRange,
        cmp: &dyn Comparator,
    ) -> &'a [TableShape] {
        &self.tables[self.tables_within(range, cmp)]
    }

    /// Returns the indexes of the run's tables with keys in the range.
    pub(crate) fn tables_within(&self, range: &CutRange, cmp: &dyn Comparator) -> Range<usize> {
        let start = match &range.lo {
            Some(lo) => self.tables.partition_point(|table| table.ends_before(lo, cmp)),
            None => 0,
        };
        let end = match &range.hi {
            Some(hi) => self.tables.partition_point(|table| cmp.compare(&table.lo, hi).is_lt()),
            None => self.tables.len(),
        };
        start..end.max(start)
    }
}

impl TreeShape {
    /// Returns the bytes of a level.
    pub(crate) fn level_bytes(&self, level: usize) -> u64 {
        self.levels[level].iter().map(RunShape::bytes).sum()
    }

    /// Returns the deepest level that holds a table.
    pub(crate) fn deepest_level(&self) -> Option<usize> {
        self.levels.iter().rposition(|runs| runs.iter().any(|run| !run.tables.is_empty()))
    }
}
