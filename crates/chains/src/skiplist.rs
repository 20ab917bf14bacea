//! The ordered index: a skiplist of nodes, for keys that a hash cannot find.
//!
//! An order may call different bytes equal. Such bytes are spellings of one key, and their hashes
//! differ. So this index only compares keys: a search takes O(log n) comparisons.
//!
//! ```text
//! level 2   head ──────────────────► c ──────────► end
//! level 1   head ──────► a ────────► c ──────────► end
//! level 0   head ──────► a ──► b ──► c ──► d ────► end
//! ```
//!
//! Each node has a *tower* in the part of the arena that is kept for the index: the node's number,
//! then a link for each of its levels. A link is the position of the next tower, 0 at the end. The
//! head's tower lies at position 0 and has all levels.
//!
//! Invariants: a link on a level leads to a tower that has this level. All links of that tower are
//! initialised, and its node is completely written. An order that contradicts itself puts nodes in
//! wrong places, but each level stays a list without a circle, so every search ends.

use std::cmp::Ordering as KeyOrdering;
use std::ptr::NonNull;

use crate::arena::Arena;
use crate::planted::{Fault, planted};
use crate::sync::{AtomicU32, Ordering};

/// Most levels. With 4^12 keys, 16 million, the highest level has a few.
const LEVELS: usize = match () {
    () if cfg!(loom) => 2,
    () if cfg!(miri) => 4,
    () => 12,
};

/// One of `2^BRANCHING` nodes of a level is also on the next level.
const BRANCHING: u32 = if cfg!(any(loom, miri)) { 1 } else { 2 };

/// Bytes of a cell. A tower is an array of cells.
const CELL: usize = size_of::<AtomicU32>();

/// Returns the number of cells of a tower.
const fn cells(levels: usize) -> usize {
    1 + levels
}

/// The tower of the head.
const HEAD: u32 = 0;

/// The link after the last tower.
const END: u32 = 0;

/// The place of a key: for each level, the last tower whose key is less.
pub(crate) type Place = [u32; LEVELS];

/// The end of a search.
pub(crate) enum Search {
    /// The key's node.
    Found(u32),
    /// Where the key would be.
    Vacant(Place),
}

/// The skiplist as its readers see it.
pub(crate) struct SkipList {
    /// The offset of the cells in the arena.
    start: usize,
}

/// The part of the skiplist that only the writer needs.
pub(crate) struct Towers {
    start: usize,
    /// Number of cells in use.
    used: usize,
    /// Number of cells that fit.
    room: usize,
    /// Number of nodes that fit into the arena.
    nodes: usize,
}

impl SkipList {
    /// Makes an empty list for at most `nodes` nodes, with its towers in `[start, end)` of the
    /// arena.
    ///
    /// # Safety
    /// That part of the arena is read and written by this list only. `start` is a multiple of a
    /// unit.
    pub(crate) unsafe fn new(
        arena: &Arena,
        start: usize,
        end: usize,
        nodes: usize,
    ) -> (SkipList, Towers) {
        let room = (end - start) / CELL;
        let least = cells(LEVELS) + nodes * cells(1);
        assert!(room >= least && u32::try_from(room).is_ok(), "every node needs a tower");
        let list = SkipList { start };
        for cell in 0..cells(LEVELS) as u32 {
            // SAFETY: inside the list's part of the arena; no other thread knows the list yet.
            unsafe { list.at(arena, cell).write(AtomicU32::new(END)) };
        }
        (list, Towers { start, used: cells(LEVELS), room, nodes })
    }

    /// Searches for a key. `compare` compares the key of a node with it; the node is completely
    /// written.
    ///
    /// # Panics
    /// If `compare` panics.
    pub(crate) fn search(
        &self,
        arena: &Arena,
        mut compare: impl FnMut(u32) -> KeyOrdering,
    ) -> Search {
        let mut place = [HEAD; LEVELS];
        // A tower that the level above found to be greater is not compared again.
        let (mut at, mut greater) = (HEAD, END);
        for level in (0..LEVELS).rev() {
            loop {
                // SAFETY: links of this level led to `at`, or links of a higher one, or it is HEAD.
                let next = unsafe { self.next(arena, at, level) };
                if next == END || next == greater {
                    break;
                }
                // SAFETY: this thread acquired the link to the tower.
                let node = unsafe { self.node_of(arena, next) };
                match compare(node) {
                    KeyOrdering::Less => at = next,
                    KeyOrdering::Equal => return Search::Found(node),
                    KeyOrdering::Greater => {
                        greater = next;
                        break;
                    }
                }
            }
            place[level] = at;
        }
        Search::Vacant(place)
    }

    /// Makes a node findable. `place` is where the search for its key ended. Only the writer calls
    /// this, with a node that is completely written, and links no other node after that search.
    pub(crate) fn link(&self, arena: &Arena, towers: &mut Towers, node: u32, place: &Place) {
        let levels = towers.levels_of(node);
        let tower = towers.used as u32;
        towers.used += cells(levels);
        let places = place.iter().take(levels).enumerate();
        // SAFETY: `levels_of` keeps the tower inside the list's part of the arena, and no other
        // thread knows these cells yet. Links of each level led the search to its place there.
        unsafe {
            self.at(arena, tower).write(AtomicU32::new(node));
            for (level, &before) in places.clone() {
                // Relaxed: only the writer stores links.
                let next = self.link_at(arena, before, level).load(Ordering::Relaxed);
                self.at(arena, tower + 1 + level as u32).write(AtomicU32::new(next));
            }
        }
        let relaxed = planted(Fault::RelaxedTower);
        let order = if relaxed { Ordering::Relaxed } else { Ordering::Release };
        for (level, &before) in places {
            // Release: a thread that sees the link sees the whole tower and the whole node.
            // SAFETY: as above.
            unsafe { self.link_at(arena, before, level) }.store(tower, order);
        }
    }

    /// Iterates over all nodes in their order.
    pub(crate) fn nodes<'a>(&'a self, arena: &'a Arena) -> impl Iterator<Item = u32> + 'a {
        let mut at = HEAD;
        std::iter::from_fn(move || {
            // SAFETY: links of level 0 led to `at`, or it is HEAD.
            at = unsafe { self.next(arena, at, 0) };
            // SAFETY: this thread acquired the link to the tower.
            (at != END).then(|| unsafe { self.node_of(arena, at) })
        })
    }

    /// Returns the tower after `tower` on a level.
    ///
    /// # Safety
    /// This thread acquired a link to the tower on this level or a higher one, or it is `HEAD`.
    #[inline]
    unsafe fn next(&self, arena: &Arena, tower: u32, level: usize) -> u32 {
        // SAFETY: by the caller's promise.
        let link = unsafe { self.link_at(arena, tower, level) };
        // Acquire: pairs with the Release in `link`, so the next tower is completely written.
        link.load(Ordering::Acquire)
    }

    /// Returns the link of a tower on a level.
    ///
    /// # Safety
    /// As [`SkipList::next`], or the caller is the writer.
    #[inline]
    unsafe fn link_at<'a>(&self, arena: &'a Arena, tower: u32, level: usize) -> &'a AtomicU32 {
        // SAFETY: a tower that is linked on a level has a cell for it and for each lower one.
        unsafe { self.at(arena, tower + 1 + level as u32).as_ref() }
    }

    /// Returns the number of a tower's node.
    ///
    /// # Safety
    /// This thread acquired a link to the tower.
    #[inline]
    unsafe fn node_of(&self, arena: &Arena, tower: u32) -> u32 {
        // SAFETY: the cell was written before the tower was linked.
        // Relaxed: it never changes.
        unsafe { self.at(arena, tower).as_ref() }.load(Ordering::Relaxed)
    }

    /// Returns the address of a cell.
    ///
    /// # Safety
    /// The cell lies in the list's part of the arena.
    #[inline]
    unsafe fn at(&self, arena: &Arena, cell: u32) -> NonNull<AtomicU32> {
        // SAFETY: by the caller's promise. `start` and with it each cell is aligned.
        unsafe { arena.at(self.start + cell as usize * CELL).cast() }
    }
}

impl Towers {
    /// Returns where the towers end, in bytes of the arena.
    pub(crate) fn used_until(&self) -> usize {
        self.start + self.used * CELL
    }

    /// Returns the number of levels of a node's tower: a random number that depends only on the
    /// node's own. Every later node keeps room for a tower of one level.
    fn levels_of(&self, node: u32) -> usize {
        let drawn = 1 + (scatter(node).trailing_zeros() / BRANCHING) as usize;
        let later_nodes = self.nodes.saturating_sub(node as usize + 1);
        let most = (self.room - self.used).saturating_sub(cells(0) + later_nodes * cells(1));
        assert!(most > 0, "more nodes than the list was made for");
        drawn.min(LEVELS).min(most)
    }
}

/// Scatters the bits of a number, so that no pattern in the order of arrival meets a pattern of
/// levels. The constants are those of the generator SplitMix64.
fn scatter(node: u32) -> u64 {
    let mut bits = (u64::from(node) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
