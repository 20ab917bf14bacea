//! A key with its chain of versions.
//!
//! Invariant: a node and all versions that its links lead to are completely written. After their
//! publication, only the two atomics of a node and the word of a value of 8 bytes change.

use std::cmp::Ordering as KeyOrdering;
use std::fmt;

use crate::bytes::{ValueBytes, WordBytes};
use crate::chains::{Chains, Index};
use crate::index::Probe;
use crate::layout::{
    FOLDED_EXTRA, IN_NODE, NOT_FOLDED, NodeRecord, Placement, SPELLING, Spelling, UNIT, VERSION,
    VersionRecord,
};
use crate::skiplist::{Search, SkipList};
use crate::sync::Ordering;

impl Chains {
    /// Returns the key's node, if it was ever inserted. `hash` is the hash that the writer got for
    /// it. In [`KeyOrder::Spelled`](crate::KeyOrder::Spelled), any spelling finds the key, and
    /// `hash` does not matter.
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<Node<'_>> {
        let index = match &self.index {
            Index::Hashed(index) => index,
            Index::Ordered(list) => return self.find_in(list, key),
        };
        // SAFETY: `probe` asks only about nodes of slots that it acquired.
        let is_key = |number| unsafe { self.node(number) }.key() == key;
        match index.probe(&self.arena, hash, is_key) {
            // SAFETY: as above.
            Probe::Found(number) => Some(unsafe { self.node(number) }),
            Probe::Vacant(_) => None,
        }
    }

    #[cold]
    fn find_in(&self, list: &SkipList, key: &[u8]) -> Option<Node<'_>> {
        // SAFETY: the search shows and returns only nodes of towers that it acquired.
        let compare = |node| unsafe { self.compare(node, key) };
        match list.search(&self.arena, compare) {
            // SAFETY: as above.
            Search::Found(number) => Some(unsafe { self.node(number) }),
            Search::Vacant(_) => None,
        }
    }

    /// Returns a node by its number.
    ///
    /// # Safety
    /// The number is below a length of the key list that this thread acquired, or from a slot or
    /// tower it acquired, or the caller is the writer that wrote the node.
    #[inline]
    pub(crate) unsafe fn node(&self, number: u32) -> Node<'_> {
        // SAFETY: a completely written node, of which only atomics and the cell may change.
        let record = unsafe { self.node_at(number).as_ref() };
        record.written.check();
        Node { chains: self, record }
    }

    /// Compares the key of a node with another key.
    ///
    /// # Safety
    /// As [`Chains::node`].
    pub(crate) unsafe fn compare(&self, number: u32, key: &[u8]) -> KeyOrdering {
        // SAFETY: by the caller's promise.
        self.order.keys().compare(unsafe { self.node(number) }.key(), key)
    }
}

/// A key with its chain.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub(crate) chains: &'a Chains,
    pub(crate) record: &'a NodeRecord,
}

impl<'a> Node<'a> {
    /// Returns the key, in the spelling of its first write.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        let (key_len, value_len) = (self.record.key_len as usize, self.record.value_len as usize);
        let from = match Placement::of(key_len, value_len) {
            Placement::Inside { key_at } => self.payload(key_at),
            Placement::KeyInside => self.payload(0),
            Placement::Spilled { key_at } => self.spill(key_at),
        };
        // SAFETY: the writer put the key there before it published the node.
        unsafe { std::slice::from_raw_parts(from, key_len) }
    }

    /// Returns the number of versions of the key, including those that a reader may not see yet.
    /// A folded version does not count; the versions that it stands for do.
    #[inline]
    pub fn version_count(&self) -> u32 {
        // Relaxed: for statistics; readers walk the links.
        self.record.versions.load(Ordering::Relaxed)
    }

    /// Returns the value of the version inside the node.
    #[inline]
    pub(crate) fn first_value(&self) -> ValueBytes<'a> {
        let (from, len) = self.first_value_at();
        // SAFETY: the writer put the value there before it published the node; one of 8 bytes has
        // a word of its own, which is accessed atomically only.
        unsafe {
            if len == UNIT {
                return ValueBytes::Word(WordBytes(self.record.word.load(from)));
            }
            ValueBytes::Lent(std::slice::from_raw_parts(from, len))
        }
    }

    /// Returns where the value of the version inside the node lies, and its length.
    #[inline]
    pub(crate) fn first_value_at(&self) -> (*const u8, usize) {
        let (key_len, value_len) = (self.record.key_len as usize, self.record.value_len as usize);
        let from = match Placement::of(key_len, value_len) {
            Placement::Inside { .. } => self.payload(0),
            Placement::KeyInside | Placement::Spilled { .. } => self.spill(0),
        };
        (from, value_len)
    }

    /// Returns a further version.
    ///
    /// # Safety
    /// `unit` is a link of this node's chain that this thread acquired, and not `IN_NODE`.
    #[inline]
    pub(crate) unsafe fn version(&self, unit: u32) -> &'a VersionRecord {
        debug_assert!(
            unit != IN_NODE && unit as usize * UNIT + VERSION <= self.chains.regions.data_end,
            "versions lie in the arena's part for data"
        );
        // SAFETY: the writer wrote the record before it published a link to it, and never again;
        // units are inside the arena and aligned like the record.
        let record = unsafe {
            let record: &VersionRecord = self.chains.arena.at(unit as usize * UNIT).cast().as_ref();
            record
        };
        record.written.check();
        record
    }

    /// Returns the value of a further version.
    ///
    /// # Safety
    /// As [`Node::version`].
    #[inline]
    pub(crate) unsafe fn value_of(&self, unit: u32) -> ValueBytes<'a> {
        // SAFETY: the value was written with its record; one of 8 bytes is a word, for records and
        // what follows them are aligned, and is accessed atomically only.
        unsafe {
            let (record, from) = (self.version(unit), self.value_at(unit));
            if record.value_len as usize == UNIT {
                return ValueBytes::Word(WordBytes(record.word.load(from)));
            }
            ValueBytes::Lent(std::slice::from_raw_parts(from, record.value_len as usize))
        }
    }

    /// Returns the key in the spelling of a version.
    ///
    /// # Safety
    /// `link` is an acquired link of this chain.
    #[inline]
    pub(crate) unsafe fn key_of(&self, link: u32) -> &'a [u8] {
        match &self.chains.index {
            Index::Hashed(_) => self.key(),
            // SAFETY: by the caller's promise.
            Index::Ordered(_) => unsafe { self.spelling_of(link) },
        }
    }

    /// Does [`Node::key_of`] where keys have spellings.
    ///
    /// # Safety
    /// As [`Node::key_of`], and the index is an ordered one.
    #[cold]
    unsafe fn spelling_of(self, link: u32) -> &'a [u8] {
        // SAFETY: by the caller's promise.
        match unsafe { self.own_spelling(link) } {
            None => self.key(),
            // SAFETY: the writer put the bytes there before it published the version.
            Some(Spelling { unit, len }) => unsafe {
                let from = self.chains.arena.at(unit as usize * UNIT);
                std::slice::from_raw_parts(from.as_ptr(), len as usize)
            },
        }
    }

    /// Returns where the spelling of a version lies; `None` if it is that of the node.
    ///
    /// # Safety
    /// As [`Node::spelling_of`].
    pub(crate) unsafe fn own_spelling(&self, link: u32) -> Option<Spelling> {
        if link == IN_NODE {
            return None;
        }
        // SAFETY: with an ordered index, a word before each further version was written with it.
        let word = unsafe {
            self.version(link).written.check();
            self.chains.arena.at(link as usize * UNIT - SPELLING).cast::<u64>().read()
        };
        Spelling::of_word(word)
    }

    /// Returns where the value of a further version lies.
    ///
    /// # Safety
    /// As [`Node::version`].
    #[inline]
    pub(crate) unsafe fn value_at(&self, unit: u32) -> *const u8 {
        // SAFETY: record and value lie in the arena.
        unsafe {
            let folded = self.version(unit).unfolded != NOT_FOLDED;
            let offset = VERSION + if folded { FOLDED_EXTRA } else { 0 };
            self.chains.arena.at(unit as usize * UNIT + offset).as_ptr()
        }
    }

    /// Returns the sequence number of the oldest version that a folded one stands for, and its
    /// level. For other versions it returns their own number and 0.
    ///
    /// # Safety
    /// As [`Node::version`].
    #[inline]
    pub(crate) unsafe fn first_and_level(&self, unit: u32) -> (u64, u8) {
        // SAFETY: the extra word was written with its record, aligned like it.
        unsafe {
            let record = self.version(unit);
            if record.unfolded == NOT_FOLDED {
                return (record.seqno_kind >> 8, 0);
            }
            let extra = self.chains.arena.at(unit as usize * UNIT + VERSION).cast::<u64>().read();
            (extra >> 8, extra as u8)
        }
    }

    #[inline]
    fn payload(&self, offset: usize) -> *const u8 {
        self.record.payload.get().cast::<u8>().wrapping_add(offset)
    }

    #[inline]
    fn spill(&self, offset: usize) -> *const u8 {
        // SAFETY: nodes without a spill have unit 0 here, others one inside the arena.
        let spill = unsafe { self.chains.arena.at(self.record.spill as usize * UNIT) };
        spill.as_ptr().wrapping_add(offset)
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node(\"{}\", {} versions)", self.key().escape_ascii(), self.version_count())
    }
}
