//! The range tombstones of several sources, asked key after key in either direction.
//!
//! Neighbouring keys mostly have the same cover. So an answer is kept with the key range that it
//! holds for. A walk asks the sources anew only where one of their tombstones begins or ends.
//! Without range tombstones, no [`Covers`] is made at all.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::key::{Comparator, MAX_SEQNO, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone, RangeTombstones};
use crate::version::{KeyRange, OpenTables, Run, TableRef};

/// Tells, key after key, up to which sequence number a key is deleted. It answers for one reader,
/// or for the readers at the upper ends of several stripes.
///
/// Live snapshots may be many, and few of their stripes have a tombstone around a given key. So a
/// search goes from the newest stripe that has one to the next older stripe that has one. It takes
/// one step more than there are such stripes, however many snapshots live.
pub(crate) struct Covers {
    sources: Vec<CoverSource>,
    comparator: Arc<dyn Comparator>,
    /// The readers, oldest first.
    readers: SmallVec<[SeqNo; 2]>,
    /// The stripes with a tombstone around the keys between `start` and `end`, newest first.
    covers: SmallVec<[StripeCover; 2]>,
    start: Edge,
    end: Edge,
}

/// The newest tombstone of one stripe.
#[derive(Clone, Copy, Debug)]
struct StripeCover {
    /// Index of the reader at the stripe's upper end.
    stripe: usize,
    seqno: SeqNo,
}

/// A source of range tombstones.
pub(crate) enum CoverSource {
    Memtable(Arc<RangeTombstones>),
    /// The tables of a run that have range tombstones, in key order. Each is opened when a walk
    /// reaches it.
    Run {
        refs: Vec<TableRef>,
        tables: Arc<OpenTables>,
    },
}

impl CoverSource {
    /// Returns the range tombstones of a run within a range, or `None` if there are none.
    pub(crate) fn of_run(
        run: &Run,
        range: &KeyRange,
        tables: &Arc<OpenTables>,
        comparator: &dyn Comparator,
    ) -> Option<CoverSource> {
        if !run.has_range_tombstones() {
            return None;
        }
        let refs = run.overlapping(comparator, range).filter(|table| table.has_range_tombstones());
        let refs: Vec<TableRef> = refs.cloned().collect();
        (!refs.is_empty()).then(|| CoverSource::Run { refs, tables: Arc::clone(tables) })
    }

    /// Finds the cover of `key` for a reader.
    fn search(
        &self,
        comparator: &dyn Comparator,
        key: &[u8],
        reader: SeqNo,
        narrow: &mut impl FnMut(&Edge, &Edge),
    ) -> Result<SeqNo> {
        let (refs, tables) = match self {
            CoverSource::Memtable(set) => return Ok(set.search(comparator, key, reader, narrow)),
            CoverSource::Run { refs, tables } => (refs, tables),
        };
        let index = refs.partition_point(|table| !table.hi.admits(comparator, key));
        match refs.get(index) {
            Some(table) if table.contains(comparator, key) => {
                narrow(&Edge::Before(Arc::clone(&table.lo)), &table.hi.edge());
                let table = tables.get_owned(&table.file)?;
                let set = table.range_tombstones();
                Ok(set.map_or(0, |set| set.search(comparator, key, reader, narrow)))
            }
            next => {
                let before = index.checked_sub(1).map_or(Edge::Lowest, |at| refs[at].hi.edge());
                let behind = next.map_or(Edge::Highest, |t| Edge::Before(Arc::clone(&t.lo)));
                narrow(&before, &behind);
                Ok(0)
            }
        }
    }

    /// Appends the tombstones between two edges, clipped to them and to the bounds of their tables.
    fn collect(
        &self,
        comparator: &dyn Comparator,
        start: &Edge,
        end: &Edge,
        all: &mut Vec<RangeTombstone>,
    ) -> Result<()> {
        let mut add = |set: &RangeTombstones, start: &Edge, end: &Edge| {
            let clipped = set.to_vec();
            all.extend(clipped.iter().filter_map(|t| t.clipped(comparator, start, end)));
        };
        match self {
            CoverSource::Memtable(set) => add(set, start, end),
            CoverSource::Run { refs, tables } => {
                for table in refs {
                    let lo = Edge::Before(Arc::clone(&table.lo));
                    let hi = table.hi.edge();
                    let lo = Edge::later(comparator, &lo, start);
                    let hi = Edge::earlier(comparator, &hi, end);
                    if lo.compare(comparator, hi).is_ge() {
                        continue;
                    }
                    if let Some(set) = tables.get_owned(&table.file)?.range_tombstones() {
                        add(set, lo, hi);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Covers {
    /// Answers for readers at these sequence numbers, oldest first. Returns `None` without sources.
    pub(crate) fn new(
        sources: Vec<CoverSource>,
        readers: impl IntoIterator<Item = SeqNo>,
        comparator: &Arc<dyn Comparator>,
    ) -> Option<Covers> {
        if sources.is_empty() {
            return None;
        }
        let readers: SmallVec<[SeqNo; 2]> = readers.into_iter().collect();
        debug_assert!(readers.is_sorted(), "the newest reader comes last");
        Some(Covers {
            covers: SmallVec::new(),
            readers,
            sources,
            comparator: Arc::clone(comparator),
            // No key lies after the highest edge.
            start: Edge::Highest,
            end: Edge::Highest,
        })
    }

    /// Returns the cover of a key for the newest reader; 0 for none.
    ///
    /// # Errors
    /// The error of a table that cannot be opened.
    #[inline]
    pub(crate) fn of(&mut self, key: &[u8]) -> Result<SeqNo> {
        Ok(self.stripes(key)?.first().map_or(0, |newest| newest.seqno))
    }

    /// Returns the edges between which all keys have the cover of the last key asked.
    pub(crate) fn fragment(&self) -> (&Edge, &Edge) {
        (&self.start, &self.end)
    }

    /// Returns the newest tombstone around a key in one stripe; 0 for none.
    ///
    /// # Errors
    /// The error of a table that cannot be opened.
    pub(crate) fn in_stripe(&mut self, key: &[u8], stripe: usize) -> Result<SeqNo> {
        let covers = self.stripes(key)?;
        let at = covers.partition_point(|cover| cover.stripe > stripe);
        let here = covers.get(at).filter(|cover| cover.stripe == stripe);
        Ok(here.map_or(0, |cover| cover.seqno))
    }

    /// Returns the newest stripe with a tombstone around a key.
    ///
    /// # Errors
    /// The error of a table that cannot be opened.
    pub(crate) fn newest_stripe(&mut self, key: &[u8]) -> Result<Option<usize>> {
        Ok(self.stripes(key)?.first().map(|newest| newest.stripe))
    }

    #[inline]
    fn stripes(&mut self, key: &[u8]) -> Result<&[StripeCover]> {
        let comparator = &*self.comparator;
        if !self.start.is_before(comparator, key) || self.end.is_before(comparator, key) {
            self.search(key)?;
        }
        Ok(&self.covers)
    }

    fn search(&mut self, key: &[u8]) -> Result<()> {
        let Covers { sources, comparator, readers, covers, start, end } = self;
        let comparator = &**comparator;
        covers.clear();
        let (mut from, mut to) = (Edge::Lowest, Edge::Highest);
        // If a source fails, the kept answer holds for no key.
        (*start, *end) = (Edge::Highest, Edge::Highest);
        let mut narrow = |a: &Edge, b: &Edge| {
            if from.compare(comparator, a).is_lt() {
                from = a.clone();
            }
            if to.compare(comparator, b).is_gt() {
                to = b.clone();
            }
        };
        let mut left = &readers[..];
        while let Some(&reader) = left.last() {
            let mut found = 0;
            for source in sources.iter() {
                found = source.search(comparator, key, reader, &mut narrow)?.max(found);
            }
            debug_assert!(
                found <= reader,
                "a reader sees no tombstone that is newer than its moment"
            );
            if found == 0 {
                break;
            }
            let stripe = left.partition_point(|&reader| reader < found);
            let seqno = if planted(Fault::RangeDeleteByLevel) { MAX_SEQNO } else { found };
            covers.push(StripeCover { stripe, seqno });
            left = &left[..stripe];
        }
        debug_assert!(
            !comparator.bytewise_order()
                || (from.is_before(comparator, key) && !to.is_before(comparator, key)),
            "a cover is known for the fragment around its key"
        );
        (*start, *end) = (from, to);
        Ok(())
    }

    /// Returns all tombstones between two edges, clipped to them, in no order.
    ///
    /// # Errors
    /// The error of a table that cannot be opened.
    pub(crate) fn between(&self, start: &Edge, end: &Edge) -> Result<Vec<RangeTombstone>> {
        let mut all = Vec::new();
        for source in &self.sources {
            source.collect(&*self.comparator, start, end, &mut all)?;
        }
        Ok(all)
    }
}
