//! The entries that one reader sees: the records of a key, folded, in either direction.
//!
//! Forwards, the records of a key come newest first and the chain ends at its base. Backwards, they
//! come oldest first and a base replaces the records collected before it. Both directions end in
//! the same fold. Where different bytes may be one key, an entry has the bytes of its newest
//! visible record.
//!
//! Invariant: each call of a fold leaves the records' cursor on the next key in its direction, or
//! at the end. This type knows no bounds and no position: its caller walks.

mod in_memtable;

use foldb_chains::Way;

use crate::counters::Total;
use crate::encoding::copy_short;
use crate::error::Result;
use crate::fold::{CachedResolver, Chain};
use crate::iterator::bounds::HeldKey;
use crate::iterator::covers::Covers;
use crate::iterator::dead::Dead;
use crate::iterator::merging::MergingCursor;
use crate::iterator::origin::{Opened, Origin, Viewpoint};
use crate::iterator::source::MAX_HIDDEN;
use crate::key::RecordHeader;
use crate::range_tombstone::Edge;
use crate::segment::ValueReader;
use crate::table::LARGE_BLOCK;
use crate::value::Value;

/// A long-lived cursor reports its effort after this many seeks.
const SEEKS_BETWEEN_REPORTS: u64 = 1024;

/// The C library serves allocations up to about this many bytes from a list of the thread.
const QUICK_ALLOCATION: usize = 1032;

const _: () = assert!(size_of::<Visible>() <= QUICK_ALLOCATION, "each iterator allocates one");

/// A cursor that folds the records of one key after another.
pub(super) struct Visible {
    pub(super) viewpoint: Viewpoint,
    pub(super) records: MergingCursor,
    /// The range tombstones of the same sources, if they have any.
    covers: Option<Box<Covers>>,
    /// Reads separated values. It is made for the first of them.
    values: Option<ValueReader>,
    /// Made for the first fold that asks for operators.
    operators: Option<CachedResolver>,
    /// The key that was folded last, or that the walk came to.
    pub(super) key: HeldKey,
    /// The value of the last fold that found an entry.
    pub(super) value: Result<Value>,
    chain: Chain,
    scratch: Vec<u8>,
    /// Whether the key had an operand or a value, if it has no entry.
    had_records: bool,
}

impl Visible {
    pub(super) fn new(viewpoint: Viewpoint, opened: Opened) -> Visible {
        let Opened { records, covers } = opened;
        Visible {
            viewpoint,
            records,
            covers: covers.map(Box::new),
            values: None,
            operators: None,
            key: HeldKey::new(),
            value: Ok(Value::default()),
            chain: Chain::default(),
            scratch: Vec::new(),
            had_records: false,
        }
    }

    /// Opens the sources of a reader.
    pub(super) fn open(viewpoint: Viewpoint) -> Visible {
        let opened = viewpoint.origin.open(viewpoint.seqno, viewpoint.report.as_ref());
        Visible::new(viewpoint, opened)
    }

    /// Moves the records' cursor to the first key at or above `key`.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.records.effort().seeks >= SEEKS_BETWEEN_REPORTS {
            self.report_effort();
        }
        self.records.seek(key)
    }

    /// Moves the records' cursor behind all records of `key`.
    pub(super) fn seek_behind(&mut self, key: &[u8]) -> Result<()> {
        seek_behind(&mut self.records, key)
    }

    /// Moves the records' cursor to the other side of the key that was folded last.
    pub(super) fn reverse(&mut self, way: Way) -> Result<()> {
        match way {
            Way::Forward => seek_behind(&mut self.records, &self.key),
            Way::Backward => self.records.seek_before(&self.key),
        }
    }

    /// Reports the effort since the last time.
    fn report_effort(&mut self) {
        let effort = std::mem::take(self.records.effort());
        self.viewpoint.origin.note_effort(effort);
    }

    /// Takes the key under the records' cursor. Returns whether there is one.
    #[inline(always)]
    pub(super) fn come_to_key(&mut self) -> bool {
        let is_there = self.records.valid();
        if is_there {
            set_key(&mut self.key, self.records.key());
        }
        is_there
    }

    /// Folds the records under the cursor, those of the key that it came to. Returns whether the
    /// key has an entry.
    #[inline(always)]
    pub(super) fn fold_key(&mut self, way: Way) -> Result<bool> {
        match way {
            Way::Forward if self.take_plain()? => return Ok(true),
            Way::Forward => self.collect_forward()?,
            Way::Backward if self.collect_backward()? => return Ok(true),
            Way::Backward => {}
        }
        Ok(self.fold())
    }

    /// Folds the records of `key` itself, if there are any, as a walk forwards does.
    pub(super) fn fold_exactly(&mut self, key: &[u8]) -> Result<bool> {
        self.seek(key)?;
        if !self.records.is_at(key) {
            return Ok(false);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.collect_forward()?;
        Ok(self.fold())
    }

    /// Returns whether the key that was folded last was deleted. Only a delete says for good that
    /// older records do not matter: an operator may find a value in them later, and an earlier
    /// moment sees what has expired.
    #[inline]
    pub(super) fn is_deleted(&self) -> bool {
        !self.had_records
    }

    /// Takes the value of the record under the cursor if the record is the key's whole visible
    /// chain, and moves past the key. Then no chain is needed. Returns whether it took the value.
    #[inline]
    fn take_plain(&mut self) -> Result<bool> {
        let Visible { viewpoint, records, covers, value, .. } = self;
        if covers.is_some() || viewpoint.time.is_some() {
            return Ok(false);
        }
        let Ok(value) = value else { return Ok(false) };
        forget_large(value);
        if !records.take_put(Way::Forward, viewpoint.seqno, value)? {
            return Ok(false);
        }
        if records.is_at(&self.key) {
            self.pass_key()?;
        }
        Ok(true)
    }

    /// Collects the chain of the key under the cursor, and moves past the key.
    #[inline]
    fn collect_forward(&mut self) -> Result<()> {
        self.begin_chain()?;
        let records = &mut self.records;
        loop {
            let header = records.header();
            let mut is_open = true;
            if header.seqno <= self.viewpoint.seqno {
                records.hold_value()?;
                if records.has_spellings() && self.chain.is_empty() {
                    set_key(&mut self.key, records.key());
                }
                is_open = self.chain.push(header, records.pinned_value());
            }
            records.next()?;
            if !records.is_at(&self.key) {
                return Ok(());
            }
            if !is_open {
                return self.pass_key();
            }
        }
    }

    /// Moves the cursor past the rest of the key. It passes a thousand versions as quickly as two.
    #[cold]
    fn pass_key(&mut self) -> Result<()> {
        let records = &mut self.records;
        loop {
            records.next_key_of_source(&self.key)?;
            if !records.is_at(&self.key) {
                return Ok(());
            }
        }
    }

    /// Begins an empty chain for the key, covered as far as range deletes around it go.
    #[inline]
    fn begin_chain(&mut self) -> Result<()> {
        self.chain.clear();
        if let Ok(value) = &mut self.value {
            forget_large(value);
        }
        if let Some(covers) = &mut self.covers {
            self.chain.cover(covers.of(&self.key)?);
        }
        Ok(())
    }

    /// Takes the record under the cursor, the oldest of its key: a walk backwards arrives there. If
    /// it is a put, writes its value, moves on, and returns the header.
    #[inline]
    fn take_oldest(&mut self) -> Result<Option<RecordHeader>> {
        let Visible { viewpoint, records, covers, value, .. } = self;
        let is_plain = covers.is_none() && viewpoint.time.is_none() && !records.has_spellings();
        if !is_plain || records.records_of_key() > 1 {
            return Ok(None);
        }
        let Ok(value) = value else { return Ok(None) };
        forget_large(value);
        let header = records.header();
        Ok(records.take_put(Way::Backward, viewpoint.seqno, value)?.then_some(header))
    }

    /// Collects the chain of the key under the cursor, and moves before the key. A single put needs
    /// no chain: then it takes the value and returns `true`.
    #[inline]
    fn collect_backward(&mut self) -> Result<bool> {
        let oldest = self.take_oldest()?;
        if oldest.is_some() && !self.records.is_at(&self.key) {
            return Ok(true);
        }
        self.collect_newer(oldest)?;
        Ok(false)
    }

    /// Collects the chain of the key under the cursor, and moves before the key. `oldest` is the
    /// header of a put that was taken already: its value is in `value`.
    fn collect_newer(&mut self, oldest: Option<RecordHeader>) -> Result<()> {
        let put = oldest.and_then(|header| Some((header, self.value.as_ref().ok()?.clone())));
        self.begin_chain()?;
        let records = &mut self.records;
        let mut passed = 0;
        if let Some((header, value)) = put {
            self.chain.push_newer(header, value);
            passed = 1;
        }
        loop {
            if passed + records.records_of_key() > MAX_HIDDEN {
                return self.collect_from_newest();
            }
            let header = records.header();
            if header.seqno <= self.viewpoint.seqno {
                records.hold_value()?;
                if records.has_spellings() {
                    set_key(&mut self.key, records.key());
                }
                self.chain.push_newer(header, records.pinned_value());
            }
            passed += 1;
            records.prev()?;
            if !records.is_at(&self.key) {
                return Ok(());
            }
        }
    }

    /// Does [`Visible::collect_backward`] for a key that has many records: from the newest one down
    /// to the base, however many lie below it.
    #[cold]
    fn collect_from_newest(&mut self) -> Result<()> {
        self.begin_chain()?;
        let records = &mut self.records;
        records.seek(&self.key)?;
        while records.is_at(&self.key) {
            let header = records.header();
            if header.seqno <= self.viewpoint.seqno {
                records.hold_value()?;
                if records.has_spellings() && self.chain.is_empty() {
                    set_key(&mut self.key, records.key());
                }
                if !self.chain.push(header, records.pinned_value()) {
                    break;
                }
            }
            records.next()?;
        }
        records.seek_before(&self.key)
    }

    /// Folds the chain. Returns whether the key exists, if only as a failed merge.
    #[inline]
    fn fold(&mut self) -> bool {
        // The fold takes the chain's records.
        self.had_records = !self.chain.is_deleted();
        if self.chain.is_empty() {
            return false;
        }
        if let Some(report) = &self.viewpoint.report {
            report.saw_operands(self.chain.operands());
        }
        if self.chain.separated().is_some() && !self.resolve() {
            return true;
        }
        let Viewpoint { time, origin, .. } = &mut self.viewpoint;
        let mut living = Ok(());
        if let Some(time) = time {
            living = time.drop_expired(&mut self.chain);
        }
        let operators = self.operators.get_or_insert_with(|| origin.operators()).load();
        let mut folded =
            living.and_then(|()| self.chain.value(&self.key, operators, &mut self.scratch));
        if let Some(time) = time
            && let Ok(Some(stored)) = folded
        {
            folded = time.show(stored);
        }
        settle(folded, &mut self.value, &**origin)
    }

    /// Replaces the address of the chain's separated base by the value. Returns `false` if the
    /// value cannot be read. That is an error of this entry alone, since other values may lie
    /// elsewhere.
    #[inline(never)]
    fn resolve(&mut self) -> bool {
        let Some(base) = self.chain.separated() else { return true };
        let origin = &self.viewpoint.origin;
        if self.values.is_none() {
            self.values = origin.values();
        }
        let value = match &mut self.values {
            Some(values) => values.value(&base.value, &self.key),
            None => origin.value_below(&self.key),
        };
        match value {
            Ok(value) => {
                self.chain.resolve(value);
                true
            }
            Err(error) => {
                self.value = Err(error);
                false
            }
        }
    }
}

/// Deleted keys, many at once.
impl Visible {
    /// Leads the records' cursor past deleted keys that a source knows. Returns whether it moved.
    #[cold]
    pub(super) fn pass_gone(&mut self) -> Result<bool> {
        let Visible { viewpoint, records, covers, key, .. } = self;
        let Some(covers) = covers else { return records.pass_gone(viewpoint.seqno, 0, None) };
        let cover = covers.of(key)?;
        records.pass_gone(viewpoint.seqno, cover, Some(covers.fragment()))
    }

    /// Leads the records' cursor past deleted keys that an earlier walk noted. Returns whether it
    /// moved.
    #[cold]
    pub(super) fn pass_dead(&mut self) -> Result<bool> {
        let Viewpoint { order, seqno, origin, .. } = &self.viewpoint;
        let dead = origin.dead().find(order.comparator(), &self.key, *seqno, origin.installs());
        dead.map_or(Ok(false), |dead| self.records.pass_dead(&dead))
    }

    /// Notes for later walks that this reader found only deleted keys between two places.
    #[cold]
    pub(super) fn note_dead(&self, start: Edge, end: Edge) {
        let Viewpoint { order, seqno, origin, .. } = &self.viewpoint;
        let (newest_file, installs) = (origin.newest_file(), origin.installs());
        let dead = Dead { start, end, seqno: *seqno, newest_file, installs };
        origin.dead().learn(order.comparator(), dead);
    }
}

impl Drop for Visible {
    fn drop(&mut self) {
        self.report_effort();
    }
}

/// Moves the cursor past all records of `key`.
fn seek_behind(records: &mut MergingCursor, key: &[u8]) -> Result<()> {
    records.seek(key)?;
    while records.is_at(key) {
        records.next_key_of_source(key)?;
    }
    Ok(())
}

/// Releases a large value, which should not stay in memory beside the next ones.
#[inline]
fn forget_large(value: &mut Value) {
    if value.is_longer_than(LARGE_BLOCK) {
        *value = Value::default();
    }
}

/// Makes `key` equal to the key under the cursor. Neighbouring keys mostly have one length.
#[inline]
fn set_key(key: &mut HeldKey, next: &[u8]) {
    if key.len() == next.len() {
        copy_short(key, next);
    } else {
        key.clear();
        key.extend_from_slice(next);
    }
}

/// Takes in the result of a fold. Returns whether the key exists, if only as a failed merge.
#[inline]
fn settle(folded: Result<Option<Value>>, value: &mut Result<Value>, origin: &dyn Origin) -> bool {
    match folded {
        Ok(Some(found)) => *value = Ok(found),
        Ok(None) => return false,
        Err(error) => {
            origin.totals().add(Total::FailedMerges, 1);
            *value = Err(error);
        }
    }
    true
}
