//! Folding on the way through a flush or compaction.
//!
//! Records of one key arrive newest first and are folded stripe by stripe, a *stripe* being the
//! sequence numbers between two neighbouring live snapshots. Nothing folds across a snapshot: a
//! reader at either side of it must find its own value.
//!
//! ```text
//! snapshots 4, 8      a.MERGE.9(+1) | a.MERGE.7(+2) a.MERGE.5(+3) | a.MERGE.3(+4) a.PUT.1(10)
//! becomes             a.MERGE.9(+1) | a.MERGE.7(+5)               | a.PUT.3(14)
//! ```
//!
//! Where nothing older than the oldest stripe exists anywhere, operands fold onto "no base",
//! tombstones go, and a base that every reader sees gives up its sequence number.

use std::sync::Arc;

use crate::encoding::key_prefix;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::fold::{Below, Chain, Resolver};
use crate::iterator::MergingCursor;
use crate::key::{Comparator, Kind, RecordHeader, SeqNo};
use crate::version::{KeyRange, TableRef, Version};

/// Takes the records that a flush or compaction keeps, in order.
pub(crate) trait RecordSink {
    /// The next record.
    fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()>;
}

/// What went in and what came out, in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoldCounts {
    pub(crate) records_in: u64,
    pub(crate) records_out: u64,
    pub(crate) failed: u64,
}

/// Folds the records of key after key.
pub(crate) struct Folder<'a> {
    pub(crate) operators: &'a Resolver,
    /// Live snapshots, oldest first.
    pub(crate) snapshots: &'a [SeqNo],
    pub(crate) older: OlderTables,
    pub(crate) counts: FoldCounts,
    chain: Chain,
    scratch: Vec<u8>,
    key: Vec<u8>,
}

impl<'a> Folder<'a> {
    pub(crate) fn new(
        operators: &'a Resolver,
        snapshots: &'a [SeqNo],
        older: OlderTables,
    ) -> Folder<'a> {
        Folder {
            operators,
            snapshots,
            older,
            counts: FoldCounts::default(),
            chain: Chain::default(),
            scratch: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Bytes that folding takes, beside what its inputs hold.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.scratch.capacity() + self.key.capacity()
    }

    /// Folds all records of the key under `records` into `sink`, and moves behind them.
    pub(crate) fn fold_key(
        &mut self,
        records: &mut MergingCursor,
        sink: &mut impl RecordSink,
    ) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(records.key());
        let mut stripe = usize::MAX;
        // Whether older records of the stripe still matter.
        let mut open = true;
        loop {
            let header = records.header();
            self.counts.records_in += 1;
            let here = self.stripe_of(header.seqno);
            if here != stripe {
                self.finish_stripe(stripe, sink)?;
                (stripe, open) = (here, true);
            }
            if open {
                if self.chain.is_empty() && header.kind.is_base() {
                    self.emit_base(here, header, records.value(), sink)?;
                    open = false;
                } else {
                    open = self.chain.push(header, records.pinned_value());
                }
            }
            records.next()?;
            if !records.valid() || !same_bytes(records.key(), &self.key) {
                return self.finish_stripe(stripe, sink);
            }
        }
    }

    /// Index of the stripe of a sequence number; 0 is the oldest.
    #[inline]
    fn stripe_of(&self, seqno: SeqNo) -> usize {
        if planted(Fault::FoldAcrossSnapshot) {
            return 0;
        }
        self.snapshots.partition_point(|&snapshot| snapshot < seqno)
    }

    /// Folds what was collected of a stripe.
    fn finish_stripe(&mut self, stripe: usize, sink: &mut impl RecordSink) -> Result<()> {
        if self.chain.is_empty() {
            return Ok(());
        }
        let below = self.below(stripe);
        let folded = self.chain.fold(&self.key, below, self.operators, &mut self.scratch);
        self.counts.failed += u64::from(folded.failed.is_some());
        for (age, record) in folded.records.iter().enumerate().rev() {
            if age == 0 && record.header.kind.is_base() {
                let (header, value) = (record.header, &record.value);
                self.counts.records_out += emit(&self.key, below, header, value, sink)?;
            } else {
                sink.add(&self.key, record.header, &record.value)?;
                self.counts.records_out += 1;
            }
        }
        Ok(())
    }

    /// Passes on a base that nothing stands on.
    fn emit_base(
        &mut self,
        stripe: usize,
        header: RecordHeader,
        value: &[u8],
        sink: &mut impl RecordSink,
    ) -> Result<()> {
        let below = self.below(stripe);
        self.counts.records_out += emit(&self.key, below, header, value, sink)?;
        Ok(())
    }

    /// What lies below a stripe: only of the oldest can it be known to be nothing.
    #[inline]
    fn below(&mut self, stripe: usize) -> Below {
        if stripe == 0 && !self.older.may_hold(&self.key) { Below::Nothing } else { Below::Unknown }
    }
}

/// Whether two keys are the same. Most that are not differ in their first bytes, which need no call.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    key_prefix(a) == key_prefix(b) && a == b
}

/// Passes on the oldest record of a stripe, a base. Answers how many records that made.
#[inline]
fn emit(
    key: &[u8],
    below: Below,
    mut header: RecordHeader,
    value: &[u8],
    sink: &mut impl RecordSink,
) -> Result<u64> {
    let nothing_below = below == Below::Nothing || planted(Fault::DropTombstoneEarly);
    if header.kind == Kind::Delete && nothing_below {
        return Ok(0);
    }
    if below == Below::Nothing {
        // The oldest stripe: every reader sees it.
        header.seqno = 0;
    }
    sink.add(key, header, value)?;
    Ok(1)
}

/// The tables older than everything in a job: what its records may have to hide.
pub(crate) struct OlderTables {
    comparator: Arc<dyn Comparator>,
    /// Per run, its tables in key order, and the first that does not end before the last key asked.
    runs: Vec<(Vec<TableRef>, usize)>,
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
        OlderTables { comparator: Arc::clone(comparator), runs }
    }

    /// Whether an older record of `key` may exist. Keys must be asked in ascending order.
    #[inline]
    pub(super) fn may_hold(&mut self, key: &[u8]) -> bool {
        let comparator = &*self.comparator;
        self.runs.iter_mut().any(|(tables, next)| {
            while *next < tables.len() && !tables[*next].hi.admits(comparator, key) {
                *next += 1;
            }
            tables.get(*next).is_some_and(|table| comparator.compare(&table.lo, key).is_le())
        })
    }
}
