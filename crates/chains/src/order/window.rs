//! The unsorted keys around one place, sorted for one cursor.
//!
//! A cursor that finds a million unsorted keys wants the few around its target. Sorting all of them
//! would take 30 ms. Looking at each once takes two, because nodes lie in a row. A sample of the
//! keys gives the ends of the window, and the pass over all keys picks those between them.
//!
//! ```text
//! sample, sorted   ·  ·  ·  low ·  ·  ·  target ·  ·  ·  high ·  ·  ·
//! window                    [ all unsorted keys in here  )
//! ```
//!
//! Invariant: a window holds all keys of its nodes between its first and its last key. It holds at
//! least one key on either side of the target, if its nodes have such keys.

use std::ops::Range;
use std::sync::Arc;

use crate::chains::Chains;
use crate::order::Stretch;
use crate::order::stretch::{common_len, key_of, prefix_at};

/// Number of keys for each sampled one.
const KEYS_PER_SAMPLE: usize = match () {
    () if cfg!(loom) => 1,
    () if cfg!(any(miri, test)) => 8,
    () => 256,
};

/// How far a window reaches, in keys of the sample. That is over a few thousand keys on either side
/// of the target, farther than most walks go.
const SAMPLES: usize = match () {
    () if cfg!(loom) => 1,
    () if cfg!(any(miri, test)) => 2,
    () => 16,
};

/// A place between keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    First,
    Last,
    /// Before this key.
    Before(&'a [u8]),
    /// After this key.
    Behind(&'a [u8]),
}

impl Place<'_> {
    /// Counts the keys of a stretch before it.
    pub(crate) fn rank_in(self, chains: &Chains, stretch: &Stretch) -> usize {
        match self {
            Place::First => 0,
            Place::Last => stretch.len(),
            Place::Before(key) => stretch.rank(chains, key),
            Place::Behind(key) => stretch.rank_behind(chains, key),
        }
    }
}

/// The part of many unsorted keys that a cursor knows.
pub(crate) struct Window {
    /// The keys, sorted. Its range of nodes includes all that were looked at.
    pub(crate) stretch: Arc<Stretch>,
    /// Whether keys of the nodes may lie before the window.
    pub(crate) ends_below: bool,
    /// Whether keys of the nodes may lie after the window.
    pub(crate) ends_above: bool,
}

impl Window {
    /// The keys around a place.
    pub(crate) fn around(chains: &Chains, nodes: Range<u32>, place: Place<'_>) -> Window {
        let sample = Stretch::sort_some(chains, nodes.clone(), sampled(nodes.clone()));
        let at = place.rank_in(chains, &sample);
        let node = |at: usize| sample.entries().get(at).map(|entry| entry.node);
        let low = at.checked_sub(SAMPLES).and_then(node);
        let high = node(at + SAMPLES);
        let middle = node(sample.len() / 2);
        let found: Vec<u32> = match Sieve::new(chains, low, high, middle) {
            Some(sieve) => sieve.of(nodes.clone()),
            None => nodes.clone().collect(),
        };
        let stretch = Arc::new(Stretch::sort_some(chains, nodes, found));
        Window { stretch, ends_below: low.is_some(), ends_above: high.is_some() }
    }
}

/// Samples one node of each group of `KEYS_PER_SAMPLE`, at varying places: keys may have a pattern.
fn sampled(nodes: Range<u32>) -> Vec<u32> {
    let step = KEYS_PER_SAMPLE as u32;
    let scatter = |group: u32| group.wrapping_mul(0x9E37_79B9) >> 16;
    nodes
        .clone()
        .step_by(KEYS_PER_SAMPLE)
        .map(|first| (first + scatter(first / step) % step).min(nodes.end - 1))
        .collect()
}

/// Selects the keys from `low` on and before `high`. Eight bytes rule out most keys: the bytes
/// after the common prefix of an end and the keys in the middle.
struct Sieve<'a> {
    chains: &'a Chains,
    low: Option<&'a [u8]>,
    high: Option<&'a [u8]>,
    common: &'a [u8],
    /// A key that begins with `common` passes if its next eight bytes are in this range.
    inside: (u64, u64),
}

impl<'a> Sieve<'a> {
    /// `None` where all keys pass.
    fn new(
        chains: &'a Chains,
        low: Option<u32>,
        high: Option<u32>,
        middle: Option<u32>,
    ) -> Option<Sieve<'a>> {
        let key = |node: u32| key_of(chains, node);
        let (low, high) = (low.map(key), high.map(key));
        let end = low.or(high)?;
        let common = &end[..middle.map_or(0, |middle| common_len(end, key(middle)))];
        // The lower end, if any, begins with `common`; the upper end may lie after all such keys.
        let prefix = |key: &[u8]| match key.starts_with(common) {
            true => prefix_at(key, common.len()),
            false => u64::MAX,
        };
        let inside = (low.map_or(0, prefix), high.map_or(u64::MAX, prefix));
        Some(Sieve { chains, low, high, common, inside })
    }

    /// Returns the nodes whose keys pass.
    fn of(&self, nodes: Range<u32>) -> Vec<u32> {
        if !self.chains.order.keys().is_bytewise() {
            self.of_those_that(nodes, |_| true)
        } else if self.common.is_empty() {
            self.of_those_that(nodes, |key| self.may_pass(prefix_at(key, 0)))
        } else {
            // For most keys only words are compared: a call for each key would double the time.
            let at = self.common.len();
            let bits = u64::MAX << (64 - 8 * at.min(8));
            let head = prefix_at(self.common, 0);
            self.of_those_that(nodes, |key| {
                let is_common = (prefix_at(key, 0) ^ head) & bits == 0
                    && (at <= 8 || key.starts_with(self.common));
                !is_common || self.may_pass(prefix_at(key, at))
            })
        }
    }

    #[inline(always)]
    fn of_those_that(&self, nodes: Range<u32>, may_pass: impl Fn(&[u8]) -> bool) -> Vec<u32> {
        let mut passed = Vec::new();
        for node in nodes {
            let key = key_of(self.chains, node);
            if may_pass(key) && self.passes(key) {
                passed.push(node);
            }
        }
        passed
    }

    #[inline(always)]
    fn may_pass(&self, prefix: u64) -> bool {
        (self.inside.0..=self.inside.1).contains(&prefix)
    }

    #[inline(never)]
    fn passes(&self, key: &[u8]) -> bool {
        let order = self.chains.order.keys();
        self.low.is_none_or(|low| order.compare(key, low).is_ge())
            && self.high.is_none_or(|high| order.compare(key, high).is_lt())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::{ArenaPool, KeyOrder};

    /// Takes windows at many places, also if half of the keys begin unlike the others.
    #[test]
    fn a_window_misses_no_key_between_its_first_and_its_last() {
        let pool = ArenaPool::new(0);
        let (mut writer, chains) = Chains::create(&pool, 1 << 20, KeyOrder::Bytewise);
        let mut keys = vec![b"".to_vec(), b"l".to_vec(), b"z".to_vec()];
        for n in 0..if cfg!(miri) { 60 } else { 400u64 } {
            let side = ["left", "left and more", "right"][n as usize % 3];
            keys.push(format!("{side}{:05}", xxh3_64(&n.to_le_bytes()) % 100_000).into_bytes());
        }
        keys.dedup();
        for (seqno, key) in (1..).zip(&keys) {
            writer.insert(xxh3_64(key), key, seqno, 1, 0, b"").unwrap();
        }
        keys.sort();
        keys.dedup();
        for (rank, key) in keys.iter().enumerate() {
            let window = Window::around(&chains, 0..chains.nodes(), Place::Before(key));
            let entries = window.stretch.entries();
            let found: Vec<&[u8]> =
                entries.iter().map(|entry| key_of(&chains, entry.node)).collect();
            let first = keys.partition_point(|key| **key < *found[0]);
            assert!(found.iter().eq(keys[first..].iter().take(found.len())), "at {rank}");
            let end = first + found.len();
            assert!(first < rank || rank == 0 && first == 0, "{first} to {end} around {rank}");
            assert!(rank < end, "{first} to {end} around {rank}");
            assert!(window.ends_below || first == 0);
            assert!(window.ends_above || end == keys.len());
            assert!(found.len() < 120, "{} keys", found.len());
        }
    }
}
