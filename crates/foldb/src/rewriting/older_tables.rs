//! The tables older than everything in a job. The job's records may have to hide records in them.
//!
//! A record may get the sequence number 0, and a tombstone may be dropped, only if no older record
//! of the key exists. The tables' bounds tell which tables may have one, so no table is read. Keys
//! are asked for in ascending order, so each run's tables are passed once. While keys stay inside
//! the table found last, their first eight bytes decide.

use std::sync::Arc;

use crate::encoding::key_prefix;
use crate::faults::{Fault, planted};
use crate::key::Comparator;
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::version::{Key, KeyRange, TableRef, Version};

/// The tables below a job's inputs, asked key by key. See the module.
#[derive(Clone)]
pub(crate) struct OlderTables {
    comparator: Arc<dyn Comparator>,
    /// Tables of each run in key order, and the index of the first that does not end before the
    /// last key asked.
    runs: Vec<(Vec<TableRef>, usize)>,
    /// Prefix below which keys, from the last one asked on, lie in the table that was found.
    found_below: u64,
}

impl OlderTables {
    /// Returns the tables of `version` below all of `inputs`, within a range. Without inputs,
    /// returns all tables.
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

    /// Returns whether no older table exists.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the smallest range that holds every older table the tombstone reaches, or `None` if
    /// it reaches none.
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

    /// Estimates how many older records a tombstone deletes, and returns the samples among them.
    pub(super) fn deleted_by(&self, tombstone: &RangeTombstone) -> (u64, Vec<Key>) {
        let comparator = &*self.comparator;
        let (mut records, mut keys) = (0, Vec::new());
        for table in self.reached_by(tombstone).flatten() {
            let samples = &table.file.samples;
            let inside = |key: &&[u8]| {
                tombstone.contains(comparator, key) && table.contains(comparator, key)
            };
            let before = keys.len();
            keys.extend(samples.iter().filter(inside).map(Key::from));
            let (some, all) = ((keys.len() - before) as u64, samples.len().max(1) as u64);
            records += table.file.entries * some / all;
        }
        (records, keys)
    }

    /// Returns the tables that a tombstone reaches into, run by run.
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

    /// Returns whether an older record of `key` may exist. Callers ask for keys in ascending order.
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
