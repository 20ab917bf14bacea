//! The tables older than everything in a job: what its records may have to hide.
//!
//! A record may give up its sequence number, a tombstone may go, only where no older record of the
//! key exists. Which tables may have one is known by their bounds alone: nothing is read. Keys are
//! asked for in ascending order, so each run's tables are passed once; and as long as keys stay
//! inside the table that was found, eight bytes of them decide.

use std::sync::Arc;

use crate::encoding::key_prefix;
use crate::faults::{Fault, planted};
use crate::key::Comparator;
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::version::{Key, KeyRange, TableRef, Version};

/// See the module.
#[derive(Clone)]
pub(crate) struct OlderTables {
    comparator: Arc<dyn Comparator>,
    /// Per run, its tables in key order, and the first that does not end before the last key asked.
    runs: Vec<(Vec<TableRef>, usize)>,
    /// Keys from the last one asked on whose first eight bytes are less than this lie in the table
    /// that it was found in.
    found_below: u64,
}

impl OlderTables {
    /// The tables of `version` below all of `inputs`, within a range. Without inputs: all tables.
    pub(crate) fn below(
        version: &Version,
        inputs: &[u64],
        range: &KeyRange,
        comparator: &Arc<dyn Comparator>,
    ) -> OlderTables {
        let all: Vec<_> = version.runs().map(|(_, run)| run).collect();
        let oldest_input = all.iter().rposition(|run| inputs.contains(&run.id));
        let older = &all[oldest_input.map_or(0, |index| index + 1)..];
        let runs = older
            .iter()
            .map(|run| (run.overlapping(&**comparator, range).cloned().collect::<Vec<_>>(), 0))
            .filter(|(tables, _)| !tables.is_empty())
            .collect();
        OlderTables { comparator: Arc::clone(comparator), runs, found_below: 0 }
    }

    /// Whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The least range that holds all of them that lie around a tombstone; `None` if none do.
    pub(super) fn around(&self, tombstone: &RangeTombstone) -> Option<(Edge, Edge)> {
        if planted(Fault::DropRangeDeleteEarly) {
            return None;
        }
        let comparator = &*self.comparator;
        let mut hull: Option<(Edge, Edge)> = None;
        for tables in self.reached_by(tombstone) {
            let (Some(first), Some(last)) = (tables.first(), tables.last()) else { continue };
            let here = (Edge::Before(Arc::clone(&first.lo)), last.hi.edge());
            hull = Some(match hull {
                None => here,
                Some((start, end)) => (
                    Edge::earlier(comparator, &start, &here.0).clone(),
                    Edge::later(comparator, &end, &here.1).clone(),
                ),
            });
        }
        hull
    }

    /// About how many records of theirs a tombstone deletes, and the samples among those.
    pub(super) fn deleted_by(&self, tombstone: &RangeTombstone) -> (u64, Vec<Key>) {
        let comparator = &*self.comparator;
        let (mut records, mut keys) = (0, Vec::new());
        for table in self.reached_by(tombstone).flatten() {
            let samples = &table.file.samples;
            let inside =
                |key: &&Key| tombstone.contains(comparator, key) && table.contains(comparator, key);
            let before = keys.len();
            keys.extend(samples.iter().filter(inside).cloned());
            let (some, all) = ((keys.len() - before) as u64, samples.len().max(1) as u64);
            records += table.file.entries * some / all;
        }
        (records, keys)
    }

    /// The tables that a tombstone reaches into, run by run.
    fn reached_by(&self, tombstone: &RangeTombstone) -> impl Iterator<Item = &[TableRef]> {
        let comparator = &*self.comparator;
        let reached = self.runs.iter().map(move |(tables, _)| {
            let ends = |t: &TableRef| t.hi.edge().compare(comparator, &tombstone.start).is_le();
            let starts = |t: &TableRef| !tombstone.end.is_before(comparator, &t.lo);
            let first = tables.partition_point(ends);
            let end = tables.partition_point(starts);
            &tables[first..end.max(first)]
        });
        reached.collect::<Vec<_>>().into_iter()
    }

    /// Whether an older record of `key` may exist. Keys must be asked in ascending order.
    #[inline]
    pub(super) fn may_hold(&mut self, key: &[u8]) -> bool {
        key_prefix(key) < self.found_below || self.finds(key)
    }

    fn finds(&mut self, key: &[u8]) -> bool {
        let comparator = &*self.comparator;
        let found = self.runs.iter_mut().find_map(|(tables, next)| {
            while *next < tables.len() && !tables[*next].hi.admits(comparator, key) {
                *next += 1;
            }
            tables.get(*next).filter(|table| comparator.compare(&table.lo, key).is_le())
        });
        if let Some(table) = found
            && comparator.bytewise_order()
        {
            self.found_below = key_prefix(table.hi.key());
        }
        found.is_some()
    }
}
