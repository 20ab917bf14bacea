//! A sub-block as the block cache keeps it: with what a search reads first, and with the slot
//! through which its table finds it.
//!
//! A binary search over restarts would touch a cold cache line at each. So a kept sub-block has its
//! *front* beside the count of its references, on lines that a read touches anyway. The front has
//! the positions of up to [`SAMPLES`] restarts and eight bytes of each one's key: those after the
//! common prefix of all keys.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::encoding::{common_prefix, key_prefix};
use crate::error::Result;
use crate::table::data_block::{DataBlock, Found};
use crate::table::key_buffer::KeyBuffer;
use crate::table::order::KeyOrder;
use crate::table::slots::{Home, Lent};

/// Most restarts that a front has. A sub-block with more has every second one in it, or fewer.
const SAMPLES: usize = 8;

/// A sub-block in the cache. Its fields are in the order in which a read needs them.
#[derive(Debug)]
#[repr(C)]
pub(super) struct KeptBlock {
    /// Whether a read found the block in its slot since the cache last asked.
    used: AtomicBool,
    /// Whether the block was put into its slot.
    settled: AtomicBool,
    front: Front,
    block: DataBlock,
    home: Home,
}

/// The samples of a sub-block's restarts.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct Front {
    /// The number of samples: 0 unless the order is bytewise.
    samples: u8,
    /// Restarts from one sample to the next.
    step: u8,
    /// The length of the common prefix of all keys.
    common: u32,
    prefixes: [u64; SAMPLES],
    positions: [u16; SAMPLES],
}

/// Most restarts from one sample to the next for which a search walks from the sample. With more,
/// it looks at the restarts between two samples first.
const WALKED: u8 = 2;

impl KeptBlock {
    /// Prepares a sub-block for searches.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for a malformed record at a restart.
    pub(super) fn new(block: DataBlock, order: &KeyOrder, home: Home) -> Result<KeptBlock> {
        let front = if order.is_bytewise() { Front::of(&block)? } else { None };
        let front = front.unwrap_or_default();
        Ok(KeptBlock::of(block, front, home))
    }

    /// Returns the same sub-block for another slot.
    pub(super) fn at_home(&self, home: Home) -> KeptBlock {
        KeptBlock::of(self.block.clone(), self.front.clone(), home)
    }

    fn of(block: DataBlock, front: Front, home: Home) -> KeptBlock {
        let (used, settled) = (AtomicBool::new(false), AtomicBool::new(false));
        KeptBlock { block, front, home, used, settled }
    }

    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.block.memory_bytes() + size_of::<KeptBlock>()
    }

    /// Does what [`DataBlock::interval_of`] does.
    #[inline]
    pub(super) fn interval_of(&self, target: &[u8], order: &KeyOrder) -> Result<Range<usize>> {
        let front = &self.front;
        let (mut below, ties) = front.find(target);
        match (front.step, ties) {
            (0, _) => return self.block.interval_of(target, order),
            (..=WALKED, 0) => {}
            (1, 1) => {
                let key = self.block.restart_key(front.positions[below] as usize)?;
                below += usize::from(key < target);
            }
            _ => {
                let undecided = front.undecided(below, ties, self.block.restarts());
                return self.block.interval_among(undecided, target, order);
            }
        }
        Ok(front.interval(below, self.block.entries_end()))
    }

    /// Notes that a read found the block in its slot. Returns whether it is the first since the
    /// cache last asked.
    #[inline]
    pub(super) fn note_use(&self) -> bool {
        // Relaxed: a hint for the eviction. The load keeps the line shared between readers.
        !self.used.load(Ordering::Relaxed) && !self.used.swap(true, Ordering::Relaxed)
    }

    /// Forgets the uses so far: the cache has taken them into account.
    pub(super) fn forget_uses(&self) {
        if self.used.load(Ordering::Relaxed) {
            self.used.store(false, Ordering::Relaxed);
        }
    }

    /// Puts the block into its slot. The caller checks afterwards that the cache still has the
    /// block. The cache counted only the find that led here, so the next use counts too.
    pub(super) fn settle(self: &Arc<Self>) {
        // Release, and Acquire in `unsettle`: the cache's lock orders the two. If the block was
        // evicted before the caller asks the cache, the caller takes it out. Otherwise the eviction
        // comes behind that lock, and sees the store.
        self.settled.store(true, Ordering::Release);
        self.home.put(self);
    }

    /// Takes the block out of its slot: the cache does not have it any more.
    pub(super) fn unsettle(self: &Arc<Self>) {
        if self.settled.load(Ordering::Acquire) {
            self.home.remove(self);
        }
    }
}

impl Front {
    /// Takes the samples; `None` if the sub-block is too large for it.
    fn of(block: &DataBlock) -> Result<Option<Front>> {
        let restarts = block.restarts();
        let step = restarts.div_ceil(SAMPLES).max(1);
        let samples = restarts.div_ceil(step);
        let last = block.restart(restarts.saturating_sub(1));
        let common = common_prefix(block.restart_key(0)?, block.restart_key(last)?);
        let (mut prefixes, mut positions) = ([0; SAMPLES], [0; SAMPLES]);
        for sample in 0..samples {
            let position = block.restart(sample * step);
            let key = block.restart_key(position)?;
            prefixes[sample] = key_prefix(key.get(common..).unwrap_or(&[]));
            let Ok(position) = u16::try_from(position) else { return Ok(None) };
            positions[sample] = position;
        }
        Ok(u8::try_from(step).ok().map(|step| {
            let (samples, common) = (samples as u8, common as u32);
            Front { samples, step, common, prefixes, positions }
        }))
    }

    /// Counts the samples that are before `target`, and those behind them that the prefixes do not
    /// tell from it. If the target does not begin with the common prefix of all keys, the answer
    /// means nothing.
    #[inline]
    fn find(&self, target: &[u8]) -> (usize, usize) {
        let prefix = key_prefix(target.get(self.common as usize..).unwrap_or(&[]));
        let prefixes = &self.prefixes[..self.samples as usize];
        let below = prefixes.iter().filter(|&&sample| sample < prefix).count();
        let ties = prefixes[below..].iter().take_while(|&&sample| sample == prefix).count();
        (below, ties)
    }

    /// Returns the positions from the last sample before a target to the next one, if `below`
    /// samples are before the target.
    #[inline]
    fn interval(&self, below: usize, entries_end: usize) -> Range<usize> {
        let position = |sample: usize| match sample < self.samples as usize {
            true => self.positions[sample] as usize,
            false => entries_end,
        };
        position(below.saturating_sub(1))..position(below.max(1))
    }

    /// Returns the restarts whose place the samples leave open. Restarts before the range have
    /// smaller keys than the target, and those behind it larger ones.
    fn undecided(&self, below: usize, ties: usize, restarts: usize) -> Range<usize> {
        let step = self.step as usize;
        let start = if below == 0 { 0 } else { (below - 1) * step + 1 };
        start..((below + ties) * step).min(restarts)
    }
}

/// A sub-block as a read holds it.
#[derive(Debug)]
pub(super) enum Held {
    /// Lent by the table's slot.
    Lent(Lent),
    /// From the cache.
    Kept(Arc<KeptBlock>),
    /// Not in the cache.
    Own(DataBlock),
}

impl Held {
    #[inline]
    pub(super) fn block(&self) -> &DataBlock {
        match self {
            Held::Lent(lent) => &lent.block,
            Held::Kept(kept) => &kept.block,
            Held::Own(block) => block,
        }
    }

    /// Returns the block, to keep.
    #[inline]
    pub(super) fn into_block(self) -> DataBlock {
        match self {
            Held::Own(block) => block,
            held => held.block().clone(),
        }
    }

    /// Does what [`DataBlock::interval_of`] does.
    #[inline]
    pub(super) fn interval_of(&self, target: &[u8], order: &KeyOrder) -> Result<Range<usize>> {
        match self {
            Held::Lent(lent) => lent.interval_of(target, order),
            Held::Kept(kept) => kept.interval_of(target, order),
            Held::Own(block) => block.interval_of(target, order),
        }
    }

    /// Finds the first record whose key is at or after `target`: see [`DataBlock::seek_from`].
    ///
    /// # Errors
    /// Those of [`DataBlock::seek_from`].
    #[inline]
    pub(super) fn seek(
        &self,
        target: &[u8],
        order: &KeyOrder,
        scratch: &mut KeyBuffer,
    ) -> Result<Option<Found>> {
        let interval = self.interval_of(target, order)?;
        self.block().seek_from(interval, target, order, scratch)
    }
}
