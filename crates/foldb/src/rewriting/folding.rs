//! Folding on the way through a flush or compaction.
//!
//! Records of one key arrive newest first and are folded stripe by stripe. A *stripe* is the
//! sequence numbers between two neighbouring live snapshots. Nothing folds across a snapshot:
//! readers on both sides must find their own values.
//!
//! ```text
//! snapshots 4, 8      a.MERGE.9(+1) | a.MERGE.7(+2) a.MERGE.5(+3) | a.MERGE.3(+4) a.PUT.1(10)
//! becomes             a.MERGE.9(+1) | a.MERGE.7(+5)               | a.PUT.3(14)
//! ```
//!
//! A range tombstone around the key ends the chain of its stripe, as a delete would. Older records
//! are dropped; newer records fold onto nothing. The output needs no delete for the key, because
//! the tombstone itself is passed on ([`super::range_deletes`]).
//!
//! Where different bytes may be one key, all records of a stripe get the bytes of the newest one's
//! key. A reader that sees one record of a stripe sees the newest one too, and shows its bytes.
//!
//! Where nothing older than the oldest stripe exists anywhere, operands fold onto "no base" and
//! tombstones are dropped. There a base that every reader sees gets the sequence number 0.
//!
//! The caller's filter looks at what a compaction makes of the newest stripe, above all snapshots.
//! It sees a whole value only, after its operands have folded. A removed value becomes a delete
//! with the value's sequence number, which the rules above drop or pass on like any other:
//!
//! ```text
//! a.MERGE.7(+1) a.PUT.5(10)   removed   a.DEL.7      over older tables: a.PUT.2 stays hidden
//! a.MERGE.7(+1) a.PUT.5(10)   removed                at the bottom
//! snapshot 7    a.PUT.7(11)   passed over
//! a.MERGE.7(+1)               no base: passed over
//! ```

use crate::encoding::{copy_short, key_prefix};
use crate::error::{ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::fold::expiring::alive;
use crate::fold::stamp::{Moment, Rule, Stamp};
use crate::fold::{Below, Chain, Folded, Record, Resolver};
use crate::iterator::{Covers, MergingCursor};
use crate::key::{Kind, MAX_SEQNO, NO_OPERATOR, OperatorId, RecordHeader, SeqNo};
use crate::rewriting::filtering::{Filtered, Filtering};
use crate::rewriting::older_tables::OlderTables;
use crate::segment::ValueReader;
use crate::separated::Address;
use crate::value::Value;

/// Takes the records that a flush or compaction keeps, in order.
pub(crate) trait RecordSink {
    /// Adds the next record.
    fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()>;

    /// Adds the next record and its original sequence number, which the header lacks at the bottom.
    #[inline]
    fn add_written_at(
        &mut self,
        key: &[u8],
        header: RecordHeader,
        value: &[u8],
        _written: SeqNo,
    ) -> Result<()> {
        self.add(key, header, value)
    }

    /// Notes that this snapshot keeps records of the last key from being folded further. It is the
    /// newest snapshot that does.
    fn keep_apart(&mut self, _snapshot: SeqNo) {}
}

/// Numbers of records read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoldCounts {
    pub(crate) records_in: u64,
    pub(crate) records_out: u64,
    pub(crate) failed: u64,
}

/// Most failed keys that one flush or slice lists. It counts all of them.
const MOST_FAILURES: usize = 64;

/// Folds the records of key after key.
pub(crate) struct Folder<'a> {
    pub(crate) operators: &'a Resolver,
    /// Live snapshots, oldest first.
    pub(crate) snapshots: &'a [SeqNo],
    pub(crate) older: OlderTables,
    pub(crate) counts: FoldCounts,
    /// The first keys that failed to fold, each with the operator that failed.
    pub(crate) failures: Vec<(Vec<u8>, OperatorId)>,
    /// Range tombstones of the same sources, if there are any, asked stripe by stripe.
    covers: Option<Covers>,
    chain: Chain,
    scratch: Vec<u8>,
    key: Vec<u8>,
    /// The oldest stripe that has kept records of the current key so far.
    left_in: Option<usize>,
    /// The newest snapshot that keeps records of the current key apart; 0 for none.
    kept_apart: SeqNo,
    /// Reads separated values of the sources, if they may have any.
    values: Option<ValueReader>,
    /// The time up to which expired records may go, if the keyspace has an expiry.
    expired_through: Option<Moment>,
    /// The caller's filter, if there is one.
    filtering: Option<Filtering>,
}

/// A larger buffer of a fold's result, in bytes, is freed at once.
const LARGEST_SCRATCH: usize = 64 << 10;

/// Most operands that may stay above a separated base. More are folded into it.
const MOST_KEPT: usize = 64;

/// The most bytes of these operands, as a divisor of the base's length (H22).
const KEPT_SHARE: u64 = 4;

impl<'a> Folder<'a> {
    pub(crate) fn new(
        operators: &'a Resolver,
        snapshots: &'a [SeqNo],
        older: OlderTables,
    ) -> Folder<'a> {
        debug_assert!(
            snapshots.is_sorted_by(|older, newer| older < newer),
            "a record's stripe is found among snapshots that rise"
        );
        Folder {
            operators,
            snapshots,
            older,
            counts: FoldCounts::default(),
            failures: Vec::new(),
            covers: None,
            chain: Chain::default(),
            scratch: Vec::new(),
            key: Vec::new(),
            left_in: None,
            kept_apart: 0,
            values: None,
            expired_through: None,
            filtering: None,
        }
    }

    /// Returns the bytes that folding takes, besides what its inputs hold.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.scratch.capacity() + self.key.capacity()
    }

    /// Folds what these sources' range tombstones leave: see [`stripe_ends`].
    pub(crate) fn covered_by(mut self, covers: Option<Covers>) -> Folder<'a> {
        self.covers = covers;
        self
    }

    /// Drops records that expired up to this time. It must be at or before the moments of all newer
    /// operands, of the keys' newer records elsewhere and of later writes: an operand keeps the
    /// value that it came to in time.
    ///
    /// ```text
    /// above   a.MERGE@9          9 is before 10: the put stays until the two fold
    /// here    a.PUT@0 (to 10)    at 13
    /// ```
    pub(crate) fn expiring(mut self, through: Option<Moment>) -> Folder<'a> {
        self.expired_through = through;
        self
    }

    /// Reads separated values with this reader.
    pub(crate) fn reading(mut self, values: Option<ValueReader>) -> Folder<'a> {
        self.values = values;
        self
    }

    /// Shows the values of the newest stripe to this filter.
    pub(crate) fn filtering(mut self, filtering: Option<Filtering>) -> Folder<'a> {
        self.filtering = filtering;
        self
    }

    /// Ends the filter's part. Returns what it did.
    pub(crate) fn finish_filtering(&mut self) -> Filtered {
        self.filtering.take().map(Filtering::finish).unwrap_or_default()
    }

    /// Returns the range tombstones that this folder applies.
    pub(crate) fn covers(&self) -> Option<&Covers> {
        self.covers.as_ref()
    }

    /// Folds all records of the key under `records` into `sink`, and moves past them.
    pub(crate) fn fold_key(
        &mut self,
        records: &mut MergingCursor,
        sink: &mut impl RecordSink,
    ) -> Result<()> {
        self.take_key(records);
        (self.left_in, self.kept_apart) = (None, 0);
        let (mut stripe, mut cover) = (usize::MAX, 0);
        // Whether older records of the stripe still matter.
        let mut open = true;
        if let Some(operand) = self.short_operand(records)? {
            records.next()?;
            stripe = self.stripe_of(operand.header.seqno);
            let alone = !self.has_more(records);
            if alone && self.below(stripe)? == Below::Unknown {
                return self.pass_on(stripe, &operand, sink);
            }
            open = self.chain.push(operand.header, operand.value);
            if alone {
                return self.finish_key(stripe, sink);
            }
        }
        loop {
            let header = records.header();
            self.counts.records_in += 1;
            let here = self.stripe_of(header.seqno);
            if here != stripe {
                self.finish_stripe(stripe, sink)?;
                if records.has_spellings() {
                    self.take_key(records);
                }
                (stripe, open) = (here, true);
                cover = self.cover_of(here)?;
                self.chain.cover(cover);
            }
            if open {
                if header.seqno < cover {
                    open = false;
                } else if self.chain.is_empty() && header.kind.is_base() {
                    records.hold_value()?;
                    self.emit_base(here, header, &records.value(), sink)?;
                    open = false;
                } else {
                    records.hold_value()?;
                    open = self.chain.push(header, records.pinned_value());
                }
            }
            records.next()?;
            if !self.has_more(records) {
                return self.finish_key(stripe, sink);
            }
        }
    }

    /// Copies the key under the cursor.
    #[inline]
    fn take_key(&mut self, records: &MergingCursor) {
        let key = records.key();
        self.key.resize(key.len(), 0);
        copy_short(&mut self.key, key);
    }

    /// Returns whether there are more records of the key.
    #[inline]
    fn has_more(&self, records: &MergingCursor) -> bool {
        records.valid()
            && (same_bytes(records.key(), &self.key) || records.is_spelled_otherwise(&self.key))
    }

    /// Takes the newest record of the key if it is a short operand without a known cover. In a load
    /// of many keys, most of these stand alone: above the bottom nothing folds with them.
    #[inline]
    fn short_operand(&mut self, records: &mut MergingCursor) -> Result<Option<Record>> {
        let header = records.header();
        if header.kind != Kind::Merge || self.covers.is_some() || self.operators.has_upgrades() {
            return Ok(None);
        }
        records.hold_value()?;
        let Some(value) = Value::inline(&records.value()) else { return Ok(None) };
        self.counts.records_in += 1;
        Ok(Some(Record { header, value }))
    }

    /// Passes on an operand as it is.
    #[inline]
    fn pass_on(
        &mut self,
        stripe: usize,
        operand: &Record,
        sink: &mut impl RecordSink,
    ) -> Result<()> {
        if self.has_expired(operand.header, &operand.value) {
            self.emit_base(stripe, gone(operand.header), &[], sink)?;
        } else {
            self.note_left(stripe, Kind::Merge)?;
            sink.add(&self.key, operand.header, &operand.value)?;
            self.counts.records_out += 1;
        }
        self.tell_kept_apart(sink);
        Ok(())
    }

    /// Folds the rest of the key's records.
    fn finish_key(&mut self, stripe: usize, sink: &mut impl RecordSink) -> Result<()> {
        self.finish_stripe(stripe, sink)?;
        self.tell_kept_apart(sink);
        Ok(())
    }

    #[inline]
    fn tell_kept_apart(&self, sink: &mut impl RecordSink) {
        if self.kept_apart > 0 {
            sink.keep_apart(self.kept_apart);
        }
    }

    /// Notes that a stripe kept records. A snapshot prevents further folding in two cases. A newer
    /// stripe kept records too, or only the snapshot keeps the oldest record from having nothing
    /// below it:
    ///
    /// ```text
    /// snapshot 4    a.MERGE.9 | a.PUT.3     kept apart by 4
    /// snapshot 4    a.MERGE.9 |             at the bottom: kept from becoming a put by 4
    /// snapshot 4    [a, f).RDEL.7 | a.PUT.3     4 prevents the drop
    /// ```
    #[inline]
    fn note_left(&mut self, stripe: usize, oldest: Kind) -> Result<()> {
        if self.snapshots.is_empty() {
            return Ok(());
        }
        if let Some(covers) = &mut self.covers
            && !planted(Fault::FoldAcrossRangeDelete)
            && let Some(newest) = covers.newest_stripe(&self.key)?
            && newest > stripe
        {
            self.kept_apart = self.kept_apart.max(self.snapshots[newest - 1]);
        }
        let newer = self.left_in.replace(stripe);
        let waits = |folder: &mut Folder<'_>| {
            stripe > 0 && !oldest.is_put() && !folder.older.may_hold(&folder.key)
        };
        let boundary = match newer {
            Some(newer) => Some(newer),
            None => waits(self).then_some(stripe),
        };
        if let Some(boundary) = boundary {
            self.kept_apart = self.kept_apart.max(self.snapshots[boundary - 1]);
        }
        Ok(())
    }

    /// Returns the index of a sequence number's stripe; 0 is the oldest.
    #[inline]
    fn stripe_of(&self, seqno: SeqNo) -> usize {
        if planted(Fault::FoldAcrossSnapshot) {
            return 0;
        }
        self.snapshots.partition_point(|&snapshot| snapshot < seqno)
    }

    /// Returns the sequence number up to which a range delete of this stripe deletes the key; 0 for
    /// none.
    #[inline]
    fn cover_of(&mut self, stripe: usize) -> Result<SeqNo> {
        let Some(covers) = &mut self.covers else { return Ok(0) };
        if planted(Fault::FoldAcrossRangeDelete) {
            return Ok(0);
        }
        covers.in_stripe(&self.key, stripe)
    }

    /// Folds the records collected of a stripe.
    fn finish_stripe(&mut self, stripe: usize, sink: &mut impl RecordSink) -> Result<()> {
        if self.chain.is_empty() {
            self.chain.clear();
            return Ok(());
        }
        let below = self.below(stripe)?;
        let mut apart = self.settle_separated_base(below)?;
        if apart.is_none()
            && self.snapshots.is_empty()
            && self.expired_through.is_none()
            && self.filtering.is_none()
            && let Some((seqno, value)) =
                self.chain.fold_in_place(&self.key, below, self.operators, &mut self.scratch)
        {
            let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
            let header = RecordHeader { seqno, kind, operator: NO_OPERATOR };
            let value = value.unwrap_or_default();
            self.counts.records_out += emit(&self.key, below, header, value, sink)?;
            self.chain.clear();
            if self.scratch.capacity() > LARGEST_SCRATCH {
                self.scratch = Vec::new();
            }
            return Ok(());
        }
        let under = if apart.is_some() { Below::Unknown } else { below };
        let Some(folded) = self.fold_stripe(stripe, under)? else { return Ok(()) };
        if let Some(oldest) = folded.records.first() {
            // If the fold made a base by itself, it hides the base that was kept apart.
            apart = apart.filter(|_| !oldest.header.kind.is_base());
            let kind = apart.as_ref().map_or(oldest.header.kind, |base| base.header.kind);
            self.note_left(stripe, kind)?;
        }
        for (age, record) in folded.records.iter().enumerate().rev() {
            if age == 0 && record.header.kind.is_base() {
                let (header, value) = (record.header, &record.value);
                self.counts.records_out += emit(&self.key, below, header, value, sink)?;
            } else {
                sink.add(&self.key, record.header, &record.value)?;
                self.counts.records_out += 1;
            }
        }
        if let Some(base) = apart {
            self.counts.records_out += emit(&self.key, below, base.header, &base.value, sink)?;
        }
        Ok(())
    }

    /// Folds the chain. What is left is what neither its end of life nor the filter removes.
    /// Returns `None` if not even a delete is to stand for it.
    fn fold_stripe(&mut self, stripe: usize, under: Below) -> Result<Option<Folded>> {
        let mut folded = self.chain.fold(&self.key, under, self.operators, &mut self.scratch);
        if let Some(newest) = folded.records.last()
            && (self.has_expired(newest.header, &newest.value)
                || self.wall_has_expired(&folded.records, under))
        {
            let header = gone(newest.header);
            folded.records.clear();
            if planted(Fault::DropExpiredEarly) {
                return Ok(None);
            }
            folded.records.push(Record { header, value: Value::default() });
        }
        if let Some(failure) = folded.failed {
            self.note_failure(failure.operator);
        }
        if let [whole] = &mut folded.records[..]
            && let Some(judged) = self.judged(stripe, whole.header, &whole.value)?
        {
            *whole = judged;
        }
        debug_assert!(
            folded.records.is_sorted_by(|older, newer| older.header.seqno < newer.header.seqno),
            "the records of a fold stay in the order of their writes"
        );
        debug_assert!(
            folded.records.iter().skip(1).all(|record| !record.header.kind.is_base()),
            "only the oldest record of a fold is a base"
        );
        Ok(Some(folded))
    }

    /// Shows a record to the filter if it is a whole value that no snapshot can read. Returns the
    /// record that replaces it, or `None` if it stays.
    #[inline]
    fn judged(
        &mut self,
        stripe: usize,
        header: RecordHeader,
        value: &[u8],
    ) -> Result<Option<Record>> {
        if self.filtering.is_none()
            || !header.kind.is_put()
            || (stripe < self.snapshots.len() && !planted(Fault::FilterBelowSnapshot))
        {
            return Ok(None);
        }
        self.judged_by_filter(header, value)
    }

    #[inline(never)]
    fn judged_by_filter(&mut self, header: RecordHeader, value: &[u8]) -> Result<Option<Record>> {
        let Some(filtering) = self.filtering.as_mut().filter(|filtering| filtering.goes_on())
        else {
            return Ok(None);
        };
        if header.kind != Kind::Separated {
            return Ok(filtering.judge(&self.key, header, value));
        }
        let values = self.values.as_mut().expect("sources with separated values have segments");
        match values.value(value, &self.key) {
            Ok(value) => Ok(filtering.judge(&self.key, header, &value)),
            Err(error) if error.kind() == ErrorKind::Corruption => {
                self.counts.failed += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the separated value that the chain stands on, or takes its record out of the chain to
    /// pass it on as it is (H22). Above the bottom, the base stays apart while its operands are
    /// small beside it: each fold would rewrite the whole value. It also stays apart when it cannot
    /// be read, so that other records need not wait for it.
    fn settle_separated_base(&mut self, below: Below) -> Result<Option<Record>> {
        let Some(base) = self.chain.separated() else { return Ok(None) };
        let address = Address::decode(&base.value)?;
        let is_small = self.chain.operands() <= MOST_KEPT
            && self.chain.operand_bytes() < address.len / KEPT_SHARE;
        if below == Below::Unknown && is_small {
            return Ok(self.chain.set_base_apart());
        }
        let values = self.values.as_mut().expect("sources with separated values have segments");
        match values.value(&base.value, &self.key) {
            Ok(value) => {
                self.chain.resolve(value);
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::Corruption => {
                self.counts.failed += 1;
                Ok(self.chain.set_base_apart())
            }
            Err(error) => Err(error),
        }
    }

    #[cold]
    fn note_failure(&mut self, operator: OperatorId) {
        self.counts.failed += 1;
        if self.failures.len() < MOST_FAILURES {
            self.failures.push((self.key.clone(), operator));
        }
    }

    /// Passes on a base without operands.
    fn emit_base(
        &mut self,
        stripe: usize,
        header: RecordHeader,
        value: &[u8],
        sink: &mut impl RecordSink,
    ) -> Result<()> {
        if planted(Fault::DropExpiredEarly) && self.has_expired(header, value) {
            return Ok(());
        }
        let (header, value) = match self.has_expired(header, value) {
            true => (gone(header), &[][..]),
            false => (header, value),
        };
        let judged = self.judged(stripe, header, value)?;
        let (header, value) =
            judged.as_ref().map_or((header, value), |record| (record.header, &*record.value));
        self.note_left(stripe, header.kind)?;
        let below = self.below(stripe)?;
        self.counts.records_out += emit(&self.key, below, header, value, sink)?;
        Ok(())
    }

    /// Returns whether the newest record of a stripe has expired. Then the key is absent for every
    /// reader of the stripe. An operand that keeps the end of its base has no end of its own.
    #[inline]
    fn has_expired(&self, header: RecordHeader, value: &[u8]) -> bool {
        let Some(through) = self.expired_through else { return false };
        let Some((_, stamp)) = Stamp::split(value).filter(|_| header.kind.may_expire()) else {
            return false;
        };
        let has_end = header.kind == Kind::Put || stamp.rule == Rule::Renew;
        has_end && stamp.has_expired(through)
    }

    /// Returns whether operands that could not be folded have expired, if what they lie on is
    /// known: the end of operands that keep the end of their base.
    fn wall_has_expired(&self, records: &[Record], below: Below) -> bool {
        let (Some(through), [oldest, .., newest] | [oldest @ newest]) =
            (self.expired_through, records)
        else {
            return false;
        };
        let is_on_base = oldest.header.kind.is_base();
        if newest.header.kind != Kind::Merge || !(is_on_base || below == Below::Nothing) {
            return false;
        }
        let stamp_of = |record: &Record| Stamp::split(&record.value).map(|(_, stamp)| stamp);
        let put = (oldest.header.kind == Kind::Put).then(|| stamp_of(oldest)).flatten();
        let operands = &records[usize::from(is_on_base)..];
        let stamps = operands.iter().map(stamp_of).collect::<Option<Vec<_>>>();
        stamps.is_some_and(|stamps| alive(put, &stamps).expires <= through)
    }

    /// Returns what lies below a stripe. Only the oldest stripe can be known to have nothing below
    /// it. A range tombstone that may be passed on counts as something: without its sequence
    /// number, a base would look older than it.
    #[inline]
    fn below(&mut self, stripe: usize) -> Result<Below> {
        let nothing = stripe == 0
            && !self.older.may_hold(&self.key)
            && (self.older.is_empty() || self.cover_of(0)? == 0);
        Ok(if nothing { Below::Nothing } else { Below::Unknown })
    }
}

/// Returns the header of the delete that stands for an expired record. Without the delete, an older
/// record of the key would come back.
fn gone(header: RecordHeader) -> RecordHeader {
    RecordHeader { kind: Kind::Delete, operator: NO_OPERATOR, ..header }
}

/// Returns the upper ends of the stripes: each snapshot, and the present.
pub(crate) fn stripe_ends(snapshots: &[SeqNo]) -> impl Iterator<Item = SeqNo> {
    snapshots.iter().copied().chain([MAX_SEQNO])
}

/// Returns whether two keys are the same. Most different keys differ in their first eight bytes,
/// which are compared without a call.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    key_prefix(a) == key_prefix(b) && a == b
}

/// Passes on a base, the oldest record of a stripe. Returns how many records it wrote.
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
    let written = header.seqno;
    if below == Below::Nothing {
        // Every reader sees the oldest stripe.
        header.seqno = 0;
    }
    sink.add_written_at(key, header, value, written)?;
    Ok(1)
}
