//! Order on demand (H17): without a scan, no key is sorted.
//!
//! The keys of a memtable lie in the order of arrival. Two threads may sort the keys after the
//! sorted part: a background thread, [`PIECE`] keys at a time while the memtable fills, and the
//! thread that creates a cursor. Both make a new sorted [`Stretch`] for all readers. If only a few
//! keys are unsorted, a cursor sorts them for itself alone. Stretches cover the key list from its
//! start without a gap. They are immutable, and their list is replaced as a whole, so readers take
//! no lock.
//!
//! ```text
//! key list   0 ─────────────────────────────────────────────── covered ────── length
//! stretches  ├───────── 40 000 ──────────┼─── 4 100 ───┼─ 500 ─┤ private tail ┤
//! ```
//!
//! One thread sorts at a time. A cursor that finds many unsorted keys waits for that thread, so
//! that the same keys are not sorted twice. A cursor that finds very many unsorted keys neither
//! waits nor sorts all of them: it sorts a piece for all readers, and a [`Window`] of the rest for
//! itself.
//!
//! A new stretch is merged with its left neighbours while they are at most [`GROWTH`] times as
//! long. So lengths fall by that factor from left to right, there are few stretches, and a key is
//! merged a few times per factor of [`GROWTH`]. A merge that would become longer than
//! [`MAX_FOREGROUND_MERGE`] is left to [`Order::merge_stretches`], which background threads call.
//! So no cursor waits for a long merge. Without cursors, background threads leave up to
//! [`MOST_PIECES`] stretches unmerged: merges slow a busy writer down, and a cursor that gains by
//! them may never come.

mod entries;
mod stretch;
mod window;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, TryLockError};

use crate::chains::Chains;
use crate::planted::{Fault, planted};
use crate::sync::{ArcSwap, AtomicU32, Mutex, MutexGuard};

pub(crate) use stretch::{Entry, Rebase, Stretch, common_of, compare, key_of};
pub(crate) use window::{Place, Window};

/// Below this number of unsorted keys each cursor sorts them for itself. Measured with a new key
/// before every cursor on a million keys: insert, cursor, seek and step take 1.2 to 2.6 µs together
/// (idle and busy machine). Private tails of up to 4096 keys would take tens (estimate).
pub(crate) const MIN_SHARED: usize = match () {
    () if cfg!(loom) => 2,
    () if cfg!(miri) => 8,
    () => 32,
};

/// Factor between the lengths of neighbouring stretches.
const GROWTH: usize = 8;

/// Longest stretch that creating a cursor makes by merging: a few hundred microseconds.
const MAX_FOREGROUND_MERGE: usize = if cfg!(miri) { 256 } else { 64 << 10 };

/// Keys that a background thread sorts at a time. One piece takes one or two milliseconds, which
/// bounds how long a cursor waits. A piece fits a core's own cache.
pub(crate) const PIECE: usize = match () {
    () if cfg!(loom) => 2,
    () if cfg!(miri) => 64,
    () => 32 << 10,
};

/// Stretches that background threads leave unmerged until a cursor comes. A first seek over all of
/// them takes some ten microseconds.
const MOST_PIECES: usize = if cfg!(loom) { 1 } else { 64 };

/// Most keys that a cursor sorts for itself while another thread sorts for all readers.
const MAX_PRIVATE: usize = match () {
    () if cfg!(loom) => 2,
    () if cfg!(miri) => 16,
    () => 4 << 10,
};

/// Least number of unsorted keys at which a cursor takes windows of them. Sorting fewer takes at
/// most two milliseconds.
const MIN_WINDOWED: usize = match () {
    () if cfg!(loom) => 4,
    () if cfg!(any(miri, test)) => 64,
    () => 64 << 10,
};

/// Keys that a cursor with a window sorts for all readers, in half a millisecond. Without a
/// background thread, cursors share all the sorting, and each sorts for a short time only.
const SHARE: u32 = match () {
    () if cfg!(loom) => 2,
    () if cfg!(any(miri, test)) => 16,
    () => 16 << 10,
};

/// Compares two keys.
pub type CompareKeys = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// The order in which a memtable shows its keys.
#[derive(Clone)]
pub enum KeyOrder {
    /// The order of the bytes. It sorts mostly by eight bytes at a time.
    Bytewise,
    /// The caller's order. Keys that are equal in it must have the same bytes.
    Custom(Arc<CompareKeys>),
    /// The caller's order, in which different bytes may be equal. They are spellings of one key. A
    /// record keeps the spelling that it was written with.
    Spelled(Arc<CompareKeys>),
}

impl KeyOrder {
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            KeyOrder::Bytewise => a.cmp(b),
            KeyOrder::Custom(compare) | KeyOrder::Spelled(compare) => compare(a, b),
        }
    }

    pub(crate) fn is_bytewise(&self) -> bool {
        matches!(self, KeyOrder::Bytewise)
    }

    /// Returns whether a key may have several spellings.
    pub(crate) fn has_spellings(&self) -> bool {
        matches!(self, KeyOrder::Spelled(_))
    }

    /// Returns whether two keys are the same key.
    pub(crate) fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        match self {
            KeyOrder::Bytewise | KeyOrder::Custom(_) => a == b,
            KeyOrder::Spelled(compare) => compare(a, b).is_eq(),
        }
    }
}

impl fmt::Debug for KeyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyOrder::Bytewise => "Bytewise",
            KeyOrder::Custom(_) => "Custom",
            KeyOrder::Spelled(_) => "Spelled",
        })
    }
}

/// Sorted stretches, in the order of the key list.
pub(crate) type Stretches = Vec<Arc<Stretch>>;

/// The sorted part of the key list.
pub(crate) struct Order {
    keys: KeyOrder,
    stretches: ArcSwap<Stretches>,
    /// Held by the thread that sorts keys: only that thread appends a stretch. It also merges
    /// stretches, except those that begin below `merging_below`.
    sorting: Mutex<()>,
    /// Held by the background thread that merges. Taken before `sorting`.
    merging: Mutex<()>,
    /// The node that ends what a background thread is merging; 0 if none does. Only a thread that
    /// holds both locks stores it.
    merging_below: AtomicU32,
    /// Whether a cursor came since the last merge. Fewer stretches are then worth more merges.
    walked: AtomicBool,
    /// How many keys were sorted, private tails included. For statistics.
    sorted: AtomicU64,
}

impl Order {
    pub(crate) fn new(keys: KeyOrder) -> Order {
        Order {
            keys,
            stretches: ArcSwap::from_pointee(Vec::new()),
            sorting: Mutex::new(()),
            merging: Mutex::new(()),
            merging_below: AtomicU32::new(0),
            walked: AtomicBool::new(false),
            sorted: AtomicU64::new(0),
        }
    }

    pub(crate) fn keys(&self) -> &KeyOrder {
        &self.keys
    }

    /// Returns stretches that cover the whole key list. The last one may be private.
    pub(crate) fn covering(&self, chains: &Chains) -> (Arc<Stretches>, Option<Arc<Stretch>>) {
        let mut stretches = self.stretches.load_full();
        let nodes = chains.nodes();
        let unsorted = unsorted(&stretches, nodes);
        if unsorted >= MIN_SHARED {
            let sorting = match unsorted > MAX_PRIVATE {
                true => Some(lock(&self.sorting)),
                false => try_lock(&self.sorting),
            };
            if sorting.is_some() {
                self.sort_behind(chains, nodes);
                self.swallow_neighbours(chains);
            }
            stretches = self.stretches.load_full();
        }
        self.note_walk(&stretches);
        let tail = covered(&stretches)..nodes;
        let tail = (!tail.is_empty()).then(|| self.sort(chains, tail));
        (stretches, tail)
    }

    /// Returns whether a cursor over nodes up to this one takes windows.
    pub(crate) fn is_far_behind(&self, nodes: u32) -> bool {
        unsorted(&self.stretches.load(), nodes) >= MIN_WINDOWED
    }

    /// Returns the sorted stretches, and a window of the later nodes, up to `nodes`, whose keys lie
    /// around a place. Returns no window if there are no later nodes.
    pub(crate) fn window(
        &self,
        chains: &Chains,
        nodes: u32,
        place: Place<'_>,
    ) -> (Arc<Stretches>, Option<Window>) {
        if self.is_far_behind(nodes)
            && let Some(_sorting) = try_lock(&self.sorting)
        {
            let end = covered(&self.stretches.load()).saturating_add(SHARE);
            self.sort_behind(chains, end.min(nodes));
            self.swallow_neighbours(chains);
        }
        let stretches = self.stretches.load_full();
        self.note_walk(&stretches);
        let behind = covered(&stretches)..nodes;
        let window = (!behind.is_empty()).then(|| Window::around(chains, behind, place));
        let sorted = window.as_ref().map_or(0, |window| window.stretch.len());
        // Relaxed: nothing else depends on the count.
        self.sorted.fetch_add(sorted as u64, Relaxed);
        (stretches, window)
    }

    fn note_walk(&self, stretches: &Stretches) {
        // Relaxed: a hint that a merge is worth it.
        if stretches.len() > 1 && !self.walked.load(Relaxed) {
            self.walked.store(true, Relaxed);
        }
    }

    /// Sorts all keys into one stretch.
    pub(crate) fn order_all(&self, chains: &Chains) {
        let _merging = lock(&self.merging);
        let parts = {
            let _sorting = lock(&self.sorting);
            self.sort_behind(chains, chains.nodes());
            self.begin_merge(0)
        };
        self.merge_in_background(chains, &parts);
    }

    /// Returns whether [`Order::advance`] has work to do.
    pub(crate) fn wants_work(&self, chains: &Chains) -> bool {
        let stretches = self.stretches.load();
        unsorted(&stretches, chains.nodes()) >= PIECE || self.mergeable(&stretches).is_some()
    }

    /// Sorts a piece of the unsorted keys, and does the merges that are due. Returns whether there
    /// was work.
    pub(crate) fn advance(&self, chains: &Chains) -> bool {
        let sorted = {
            let _sorting = lock(&self.sorting);
            let (covered, nodes) = (covered(&self.stretches.load()), chains.nodes());
            let is_due = nodes.saturating_sub(covered) as usize >= PIECE;
            is_due && self.sort_behind(chains, covered + PIECE as u32)
        };
        let merged = self.wants_merge();
        if merged {
            self.merge_stretches(chains);
        }
        sorted || merged
    }

    pub(crate) fn wants_merge(&self) -> bool {
        self.mergeable(&self.stretches.load()).is_some()
    }

    /// Merges the stretches that are too close in length to their right neighbours.
    pub(crate) fn merge_stretches(&self, chains: &Chains) {
        let _merging = lock(&self.merging);
        let parts = {
            let _sorting = lock(&self.sorting);
            let first = self.mergeable(&self.stretches.load());
            self.walked.store(false, Relaxed);
            first.map_or(Vec::new(), |first| self.begin_merge(first))
        };
        self.merge_in_background(chains, &parts);
    }

    pub(crate) fn keys_sorted(&self) -> u64 {
        self.sorted.load(Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.stretches.load().iter().map(|stretch| stretch.bytes()).sum()
    }

    /// Returns the first stretch that a background thread should merge.
    fn mergeable(&self, stretches: &Stretches) -> Option<usize> {
        let walked = self.walked.load(Relaxed);
        if !walked && stretches.len() <= MOST_PIECES {
            return None;
        }
        let growth = if walked { GROWTH } else { 1 };
        first_mergeable(stretches.iter().map(|stretch| stretch.len()), growth)
    }

    /// Makes a stretch of the keys after the last stretch, up to `nodes`. Returns `false` if there
    /// were no such keys. The caller holds `sorting`.
    fn sort_behind(&self, chains: &Chains, nodes: u32) -> bool {
        let behind = covered(&self.stretches.load())..nodes;
        if behind.is_empty() {
            return false;
        }
        let stretch = self.sort(chains, behind);
        self.stretches.rcu(|stretches| {
            let mut stretches = Stretches::clone(stretches);
            stretches.push(Arc::clone(&stretch));
            debug_assert!(are_neighbours(&stretches), "each key is sorted once");
            stretches
        });
        true
    }

    fn sort(&self, chains: &Chains, nodes: Range<u32>) -> Arc<Stretch> {
        self.sorted.fetch_add(nodes.len() as u64, Relaxed);
        Arc::new(Stretch::sort(chains, nodes))
    }

    /// Returns the stretches from `first` on. The caller holds both locks now, and merges the
    /// stretches after it has released the lock on sorting.
    fn begin_merge(&self, first: usize) -> Stretches {
        let stretches = self.stretches.load();
        self.merging_below.store(covered(&stretches), Relaxed);
        stretches.get(first..).unwrap_or_default().to_vec()
    }

    /// Ends what [`Order::begin_merge`] began. The caller holds the lock on merging.
    fn merge_in_background(&self, chains: &Chains, parts: &[Arc<Stretch>]) {
        let _end = EndOfMerge(self);
        self.merge(chains, parts);
    }

    /// Merges the last stretch with left neighbours. The caller holds `sorting`.
    fn swallow_neighbours(&self, chains: &Chains) {
        // Relaxed: stored under the lock that the caller holds. Seeing a later 0 with delay does no
        // harm.
        let below = match planted(Fault::MergeBesideMerge) {
            true => 0,
            false => self.merging_below.load(Relaxed),
        };
        let stretches = self.stretches.load();
        let free = stretches.partition_point(|stretch| stretch.nodes().start < below);
        let free = &stretches[free..];
        let swallowed = swallowed(&lengths(free), MAX_FOREGROUND_MERGE);
        if swallowed > 0 {
            self.merge(chains, &free[free.len() - 1 - swallowed..]);
        }
    }

    /// Replaces these neighbours, which no other thread merges, with one stretch.
    fn merge(&self, chains: &Chains, parts: &[Arc<Stretch>]) {
        let Some(merged) = merge_all(chains, parts) else { return };
        let nodes = merged.nodes();
        // During the merge, other threads may have appended stretches, or merged other ones.
        self.stretches.rcu(|stretches| {
            let first = stretches.partition_point(|stretch| stretch.nodes().start < nodes.start);
            let end = stretches.partition_point(|stretch| stretch.nodes().end <= nodes.end);
            let mut stretches = Stretches::clone(stretches);
            stretches.splice(first..end, [Arc::clone(&merged)]);
            debug_assert!(
                planted(Fault::MergeBesideMerge) || are_neighbours(&stretches),
                "a merge takes the place of the stretches that it merged"
            );
            stretches
        });
    }
}

/// Ends a merge in every case, also after a panic of the comparator: others may then merge.
struct EndOfMerge<'a>(&'a Order);

impl Drop for EndOfMerge<'_> {
    fn drop(&mut self) {
        self.0.merging_below.store(0, Relaxed);
    }
}

/// Merges these neighbours into one stretch; `None` if there is nothing to merge. It first merges
/// those of about the same length.
fn merge_all(chains: &Chains, parts: &[Arc<Stretch>]) -> Option<Arc<Stretch>> {
    if parts.len() < 2 {
        return None;
    }
    let join =
        |right: Arc<Stretch>, left: Arc<Stretch>| Arc::new(Stretch::merge(chains, &left, &right));
    // From right to left; each is longer than the one pushed after it.
    let mut merged: Stretches = Vec::new();
    for part in parts.iter().rev() {
        let mut left = Arc::clone(part);
        while let Some(right) = merged.pop_if(|right| right.len() <= left.len()) {
            left = join(right, left);
        }
        merged.push(left);
    }
    merged.into_iter().rev().reduce(|left, right| join(right, left))
}

/// Ignores poisoning: lists of stretches are replaced as a whole, so a panic leaves none half done.
fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_lock(mutex: &Mutex<()>) -> Option<MutexGuard<'_, ()>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn are_neighbours(stretches: &Stretches) -> bool {
    stretches.is_sorted_by(|left, right| left.nodes().end == right.nodes().start)
}

/// Returns the node up to which the key list is sorted.
fn covered(stretches: &Stretches) -> u32 {
    stretches.last().map_or(0, |stretch| stretch.nodes().end)
}

fn unsorted(stretches: &Stretches, nodes: u32) -> usize {
    nodes.saturating_sub(covered(stretches)) as usize
}

fn lengths(stretches: &[Arc<Stretch>]) -> Vec<usize> {
    stretches.iter().map(|stretch| stretch.len()).collect()
}

/// Returns how many left neighbours the last of these stretches merges with.
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

/// Returns the first stretch that is at most `growth` times as long as all stretches after it.
fn first_mergeable(lengths: impl Iterator<Item = usize> + Clone, growth: usize) -> Option<usize> {
    let mut behind = lengths.clone().sum::<usize>();
    lengths.enumerate().find_map(|(index, length)| {
        behind -= length;
        (behind > 0 && length <= growth * behind).then_some(index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates cursors at every `step` keys: how many stretches live, and how often a key is
    /// merged.
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
        let first = |lengths: &[usize]| first_mergeable(lengths.iter().copied(), GROWTH);
        assert_eq!(first(&[64, 7]), None);
        assert_eq!(first(&[64, 8]), Some(0));
        assert_eq!(first(&[640, 8, 7, 1]), Some(1));
        assert_eq!(first(&[]), None);
    }

    /// With too many pieces, a key is merged about as often as its stretch doubles.
    #[test]
    fn pieces_of_about_one_length_are_merged_seldom() {
        let (mut lengths, mut live, mut merged) = (Vec::<usize>::new(), 0, 0);
        let pieces = 64;
        for _ in 0..pieces {
            lengths.push(1);
            if let Some(first) = first_mergeable(lengths.iter().copied(), 1) {
                let total: usize = lengths.drain(first..).sum();
                merged += total;
                lengths.push(total);
            }
            live = live.max(lengths.len());
        }
        assert!(live <= 6, "{live} stretches live");
        assert!(merged <= 6 * pieces, "{merged} pieces were merged");
    }
}
