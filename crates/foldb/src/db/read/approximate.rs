//! Estimates the size of a key range, and the number of its keys, without reading its records.
//!
//! Sizes are estimated from the sampled keys of each table. Counts have bounds that always hold:
//!
//! ```text
//! at most:  the records, except deletes, of all tables and memtables that reach into the range
//! at least: the largest number of any source: the keys that it certainly puts in the range,
//!           less the deletes and merges of newer sources, each of which may remove a key
//! ```
//!
//! A source is a memtable or a run. A table does not store its number of keys. If it lies wholly in
//! the range, it certainly puts its distinct samples there, less its deletes and merges.
//!
//! A range tombstone may remove every key of older sources, so it makes their counts uncertain. The
//! estimate omits the keys of memtables and the samples of tables that tombstones cover.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;

use foldb_chains::Cursor;

use crate::db::core::Core;
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::iterator::{Bounds, Covers};
use crate::key::{Comparator, Kind, RecordHeader, SeqNo};
use crate::memtable::{self, Memtable};
use crate::version::{KeyRange, Run, TableRef, Upper};

/// Most keys that a walk through one memtable visits. The rest is estimated.
const MEMTABLE_KEYS: u64 = 4096;

/// An estimated number of keys, with bounds of the true number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApproximateCount {
    /// The estimate. Tables count their records minus twice their deletes, by the share of their
    /// bytes in the range. Memtables count their keys minus the deleted ones. A key counts once in
    /// each place that has a record of it, so unfolded operands make the estimate less exact.
    pub estimate: u64,
    /// The true number is at least this. 0 in a keyspace with expiry, where any entry may have
    /// expired.
    pub at_least: u64,
    /// The true number is at most this.
    pub at_most: u64,
}

impl ApproximateCount {
    /// Returns how far the estimate may be off.
    pub fn error(&self) -> u64 {
        (self.estimate - self.at_least).max(self.at_most - self.estimate)
    }
}

/// The numbers that one source contributes.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    estimate: u64,
    /// Keys that the source certainly puts in the range: a lower bound.
    certain: u64,
    /// Its records in the range except deletes: an upper bound.
    present: u64,
    /// Its records in the range that may remove a key: an upper bound.
    removing: u64,
}

impl Core {
    /// Estimates the bytes of a range.
    pub(crate) fn size_within(&self, keyspace: &KeyspaceState, bounds: &Bounds) -> Result<u64> {
        self.check_open()?;
        keyspace.check_ends(bounds.as_refs())?;
        let now = |core: &Core| Ok(core.published());
        let (view, _, seqno) = self.begin_read(keyspace, ReadSettings::default(), now)?;
        let comparator = &*keyspace.comparator;
        let Some(range) = key_range(bounds, comparator) else { return Ok(0) };
        let memtables = view.memtables().map(|memtable| {
            let walked = Walked::through(memtable, seqno, bounds, comparator, |_, _| false);
            memtable.bytes() as u64 * walked.inside / walked.keys.max(1)
        });
        let runs = view.version.runs().map(|(_, run)| {
            let tables = run.overlapping(comparator, &range);
            tables.map(|table| table.bytes_within(comparator, &range)).sum::<u64>()
        });
        Ok(memtables.chain(runs).sum())
    }

    /// Estimates the keys of a range.
    pub(crate) fn count_within(
        &self,
        keyspace: &KeyspaceState,
        bounds: &Bounds,
    ) -> Result<ApproximateCount> {
        self.check_open()?;
        keyspace.check_ends(bounds.as_refs())?;
        let now = |core: &Core| Ok(core.published());
        let (view, _, seqno) = self.begin_read(keyspace, ReadSettings::default(), now)?;
        let comparator = &*keyspace.comparator;
        let mut count = ApproximateCount { estimate: 0, at_least: 0, at_most: 0 };
        let Some(range) = key_range(bounds, comparator) else { return Ok(count) };
        let mut covers = keyspace.covers(&view, seqno);
        let mut sources = Vec::new();
        for memtable in view.memtables() {
            let is_covered = |key: &[u8], seqno| is_covered(&mut covers, key, seqno);
            let walked = Walked::through(memtable, seqno, bounds, comparator, is_covered);
            let mut tally = walked.tally;
            if deletes_ranges_in(memtable, &range, comparator) {
                tally.removing = u64::MAX;
            }
            sources.push(tally);
        }
        for (_, run) in view.version.runs() {
            sources.push(tally_run(run, bounds, &range, comparator, &mut covers));
        }
        let mut removing = 0u64;
        for source in sources {
            count.estimate += source.estimate;
            count.at_most += source.present;
            count.at_least = count.at_least.max(source.certain.saturating_sub(removing));
            removing = removing.saturating_add(source.removing);
        }
        if keyspace.stamps {
            // Sources count expired entries too.
            count.at_least = 0;
        }
        count.estimate = count.estimate.clamp(count.at_least, count.at_most);
        Ok(count)
    }
}

/// The result of a walk through a memtable.
#[derive(Debug, Default)]
struct Walked {
    /// Keys of the memtable.
    keys: u64,
    /// Keys of the memtable in the range.
    inside: u64,
    tally: Tally,
}

impl Walked {
    fn through(
        memtable: &Memtable,
        seqno: SeqNo,
        bounds: &Bounds,
        comparator: &dyn Comparator,
        mut is_covered: impl FnMut(&[u8], SeqNo) -> bool,
    ) -> Walked {
        let mut walked = Walked::default();
        if memtable.is_empty() {
            return walked;
        }
        let mut cursor = memtable.cursor(seqno);
        walked.keys = cursor.chains().len() as u64;
        match bounds.as_refs().0 {
            Bound::Unbounded => cursor.seek_to_first(),
            Bound::Included(lower) | Bound::Excluded(lower) => cursor.seek(lower),
        }
        while cursor.valid() && is_below_upper(bounds, comparator, cursor.key()) {
            if walked.inside == MEMTABLE_KEYS {
                walked.assume_the_rest(&cursor);
                break;
            }
            if is_above_lower(bounds, comparator, cursor.key()) {
                let RecordHeader { kind, seqno, .. } = memtable::header(&cursor);
                walked.add(if is_covered(cursor.key(), seqno) { Kind::Delete } else { kind });
            }
            cursor.next_key();
        }
        let deleted = walked.inside - walked.tally.present;
        walked.tally.estimate = walked.tally.present.saturating_sub(deleted);
        walked
    }

    /// Counts a key by its newest record.
    fn add(&mut self, newest: Kind) {
        self.inside += 1;
        let tally = &mut self.tally;
        tally.certain += u64::from(newest.is_put());
        tally.present += u64::from(newest != Kind::Delete);
        tally.removing += u64::from(!newest.is_put());
    }

    /// Counts the unvisited keys: each may be in the range, with a record of any kind.
    fn assume_the_rest(&mut self, cursor: &Cursor) {
        let rest = (cursor.chains().len() as u64).saturating_sub(self.inside);
        self.inside += rest;
        self.tally.present += rest;
        self.tally.removing += rest;
    }
}

/// Returns whether a key's records up to `seqno` are deleted. A table whose range tombstones cannot
/// be read counts as having none; a read of the key reports the error.
fn is_covered(covers: &mut Option<Covers>, key: &[u8], seqno: SeqNo) -> bool {
    covers.as_mut().is_some_and(|covers| covers.of(key).is_ok_and(|cover| seqno < cover))
}

/// Returns whether the memtable has range tombstones in a range.
fn deletes_ranges_in(memtable: &Memtable, range: &KeyRange, comparator: &dyn Comparator) -> bool {
    let Some(tombstones) = memtable.range_tombstones() else { return false };
    let (start, end) = (range.start(), range.end());
    tombstones.to_vec().iter().any(|t| t.clipped(comparator, &start, &end).is_some())
}

/// Returns the share of a table's samples in the range that no range tombstone deletes, as a
/// fraction.
fn left_over(
    table: &TableRef,
    range: &KeyRange,
    comparator: &dyn Comparator,
    covers: &mut Option<Covers>,
) -> (u64, u64) {
    let inside = |key: &[u8]| table.contains(comparator, key) && range.contains(comparator, key);
    let samples = table.file.samples.iter().filter(|sample| inside(sample));
    let (mut left, mut all) = (0, 0);
    for sample in samples {
        all += 1;
        left += u64::from(!is_covered(covers, sample, table.file.largest_seqno));
    }
    if all == 0 { (1, 1) } else { (left, all) }
}

fn tally_run(
    run: &Run,
    bounds: &Bounds,
    range: &KeyRange,
    comparator: &dyn Comparator,
    covers: &mut Option<Covers>,
) -> Tally {
    let mut tally = Tally::default();
    for table in run.overlapping(comparator, range) {
        let file = table.file.facts();
        let inside = table.bytes_within(comparator, range);
        let records = file.entries.saturating_sub(2 * file.deletes);
        let inside = u128::from(records) * u128::from(inside) / u128::from(file.len.max(1));
        let (left, all) = left_over(table, range, comparator, covers);
        tally.estimate += (inside * u128::from(left) / u128::from(all)) as u64;
        tally.present += file.entries - file.deletes;
        tally.removing = tally.removing.saturating_add(file.deletes + file.merges);
        if table.has_range_tombstones() {
            tally.removing = u64::MAX;
        } else if lies_whole_in(table, bounds, comparator) {
            tally.certain += sampled_keys(table).saturating_sub(file.deletes + file.merges);
        }
    }
    tally
}

/// Returns whether all records of the table's file are visible and in the range.
fn lies_whole_in(table: &TableRef, bounds: &Bounds, comparator: &dyn Comparator) -> bool {
    table.is_whole()
        && is_above_lower(bounds, comparator, &table.file.smallest)
        && is_below_upper(bounds, comparator, table.file.end.key())
}

/// Returns the number of keys that the table certainly has.
fn sampled_keys(table: &TableRef) -> u64 {
    let samples: BTreeSet<&[u8]> = table.file.samples.iter().collect();
    let ends = 1 + u64::from(table.file.smallest != *table.file.end.key());
    ends.max(samples.len() as u64).min(table.file.entries)
}

fn is_above_lower(bounds: &Bounds, comparator: &dyn Comparator, key: &[u8]) -> bool {
    match bounds.as_refs().0 {
        Bound::Unbounded => true,
        Bound::Included(lower) => comparator.compare(key, lower) != Ordering::Less,
        Bound::Excluded(lower) => comparator.compare(key, lower) == Ordering::Greater,
    }
}

fn is_below_upper(bounds: &Bounds, comparator: &dyn Comparator, key: &[u8]) -> bool {
    match bounds.as_refs().1 {
        Bound::Unbounded => true,
        Bound::Included(upper) => comparator.compare(key, upper) != Ordering::Greater,
        Bound::Excluded(upper) => comparator.compare(key, upper) == Ordering::Less,
    }
}

/// Returns the range as tables represent it, with an included lower end; `None` if its ends cross.
fn key_range(bounds: &Bounds, comparator: &dyn Comparator) -> Option<KeyRange> {
    let lo = match bounds.as_refs().0 {
        Bound::Unbounded => None,
        Bound::Included(lower) | Bound::Excluded(lower) => Some(lower.into()),
    };
    let hi = match bounds.as_refs().1 {
        Bound::Unbounded => None,
        Bound::Included(upper) => Some(Upper::Included(upper.into())),
        Bound::Excluded(upper) => Some(Upper::Excluded(upper.into())),
    };
    let range = KeyRange { lo, hi };
    let crossed = match (&range.lo, &range.hi) {
        (Some(lo), Some(hi)) => !hi.admits(comparator, lo),
        _ => false,
    };
    (!crossed).then_some(range)
}
