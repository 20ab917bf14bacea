//! Folds that the writer does as it writes, so that chains stay short however often a key is
//! merged. The writer never reads a table.
//!
//! *In place*: one atomic store folds an operand of 8 bytes into the newest record. Two conditions
//! hold: no reader can see the difference (`foldb_chains::Pins`; H2), and no range delete came
//! between the record and the operand:
//!
//! ```text
//! a.MERGE.90(+1), write 101 is a += 1, no pin at 90 or later     a.MERGE.90(+2)
//! ```
//!
//! *By sixteens*: at the 16th, 32nd, … record of a key, the writer folds the newest 16 into one
//! record. The new record becomes the newest of the key's chain and links to them. At the 256th
//! record, the writer folds the newest 16 folded records, and so on, like the digits of a counter.
//! So n operands cost O(n) operator calls, and each byte is copied O(log n) times. A chain of n
//! operands has at most 15 log16(n) records. A snapshot inside the 16 does not prevent the fold:
//! its reader follows one such link for each level (H3, H9). A flush writes for each snapshot the
//! part that the snapshot sees.
//!
//! If folding makes operands grow, the writer stops once they average more than [`LARGE`] bytes.
//! From that size on, a read spends more time on their bytes than on finding them.

use foldb_chains::{FoldWord, folded_bytes_needed};

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fold::{Below, Chain, FIRST_DYNAMIC_ID, Growth, Resolver};
use crate::key::{Kind, OperatorId, SeqNo};
use crate::memtable::{MemtableWriter, version_header};
use crate::operation::Operation;
use crate::value::Value;

/// How many records one fold replaces.
const FAN_IN: usize = 16;
/// Fewest records that a fold replaces. A stretch can have fewer than [`FAN_IN`], because it ends
/// at a base or at another operator's operand.
const LEAST: usize = FAN_IN / 4;
/// Size in bytes from which operands that grow are no longer folded. Finding a record costs a cache
/// miss, which takes about as long as copying this many bytes.
const LARGE: usize = 1 << 10;

/// The rules for folding while a write is applied.
#[derive(Clone, Copy)]
pub(crate) struct Folding<'a> {
    /// Records above this sequence number may change in place: either no reader sees them yet, or
    /// no reader can see the difference.
    pub(crate) floor: SeqNo,
    pub(crate) operators: &'a Resolver,
}

/// The buffers of a fold, reused by the next one.
#[derive(Debug, Default)]
pub(super) struct FoldBuffers {
    chain: Chain,
    scratch: Vec<u8>,
}

/// Folds the operand of a merge into the newest record's value, if the operator can.
pub(super) struct FoldOperand<'a> {
    pub(super) operators: &'a Resolver,
    pub(super) operator: OperatorId,
    pub(super) operand: &'a [u8],
}

impl FoldWord for FoldOperand<'_> {
    #[inline(always)]
    fn fold(self, old: [u8; 8]) -> Option<[u8; 8]> {
        let operator = self.operators.implementation(self.operator)?;
        let operand = self.operand.try_into().ok()?;
        if self.operator < FIRST_DYNAMIC_ID {
            // A built-in operator does not panic.
            return operator.fold_word(old, operand);
        }
        // If an operator panics here, its operands stay and the read that folds them reports the
        // panic.
        catch_unwind(AssertUnwindSafe(|| operator.fold_word(old, operand))).unwrap_or(None)
    }
}

impl MemtableWriter {
    /// Folds every level that is due once the key of `operation` has `records` records.
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

    /// Folds the newest records of this level into one. Returns `false` without a fold if they are
    /// not worth one, their operator cannot fold them, or memory is short.
    fn fold_level(&mut self, hash: u64, key: &[u8], level: u8, operators: &Resolver) -> bool {
        let Some(stretch) = self.stretch(hash, key, level, operators) else { return false };
        let FoldBuffers { chain, scratch } = &mut self.buffers;
        let folded = chain.fold(key, Below::Unknown, operators, scratch);
        let [record] = &folded.records[..] else { return false };
        let (header, value) = (record.header, &record.value);
        if !self.has_space(folded_bytes_needed(value.len()) + self.reserved) {
            return false;
        }
        let (kind, operator) = (header.kind as u8, header.operator);
        self.writer.fold_newest(hash, key, stretch, kind, operator, value).is_ok()
    }

    /// Collects the newest records in a row that have one operator and this level. Returns their
    /// number if they are worth a fold.
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
