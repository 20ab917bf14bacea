//! The range tombstones of one memtable or table, and lookups in them at any sequence number.
//!
//! The set is immutable. Adding a tombstone makes another set that shares all but a few nodes with
//! it. A set is a list of trees, newest first, whose sizes at least double (Bentley and Saxe's
//! logarithmic method). Each tree covers consecutive sequence numbers and has two halves:
//!
//! ```text
//! seqnos   9 | 7..8 | 1..6          a tree's skyline serves readers at or above its newest;
//!          1 |  2   |  4            a reader in between asks the halves, at most one of which
//!                  3   4..6         needs its own halves again
//! ```
//!
//! A skyline is the newest tombstone over each key. The first reader that needs the skyline of a
//! tree makes it from the skylines of the halves. So each tombstone is processed once for each
//! doubling of the tree. For 10 000 nested tombstones with a read after each, this costs 10^5
//! steps. Copying and fragmenting the list after each delete would cost 10^8 steps. Storing, for
//! each fragment, all sequence numbers that ever covered it would cost as many.

use std::sync::{Arc, OnceLock};

use crate::key::{Comparator, SeqNo};
use crate::range_tombstone::skyline::{self, Skyline};
use crate::range_tombstone::{Edge, RangeTombstone};

/// An immutable set of range tombstones, cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeTombstones {
    /// Newest first, each at most half as large as the next.
    trees: Vec<Arc<Tree>>,
}

/// Tombstones of neighbouring sequence numbers.
#[derive(Debug)]
struct Tree {
    len: usize,
    smallest: SeqNo,
    largest: SeqNo,
    parts: Parts,
    skyline: OnceLock<Skyline>,
}

#[derive(Debug)]
enum Parts {
    /// Oldest first.
    Few(Vec<RangeTombstone>),
    Halves {
        newer: Arc<Tree>,
        older: Arc<Tree>,
    },
}

/// Up to this many tombstones are searched one by one, without a skyline.
const FEW: usize = 16;

impl RangeTombstones {
    /// Makes a set of tombstones in any order. Sequence numbers may repeat if one tombstone was
    /// clipped into several.
    pub(crate) fn new(mut tombstones: Vec<RangeTombstone>) -> RangeTombstones {
        tombstones.sort_by_key(|tombstone| tombstone.seqno);
        let tree = (!tombstones.is_empty()).then(|| Arc::new(Tree::new(tombstones)));
        RangeTombstones { trees: tree.into_iter().collect() }
    }

    /// Returns this set with one more tombstone, which is newer than all in the set.
    pub(crate) fn with(&self, tombstone: RangeTombstone) -> RangeTombstones {
        debug_assert!(
            self.trees.first().is_none_or(|tree| tree.largest < tombstone.seqno),
            "a memtable takes its range deletes in the order of their writes"
        );
        let mut newest = Arc::new(Tree::new(vec![tombstone]));
        let mut kept = &self.trees[..];
        while let Some((next, rest)) = kept.split_first()
            && next.len <= newest.len
        {
            newest = Arc::new(Tree::join(newest, Arc::clone(next)));
            kept = rest;
        }
        RangeTombstones { trees: std::iter::once(newest).chain(kept.iter().cloned()).collect() }
    }

    /// Returns the cover of a key for a reader at `at`: the largest sequence number up to `at` at
    /// which a range around the key was deleted. Returns 0 if there is none.
    pub(crate) fn cover(&self, comparator: &dyn Comparator, key: &[u8], at: SeqNo) -> SeqNo {
        self.search(comparator, key, at, &mut |_, _| {})
    }

    /// Returns [`RangeTombstones::cover`], and calls `narrow` with key ranges around this key. All
    /// keys that lie in every one of these ranges have the same cover.
    pub(crate) fn search(
        &self,
        comparator: &dyn Comparator,
        key: &[u8],
        at: SeqNo,
        narrow: &mut impl FnMut(&Edge, &Edge),
    ) -> SeqNo {
        let covers = self.trees.iter().map(|tree| tree.search(comparator, key, at, narrow));
        covers.into_iter().find(|&cover| cover > 0).unwrap_or(0)
    }

    /// Returns all tombstones, oldest first.
    pub(crate) fn to_vec(&self) -> Vec<RangeTombstone> {
        let mut all = Vec::new();
        self.trees.iter().rev().for_each(|tree| tree.collect(&mut all));
        all
    }

    /// Returns the estimated bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.trees.iter().map(|tree| tree.bytes()).sum()
    }
}

impl Tree {
    /// Makes a tree of at least one tombstone.
    fn new(oldest_first: Vec<RangeTombstone>) -> Tree {
        Tree::build(oldest_first.into())
    }

    fn build(mut oldest_first: std::collections::VecDeque<RangeTombstone>) -> Tree {
        let len = oldest_first.len();
        if len <= FEW {
            return Tree::of(Parts::Few(oldest_first.into()));
        }
        let newer = oldest_first.split_off(len / 2);
        Tree::join(Arc::new(Tree::build(newer)), Arc::new(Tree::build(oldest_first)))
    }

    fn join(newer: Arc<Tree>, older: Arc<Tree>) -> Tree {
        match (&newer.parts, &older.parts) {
            (Parts::Few(new), Parts::Few(old)) if new.len() + old.len() <= FEW => {
                Tree::of(Parts::Few(old.iter().chain(new).cloned().collect()))
            }
            _ => Tree::of(Parts::Halves { newer, older }),
        }
    }

    fn of(parts: Parts) -> Tree {
        match &parts {
            Parts::Few(few) => debug_assert!(
                few.is_sorted_by_key(|tombstone| tombstone.seqno),
                "the tombstones of a leaf are ordered from old to new"
            ),
            Parts::Halves { newer, older } => {
                debug_assert!(older.largest <= newer.smallest, "a search asks the newer half first")
            }
        }
        let (len, smallest, largest) = match &parts {
            Parts::Few(few) => (few.len(), few[0].seqno, few[few.len() - 1].seqno),
            Parts::Halves { newer, older } => {
                (newer.len + older.len, older.smallest, newer.largest)
            }
        };
        Tree { len, smallest, largest, parts, skyline: OnceLock::new() }
    }

    fn search(
        &self,
        comparator: &dyn Comparator,
        key: &[u8],
        at: SeqNo,
        narrow: &mut impl FnMut(&Edge, &Edge),
    ) -> SeqNo {
        if at < self.smallest {
            return 0;
        }
        if at >= self.largest {
            let skyline = self.skyline.get_or_init(|| self.make_skyline(comparator));
            return skyline::search(skyline, comparator, key, narrow);
        }
        match &self.parts {
            Parts::Few(few) => {
                let visible = few.iter().rev().filter(|tombstone| tombstone.seqno <= at);
                for tombstone in visible {
                    let alone = std::slice::from_ref(tombstone);
                    let cover = skyline::search(alone, comparator, key, narrow);
                    if cover > 0 {
                        return cover;
                    }
                }
                0
            }
            Parts::Halves { newer, older } => match newer.search(comparator, key, at, narrow) {
                0 => older.search(comparator, key, at, narrow),
                cover => cover,
            },
        }
    }

    fn make_skyline(&self, comparator: &dyn Comparator) -> Skyline {
        match &self.parts {
            Parts::Few(few) => skyline::of(comparator, few),
            Parts::Halves { newer, older } => newer.with_skyline(comparator, |newer| {
                older.with_skyline(comparator, |older| skyline::overlay(comparator, newer, older))
            }),
        }
    }

    /// Passes on the skyline if it exists already, otherwise a temporary one. A tree whose own
    /// skyline is needed seldom needs those of its halves again, so they are not kept.
    fn with_skyline<T>(
        &self,
        comparator: &dyn Comparator,
        look: impl FnOnce(&[RangeTombstone]) -> T,
    ) -> T {
        match self.skyline.get() {
            Some(skyline) => look(skyline),
            None => look(&self.make_skyline(comparator)),
        }
    }

    fn collect(&self, all: &mut Vec<RangeTombstone>) {
        match &self.parts {
            Parts::Few(few) => all.extend_from_slice(few),
            Parts::Halves { newer, older } => {
                older.collect(all);
                newer.collect(all);
            }
        }
    }

    fn bytes(&self) -> usize {
        let parts = match &self.parts {
            Parts::Few(few) => few.iter().map(RangeTombstone::bytes).sum(),
            Parts::Halves { newer, older } => newer.bytes() + older.bytes(),
        };
        let skyline = self.skyline.get().map_or(0, |skyline| size_of_val(&skyline[..]));
        size_of::<Tree>() + parts + skyline
    }
}
