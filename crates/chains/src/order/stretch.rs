//! A sorted stretch of the key list.
//!
//! An entry holds eight bytes of its key, those after the common prefix of all keys of the stretch.
//! So most comparisons touch no node. With keys like `user0000000000012345`, the first eight bytes
//! of all keys are equal (measured: sorting takes 91 ns a key with them, and 23 ns with the bytes
//! after the prefix, H17). Invariant: entries are sorted by key. If the eight bytes of two entries
//! are equal, the keys in their nodes are compared. With a custom order, the bytes are all 0.

use std::cmp::Ordering;
use std::ops::Range;

use crate::chains::{Chains, Index};
use crate::gone::GoneRuns;
use crate::order::entries::Entries;

/// A key of a stretch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Entry {
    /// Its bytes from `common` on, big-endian, padded with zeros.
    pub(crate) prefix: u64,
    pub(crate) node: u32,
}

/// Keys of a range of nodes, sorted: all of them, except in a window.
pub(crate) struct Stretch {
    nodes: Range<u32>,
    /// Length of the common prefix of all keys, as far as known.
    common: usize,
    entries: Entries,
    /// The bytes of every [`SAMPLED`]th entry. A search looks at these first, because they are few
    /// enough to stay in a cache.
    samples: Box<[u64]>,
    /// Runs of deleted keys that cursors found.
    pub(crate) gone: GoneRuns,
}

/// Nodes of an ordered index that are walked over for each key of a stretch, rather than to sort
/// the keys of the stretch. A step of the walk takes no comparison.
const WALKED: usize = 8;

/// Entries from one sample to the next.
const SAMPLED: usize = 32;

impl Stretch {
    /// Sorts the keys of published nodes.
    pub(crate) fn sort(chains: &Chains, nodes: Range<u32>) -> Stretch {
        match &chains.index {
            Index::Ordered(list) if nodes.len() >= chains.len() / WALKED => {
                // All of these nodes are in the list, because the writer links a node before it
                // publishes the length of the key list.
                let all = list.nodes(&chains.arena);
                let these = all.filter(|node| nodes.contains(node));
                let entries = these.map(|node| Entry { prefix: 0, node });
                Stretch::of(nodes.clone(), 0, Entries::of(nodes.len(), entries))
            }
            _ => Stretch::sort_these(chains, nodes.clone(), nodes),
        }
    }

    /// Sorts the keys of `some` of these published nodes.
    pub(crate) fn sort_some(chains: &Chains, nodes: Range<u32>, some: Vec<u32>) -> Stretch {
        assert!(some.iter().all(|node| nodes.contains(node)));
        Stretch::sort_these(chains, nodes, some.iter().copied())
    }

    fn sort_these(
        chains: &Chains,
        nodes: Range<u32>,
        these: impl ExactSizeIterator<Item = u32> + Clone,
    ) -> Stretch {
        assert!(nodes.end <= chains.nodes());
        let bytewise = chains.order.keys().is_bytewise();
        let common = if bytewise { common_prefix(chains, these.clone()) } else { 0 };
        let prefix = |node| if bytewise { prefix_at(key_of(chains, node), common) } else { 0 };
        let len = these.len();
        let unsorted = these.map(|node| Entry { prefix: prefix(node), node });
        let mut entries = Entries::of(len, unsorted);
        sort_entries(chains, &mut entries, if bytewise { DEEPER } else { 0 });
        debug_assert!(is_ascending(chains, &entries), "a sort puts each key behind smaller ones");
        Stretch::of(nodes, common, entries)
    }

    fn of(nodes: Range<u32>, common: usize, entries: Entries) -> Stretch {
        let samples = entries.iter().step_by(SAMPLED).map(|entry| entry.prefix).collect();
        Stretch { nodes, common, entries, samples, gone: GoneRuns::default() }
    }

    /// Merges neighbours.
    pub(crate) fn merge(chains: &Chains, left: &Stretch, right: &Stretch) -> Stretch {
        assert_eq!(left.nodes.end, right.nodes.start, "only neighbours are merged");
        let common = common_of(chains, [left, right].into_iter());
        let (rebase_left, rebase_right) =
            (left.rebase(chains, common), right.rebase(chains, common));
        let lefts = left.entries.iter().map(|&entry| rebase_left.entry(entry));
        let rights = right.entries.iter().map(|&entry| rebase_right.entry(entry));
        let (len, nodes) = (left.len() + right.len(), left.nodes.start..right.nodes.end);
        if let (Some(last), Some(first)) = (lefts.clone().next_back(), rights.clone().next())
            && compare(chains, last, first).is_lt()
        {
            // Keys that come in their order need no merge.
            return Stretch::of(nodes, common, Entries::of(len, lefts.chain(rights)));
        }
        let (mut lefts, mut rights) = (lefts.peekable(), rights.peekable());
        let next = || match (lefts.peek(), rights.peek()) {
            (Some(&a), Some(&b)) if compare(chains, a, b) == Ordering::Greater => rights.next(),
            (Some(_), _) => lefts.next(),
            (None, _) => rights.next(),
        };
        Stretch::of(nodes, common, Entries::of(len, std::iter::from_fn(next)))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn nodes(&self) -> Range<u32> {
        self.nodes.clone()
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.samples)
    }

    /// Counts the keys less than `key`.
    pub(crate) fn rank(&self, chains: &Chains, key: &[u8]) -> usize {
        let prefix = match self.compare_common(chains, key) {
            Ordering::Less => return 0,
            Ordering::Greater => return self.len(),
            Ordering::Equal if chains.order.keys().is_bytewise() => prefix_at(key, self.common),
            Ordering::Equal => 0,
        };
        let undecided = self.near(prefix);
        let less = |entry: &Entry| {
            entry.prefix < prefix
                || entry.prefix == prefix
                    && chains.order.keys().compare(key_of(chains, entry.node), key)
                        == Ordering::Less
        };
        undecided.start + self.entries[undecided].partition_point(less)
    }

    /// Counts the keys less than or equal to `key`.
    pub(crate) fn rank_behind(&self, chains: &Chains, key: &[u8]) -> usize {
        let at = self.rank(chains, key);
        let keys = chains.order.keys();
        let is_there =
            self.entries.get(at).is_some_and(|entry| keys.is_same(key_of(chains, entry.node), key));
        at + usize::from(is_there)
    }

    /// Returns the entry of a node, if the stretch has its key.
    pub(crate) fn entry_of(&self, chains: &Chains, node: u32) -> Option<usize> {
        let at = self.nodes.contains(&node).then(|| self.rank(chains, key_of(chains, node)))?;
        // A window has the keys of only some of its nodes.
        self.entries.get(at).is_some_and(|entry| entry.node == node).then_some(at)
    }

    /// Returns the entries among which a prefix belongs. Entries before them have a smaller prefix,
    /// entries after them a larger one.
    #[inline]
    fn near(&self, prefix: u64) -> Range<usize> {
        let below = self.samples.partition_point(|&sample| sample < prefix);
        let rest = &self.samples[below..];
        let equal = match rest.first() {
            Some(&sample) if sample == prefix => rest.partition_point(|&sample| sample == prefix),
            _ => 0,
        };
        let end = ((below + equal) * SAMPLED).min(self.len());
        below.saturating_sub(1) * SAMPLED..end
    }

    /// Compares `key` with the common prefix of all keys of the stretch. Returns `Equal` if `key`
    /// begins with that prefix.
    fn compare_common(&self, chains: &Chains, key: &[u8]) -> Ordering {
        let common = self.common_bytes(chains);
        let (head, _) = key.split_at(common.len().min(key.len()));
        head.cmp(common)
    }

    /// Returns the common prefix of all keys, as far as known.
    pub(crate) fn common_bytes<'a>(&self, chains: &'a Chains) -> &'a [u8] {
        self.first_key(chains).map_or(&[], |first| &first[..self.common])
    }

    fn first_key<'a>(&self, chains: &'a Chains) -> Option<&'a [u8]> {
        self.entries.first().map(|entry| key_of(chains, entry.node))
    }

    /// Returns the conversion from prefixes of this stretch to prefixes after only `common` bytes.
    pub(crate) fn rebase(&self, chains: &Chains, common: usize) -> Rebase {
        assert!(common <= self.common);
        let dropped = (self.common - common).min(8);
        let first = self.first_key(chains).unwrap_or_default();
        let shift = 8 * dropped as u32;
        let kept = u64::MAX.checked_shr(shift).unwrap_or(0);
        let high = if dropped == 0 { 0 } else { prefix_at(first, common) & !kept };
        Rebase { high, shift }
    }
}

/// Converts prefixes after many common bytes to prefixes after fewer. The bytes that are no longer
/// common enter at the front, the same for all. Bytes that drop out at the end come from the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebase {
    high: u64,
    shift: u32,
}

impl Rebase {
    #[inline]
    pub(crate) fn prefix(self, prefix: u64) -> u64 {
        self.high | prefix.checked_shr(self.shift).unwrap_or(0)
    }

    #[inline]
    fn entry(self, entry: Entry) -> Entry {
        Entry { prefix: self.prefix(entry.prefix), node: entry.node }
    }
}

/// Returns how many bytes all keys of these stretches have in common, as far as known.
pub(crate) fn common_of<'a>(
    chains: &Chains,
    stretches: impl Iterator<Item = &'a Stretch>,
) -> usize {
    let mut common: Option<&[u8]> = None;
    for stretch in stretches {
        let Some(first) = stretch.first_key(chains) else { continue };
        let own = &first[..stretch.common];
        common = Some(match common {
            None => own,
            Some(common) => &own[..common_len(common, own)],
        });
    }
    common.map_or(0, <[u8]>::len)
}

/// Whether the keys ascend. A caller's order may contradict itself, so this looks at no such order.
fn is_ascending(chains: &Chains, entries: &[Entry]) -> bool {
    !chains.order.keys().is_bytewise()
        || entries.is_sorted_by(|a, b| compare(chains, *a, *b).is_lt())
}

/// Compares two entries with the same bytes in common.
#[inline]
pub(crate) fn compare(chains: &Chains, a: Entry, b: Entry) -> Ordering {
    a.prefix
        .cmp(&b.prefix)
        .then_with(|| chains.order.keys().compare(key_of(chains, a.node), key_of(chains, b.node)))
}

/// How often keys with equal eight bytes are compared by eight later bytes, before whole keys are
/// compared. Once suffices for most keys. One short key, like `a` among a million like
/// `user0000000000012345`, leaves all others with equal bytes. (Measured for that million: 450 ms
/// without this, 60 to 115 ms with it.)
const DEEPER: u32 = if cfg!(miri) { 2 } else { 4 };

/// Least number of keys with equal bytes for which comparing later bytes pays off.
const MANY_EQUAL: usize = 16;

/// Sorts by prefix, which needs no branch and no node. Then sorts entries with equal prefixes: by
/// later bytes, `deeper` times, then by key.
fn sort_entries(chains: &Chains, entries: &mut [Entry], deeper: u32) {
    entries.sort_unstable_by_key(|entry| entry.prefix);
    for equals in entries.chunk_by_mut(|a, b| a.prefix == b.prefix) {
        if equals.len() >= MANY_EQUAL && deeper > 0 {
            sort_equals(chains, equals, deeper);
        } else if equals.len() > 1 {
            equals.sort_unstable_by(|a, b| compare(chains, *a, *b));
        }
    }
}

/// Sorts keys with equal prefixes by the eight bytes after their common prefix.
fn sort_equals(chains: &Chains, equals: &mut [Entry], deeper: u32) {
    let common = common_prefix(chains, equals.iter().map(|entry| entry.node));
    let prefix = |node| prefix_at(key_of(chains, node), common);
    let behind = equals.iter().map(|&Entry { node, .. }| Entry { prefix: prefix(node), node });
    let mut behind = Entries::of(equals.len(), behind);
    sort_entries(chains, &mut behind, deeper - 1);
    for (entry, sorted) in equals.iter_mut().zip(behind.iter()) {
        entry.node = sorted.node;
    }
}

/// Counts the bytes that all keys of these nodes have in common.
fn common_prefix(chains: &Chains, mut nodes: impl Iterator<Item = u32>) -> usize {
    let Some(first) = nodes.next() else { return 0 };
    let mut common = key_of(chains, first);
    for node in nodes {
        let key = key_of(chains, node);
        if !key.starts_with(common) {
            common = &common[..common_len(common, key)];
        }
        if common.is_empty() {
            break;
        }
    }
    common.len()
}

pub(crate) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns eight bytes of the key from `at` on, big-endian, padded with zeros.
#[inline]
pub(crate) fn prefix_at(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at..).unwrap_or_default();
    if let Some(eight) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    let mut padded = [0; 8];
    padded[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(padded)
}

#[inline]
pub(crate) fn key_of(chains: &Chains, node: u32) -> &[u8] {
    // SAFETY: stretches are made of published nodes only, see `Stretch::sort`.
    unsafe { chains.node(node) }.key()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{ArenaPool, Chains, KeyOrder};

    /// Keys of which many have their first eight bytes in common: samples tie.
    #[test]
    fn ranks_by_samples_are_those_of_a_plain_search() {
        let per_prefix = if cfg!(miri) { 40 } else { 150u32 };
        let pool = ArenaPool::new(0);
        let (mut writer, chains) = Chains::create(&pool, 1 << 20, KeyOrder::Bytewise);
        let mut keys = Vec::new();
        for (prefix, count) in
            [(1u64, per_prefix), (2, 1), (5, 33), (6, 32), (u64::MAX, per_prefix)]
        {
            keys.extend((0..count).map(|n| [&prefix.to_be_bytes()[..], &n.to_be_bytes()].concat()));
        }
        for (seqno, key) in (1..).zip(&keys) {
            writer.insert(seqno, key, seqno, 0, 0, b"").unwrap();
        }
        let stretch = super::Stretch::sort(&chains, 0..chains.nodes());
        for key in &keys {
            for near in
                [key.clone(), [key, &[0][..]].concat(), key[..8].to_vec(), key[..5].to_vec()]
            {
                let plain = keys.partition_point(|other| *other < near);
                assert_eq!(stretch.rank(&chains, &near), plain, "{near:?}");
            }
        }
        assert_eq!(stretch.rank(&chains, b""), 0);
    }

    /// One short key among many that are alike leaves these with equal prefixes. So do zeros at the
    /// end, which look like the padding of shorter keys, at any depth.
    #[test]
    fn keys_with_equal_prefixes_are_sorted_by_later_bytes() {
        let many = if cfg!(miri) { 40 } else { 3000u64 };
        let scattered = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut keys = vec![b"a".to_vec(), b"z".to_vec(), Vec::new()];
        for n in 0..many {
            keys.push(format!("user{:016}", scattered(n) % 1_000_000_000_000).into_bytes());
            keys.push(format!("{}{:03}", "deep".repeat(30), scattered(n) % 1000).into_bytes());
            keys.push([&[7; 40][..], &scattered(n).to_be_bytes(), &[7; 9], &[n as u8]].concat());
        }
        keys.extend((0..100).map(|zeros| [&b"user0000"[..], &vec![0; zeros]].concat()));
        keys.extend((0..100).map(|zeros| vec![0; zeros]));
        keys.sort_by_key(|key| xxhash_rust::xxh3::xxh3_64(key));
        keys.dedup();
        let pool = ArenaPool::new(0);
        let (mut writer, chains) = Chains::create(&pool, 4 << 20, KeyOrder::Bytewise);
        for (seqno, key) in (1..).zip(&keys) {
            writer.insert(seqno, key, seqno, 0, 0, b"").unwrap();
        }
        let stretch = super::Stretch::sort(&chains, 0..chains.nodes());
        keys.sort();
        let sorted = stretch.entries().iter().map(|entry| super::key_of(&chains, entry.node));
        assert!(sorted.eq(keys.iter().map(|key| &key[..])));
    }
}
