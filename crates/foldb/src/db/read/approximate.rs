//! How much lies in a key range, without reading it.
//!
//! Sizes come from the keys sampled of each table. Counts have a bound, made of what is certain:
//!
//! ```text
//! at most:  records that are no deletes, of all tables and memtables that reach into the range
//! at least: the best of all sources, of each the keys it is sure to have put in the range,
//!           less the deletes and merges of the newer sources, which may take them away
//! ```
//!
//! A range tombstone may take away every key of older sources, so what those have is not sure any
//! more. The estimate leaves out what the tombstones cover of memtables' keys and of tables'
//! samples.
//!
//! A source is a memtable or a run. Sure are the distinct samples of tables that lie whole in the
//! range, less the table's own deletes and merges: a table does not know how many keys it has.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;

use foldb_chains::{Cursor, Pins};

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::error::Result;
use crate::iterator::{Bounds, Covers};
use crate::key::{AsKeyRange, Comparator, Kind, RecordHeader, SeqNo};
use crate::memtable::{self, Memtable};
use crate::version::{KeyRange, Run, TableRef, Upper};

/// Keys of a memtable that are looked at; what lies behind them is estimated.
const MEMTABLE_KEYS: u64 = 4096;

/// About how many keys there are, and between which numbers the true one lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApproximateCount {
    /// The estimate. Tables: records less twice the deletes, by the share of their bytes that lies
    /// in the range; memtables: keys that are there less those deleted. A key counts once in each
    /// place that has a record of it, so the fewer operands wait to be folded the better it is.
    pub estimate: u64,
    /// There are no fewer.
    pub at_least: u64,
    /// There are no more.
    pub at_most: u64,
}

impl ApproximateCount {
    /// How far the estimate may be off.
    pub fn error(&self) -> u64 {
        (self.estimate - self.at_least).max(self.at_most - self.estimate)
    }
}

impl Db {
    /// About how many bytes of tables and memtables the records of a key range take, older versions
    /// included. Of a table that the range cuts, the share of its up to 32 sampled keys that lie in
    /// the range counts, at least one; so each end of the range adds an error of up to 1/32 of a
    /// table for each run.
    ///
    /// # Errors
    /// `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for n in 0..100 {
    ///     db.put(format!("{n:02}"), [0; 100])?;
    /// }
    /// assert!(db.approximate_size("00".."50")? > 0);
    /// assert_eq!(db.approximate_size("a"..)?, 0);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn approximate_size(&self, range: impl AsKeyRange) -> Result<u64> {
        self.default_keyspace().approximate_size(range)
    }

    /// About how many keys a key range has, those whose merge fails included, and how far that may
    /// be off. Reads no table, but the range tombstones of those that have some; of each memtable
    /// at most 4096 keys.
    ///
    /// # Errors
    /// `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for n in 0..100 {
    ///     db.put(format!("{n:02}"), "value")?;
    /// }
    /// let count = db.approximate_count("00".."50")?;
    /// assert!(count.at_least <= 50 && 50 <= count.at_most);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn approximate_count(&self, range: impl AsKeyRange) -> Result<ApproximateCount> {
        self.default_keyspace().approximate_count(range)
    }
}

/// What one source adds.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    estimate: u64,
    /// Keys that it puts in the range, and does nothing else to: no more than there are.
    certain: u64,
    /// Its records in the range that are no deletes: no fewer than there are.
    present: u64,
    /// Its records in the range that may make a key disappear: no fewer than there are.
    removing: u64,
}

impl Keyspace {
    /// As [`Db::approximate_size`].
    ///
    /// # Errors
    /// As [`Db::approximate_size`]; `KeyspaceDropped`.
    pub fn approximate_size(&self, range: impl AsKeyRange) -> Result<u64> {
        self.size_within(&Bounds::of(&range))
    }

    /// As [`Db::approximate_count`].
    ///
    /// # Errors
    /// As [`Db::approximate_count`]; `KeyspaceDropped`.
    pub fn approximate_count(&self, range: impl AsKeyRange) -> Result<ApproximateCount> {
        self.count_within(&Bounds::of(&range))
    }

    fn size_within(&self, bounds: &Bounds) -> Result<u64> {
        let (core, keyspace) = (self.core(), self.state());
        core.check_open()?;
        keyspace.check_ends(bounds.as_refs())?;
        let view = keyspace.view.load_full();
        let seqno = core.read_seqno(keyspace, &ReadOptions::default(), Pins::published)?;
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

    fn count_within(&self, bounds: &Bounds) -> Result<ApproximateCount> {
        let (core, keyspace) = (self.core(), self.state());
        core.check_open()?;
        keyspace.check_ends(bounds.as_refs())?;
        // The view first, the sequence number second (H3).
        let view = keyspace.view.load_full();
        let seqno = core.read_seqno(keyspace, &ReadOptions::default(), Pins::published)?;
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
        count.estimate = count.estimate.clamp(count.at_least, count.at_most);
        Ok(count)
    }
}

/// What a walk through a memtable found.
#[derive(Debug, Default)]
struct Walked {
    /// Keys of the memtable.
    keys: u64,
    /// Those in the range.
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
        match &bounds.lower {
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

    /// A key, by its newest record.
    fn add(&mut self, newest: Kind) {
        self.inside += 1;
        let tally = &mut self.tally;
        tally.certain += u64::from(newest.is_put());
        tally.present += u64::from(newest != Kind::Delete);
        tally.removing += u64::from(!newest.is_put());
    }

    /// The keys that were not looked at: any of them may be in the range, as anything.
    fn assume_the_rest(&mut self, cursor: &Cursor) {
        let rest = (cursor.chains().len() as u64).saturating_sub(self.inside);
        self.inside += rest;
        self.tally.present += rest;
        self.tally.removing += rest;
    }
}

/// Whether a key's records up to `seqno` are deleted. A table of range tombstones that cannot be
/// read deletes nothing here: the read that needs it says so.
fn is_covered(covers: &mut Option<Covers>, key: &[u8], seqno: SeqNo) -> bool {
    covers.as_mut().is_some_and(|covers| covers.of(key).is_ok_and(|cover| seqno < cover))
}

/// Whether the memtable has range tombstones in a range.
fn deletes_ranges_in(memtable: &Memtable, range: &KeyRange, comparator: &dyn Comparator) -> bool {
    let Some(tombstones) = memtable.range_tombstones() else { return false };
    let (start, end) = (range.start(), range.end());
    tombstones.to_vec().iter().any(|t| t.clipped(comparator, &start, &end).is_some())
}

/// The share of a table's samples in the range that no range tombstone deletes, in both parts.
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

/// Whether all records of the table's file exist and are in the range.
fn lies_whole_in(table: &TableRef, bounds: &Bounds, comparator: &dyn Comparator) -> bool {
    table.is_whole()
        && is_above_lower(bounds, comparator, &table.file.smallest)
        && is_below_upper(bounds, comparator, table.file.end.key())
}

/// Keys that the table is known to have.
fn sampled_keys(table: &TableRef) -> u64 {
    let samples: BTreeSet<&[u8]> = table.file.samples.iter().map(|sample| &**sample).collect();
    let ends = 1 + u64::from(table.file.smallest != *table.file.end.key());
    ends.max(samples.len() as u64).min(table.file.entries)
}

fn is_above_lower(bounds: &Bounds, comparator: &dyn Comparator, key: &[u8]) -> bool {
    match &bounds.lower {
        Bound::Unbounded => true,
        Bound::Included(lower) => comparator.compare(key, lower) != Ordering::Less,
        Bound::Excluded(lower) => comparator.compare(key, lower) == Ordering::Greater,
    }
}

fn is_below_upper(bounds: &Bounds, comparator: &dyn Comparator, key: &[u8]) -> bool {
    match &bounds.upper {
        Bound::Unbounded => true,
        Bound::Included(upper) => comparator.compare(key, upper) != Ordering::Greater,
        Bound::Excluded(upper) => comparator.compare(key, upper) == Ordering::Less,
    }
}

/// The range as tables know it, its lower end included; `None` if its ends have crossed.
fn key_range(bounds: &Bounds, comparator: &dyn Comparator) -> Option<KeyRange> {
    let lo = match &bounds.lower {
        Bound::Unbounded => None,
        Bound::Included(lower) | Bound::Excluded(lower) => Some(lower.as_slice().into()),
    };
    let hi = match &bounds.upper {
        Bound::Unbounded => None,
        Bound::Included(upper) => Some(Upper::Included(upper.as_slice().into())),
        Bound::Excluded(upper) => Some(Upper::Excluded(upper.as_slice().into())),
    };
    let range = KeyRange { lo, hi };
    let crossed = match (&range.lo, &range.hi) {
        (Some(lo), Some(hi)) => !hi.admits(comparator, lo),
        _ => false,
    };
    (!crossed).then_some(range)
}
