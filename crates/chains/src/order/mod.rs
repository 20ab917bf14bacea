//! Order on demand (H17): no scan, no sort.
//!
//! The keys of a memtable lie in the order they came. Whoever creates a cursor sorts those nobody
//! sorted yet: a few for himself alone, more (and with the building lock free) as a new
//! [`Stretch`] for everybody. Stretches cover the key list from its start without a gap, are
//! immutable, and the list of them is replaced as a whole, so readers take no lock.
//!
//! ```text
//! key list   0 ─────────────────────────────────────────────── covered ────── length
//! stretches  ├───────── 40 000 ──────────┼─── 4 100 ───┼─ 500 ─┤ private tail ┤
//! ```
//!
//! A new stretch swallows its left neighbours while they are at most [`GROWTH`] times as long, so
//! lengths fall by that factor from left to right, few are live, and a key is merged a few times
//! per factor of [`GROWTH`]. A merge that would become longer than [`MAX_FOREGROUND_MERGE`] is
//! left to [`Order::merge_stretches`], which background threads call: cursors have no such spikes.

mod entries;
mod stretch;

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::chains::Chains;

pub(crate) use stretch::{Entry, Rebase, Stretch, common_of, compare};

/// Fewer unsorted keys than this are sorted by each cursor for itself. Measured with a new key
/// before every cursor on a million keys: insert, cursor, seek and step take 1.2 to 2.6 µs together
/// (idle and busy machine). Private tails of up to 4096 keys would cost tens (estimate).
pub(crate) const MIN_SHARED: usize = if cfg!(miri) { 8 } else { 32 };

/// Factor between the lengths of neighbouring stretches.
const GROWTH: usize = 8;

/// Longest stretch that the creation of a cursor makes by merging: a few hundred microseconds.
const MAX_FOREGROUND_MERGE: usize = if cfg!(miri) { 256 } else { 64 << 10 };

/// Compares two keys.
pub type CompareKeys = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// In which order a memtable shows its keys.
#[derive(Clone)]
pub enum KeyOrder {
    /// The order of the bytes: sorts mostly by eight bytes at a time.
    Bytewise,
    /// The caller's order. Keys that are equal in it must be the same bytes.
    Custom(Arc<CompareKeys>),
}

impl KeyOrder {
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            KeyOrder::Bytewise => a.cmp(b),
            KeyOrder::Custom(compare) => compare(a, b),
        }
    }

    pub(crate) fn is_bytewise(&self) -> bool {
        matches!(self, KeyOrder::Bytewise)
    }
}

impl fmt::Debug for KeyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_bytewise() { "Bytewise" } else { "Custom" })
    }
}

/// Sorted stretches, in the order of the key list.
pub(crate) type Stretches = Vec<Arc<Stretch>>;

/// The sorted part of the key list.
pub(crate) struct Order {
    keys: KeyOrder,
    stretches: ArcSwap<Stretches>,
    building: Mutex<()>,
}

impl Order {
    pub(crate) fn new(keys: KeyOrder) -> Order {
        Order { keys, stretches: ArcSwap::from_pointee(Vec::new()), building: Mutex::new(()) }
    }

    pub(crate) fn keys(&self) -> &KeyOrder {
        &self.keys
    }

    /// Stretches that cover the whole key list, the last one perhaps private.
    pub(crate) fn covering(&self, chains: &Chains) -> (Arc<Stretches>, Option<Arc<Stretch>>) {
        let mut stretches = self.stretches.load_full();
        let nodes = chains.nodes();
        if unsorted(&stretches, nodes) >= MIN_SHARED
            && let Ok(_building) = self.building.try_lock()
        {
            stretches = self.extend(chains, nodes, MAX_FOREGROUND_MERGE);
        }
        let tail = covered(&stretches)..nodes;
        let tail = (!tail.is_empty()).then(|| Arc::new(Stretch::sort(chains, tail)));
        (stretches, tail)
    }

    /// Sorts all keys into one stretch.
    pub(crate) fn order_all(&self, chains: &Chains) {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.stretches.load();
        let nodes = chains.nodes();
        if nodes == 0 || (old.len() == 1 && covered(&old) == nodes) {
            return;
        }
        let whole = merge_all(chains, with_tail(chains, &old, nodes));
        self.stretches.store(Arc::new(whole.into_iter().collect()));
    }

    pub(crate) fn wants_merge(&self) -> bool {
        first_mergeable(&lengths(&self.stretches.load())).is_some()
    }

    /// Merges whatever is too close in length to its right neighbours.
    pub(crate) fn merge_stretches(&self, chains: &Chains) {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stretches = Stretches::clone(&self.stretches.load());
        if let Some(first) = first_mergeable(&lengths(&stretches)) {
            let merged = merge_all(chains, stretches.drain(first..).collect());
            stretches.extend(merged);
            self.stretches.store(Arc::new(stretches));
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.stretches.load().iter().map(|stretch| stretch.bytes()).sum()
    }

    /// Sorts what nobody sorted yet. The caller holds the building lock.
    fn extend(&self, chains: &Chains, nodes: u32, max_merge: usize) -> Arc<Stretches> {
        let mut stretches = with_tail(chains, &self.stretches.load(), nodes);
        let swallowed = swallowed(&lengths(&stretches), max_merge);
        if swallowed > 0 {
            let first = stretches.len() - 1 - swallowed;
            let merged = merge_all(chains, stretches.drain(first..).collect());
            stretches.extend(merged);
        }
        let stretches = Arc::new(stretches);
        self.stretches.store(Arc::clone(&stretches));
        stretches
    }
}

/// The stretches and one of all keys behind them.
fn with_tail(chains: &Chains, stretches: &Stretches, nodes: u32) -> Stretches {
    let mut stretches = stretches.clone();
    let tail = covered(&stretches)..nodes;
    if !tail.is_empty() {
        stretches.push(Arc::new(Stretch::sort(chains, tail)));
    }
    stretches
}

/// One stretch of all, the shortest merged first.
fn merge_all(chains: &Chains, stretches: Stretches) -> Option<Arc<Stretch>> {
    stretches
        .into_iter()
        .rev()
        .reduce(|right, left| Arc::new(Stretch::merge(chains, &left, &right)))
}

/// Up to which node the key list is sorted.
fn covered(stretches: &Stretches) -> u32 {
    stretches.last().map_or(0, |stretch| stretch.nodes().end)
}

fn unsorted(stretches: &Stretches, nodes: u32) -> usize {
    nodes.saturating_sub(covered(stretches)) as usize
}

fn lengths(stretches: &Stretches) -> Vec<usize> {
    stretches.iter().map(|stretch| stretch.len()).collect()
}

/// How many left neighbours the last of these stretches merges with.
fn swallowed(lengths: &[usize], max_merge: usize) -> usize {
    let Some((&last, before)) = lengths.split_last() else { return 0 };
    let mut total = last;
    let mut count = 0;
    for &left in before.iter().rev() {
        if left > GROWTH * total || left + total > max_merge {
            break;
        }
        total += left;
        count += 1;
    }
    count
}

/// The first stretch that is at most [`GROWTH`] times as long as all behind it.
fn first_mergeable(lengths: &[usize]) -> Option<usize> {
    let mut behind = lengths.iter().sum::<usize>();
    lengths.iter().position(|&length| {
        behind -= length;
        behind > 0 && length <= GROWTH * behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cursors at every so many keys: how many stretches live, and how often a key is merged.
    fn simulate(keys: usize, step: usize, max_merge: usize) -> (usize, usize) {
        let (mut lengths, mut live, mut merged) = (Vec::new(), 0, 0);
        for _ in 0..keys / step {
            lengths.push(step);
            let first = lengths.len() - 1 - swallowed(&lengths, max_merge);
            if first + 1 < lengths.len() {
                let total: usize = lengths.drain(first..).sum();
                merged += total;
                lengths.push(total);
            }
            live = live.max(lengths.len());
        }
        (live, merged / keys)
    }

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic only")]
    fn h17_few_stretches_live_and_keys_are_merged_seldom() {
        let (live, merged) = simulate(1 << 20, MIN_SHARED, usize::MAX);
        assert!(live <= 6, "{live} stretches live");
        assert!(merged <= 24, "each key merged {merged} times");
    }

    #[test]
    fn h17_a_cursor_merges_no_long_stretches() {
        assert_eq!(swallowed(&[60_000, 5_000, 300], 64 << 10), 0);
        assert_eq!(swallowed(&[60_000, 5_000, 700], 64 << 10), 1);
        assert_eq!(swallowed(&[50_000, 5_000, 1_700], 64 << 10), 2);
        assert_eq!(swallowed(&[60_000, 7_000, 1_000], 64 << 10), 1);
    }

    #[test]
    fn background_merges_what_cursors_left() {
        assert_eq!(first_mergeable(&[64, 7]), None);
        assert_eq!(first_mergeable(&[64, 8]), Some(0));
        assert_eq!(first_mergeable(&[640, 8, 7, 1]), Some(1));
        assert_eq!(first_mergeable(&[]), None);
    }
}
