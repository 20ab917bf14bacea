//! Writes: each is a function of seed, thread and number.
//!
//! ```text
//!  interleaved   block u16 | thread u8 | slot u8 | letters, as many as depends on them
//!  else          thread u8 | block u16 | slot u8 | letters
//!  pair          block 0xffff, slot 0, in the first keyspace and in the last one
//!  tally         slot u8, in the keyspace "tally", merged into by all threads
//!  bulk          block 0xfffe, slot 0, of thread 0
//! ```

use std::ops::Range;

use foldb_model::Change;

use crate::features::{Features, Operator, SLOTS, draws, operators};
use crate::way::Way;

/// Number of keys in the keyspace that all threads merge into.
pub(crate) const TALLIES: u8 = 16;
pub(crate) const TALLY_KEYSPACE: &str = "tally";

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Changes one key of the thread, or a range of its keys.
    Own(foldb_model::Operation),
    /// Puts values of 1 MiB to the same key, several times.
    Bulk { keyspace: usize, key: Vec<u8>, count: u8 },
    /// Adds one to a key that other threads merge into at the same time.
    Tally { slot: u8 },
}

impl Operation {
    /// Returns whether the operation is short. A short write must not wait for the work that a
    /// large write before it causes.
    pub(crate) fn is_small(&self) -> bool {
        match self {
            Operation::Own(own) => match &own.change {
                Change::Put(_, value) => value.len() < 100_000,
                _ => true,
            },
            Operation::Bulk { .. } => false,
            Operation::Tally { .. } => true,
        }
    }
}

/// What one call writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The operations of the write. More than one make an atomic batch.
    pub operations: Vec<Operation>,
    pub sync: bool,
    pub way: Way,
}

/// The block of a thread's pair.
const PAIR_BLOCK: u16 = u16::MAX;
/// The block of large batches.
const BULK_BLOCK: u16 = u16::MAX - 1;

/// Returns the n-th value of a large batch.
pub(crate) fn bulk_value(n: u8) -> Vec<u8> {
    vec![n; 1 << 20]
}

impl Features {
    /// Returns the first bytes of a thread's keys in a block.
    pub(crate) fn prefix(&self, block: u16, thread: u8) -> [u8; 3] {
        let [high, low] = block.to_be_bytes();
        if self.interleaved { [high, low, thread] } else { [thread, high, low] }
    }

    pub(crate) fn key(&self, block: u16, thread: u8, slot: u8) -> Vec<u8> {
        // Longer than the part of a key that an engine may keep for estimates.
        let most = if self.own_order { 60 } else { 20 };
        let letters = usize::from(block.wrapping_mul(31) ^ u16::from(slot)) % most;
        let mut key = self.prefix(block, thread).to_vec();
        key.push(slot);
        key.extend(std::iter::repeat_n(b'x', letters));
        key
    }

    pub(crate) fn pair_key(&self, thread: u8) -> Vec<u8> {
        self.key(PAIR_BLOCK, thread, 0)
    }

    pub(crate) fn bulk_key(&self, thread: u8) -> Vec<u8> {
        self.key(BULK_BLOCK, thread, 0)
    }

    /// Returns the thread that owns a key.
    pub(crate) fn owner(&self, key: &[u8]) -> Option<u8> {
        key.get(if self.interleaved { 2 } else { 0 }).copied()
    }
}

impl Features {
    /// Returns the write with this number of a thread.
    pub(crate) fn write(&self, thread: u8, number: u64) -> Write {
        let mut draw = Draw {
            features: self,
            thread,
            number,
            rng: draws(self.seed, "write", &[thread.into(), number]),
        };
        let is_bulk = self.bulk && thread == 0 && draw.rng.u16(..150) == 0;
        let kind = draw.rng.u8(..100);
        let operations = match kind {
            _ if is_bulk => draw.bulk(),
            0..5 => draw.pair_and_tally(),
            5..25 if self.batches => {
                let count = draw.rng.usize(2..30);
                (0..count).map(|_| draw.operation()).collect()
            }
            _ => vec![draw.operation()],
        };
        let sync = self.syncs && draw.rng.u8(..) < 5;
        let way = Way::draw(self, &operations, &mut draw.rng);
        Write { operations, sync, way }
    }
}

struct Draw<'a> {
    features: &'a Features,
    thread: u8,
    number: u64,
    rng: fastrand::Rng,
}

impl Draw<'_> {
    /// Makes a batch whose pair has equal halves, with an update of the tally.
    fn pair_and_tally(&mut self) -> Vec<Operation> {
        let value = self.number.to_le_bytes().to_vec();
        let last = self.features.operators.len() - 1;
        let put = |keyspace| {
            let change = Change::Put(self.features.pair_key(self.thread), value.clone());
            Operation::Own(foldb_model::Operation { keyspace, change })
        };
        let mut operations = vec![put(0)];
        if last > 0 {
            operations.push(put(last));
        }
        operations.push(Operation::Tally { slot: self.rng.u8(..TALLIES) });
        operations
    }

    /// Makes one batch that is larger than any pacing limit.
    fn bulk(&mut self) -> Vec<Operation> {
        let any = self.features.operators.iter().position(|operator| *operator != Operator::Add);
        let Some(keyspace) = any else { return vec![self.operation()] };
        let key = self.features.bulk_key(self.thread);
        vec![Operation::Bulk { keyspace, key, count: self.rng.u8(220..250) }]
    }

    fn operation(&mut self) -> Operation {
        let keyspace = self.rng.usize(..self.features.operators.len());
        let block = self.rng.u16(..self.features.blocks);
        // Some keys are written far more often than others.
        let slots = if self.rng.bool() { 4 } else { SLOTS };
        let key = self.features.key(block, self.thread, self.rng.u8(..slots));
        let change = match self.rng.u8(..100) {
            0..25 => Change::Put(key, self.value(keyspace)),
            25..35 => Change::Delete(key),
            35..37 if self.features.range_deletes => Change::delete_range(self.range(block)),
            _ => {
                let own = self.features.operators[keyspace];
                let mixed = self.features.mixed_operators && own != Operator::Add;
                let drawn = if mixed { self.rng.choice(operators::OF_BYTES) } else { None };
                let operator = drawn.unwrap_or(own);
                Change::Merge(operator, key, self.operand(operator))
            }
        };
        Operation::Own(foldb_model::Operation { keyspace, change })
    }

    /// Returns the range of some slots of a block. Where no other thread has keys between, it may
    /// cover several blocks.
    fn range(&mut self, block: u16) -> Range<Vec<u8>> {
        let last = match self.features.interleaved {
            true => block,
            false => self.rng.u16(block..self.features.blocks.min(block.saturating_add(8))),
        };
        let bound = |(block, slot): (u16, u8)| {
            let mut key = self.features.prefix(block, self.thread).to_vec();
            key.push(slot);
            key
        };
        let ends = [(block, self.rng.u8(..SLOTS)), (last, self.rng.u8(..=SLOTS))];
        let [from, to] = ends.map(bound);
        from.clone().min(to.clone())..from.max(to)
    }

    fn value(&mut self, keyspace: usize) -> Vec<u8> {
        if self.features.operators[keyspace] == Operator::Add {
            return u64::from(self.rng.u32(..)).to_le_bytes().to_vec();
        }
        let largest = self.features.largest_value;
        // Most values are small, and some have the largest size.
        let len = match self.rng.u8(..10) {
            // Longer than a frame of the log.
            0 if largest > 60_000 && self.rng.u8(..40) == 0 => self.about_a_frame(),
            0 => self.rng.usize(..=largest),
            _ => self.rng.usize(..=largest.min(100)),
        };
        self.bytes(len)
    }

    /// Returns a length near that of the longest frame of a log, or of several.
    fn about_a_frame(&mut self) -> usize {
        match self.rng.bool() {
            true => (1 << 20) - self.rng.usize(..100),
            false => self.rng.usize(1 << 20..3 << 20),
        }
    }

    fn operand(&mut self, operator: Operator) -> Vec<u8> {
        match operator {
            Operator::Add => u64::from(self.rng.u8(..)).to_le_bytes().to_vec(),
            _ => {
                let len = self.rng.usize(..30);
                let bytes = self.bytes(len);
                operators::operand(operator, bytes, &mut self.rng)
            }
        }
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // A part repeats, so that compression has work to do.
        let random = len.min(self.rng.usize(..=64));
        self.rng.fill(&mut bytes[..random]);
        bytes
    }
}
