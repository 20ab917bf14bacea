//! Writes: each a function of seed, thread and number.
//!
//! ```text
//!  key      block u16 | thread u8 | slot u8 | 0 to 19 letters that depend on them
//!  pair     0xffff    | thread u8 | "pair", in the first keyspace and in the last one
//!  tally    slot u8, in the keyspace "tally", merged into by all threads
//! ```

use std::ops::Range;

use crate::features::{Features, Operator, SLOTS, draws};

/// Keys of the keyspace that all threads merge into.
pub const TALLIES: u8 = 16;
pub const TALLY_KEYSPACE: &str = "tally";

/// One operation on one key, or on a range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Put {
        keyspace: usize,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        keyspace: usize,
        key: Vec<u8>,
    },
    Merge {
        keyspace: usize,
        key: Vec<u8>,
        operand: Vec<u8>,
    },
    DeleteRange {
        keyspace: usize,
        range: Range<Vec<u8>>,
    },
    /// Adds one, beside other threads.
    Tally {
        slot: u8,
    },
}

/// What one call writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// More than one: a batch, which is atomic.
    pub operations: Vec<Operation>,
    pub sync: bool,
}

pub fn key(block: u16, thread: u8, slot: u8) -> Vec<u8> {
    let mut key = block.to_be_bytes().to_vec();
    key.extend([thread, slot]);
    let letters = usize::from(block.wrapping_mul(31) ^ u16::from(slot)) % 20;
    key.extend(std::iter::repeat_n(b'x', letters));
    key
}

pub fn pair_key(thread: u8) -> Vec<u8> {
    [&[0xff, 0xff, thread][..], b"pair"].concat()
}

/// The thread that owns a key.
pub fn owner(key: &[u8]) -> Option<u8> {
    key.get(2).copied()
}

impl Features {
    /// The write with a number of a thread.
    pub fn write(&self, thread: u8, number: u64) -> Write {
        let mut draw = Draw {
            features: self,
            thread,
            number,
            rng: draws(self.seed, "write", &[thread.into(), number]),
        };
        let kind = draw.rng.u8(..100);
        let operations = match kind {
            0..5 => draw.pair_and_tally(),
            5..25 if self.batches => {
                let count = draw.rng.usize(2..30);
                (0..count).map(|_| draw.operation()).collect()
            }
            _ => vec![draw.operation()],
        };
        Write { operations, sync: self.syncs && draw.rng.u8(..) < 5 }
    }
}

struct Draw<'a> {
    features: &'a Features,
    thread: u8,
    number: u64,
    rng: fastrand::Rng,
}

impl Draw<'_> {
    /// Both halves of the pair say the same, and the tally moves with them or not at all.
    fn pair_and_tally(&mut self) -> Vec<Operation> {
        let value = self.number.to_le_bytes().to_vec();
        let last = self.features.operators.len() - 1;
        let put = |keyspace| Operation::Put {
            keyspace,
            key: pair_key(self.thread),
            value: value.clone(),
        };
        let mut operations = vec![put(0)];
        if last > 0 {
            operations.push(put(last));
        }
        operations.push(Operation::Tally { slot: self.rng.u8(..TALLIES) });
        operations
    }

    fn operation(&mut self) -> Operation {
        let keyspace = self.rng.usize(..self.features.operators.len());
        let block = self.rng.u16(..self.features.blocks);
        // Some keys are written far more often than others.
        let slots = if self.rng.bool() { 4 } else { SLOTS };
        let key = key(block, self.thread, self.rng.u8(..slots));
        match self.rng.u8(..100) {
            0..25 => Operation::Put { keyspace, key, value: self.value(keyspace) },
            25..35 => Operation::Delete { keyspace, key },
            35..37 if self.features.range_deletes => {
                let (from, to) = (self.rng.u8(..SLOTS), self.rng.u8(..=SLOTS));
                let bound = |slot: u8| [&block.to_be_bytes()[..], &[self.thread, slot]].concat();
                Operation::DeleteRange { keyspace, range: bound(from.min(to))..bound(to.max(from)) }
            }
            _ => Operation::Merge { keyspace, key, operand: self.operand(keyspace) },
        }
    }

    fn value(&mut self, keyspace: usize) -> Vec<u8> {
        if self.features.operators[keyspace] == Operator::Add {
            return u64::from(self.rng.u32(..)).to_le_bytes().to_vec();
        }
        let largest = self.features.largest_value;
        // Most values are small, and some are as large as they may be.
        let len = match self.rng.u8(..10) {
            0 => self.rng.usize(..=largest),
            _ => self.rng.usize(..=largest.min(100)),
        };
        self.bytes(len)
    }

    fn operand(&mut self, keyspace: usize) -> Vec<u8> {
        match self.features.operators[keyspace] {
            Operator::Add => u64::from(self.rng.u8(..)).to_le_bytes().to_vec(),
            _ => {
                let len = self.rng.usize(..30);
                self.bytes(len)
            }
        }
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // A part that repeats, so that compression has something to do.
        let random = len.min(self.rng.usize(..=64));
        self.rng.fill(&mut bytes[..random]);
        bytes
    }
}
