//! What the writer folds as it writes, so that chains stay short however often a key is merged.
//! It never reads a table.
//!
//! *In place*: an operand of 8 bytes is folded into the newest record by one atomic store, if no
//! reader can tell (`foldb_chains::Pins`; H2) and no range delete lies between:
//!
//! ```text
//! a.MERGE.90(+1), write 101 is a += 1, nobody pinned 90 or later     a.MERGE.90(+2)
//! ```
//!
//! *By sixteens*: whenever a key got its 16th, 32nd, … record, the newest 16 are folded into one
//! that is laid over them; whenever it got its 256th, the newest 16 of those, and so on, like the
//! digits of a counter. So n operands are folded by O(n) calls, a byte is copied O(log n) times, a
//! chain of n operands has at most 15 log16(n) records, and a snapshot finds its own among the
//! folded ones by going down as many levels (H3, H9). What was folded stays readable behind the
//! fold, so snapshots do not keep chains long; flushes give each snapshot its part.
//!
//! Operands that grow when they are folded are left alone once they are [`LARGE`] on average: a
//! read then spends more on their bytes than on finding them.

use foldb_chains::folded_bytes_needed;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fold::{Below, Chain, Growth, MergeOperator, Resolver};
use crate::key::{Kind, SeqNo};
use crate::memtable::{MemtableWriter, version_header};
use crate::operation::Operation;
use crate::value::Value;

/// How many records are folded into one.
const FAN_IN: usize = 16;
/// The least number worth a fold: stretches begin and end where a base or another operator stands.
const LEAST: usize = FAN_IN / 4;
/// Bytes from which on an operand is not copied only to have fewer of them. Finding a record costs
/// a cache miss, about as much as copying this.
const LARGE: usize = 1 << 10;

/// What may be folded while a write is applied.
#[derive(Clone, Copy)]
pub(crate) struct Folding<'a> {
    /// Records above this sequence number may change in place: nobody may see them yet, or nobody
    /// can tell.
    pub(crate) floor: SeqNo,
    pub(crate) operators: &'a Resolver,
}

/// What a fold needs, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct FoldBuffers {
    chain: Chain,
    scratch: Vec<u8>,
}

/// An operand folded into an accumulator, if the operator can.
#[inline]
pub(super) fn fold_word(
    operator: Option<&dyn MergeOperator>,
    accumulator: [u8; 8],
    operand: &[u8],
) -> Option<[u8; 8]> {
    let (operator, operand) = (operator?, operand.try_into().ok()?);
    // An operator that panics here gets to see its operands when they are read.
    catch_unwind(AssertUnwindSafe(|| operator.fold_word(accumulator, operand))).unwrap_or(None)
}

impl MemtableWriter {
    /// Folds what is due now that the key of `operation` has so many records.
    #[inline]
    pub(super) fn fold_due(
        &mut self,
        hash: u64,
        operation: &Operation<'_>,
        records: u32,
        operators: &Resolver,
    ) {
        let mut due = FAN_IN as u32;
        let mut level = 0;
        while operation.kind == Kind::Merge && records.is_multiple_of(due) {
            if !self.fold_level(hash, operation.key, level, operators) {
                return;
            }
            let Some(next) = due.checked_mul(FAN_IN as u32) else { return };
            due = next;
            level += 1;
        }
    }

    /// Folds the newest records of this level. Whether there were any that could be folded.
    fn fold_level(&mut self, hash: u64, key: &[u8], level: u8, operators: &Resolver) -> bool {
        let Some(stretch) = self.stretch(hash, key, level, operators) else { return false };
        let FoldBuffers { chain, scratch } = &mut self.buffers;
        let folded = chain.fold(key, Below::Unknown, operators, scratch);
        let [record] = &folded.records[..] else { return false };
        let (header, value) = (record.header, &record.value);
        if !self.fits(folded_bytes_needed(value.len()) + self.reserved) {
            return false;
        }
        let (kind, operator) = (header.kind as u8, header.operator);
        self.writer.fold_newest(hash, key, stretch, kind, operator, value).is_ok()
    }

    /// Collects the newest neighbours of one operator and level. How many, if it is worth it.
    fn stretch(&mut self, hash: u64, key: &[u8], level: u8, operators: &Resolver) -> Option<usize> {
        let chain = &mut self.buffers.chain;
        chain.clear();
        let node = self.memtable.chains.find(hash, key)?;
        let mut newest = None;
        let (mut count, mut bytes) = (0, 0);
        for foldable in node.foldable().take(FAN_IN) {
            let version = foldable.version;
            let header = version_header(&version);
            let operator = *newest.get_or_insert(header.operator);
            if foldable.level != level
                || header.kind != Kind::Merge
                || header.operator != operator
                || foldable.first_seqno <= self.last_delete_range
            {
                break;
            }
            bytes += version.value_len();
            count += 1;
            chain.push(header, Value::of_version(&self.memtable.chains, version));
        }
        let grows = operators.growth(newest?)? == Growth::Grows;
        (count >= LEAST && !(grows && bytes > count * LARGE)).then_some(count)
    }
}
