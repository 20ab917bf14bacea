//! The chain of one key, and the one routine that folds it.
//!
//! Readers and compactions collect a chain newest first, as they meet its records. The fold goes
//! oldest first, stretch by stretch. A stretch is a sequence of neighbouring operands of one
//! operator:
//!
//! ```text
//! a.MERGE.5(+1) a.MERGE.4(+2) a.MERGE.3(,x) a.PUT.1(10)      as collected
//! 10 -> "10,x" -> stretch (+2, +1) of another operator      as folded
//! ```
//!
//! Below the oldest operand lies a base (a put, a delete, the bottom of the tree) or something
//! unknown: an older stripe, a deeper level. Above a known base a stretch folds with
//! [`MergeOperator::full`], above the unknown with `partial`.
//!
//! A chain may be *covered* up to a sequence number: a range delete at that number includes the
//! key. Older records are gone, wherever they lie (H10). Newer records fold as if the key had no
//! base:
//!
//! ```text
//! a.MERGE.9(+1) covered to 7 a.MERGE.5(+2) a.PUT.1(10)   ->   a.MERGE.9(+1) on nothing: 1
//! ```
//!
//! A stretch that fails is a *wall* (H8). The fold passes the wall on unchanged. It folds the
//! records below the wall onto their base, and the operands above the wall only partially. It drops
//! records only under a base:
//!
//! ```text
//! PUT.1 A2 U4(fails) A5 A6   ->   PUT.2 U4 A6'
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};

use smallvec::SmallVec;

use crate::error::Error;
use crate::faults::{Fault, planted};
use crate::fold::expiring::composable;
use crate::fold::operator::{Full, Growth, MergeOperator, Partial};
use crate::fold::registry::Resolver;
use crate::key::{Kind, NO_OPERATOR, OperatorId, RecordHeader, SeqNo};
use crate::limits::{MAX_VALUE_BYTES, is_too_long, joined_bytes};
use crate::value::Value;

/// One record of a chain.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) header: RecordHeader,
    pub(crate) value: Value,
}

/// What lies below the oldest operand of a chain without a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// Older records may exist: operands can only fold among themselves.
    Unknown,
    /// The key has no older record anywhere.
    Nothing,
}

/// The visible records of one key. The chain has at most one base, which is its oldest record.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// Records below this sequence number are deleted; 0 deletes none.
    covered: SeqNo,
    /// Operands, newest first unless `oldest_first`.
    operands: SmallVec<[Record; 4]>,
    /// Whether the operands were collected oldest first.
    oldest_first: bool,
    base: Option<Record>,
}

/// The result of folding a chain.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    /// The records that replace the chain, oldest first.
    pub(crate) records: SmallVec<[Record; 2]>,
    /// The first stretch that failed, if one did.
    pub(crate) failed: Option<Failure>,
}

/// A stretch that could not be folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) operator: OperatorId,
    /// Bytes of the operator's output, if that is too long for a value.
    pub(crate) too_long: Option<usize>,
}

impl Chain {
    /// Adds the next older record. Returns whether older records still matter.
    #[inline]
    pub(crate) fn push(&mut self, header: RecordHeader, value: Value) -> bool {
        debug_assert!(self.base.is_none(), "nothing lies below a base");
        debug_assert!(!self.oldest_first, "one chain is collected one way");
        debug_assert!(
            self.operands.last().is_none_or(|newer| header.seqno < newer.header.seqno),
            "a chain is collected from its newest record on, each once"
        );
        if header.seqno < self.covered {
            return false;
        }
        if header.kind.is_base() {
            self.base = Some(Record { header, value });
            return false;
        }
        self.operands.push(Record { header, value });
        !planted(Fault::StopChainEarly) || self.operands.len() < 2
    }

    /// Adds the next *newer* record, for walks from old to new. A base replaces all older ones.
    #[inline]
    pub(crate) fn push_newer(&mut self, header: RecordHeader, value: Value) {
        self.oldest_first = true;
        if header.seqno < self.covered {
            return;
        }
        if header.kind.is_base() {
            self.operands.clear();
            self.base = Some(Record { header, value });
        } else {
            self.operands.push(Record { header, value });
        }
    }

    /// Notes that a range delete at `seqno` includes the key; 0 means none. Older records that were
    /// already pushed are removed.
    #[inline]
    pub(crate) fn cover(&mut self, seqno: SeqNo) {
        if seqno > self.covered {
            self.raise_cover(seqno);
        }
    }

    #[cold]
    fn raise_cover(&mut self, seqno: SeqNo) {
        self.covered = seqno;
        self.operands.retain(|record| record.header.seqno > seqno);
        self.base.take_if(|base| base.header.seqno < seqno);
    }

    /// Returns whether the chain's cover deletes all records up to `largest_seqno`.
    #[inline]
    pub(crate) fn is_covered_above(&self, largest_seqno: SeqNo) -> bool {
        largest_seqno < self.covered
    }

    /// Empties the chain and keeps its memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.covered = 0;
        self.operands.clear();
        self.oldest_first = false;
        self.base = None;
    }

    /// Returns whether the chain holds no record.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.operands.is_empty() && self.base.is_none()
    }

    /// Returns whether the newest record is a delete, or range deletes left none.
    #[inline]
    pub(crate) fn is_deleted(&self) -> bool {
        let is_delete = |base: &Record| base.header.kind == Kind::Delete;
        self.operands.is_empty() && self.base.as_ref().is_none_or(is_delete)
    }

    /// Returns the number of operands.
    pub(crate) fn operands(&self) -> usize {
        self.operands.len()
    }

    /// Returns the base if its value is separated: the record holds the address.
    #[inline]
    pub(crate) fn separated(&self) -> Option<&Record> {
        self.base.as_ref().filter(|base| base.header.kind == Kind::Separated)
    }

    /// Replaces the address of a separated base with the value.
    pub(crate) fn resolve(&mut self, value: Value) {
        let base = self.base.as_mut().expect("what is resolved has a base");
        (base.header.kind, base.value) = (Kind::Put, value);
    }

    /// Takes the base out of the chain. The operands then fold as if the base were unknown.
    pub(crate) fn set_base_apart(&mut self) -> Option<Record> {
        // The cover deletes only records older than the base, and no such record is pushed any
        // more.
        self.covered = 0;
        self.base.take()
    }

    /// Returns the base, if it is known.
    pub(crate) fn base(&self) -> Option<&Record> {
        self.base.as_ref()
    }

    /// Returns the operands, oldest first.
    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &Record> {
        let (forwards, backwards) = match self.oldest_first {
            true => (&self.operands[..], &[][..]),
            false => (&[][..], &self.operands[..]),
        };
        forwards.iter().chain(backwards.iter().rev())
    }

    /// Removes the oldest operands, and perhaps the base. What is left lies on nothing then.
    pub(crate) fn drop_oldest(&mut self, count: usize, and_base: bool) {
        match self.oldest_first {
            true => drop(self.operands.drain(..count)),
            false => self.operands.truncate(self.operands.len() - count),
        }
        if and_base {
            self.base = None;
        }
    }

    /// Returns all records, in no particular order.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        self.operands.iter().chain(&self.base)
    }

    /// Returns the bytes of the operands.
    pub(crate) fn operand_bytes(&self) -> u64 {
        self.operands.iter().map(|operand| operand.value.len() as u64).sum()
    }

    /// Returns the operands, newest first, and the base, for callers that show a chain. The chain
    /// must have been collected newest first. A cover without a base becomes a delete with the
    /// cover's sequence number.
    pub(crate) fn into_records(self) -> (SmallVec<[Record; 4]>, Option<Record>) {
        debug_assert!(!self.oldest_first, "the chain was collected newest first");
        let cover = (self.covered > 0).then(|| base_record(self.covered, None));
        (self.operands, self.base.or(cover))
    }

    /// Returns the value that a reader sees. `scratch` is a reusable buffer.
    ///
    /// # Errors
    /// `MergeFailed`, with key and operator, if a stretch fails or its operator is missing.
    #[inline]
    pub(crate) fn value(
        &mut self,
        key: &[u8],
        operators: &Resolver,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Value>, Error> {
        debug_assert!(self.separated().is_none(), "a separated base is resolved first");
        if self.operands.is_empty() {
            let base = self.base.take();
            return Ok(base.filter(|base| base.header.kind == Kind::Put).map(|base| base.value));
        }
        self.value_of_operands(key, operators, scratch)
    }

    /// Returns the value of a chain with operands. Kept out of [`Chain::value`], which the compiler
    /// inlines into walks over puts only while it is small.
    fn value_of_operands(
        &mut self,
        key: &[u8],
        operators: &Resolver,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Value>, Error> {
        if self.operands.len() == 1 && self.base.is_none() && !operators.has_upgrades() {
            return self.value_of_one(key, operators, scratch);
        }
        let mut folded = self.fold(key, Below::Nothing, operators, scratch);
        if let Some(failure) = folded.failed {
            return Err(merge_failed(key, failure, operators));
        }
        let newest = folded.records.pop();
        Ok(newest.filter(|record| record.header.kind == Kind::Put).map(|record| record.value))
    }

    /// Folds a single operand over nothing. In a scan of merged keys, most folds have this form.
    #[inline]
    fn value_of_one(
        &mut self,
        key: &[u8],
        operators: &Resolver,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Value>, Error> {
        let Some(Record { header, value }) = self.operands.pop() else { return Ok(None) };
        let failed = |too_long| {
            merge_failed(key, Failure { operator: header.operator, too_long }, operators)
        };
        let implementation =
            operators.implementation(header.operator).ok_or_else(|| failed(None))?;
        match full(implementation, key, None, &[&value], scratch) {
            Outcome::Value => Ok(Some(take_output(scratch))),
            Outcome::Operand(0) => Ok(Some(value)),
            Outcome::Existing | Outcome::Delete => Ok(None),
            Outcome::Operand(_) => Err(failed(None)),
            Outcome::Fail { too_long } => Err(failed(too_long)),
        }
    }

    /// Folds a chain that is one stretch over a known base, unless the fold fails. Returns the
    /// sequence number of the result, and its value, or no value if the key is deleted. It moves no
    /// record, so it is much faster than [`Chain::fold`] for small values.
    #[inline]
    pub(crate) fn fold_in_place<'a>(
        &'a self,
        key: &[u8],
        below: Below,
        operators: &Resolver,
        scratch: &'a mut Vec<u8>,
    ) -> Option<(SeqNo, Option<&'a [u8]>)> {
        let RecordHeader { seqno, operator, .. } = self.operands.first()?.header;
        let is_known = self.base.is_some() || below == Below::Nothing || self.covered > 0;
        let is_one = self.operands.iter().all(|operand| operand.header.operator == operator);
        if !is_known || !is_one || self.oldest_first || operators.has_upgrades() {
            return None;
        }
        if planted(Fault::WrongOperandOrder) {
            return None;
        }
        let implementation = operators.implementation(operator)?;
        let base = self.base.as_ref().filter(|base| base.header.kind != Kind::Delete);
        debug_assert!(self.separated().is_none(), "a separated base is resolved first");
        let base = base.map(|base| &*base.value);
        let operands: Operands<'_> = self.operands.iter().rev().map(|r| &*r.value).collect();
        let value = match full(implementation, key, base, &operands, scratch) {
            Outcome::Value => Some(&scratch[..]),
            Outcome::Operand(index) => Some(*operands.get(index)?),
            Outcome::Existing => base,
            Outcome::Delete => None,
            Outcome::Fail { .. } => return None,
        };
        operators.sample(operator, key, base, &operands);
        Some((seqno, value))
    }

    /// Folds the chain as far as the operators' laws allow, and empties it. If the chain is
    /// covered, `below` does not matter: older records are deleted.
    pub(crate) fn fold(
        &mut self,
        key: &[u8],
        below: Below,
        operators: &Resolver,
        scratch: &mut Vec<u8>,
    ) -> Folded {
        let mut fold =
            Fold { key, operators, scratch, out: Folded::default(), ground: Ground::Open };
        if let Some(base) = self.base.take() {
            fold.ground = Ground::Solid;
            fold.out.records.push(base);
        } else if below == Below::Nothing || self.covered > 0 {
            fold.ground = Ground::Solid;
        }
        self.covered = 0;
        if !std::mem::take(&mut self.oldest_first) && !planted(Fault::WrongOperandOrder) {
            self.operands.reverse();
        }
        if operators.has_upgrades() {
            self.upgrade(operators);
        }
        let newest = self.operands.last().or(fold.out.records.last());
        let newest = newest.map(|record| record.header.seqno);
        let count = self.operands.len() + fold.out.records.len();
        let mut rest = &mut self.operands[..];
        while let Some(first) = rest.first() {
            let operator = first.header.operator;
            let is_other = |record: &Record| {
                record.header.operator != operator && !planted(Fault::WrongOperator)
            };
            let end = rest.iter().position(is_other);
            let (stretch, newer) = rest.split_at_mut(end.unwrap_or(rest.len()));
            fold.stretch(operator, stretch);
            rest = newer;
        }
        debug_assert!(fold.out.records.len() <= count, "a fold makes no more records than it gets");
        debug_assert!(
            fold.out.records.last().map(|record| record.header.seqno) == newest
                || planted(Fault::WrongOperandOrder),
            "a fold ends with its newest write, so none is lost"
        );
        self.operands.clear();
        fold.out
    }

    /// Passes operands of older versions to the operator that upgrades them. An operand that the
    /// operator cannot read stays unchanged and is a wall.
    fn upgrade(&mut self, operators: &Resolver) {
        for record in &mut self.operands {
            if let Some((operator, operand)) =
                operators.upgrade(record.header.operator, &record.value)
            {
                record.header.operator = operator;
                record.value = take_output(&mut { operand });
            }
        }
    }
}

/// The operands of a stretch, oldest first.
pub(crate) type Operands<'a> = SmallVec<[&'a [u8]; 16]>;

/// [`Full`], with the reason for a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Value,
    Operand(usize),
    Existing,
    Delete,
    Fail { too_long: Option<usize> },
}

/// Folds operands over a base. The fold fails if the operator panics, or if its output is longer
/// than [`MAX_VALUE_BYTES`]. It is part of its callers: its result would pass through memory, which
/// costs a read of a counter 32 instructions.
#[inline(always)]
pub(crate) fn full(
    implementation: &dyn MergeOperator,
    key: &[u8],
    base: Option<&[u8]>,
    operands: &[&[u8]],
    scratch: &mut Vec<u8>,
) -> Outcome {
    scratch.clear();
    let called =
        catch_unwind(AssertUnwindSafe(|| implementation.full(key, base, operands, scratch)));
    match called {
        Ok(Full::Value) if scratch.len() > MAX_VALUE_BYTES && !planted(Fault::NoValueLimit) => {
            Outcome::Fail { too_long: Some(discarded(scratch)) }
        }
        Ok(Full::Value) => Outcome::Value,
        Ok(Full::Operand(index)) => Outcome::Operand(index),
        Ok(Full::Existing) => Outcome::Existing,
        Ok(Full::Delete) => Outcome::Delete,
        Ok(Full::Fail) => Outcome::Fail { too_long: too_long(implementation, base, operands) },
        Err(_) => Outcome::Fail { too_long: None },
    }
}

/// Returns the bytes that a failed fold would have made, if that is why it failed: the operator
/// joins its operands, and they are too long together.
#[cold]
fn too_long(
    implementation: &dyn MergeOperator,
    base: Option<&[u8]>,
    operands: &[&[u8]],
) -> Option<usize> {
    let joined = implementation.growth() == Growth::Grows && is_too_long(base, operands);
    joined.then(|| joined_bytes(base, operands))
}

/// Frees the memory of an output that is too long. Returns the length of the output.
#[cold]
fn discarded(scratch: &mut Vec<u8>) -> usize {
    std::mem::take(scratch).len()
}

/// What lies below the next stretch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// The last record of the output is a base, or the output is empty and the key has no older
    /// record. The next stretch folds fully.
    Solid,
    /// Unknown records or a wall. The next stretch folds only partially.
    Open,
}

/// A fold in progress, oldest stretch first.
struct Fold<'a> {
    key: &'a [u8],
    operators: &'a Resolver,
    scratch: &'a mut Vec<u8>,
    out: Folded,
    ground: Ground,
}

impl Fold<'_> {
    /// Folds one stretch (operands of one operator, oldest first) onto the output.
    fn stretch(&mut self, operator: OperatorId, stretch: &mut [Record]) {
        let Some(implementation) = self.operators.implementation(operator) else {
            if self.ground == Ground::Solid {
                self.out.failed.get_or_insert(Failure { operator, too_long: None });
            }
            return self.keep(stretch);
        };
        match self.ground {
            Ground::Solid => self.full(implementation, operator, stretch),
            Ground::Open if self.operators.is_expiring(operator) => {
                self.partial_in_time(implementation, operator, stretch);
            }
            Ground::Open => self.partial(implementation, stretch),
        }
    }

    /// Folds a stretch onto a known base.
    fn full(&mut self, implementation: &dyn MergeOperator, id: OperatorId, stretch: &mut [Record]) {
        let newest = stretch.last().map_or(0, |record| record.header.seqno);
        let outcome = {
            let base = self.out.records.last();
            let base = base.filter(|base| base.header.kind == Kind::Put).map(|base| &*base.value);
            let operands: Operands<'_> = stretch.iter().map(|r| &*r.value).collect();
            self.operators.sample(id, self.key, base, &operands);
            full(implementation, self.key, base, &operands, self.scratch)
        };
        let value = match outcome {
            Outcome::Value => Some(take_output(self.scratch)),
            Outcome::Operand(index) => match stretch.get_mut(index) {
                Some(operand) => Some(std::mem::take(&mut operand.value)),
                None => return self.wall(Failure { operator: id, too_long: None }, stretch),
            },
            Outcome::Existing => {
                let base = self.out.records.pop();
                base.filter(|base| base.header.kind == Kind::Put).map(|base| base.value)
            }
            Outcome::Delete => None,
            Outcome::Fail { too_long } => {
                return self.wall(Failure { operator: id, too_long }, stretch);
            }
        };
        self.out.records.clear();
        self.out.records.push(base_record(newest, value));
    }

    /// Folds a stretch of operands with stamps whose base is not known, as far as neighbours
    /// compose.
    fn partial_in_time(
        &mut self,
        implementation: &dyn MergeOperator,
        id: OperatorId,
        mut stretch: &mut [Record],
    ) {
        while !stretch.is_empty() && self.ground == Ground::Open {
            let count = {
                let operands: Operands<'_> = stretch.iter().map(|r| &*r.value).collect();
                composable(&operands)
            };
            let (these, newer) = stretch.split_at_mut(count);
            self.partial(implementation, these);
            stretch = newer;
        }
        if !stretch.is_empty() {
            self.full(implementation, id, stretch);
        }
    }

    /// Folds a stretch whose base is not known.
    fn partial(&mut self, implementation: &dyn MergeOperator, stretch: &mut [Record]) {
        if stretch.len() < 2 {
            return self.keep(stretch);
        }
        let outcome = {
            let operands: Operands<'_> = stretch.iter().map(|r| &*r.value).collect();
            self.operators.sample(stretch[0].header.operator, self.key, None, &operands);
            self.scratch.clear();
            let key = self.key;
            let scratch = &mut *self.scratch;
            catch_unwind(AssertUnwindSafe(|| implementation.partial(key, &operands, scratch)))
                .unwrap_or(Partial::Keep)
        };
        let newest = stretch[stretch.len() - 1].header;
        match outcome {
            // Keep the operands: their result over a base may be shorter.
            Partial::Operand | Partial::Value if self.scratch.len() > MAX_VALUE_BYTES => {
                discarded(self.scratch);
                self.keep(stretch);
            }
            Partial::Operand => {
                let value = take_output(self.scratch);
                self.out.records.push(Record { header: newest, value });
            }
            Partial::Value => {
                let value = take_output(self.scratch);
                self.base_whatever_below(base_record(newest.seqno, Some(value)));
            }
            Partial::Delete => self.base_whatever_below(base_record(newest.seqno, None)),
            Partial::Keep => self.keep(stretch),
        }
    }

    /// Makes the result of a stretch the base. The result does not depend on older records, so they
    /// and any walls are dropped.
    fn base_whatever_below(&mut self, base: Record) {
        self.out.records.clear();
        self.out.records.push(base);
        self.out.failed = None;
        self.ground = Ground::Solid;
    }

    /// Keeps a stretch that cannot be folded. No newer stretch folds onto the base.
    fn wall(&mut self, failure: Failure, stretch: &mut [Record]) {
        self.out.failed.get_or_insert(failure);
        self.keep(stretch);
    }

    fn keep(&mut self, stretch: &mut [Record]) {
        self.out.records.extend(stretch.iter().cloned());
        self.ground = Ground::Open;
    }
}

/// Makes a base record: a put of the value, or a delete.
fn base_record(seqno: SeqNo, value: Option<Value>) -> Record {
    let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
    let header = RecordHeader { seqno, kind, operator: NO_OPERATOR };
    Record { header, value: value.unwrap_or_default() }
}

/// Turns the operator's output into a value. A small value is copied, so the next fold reuses the
/// buffer.
pub(crate) fn take_output(scratch: &mut Vec<u8>) -> Value {
    Value::inline(scratch).unwrap_or_else(|| Value::from(std::mem::take(scratch)))
}

/// Makes the error that a read of this key returns.
fn merge_failed(key: &[u8], failure: Failure, operators: &Resolver) -> Error {
    let Failure { operator, too_long } = failure;
    let shown = &key[..key.len().min(64)];
    let dots = if shown.len() < key.len() { "…" } else { "" };
    let (shown, name) = (shown.escape_ascii(), operators.name(operator));
    let message = if operators.is_unresolved(operator) {
        format!(
            "key '{shown}{dots}' holds operands of '{name}', which is not among Options::operators"
        )
    } else if let Some(len) = too_long {
        format!(
            "operator '{name}' makes {len} bytes of key '{shown}{dots}', and a value may have \
             MAX_VALUE_BYTES = {MAX_VALUE_BYTES}; put or delete the key to use it again"
        )
    } else {
        format!(
            "operator '{name}' rejects the value or an operand of key '{shown}{dots}'; \
             put or delete the key to use it again"
        )
    };
    Error::merge_failed(message, key, name)
}
