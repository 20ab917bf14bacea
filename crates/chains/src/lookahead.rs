//! Prefetching ahead of a walk, and of the keys of a batch.
//!
//! A walk over a memtable is all cache misses. Keys lie in the order of arrival, versions wherever
//! they were written. A walk must load each version to find the way to the older one. So after a
//! few keys, a walk prefetches a group of the next keys at once. It goes down all their chains
//! together: the misses of one hop overlap.
//!
//! ```text
//! at ─┬─ margin ─┬─────── group ───────┬────── next group ──────┤
//!     │ fetched  │ nodes are there,    │ nodes are asked for    │
//!     │          │ chains are walked   │                        │
//! ```
//!
//! A walk prefetches as many versions of a key as it looked at for the last keys: for overwritten
//! values, only the newest.
//!
//! A batch of keys in no order meets three misses a key, each after the one before: the slot of the
//! index, the node, the newest version. [`Chains::foresee`] makes each step for a group of keys.
//!
//! Invariant: prefetching never changes what a reader sees.

use crate::chains::{Chains, Index};
use crate::index::Probe;
use crate::layout::{IN_NODE, NODE, Placement, UNIT, VERSION};
use crate::node::Node;
use crate::order::Entry;

/// Keys of a group: enough for as many misses as a core keeps under way.
const GROUP: usize = 16;

/// Prefetched keys that are left when the next group is prefetched.
const MARGIN: usize = 4;

/// Keys that a walk must have passed before it prefetches groups. A seek that reads a key or two
/// does not prefetch.
const WARM: u32 = 4;

/// How far ahead a walk that is not yet warm prefetches a node.
const FIRST_STEPS: usize = 12;

/// Most versions that are prefetched of a key.
const MAX_DEPTH: u32 = 16;

/// The direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Returns the entry this many steps from `at`.
    #[inline]
    fn step(self, at: usize, steps: usize) -> usize {
        match self {
            Direction::Forward => at.wrapping_add(steps),
            Direction::Backward => at.wrapping_sub(steps),
        }
    }

    /// Returns how many steps `to` lies ahead of `at`; 0 if `to` is not ahead.
    #[inline]
    fn distance(self, at: usize, to: usize) -> usize {
        match self {
            Direction::Forward => to.saturating_sub(at),
            Direction::Backward => at.saturating_sub(to),
        }
    }
}

/// Recent behaviour of a walk.
#[derive(Debug, Default)]
pub(crate) struct Lookahead {
    /// Keys since it was positioned, up to [`WARM`].
    walked: u32,
    /// Versions of the current key that it looked at.
    at_key: u32,
    /// The largest such number since the last group was prefetched.
    depth: u32,
}

impl Lookahead {
    /// Notes that the walk went to an older version of its key.
    #[inline]
    pub(crate) fn deeper(&mut self) {
        self.at_key += 1;
        self.depth = self.depth.max(self.at_key);
    }

    /// Notes that the walk looked at this many versions of its key.
    #[inline]
    pub(crate) fn looked_at(&mut self, versions: usize) {
        let older = versions.saturating_sub(1).min(MAX_DEPTH as usize);
        self.depth = self.depth.max(older as u32);
    }

    /// Notes that the walk arrived at entry `at`. Entries up to `fetched`, in its direction, are
    /// already prefetched.
    #[inline]
    pub(crate) fn arrived(
        &mut self,
        chains: &Chains,
        entries: &[Entry],
        at: usize,
        fetched: &mut usize,
        direction: Direction,
    ) {
        self.at_key = 0;
        if self.walked < WARM {
            self.walked += 1;
            if let Some(ahead) = entries.get(direction.step(at, FIRST_STEPS)) {
                chains.prefetch(ahead.node as usize * NODE);
            }
            return;
        }
        let ahead = direction.distance(at, *fetched);
        if ahead <= MARGIN {
            let first = direction.step(at, ahead + 1);
            *fetched = self.fetch_group(chains, entries, first, direction);
        }
    }

    /// Prefetches the chains of the group that begins at entry `first`, and the nodes after that
    /// group. Returns the last entry of the group.
    fn fetch_group(
        &mut self,
        chains: &Chains,
        entries: &[Entry],
        first: usize,
        direction: Direction,
    ) -> usize {
        let entry = |steps| entries.get(direction.step(first, steps));
        let depth = std::mem::take(&mut self.depth).min(MAX_DEPTH);
        if !cfg!(loom) {
            let group = (0..GROUP).map_while(entry);
            // SAFETY: entries are of published nodes only.
            fetch_chains(group.map(|entry| unsafe { chains.node(entry.node) }), depth);
        }
        for ahead in (GROUP..2 * GROUP).map_while(entry) {
            chains.prefetch(ahead.node as usize * NODE);
        }
        direction.step(first, GROUP - 1)
    }
}

impl Chains {
    /// Keys that one call of [`Chains::foresee`] takes.
    pub const FORESEEN: usize = GROUP;

    /// Prefetches the newest versions of the keys with these hashes, which will soon be read or
    /// written. Keys after the first [`Chains::FORESEEN`] are passed over, and all keys in
    /// [`KeyOrder::Spelled`](crate::KeyOrder::Spelled).
    pub fn foresee(&self, hashes: &[u64]) {
        let Index::Hashed(index) = &self.index else { return };
        let hashes = &hashes[..hashes.len().min(GROUP)];
        for hash in hashes {
            index.prefetch(&self.arena, *hash);
        }
        let mut found = [None; GROUP];
        for (found, hash) in found.iter_mut().zip(hashes) {
            // Another key with the same tag is rare, and costs a needless line.
            if let Probe::Found(number) = index.probe(&self.arena, *hash, |_| true) {
                self.prefetch(number as usize * NODE);
                *found = Some(number);
            }
        }
        // SAFETY: the probe acquired the slots that name the nodes.
        fetch_chains(found.into_iter().flatten().map(|number| unsafe { self.node(number) }), 0);
    }
}

/// Prefetches the newest version of each node and `depth` below it, with the first bytes of values.
fn fetch_chains<'a>(nodes: impl Iterator<Item = Node<'a>>, depth: u32) {
    let mut hops: [Option<(Node<'a>, u32)>; GROUP] = [None; GROUP];
    for (hop, node) in hops.iter_mut().zip(nodes) {
        *hop = fetch(node, node.newest());
    }
    for _ in 0..depth {
        for hop in &mut hops {
            if let Some((node, link)) = *hop {
                // SAFETY: links below the newest one of this node, which is an acquired one; not
                // `IN_NODE`.
                *hop = fetch(node, unsafe { node.version(link) }.older);
            }
        }
    }
}

/// Prefetches a version. Returns the way on from it, if there is one.
#[inline]
fn fetch(node: Node<'_>, link: u32) -> Option<(Node<'_>, u32)> {
    let chains = node.chains;
    if link == IN_NODE {
        let record = node.record;
        let placement = Placement::of(record.key_len as usize, record.value_len as usize);
        if !matches!(placement, Placement::Inside { .. }) {
            chains.prefetch(record.spill as usize * UNIT);
        }
        return None;
    }
    let at = link as usize * UNIT;
    chains.prefetch(at);
    // The value may begin on the next line. After the last version, the arena has slots or ends.
    chains.prefetch((at + VERSION + UNIT - 1).min(chains.regions.end - 1));
    Some((node, link))
}
