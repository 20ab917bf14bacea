//! The chain of one key: from the newest version a reader may see to the oldest.
//!
//! Versions are a linked list with one extra pointer each, Myers' jump pointer ("An applicative
//! random-access stack", 1983). A push is O(1). Finding the newest version at or below a sequence
//! number is O(log n), however many versions came after an old snapshot (H18).
//!
//! ```text
//! depth  0 ◄─ 1 ◄─ 2 ◄─ 3 ◄─ 4 ◄─ 5 ◄─ 6 ◄─ 7
//! jump      0    1    0    3    4    3    0
//! ```
//!
//! A folded version replaces the versions that it stands for: depth and jump do not count them. A
//! reader that may see only some of these versions follows `unfolded` from the folded version (H3).
//! It walks among them in the same way, and they lead back down to the main chain.
//!
//! ```text
//! S = 100    F.110 ─► .79      .79 is the newest of this path up to 100, but F.110 begins at 80:
//!             └► .110 … .101 ─► .100 ─► … .80 ─► .79                so .100 it is
//! ```
//!
//! Depth 0 is the version inside the node. It is the oldest, so it also tells whether a reader sees
//! any version of the key.

use crate::bytes::ValueBytes;
use crate::layout::{IN_NODE, NOT_FOLDED, visible_up_to};
use crate::node::Node;
use crate::sync::Ordering;

/// One record of a key. Kind and operator are the caller's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version<'a> {
    /// The sequence number of the write.
    pub seqno: u64,
    /// Its effect on the key.
    pub kind: u8,
    /// The operator of a merge.
    pub operator: u32,
    /// Its value.
    pub value: ValueBytes<'a>,
}

impl Version<'_> {
    /// Returns the bytes of the value.
    #[inline]
    pub fn value_len(&self) -> usize {
        self.value.len()
    }
}

/// The versions of a key that a reader sees, newest first.
#[derive(Clone, Debug)]
pub struct Versions<'a> {
    node: Node<'a>,
    next: Option<u32>,
}

impl<'a> Versions<'a> {
    #[inline]
    pub(crate) fn new(node: Node<'a>, max_seqno: u64) -> Versions<'a> {
        Versions { node, next: node.newest_visible(visible_up_to(max_seqno)) }
    }
}

impl<'a> Iterator for Versions<'a> {
    type Item = Version<'a>;

    #[inline]
    fn next(&mut self) -> Option<Version<'a>> {
        let link = self.next?;
        // SAFETY: links from `newest_visible` and `older` of this node's chain.
        unsafe {
            self.next = self.node.older(link);
            Some(self.node.version_at(link))
        }
    }
}

impl std::iter::FusedIterator for Versions<'_> {}

#[cfg(test)]
thread_local! {
    /// How many versions this thread looked at during searches.
    static STEPS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// The data for a step: where a version stands in its chain.
#[derive(Clone, Copy)]
struct Step {
    seqno_kind: u64,
    older: u32,
    jump: u32,
    depth: u32,
    unfolded: u32,
}

impl<'a> Node<'a> {
    /// Returns whether a reader sees any version: the oldest is the one inside the node.
    #[inline]
    pub(crate) fn is_visible(&self, max_word: u64) -> bool {
        self.record.seqno_kind <= max_word
    }

    /// Returns the link to the newest version whose packed word is at most `max_word`.
    #[inline]
    pub(crate) fn newest_visible(&self, max_word: u64) -> Option<u32> {
        if !self.is_visible(max_word) {
            return None;
        }
        let mut at = self.newest();
        // SAFETY: `newest` is an acquired link; older and jump links of written versions lead to
        // versions written before them.
        unsafe {
            let mut step = self.step(at);
            while step.seqno_kind > max_word {
                let jump = self.step(step.jump);
                if jump.seqno_kind > max_word {
                    (at, step) = (step.jump, jump);
                    continue;
                }
                let older = self.step(step.older);
                let leave = step.unfolded != NOT_FOLDED
                    && older.seqno_kind <= max_word
                    && self.first_and_level(at).0 <= max_word >> 8;
                (at, step) = if leave {
                    (step.unfolded, self.step(step.unfolded))
                } else {
                    (step.older, older)
                };
            }
        }
        Some(at)
    }

    /// Returns the link to the newest version, published to readers or not.
    #[inline]
    pub(crate) fn newest(&self) -> u32 {
        // Acquire: pairs with the Release in `Writer`, so the version is completely written.
        self.record.newest.load(Ordering::Acquire)
    }

    /// Returns the link below `link`.
    ///
    /// # Safety
    /// `link` is an acquired link of this chain.
    #[inline]
    pub(crate) unsafe fn older(&self, link: u32) -> Option<u32> {
        if link == IN_NODE {
            return None;
        }
        // SAFETY: by the caller's promise.
        Some(unsafe { self.version(link) }.older)
    }

    /// Returns the version of `link`.
    ///
    /// # Safety
    /// `link` is an acquired link of this chain.
    #[inline]
    pub(crate) unsafe fn version_at(&self, link: u32) -> Version<'a> {
        let (seqno_kind, operator, value) = if link == IN_NODE {
            (self.record.seqno_kind, self.record.operator, self.first_value())
        } else {
            // SAFETY: by the caller's promise.
            let (record, value) = unsafe { (self.version(link), self.value_of(link)) };
            (record.seqno_kind, record.operator, value)
        };
        Version { seqno: seqno_kind >> 8, kind: seqno_kind as u8, operator, value }
    }

    /// Returns the packed word and depth of the version of `link`.
    ///
    /// # Safety
    /// `link` is an acquired link of this chain.
    #[inline]
    pub(crate) unsafe fn word_and_depth(&self, link: u32) -> (u64, u32) {
        // SAFETY: by the caller's promise.
        let step = unsafe { self.step(link) };
        (step.seqno_kind, step.depth)
    }

    /// Returns where a version pushed onto `parent` jumps to: past the jump of its jump if both
    /// jumps are of the same length, else only to its parent. Lengths are then 1, 1, 3, 1, 1, 3, 7,
    /// …
    ///
    /// # Safety
    /// `parent` is an acquired link of this chain.
    #[inline]
    pub(crate) unsafe fn jump_for(&self, parent: u32) -> u32 {
        // SAFETY: by the caller's promise; links of written versions are good.
        unsafe {
            let top = self.step(parent);
            let middle = self.step(top.jump);
            let bottom = self.step(middle.jump);
            if top.depth - middle.depth == middle.depth - bottom.depth {
                middle.jump
            } else {
                parent
            }
        }
    }

    /// # Safety
    /// `link` is an acquired link of this chain.
    #[inline]
    unsafe fn step(&self, link: u32) -> Step {
        #[cfg(test)]
        STEPS.set(STEPS.get() + 1);
        if link == IN_NODE {
            let seqno_kind = self.record.seqno_kind;
            let (older, jump, unfolded) = (IN_NODE, IN_NODE, NOT_FOLDED);
            return Step { seqno_kind, older, jump, depth: 0, unfolded };
        }
        // SAFETY: by the caller's promise.
        let record = unsafe { self.version(link) };
        Step {
            seqno_kind: record.seqno_kind,
            older: record.older,
            jump: record.jump,
            depth: record.depth,
            unfolded: record.unfolded,
        }
    }

    /// Returns what a flush for `snapshots` (ascending) shows in place of `link`. If one of them
    /// sees only a part of a folded version, the versions it stands for replace it.
    ///
    /// # Safety
    /// `link` is an acquired link of this chain.
    #[inline]
    pub(crate) unsafe fn unfolded_for(&self, mut link: u32, snapshots: &[u64]) -> u32 {
        while link != IN_NODE && !snapshots.is_empty() {
            // SAFETY: by the caller's promise; `unfolded` links lead to versions written before.
            let (record, (first, _)) = unsafe { (self.version(link), self.first_and_level(link)) };
            if record.unfolded == NOT_FOLDED {
                break;
            }
            let last = record.seqno_kind >> 8;
            let from_first = snapshots.partition_point(|&snapshot| snapshot < first);
            if snapshots.get(from_first).is_none_or(|&snapshot| snapshot >= last) {
                break;
            }
            link = record.unfolded;
        }
        link
    }
}

impl<'a> Node<'a> {
    /// Iterates over the versions that a reader at `max_seqno` sees, newest first.
    #[inline]
    pub fn versions(&self, max_seqno: u64) -> Versions<'a> {
        Versions::new(*self, max_seqno)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{ArenaPool, Chains, KeyOrder};

    #[test]
    fn h18_old_snapshots_of_hot_keys_are_found_in_logarithmic_steps() {
        let versions = if cfg!(miri) { 100 } else { 100_000u32 };
        let pool = ArenaPool::new(0);
        let (mut writer, chains) =
            Chains::create(&pool, 64 + 32 * versions as usize, KeyOrder::Bytewise);
        for n in 1..=versions {
            writer.insert(7, b"k", u64::from(10 * n), 0, n, b"").unwrap();
        }
        let node = chains.find(7, b"k").unwrap();
        let most = 4 * (versions.ilog2() + 1);
        for n in (1..=versions).step_by(97).chain([1, 2, versions]) {
            super::STEPS.set(0);
            let newest = node.versions(u64::from(10 * n + 9)).next().unwrap();
            assert_eq!((newest.seqno, newest.operator), (u64::from(10 * n), n));
            assert!(super::STEPS.get() <= most, "{} steps to version {n}", super::STEPS.get());
        }
        assert!(node.versions(9).next().is_none());
    }

    /// The same when every 16 neighbours of one level are folded to one of the next.
    #[test]
    fn h18_old_snapshots_of_folded_keys_are_found_in_logarithmic_steps() {
        let versions = if cfg!(miri) { 600 } else { 70_000u32 };
        let pool = ArenaPool::new(0);
        let (mut writer, chains) =
            Chains::create(&pool, 64 + 40 * versions as usize, KeyOrder::Bytewise);
        for n in 0..=versions {
            writer.insert(7, b"k", u64::from(10 * n + 10), 0, n, b"").unwrap();
            let mut of_level = 16;
            while n > 0 && n.is_multiple_of(of_level) {
                writer.fold_newest(7, b"k", 16, 1, n, b"").unwrap();
                of_level *= 16;
            }
        }
        let node = chains.find(7, b"k").unwrap();
        let length = node.versions(u64::MAX).count() as u32;
        assert!(length <= 16 * (versions.ilog2() / 4 + 1), "{length} versions are left");
        let most = 30 * (versions.ilog2() + 1);
        for n in (0..=versions).step_by(97).chain([1, 2, versions - 1]) {
            super::STEPS.set(0);
            let newest = node.versions(u64::from(10 * n + 19)).next().unwrap();
            assert_eq!((newest.seqno, newest.operator), (u64::from(10 * n + 10), n));
            assert!(super::STEPS.get() <= most, "{} steps to version {n}", super::STEPS.get());
        }
    }
}
