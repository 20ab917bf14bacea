//! The claims of a transaction: the keys and ranges that no other write may have changed.
//!
//! Invariant: the claims use at most twice the limit that the transaction was given. Beyond it,
//! claims that repeat others go. If these were few, neighbouring keys and ranges join into one
//! range, which claims more than the transaction read:
//!
//! ```text
//! read b, read d, read k..m      b..=d, k..m        b..m
//! ```
//!
//! So a transaction that reads much meets more conflicts, and never commits wrongly.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::db::handle::keyspace::Keyspace;
use crate::db::state::disjoint_ranges::DisjointRanges;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::recent_writes::EdgeRange;
use crate::encoding::key_hash;
use crate::key::{Comparator, KeyspaceId};
use crate::memory::RoughCharge;
use crate::range_tombstone::Edge;

/// What a claim on a key forbids. The greater of two forbids more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Forbids {
    /// Puts and deletes. Other merges may pass.
    NewBase,
    /// Any write.
    Any,
}

/// A claim on one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyClaim<'a> {
    pub(super) key: &'a [u8],
    pub(super) hash: u64,
    forbids: Forbids,
}

impl<'a> KeyClaim<'a> {
    /// Returns the claim that no write has changed a key.
    pub(super) fn of_any_write(key: &'a [u8]) -> KeyClaim<'a> {
        KeyClaim { key, hash: key_hash(key), forbids: Forbids::Any }
    }
}

impl KeyClaim<'_> {
    /// Returns whether a write breaks the claim: one that is no merge, or a merge.
    #[inline]
    pub(super) fn is_broken_by(&self, is_base: bool) -> bool {
        is_base || self.forbids == Forbids::Any
    }
}

#[derive(Clone, Copy, Debug)]
struct StoredKey {
    hash: u64,
    begin: u32,
    len: u32,
    forbids: Forbids,
}

/// The claims in one keyspace.
pub(super) struct KeyspaceClaims {
    /// Keeps the keyspace readable for the check.
    keyspace: Keyspace,
    keys: Vec<StoredKey>,
    bytes_of_keys: Vec<u8>,
    ranges: Vec<EdgeRange>,
}

impl KeyspaceClaims {
    pub(super) fn id(&self) -> KeyspaceId {
        self.state().id
    }

    pub(super) fn state(&self) -> &Arc<KeyspaceState> {
        self.keyspace.shared_state()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = KeyClaim<'_>> {
        self.keys.iter().map(|stored| KeyClaim {
            key: self.bytes_of(stored),
            hash: stored.hash,
            forbids: stored.forbids,
        })
    }

    pub(super) fn number_of_keys(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn hash_of(&self, number: usize) -> u64 {
        self.keys[number].hash
    }

    fn bytes_of(&self, stored: &StoredKey) -> &[u8] {
        let begin = stored.begin as usize;
        &self.bytes_of_keys[begin..begin + stored.len as usize]
    }

    /// Forgets all but one claim of each key, and joins the ranges that meet.
    fn forget_repetitions(&mut self) {
        let comparator = Arc::clone(&self.state().comparator);
        let ranges = DisjointRanges::new(std::mem::take(&mut self.ranges), &*comparator);
        self.ranges = ranges.into_vec();
        let (mut keys, bytes_of_keys) =
            (std::mem::take(&mut self.keys), std::mem::take(&mut self.bytes_of_keys));
        let bytes = |stored: &StoredKey| {
            let begin = stored.begin as usize;
            &bytes_of_keys[begin..begin + stored.len as usize]
        };
        keys.sort_unstable_by(|a, b| {
            a.hash.cmp(&b.hash).then_with(|| bytes(a).cmp(bytes(b))).then(b.forbids.cmp(&a.forbids))
        });
        keys.dedup_by(|next, last| next.hash == last.hash && bytes(next) == bytes(last));
        for stored in &mut keys {
            let begin = self.bytes_of_keys.len() as u32;
            self.bytes_of_keys.extend_from_slice(bytes(stored));
            stored.begin = begin;
        }
        keys.shrink_to_fit();
        self.keys = keys;
    }

    /// Turns the keys into ranges, and joins neighbouring ranges until at most `most` are left.
    fn coarsen(&mut self, most: usize) {
        let comparator = Arc::clone(&self.state().comparator);
        let keys = self.keys.iter().map(|stored| range_of_key(self.bytes_of(stored)));
        let mut ranges: Vec<EdgeRange> = keys.collect();
        ranges.append(&mut self.ranges);
        (self.keys, self.bytes_of_keys) = (Vec::new(), Vec::new());
        ranges.sort_by(|a, b| a.start.compare(&*comparator, &b.start));
        let in_one = ranges.len().div_ceil(most.max(1)).max(1);
        let groups = ranges.chunks(in_one).map(|group| join(group, &*comparator));
        self.ranges = groups.collect();
    }

    fn bytes(&self) -> usize {
        let ranges: usize = self.ranges.iter().map(EdgeRange::bytes).sum();
        self.keys.len() * size_of::<StoredKey>() + self.bytes_of_keys.len() + ranges
    }
}

/// Returns the range of one key, in all its spellings.
pub(super) fn range_of_key(key: &[u8]) -> EdgeRange {
    EdgeRange { start: Edge::Before(key.into()), end: Edge::Behind(key.into()) }
}

/// Returns the range from the first start to the last end. The ranges ascend by their starts.
fn join(group: &[EdgeRange], comparator: &dyn Comparator) -> EdgeRange {
    let mut joined = group[0].clone();
    for range in &group[1..] {
        joined.end = Edge::later(comparator, &joined.end, &range.end).clone();
    }
    joined
}

/// All claims of a transaction.
pub(super) struct Claims {
    keyspaces: Vec<KeyspaceClaims>,
    bytes: usize,
    /// Bytes from which claims join.
    limit: usize,
    /// Ranges of iterators that still live: each may read all of its range.
    live_walks: Vec<(u64, KeyspaceId, EdgeRange)>,
    next_walk: u64,
    /// Whether claims are joining. A comparator that panics meanwhile may cost some of them.
    are_joining: bool,
    charge: RoughCharge,
}

/// The claims of a transaction at its commit.
pub(super) struct Settled<'a> {
    /// Ascending by the numbers of the keyspaces.
    pub(super) keyspaces: SmallVec<[(&'a KeyspaceClaims, Arc<DisjointRanges>); 2]>,
}

impl Settled<'_> {
    pub(super) fn number_of_keys(&self) -> usize {
        self.keyspaces.iter().map(|(own, _)| own.number_of_keys()).sum()
    }

    /// Returns the place of the claims in a keyspace.
    pub(super) fn position(&self, keyspace: KeyspaceId) -> Option<usize> {
        self.keyspaces.binary_search_by_key(&keyspace, |(own, _)| own.id()).ok()
    }
}

/// Ranges that each keyspace keeps when claims join.
const RANGES_LEFT: usize = 64;

impl Claims {
    pub(super) fn new(limit: usize) -> Claims {
        let (keyspaces, live_walks, charge) = Default::default();
        let are_joining = false;
        Claims { keyspaces, bytes: 0, limit, live_walks, next_walk: 0, are_joining, charge }
    }

    /// Returns whether claims may be lost, because a comparator panicked while they joined.
    pub(super) fn may_lack_some(&self) -> bool {
        self.are_joining
    }

    /// Claims a key.
    pub(super) fn add_key(&mut self, keyspace: &Keyspace, key: &[u8], hash: u64, forbids: Forbids) {
        debug_assert_eq!(hash, key_hash(key), "a check finds a key by its hash");
        let own = self.of(keyspace);
        let fits = u32::try_from(own.bytes_of_keys.len() + key.len()).is_ok();
        if !own.state().comparator.bytewise_equality() || !fits {
            // Notes know a key by the hash of its bytes. Other spellings have other hashes.
            return self.add_range(keyspace, range_of_key(key));
        }
        let begin = own.bytes_of_keys.len() as u32;
        own.bytes_of_keys.extend_from_slice(key);
        own.keys.push(StoredKey { hash, begin, len: key.len() as u32, forbids });
        self.grew(keyspace, size_of::<StoredKey>() + key.len());
    }

    /// Claims a range.
    pub(super) fn add_range(&mut self, keyspace: &Keyspace, range: EdgeRange) {
        let bytes = range.bytes();
        self.of(keyspace).ranges.push(range);
        self.grew(keyspace, bytes);
    }

    /// Claims the range of an iterator while it lives. Returns the number of the walk.
    pub(super) fn begin_walk(&mut self, keyspace: &Keyspace, range: EdgeRange) -> u64 {
        let walk = self.next_walk;
        self.next_walk += 1;
        self.of(keyspace);
        self.live_walks.push((walk, keyspace.state().id, range));
        walk
    }

    /// Releases the claim of an iterator that ended. What it read was claimed on the way.
    pub(super) fn end_walk(&mut self, walk: u64) {
        self.live_walks.retain(|(live, ..)| *live != walk);
    }

    /// Puts the claims in order for the check. Live iterators claim all of their ranges.
    pub(super) fn settle(&mut self) -> Settled<'_> {
        for (_, id, range) in std::mem::take(&mut self.live_walks) {
            let own = self.keyspaces.iter_mut().find(|own| own.id() == id);
            own.expect("the walk began with claims in its keyspace").ranges.push(range);
        }
        self.keyspaces.sort_by_key(KeyspaceClaims::id);
        debug_assert!(
            self.keyspaces.is_sorted_by(|before, next| before.id() < next.id()),
            "a check searches the keyspaces by id, and each is there once"
        );
        let settled = self.keyspaces.iter_mut().map(|own| {
            let ranges = std::mem::take(&mut own.ranges);
            let ranges = DisjointRanges::new(ranges, &*own.state().comparator);
            (&*own, Arc::new(ranges))
        });
        Settled { keyspaces: settled.collect() }
    }

    /// Returns the claims in a keyspace.
    fn of(&mut self, keyspace: &Keyspace) -> &mut KeyspaceClaims {
        let id = keyspace.state().id;
        let known = self.keyspaces.iter().position(|own| own.id() == id);
        let at = known.unwrap_or_else(|| {
            let (keyspace, keys) = (keyspace.clone(), Vec::new());
            let (bytes_of_keys, ranges) = (Vec::new(), Vec::new());
            self.keyspaces.push(KeyspaceClaims { keyspace, keys, bytes_of_keys, ranges });
            self.keyspaces.len() - 1
        });
        &mut self.keyspaces[at]
    }

    fn grew(&mut self, keyspace: &Keyspace, bytes: usize) {
        self.bytes += bytes;
        if self.bytes > self.limit {
            self.coarsen();
        }
        self.charge.note(&keyspace.core().runtime.ledger().transactions, self.bytes);
    }

    /// Makes the claims smaller: without repetitions, if that halves them. Else neighbours join.
    #[cold]
    fn coarsen(&mut self) {
        self.are_joining = true;
        self.keyspaces.iter_mut().for_each(KeyspaceClaims::forget_repetitions);
        self.bytes = self.keyspaces.iter().map(KeyspaceClaims::bytes).sum();
        let mut most = RANGES_LEFT;
        while self.bytes > self.limit / 2 && most > 0 {
            self.keyspaces.iter_mut().for_each(|own| own.coarsen(most));
            self.bytes = self.keyspaces.iter().map(KeyspaceClaims::bytes).sum();
            most /= 2;
        }
        // Long keys alone may exceed the limit. The claims then join after as many bytes again.
        self.limit = self.limit.max(2 * self.bytes);
        self.are_joining = false;
    }
}
