//! Runs of deleted keys: a cursor notes the deleted keys that it walks over, and later cursors jump
//! over them.
//!
//! A queue in a memtable (put at one end, delete at the other) begins with a long run of deleted
//! keys, and each pop would walk over all of them. So a cursor notes the deleted keys that it
//! meets, and later cursors jump over them. It notes them in their *stretch*, a sorted part of the
//! key list (see `order`).
//!
//! A key is *gone* at a sequence number in two cases. Either its newest version, published or not,
//! is a [`DELETED`] one at or below that number. Or a range delete at or below that number is newer
//! than the key's newest version.
//!
//! A stretch never gets another key, so only a new version brings a gone key back. The writer then
//! notes the key's node in a ring. It does so *after* it adds the version to the chain, and before
//! it publishes the write:
//!
//! ```text
//! the walking cursor                     the writer
//! checked := revived                     newest := the version
//! looks at each newest version           ring[revived] := node, revived += 1
//! notes the run, checked so far          publishes
//! ```
//!
//! Keys under a range delete need no walk at all. With each range delete, the writer notes the
//! number of nodes and the position of the ring before it. Older nodes between the ends of the
//! delete are gone, except for nodes that the ring names from that position on.
//!
//! Invariant: a run holds for readers at or above its sequence number, if the ring from `checked`
//! on names none of its keys. Suppose that a key of the run comes back. If the walking cursor sees
//! the new version, it leaves the key out of the run. If not, the ring names the key after
//! `checked`. A cursor that may see the new version got its sequence number after the writer wrote
//! the ring, so it finds the key there and does not jump over it.

use std::ops::{Bound, Range};
use std::sync::PoisonError;

use crate::chains::Chains;
use crate::layout::DELETED;
use crate::order::{Entry, Stretch};
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering};

/// Number of nodes in the ring. If this many nodes or more come back between two reads of a run,
/// the run is forgotten.
const RING: usize = if cfg!(any(miri, loom)) { 4 } else { 256 };

/// Most runs of a stretch: one for each queue of a program that has many.
const MOST_RUNS: usize = if cfg!(any(miri, loom)) { 64 } else { 1 << 14 };

/// The last nodes that were gone and may be back.
pub(crate) struct Revived {
    count: AtomicU64,
    ring: [AtomicU32; RING],
}

impl Revived {
    pub(crate) fn new() -> Revived {
        Revived { count: AtomicU64::new(0), ring: std::array::from_fn(|_| AtomicU32::new(0)) }
    }

    /// Notes that the writer laid a new version on a node. The version is already in place.
    #[cold]
    pub(crate) fn note(&self, node: u32) {
        // Relaxed: only the writer stores it.
        let count = self.count.load(Ordering::Relaxed);
        // Release: a thread that loads this node then loads at least this count. So `each` notices
        // that the place was overwritten.
        self.ring[count as usize % RING].store(node, Ordering::Release);
        // Release: a thread that sees the count sees the version.
        self.count.store(count + 1, Ordering::Release);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Shows the nodes noted from `from` to `to`. Returns whether all of them were still there.
    fn each(&self, from: u64, to: u64, mut show: impl FnMut(u32)) -> bool {
        if to - from >= RING as u64 {
            return false;
        }
        (from..to).for_each(|at| show(self.ring[at as usize % RING].load(Ordering::Acquire)));
        // After exactly `RING` further nodes, the writer may already overwrite the place of `from`.
        self.count() - from < RING as u64
    }
}

/// The cover of range deletes around a key, and the keys that share it.
#[derive(Clone, Copy, Debug)]
pub struct Cover<'a> {
    /// The sequence number of the newest such delete that the reader sees.
    pub seqno: u64,
    /// Start of the keys with this cover.
    pub from: Bound<&'a [u8]>,
    /// End of the keys with this cover.
    pub to: Bound<&'a [u8]>,
}

/// The state before each range delete, oldest first.
pub(crate) struct RangeDeletes(Mutex<Vec<Before>>);

/// The state before a range delete.
#[derive(Clone, Copy, Debug)]
struct Before {
    seqno: u64,
    nodes: u32,
    revived: u64,
}

impl RangeDeletes {
    pub(crate) fn new() -> RangeDeletes {
        RangeDeletes(Mutex::new(Vec::new()))
    }

    /// Notes that the writer deletes a range when there are `nodes` nodes. Range deletes are rare,
    /// so the lock costs other writes nothing.
    pub(crate) fn note(&self, seqno: u64, nodes: u32, revived: u64) {
        let mut deletes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Consecutive deletes share the state before the first of them.
        debug_assert!(
            deletes.last().is_none_or(|last| last.seqno < seqno
                && last.nodes <= nodes
                && last.revived <= revived),
            "deleted ranges are noted in the order of their writes"
        );
        if deletes.last().is_none_or(|last| (last.nodes, last.revived) != (nodes, revived)) {
            deletes.push(Before { seqno, nodes, revived });
        }
    }

    /// Returns the state before the last range delete at or below this sequence number.
    fn before(&self, seqno: u64) -> Option<Before> {
        let deletes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = deletes.partition_point(|delete| delete.seqno <= seqno);
        deletes[..count].last().copied()
    }
}

/// Returns the entries around `at` that a range delete removed; `None` if it did not remove `at`.
pub(crate) fn covered_run(
    chains: &Chains,
    stretch: &Stretch,
    at: usize,
    cover: Cover<'_>,
) -> Option<GoneRun> {
    let before = chains.range_deletes.before(cover.seqno)?;
    let behind = |key: &[u8]| stretch.rank_behind(chains, key);
    let from = match cover.from {
        Bound::Unbounded => 0,
        Bound::Included(key) => stretch.rank(chains, key),
        Bound::Excluded(key) => behind(key),
    };
    let to = match cover.to {
        Bound::Unbounded => stretch.len(),
        Bound::Included(key) => behind(key),
        Bound::Excluded(key) => stretch.rank(chains, key),
    };
    let is_older = |entry: &&Entry| entry.node < before.nodes;
    let (left, right) = (stretch.entries().get(from..at)?, stretch.entries().get(at..to)?);
    let entries = match stretch.nodes().end <= before.nodes {
        true => from..to,
        false => {
            let start = at - left.iter().rev().take_while(is_older).count();
            start..at + right.iter().take_while(is_older).count()
        }
    };
    let run = GoneRun { entries, seqno: cover.seqno, checked: before.revived };
    run.entries.contains(&at).then_some(run)
}

/// Entries of a stretch that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GoneRun {
    pub(crate) entries: Range<usize>,
    /// The sequence number from which on they are gone.
    pub(crate) seqno: u64,
    /// The position of the ring up to which the run was checked.
    pub(crate) checked: u64,
}

/// The runs of a stretch, in order. They neither overlap nor touch.
pub(crate) struct GoneRuns(Mutex<Vec<GoneRun>>);

impl Default for GoneRuns {
    fn default() -> GoneRuns {
        GoneRuns(Mutex::new(Vec::new()))
    }
}

impl GoneRuns {
    /// Returns the run that entry `at` is in, for a reader.
    pub(crate) fn find(
        &self,
        chains: &Chains,
        stretch: &Stretch,
        at: usize,
        seqno: u64,
    ) -> Option<GoneRun> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = index_of(&runs, at)?;
        let now = chains.revived.count();
        let run = &runs[index];
        if run.checked == now {
            return (run.seqno <= seqno).then(|| run.clone());
        }
        let mut left = vec![run.entries.clone()];
        let is_known = chains.revived.each(run.checked, now, |node| {
            let Some(entry) = stretch.entry_of(chains, node) else { return };
            left = left.drain(..).flat_map(|run| without(run, entry)).collect();
        });
        if !is_known {
            left.clear();
        }
        let (seqno_of_run, room) = (run.seqno, MOST_RUNS + 1 - runs.len());
        let left = left.into_iter().take(room).map(|entries| GoneRun {
            entries,
            seqno: seqno_of_run,
            checked: now,
        });
        runs.splice(index..=index, left);
        let run = &runs[index_of(&runs, at)?];
        (run.seqno <= seqno).then(|| run.clone())
    }

    /// Notes a run, merged with those that it touches.
    pub(crate) fn note(&self, mut run: GoneRun) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = runs.partition_point(|other| other.entries.end < run.entries.start);
        let end = runs.partition_point(|other| other.entries.start <= run.entries.end);
        for other in &runs[first..end] {
            run.entries.start = run.entries.start.min(other.entries.start);
            run.entries.end = run.entries.end.max(other.entries.end);
            run.seqno = run.seqno.max(other.seqno);
            run.checked = run.checked.min(other.checked);
        }
        if first < end || runs.len() < MOST_RUNS {
            debug_assert!(!run.entries.is_empty(), "a run is noted for the keys that it passes");
            runs.splice(first..end, [run]);
        }
    }
}

fn index_of(runs: &[GoneRun], at: usize) -> Option<usize> {
    let index = runs.partition_point(|run| run.entries.end <= at);
    runs.get(index).filter(|run| run.entries.start <= at).map(|_| index)
}

/// Returns what is left of a run when an entry is back.
fn without(run: Range<usize>, entry: usize) -> impl Iterator<Item = Range<usize>> {
    let cut = run.contains(&entry);
    let (first, second) = match cut {
        true => (run.start..entry, entry + 1..run.end),
        false => (run, 0..0),
    };
    [first, second].into_iter().filter(|part| !part.is_empty())
}

/// Returns the sequence number from which on a key is gone. `newest` is the packed word of its
/// newest version, and `cover` the sequence number up to which range deletes cover it.
#[inline]
pub(crate) fn gone_at(newest: u64, cover: u64) -> Option<u64> {
    if newest as u8 == DELETED { Some(newest >> 8) } else { (newest >> 8 < cover).then_some(cover) }
}
