//! The layout of the arena.
//!
//! ```text
//! 0                                                         data_end           arena end
//! ├ node 0 ┬ node 1 ┬ … ─►  free  ◄─ … version, spill, version ┤ slot tables ─►    ┤
//! ```
//!
//! Nodes grow upward, so the node array *is* the key list in insertion order; everything else
//! grows downward from `data_end`; the memtable is full when they meet. Slot tables (see `index`)
//! have a region of their own, large enough for any number of nodes, so that a batch that fits
//! cannot fail half way. Versions and spills are addressed by a `u32` in units of 8 bytes, which
//! reaches 32 GiB.
//!
//! ```text
//! Node, 64 bytes, one cache line                     Version, 32 bytes and its value
//!  0 newest   u32 atomic   unit of newest version,    0 seqno << 8 | kind   u64
//!                          0: this node's own         8 older      u32 unit, 0: the node's own
//!  4 versions u32 atomic   how many                  12 jump       u32 unit, 0: the node's own
//!  8 seqno << 8 | kind     u64                       16 depth      u32 versions below
//! 16 key_len               u32                       20 operator   u32
//! 20 value_len             u32                       24 value_len  u32
//! 24 operator              u32                       28 unfolded   u32 unit, 0: not folded
//! 28 spill                 u32 unit                  32 value
//! 32 payload               32 bytes
//! ```
//!
//! `V` is the value of the node's first version, padded: a value of 1 to 8 bytes takes 8, so that
//! one atomic store can replace it (H2).
//!
//! ```text
//! V + key_len <= 32   payload = V, key
//! key_len <= 32       payload = key           spill = value
//! otherwise                                   spill = V, key
//! ```
//!
//! A folded version has a link to the newest version that it stands for, and one more word (H3):
//!
//! ```text
//! 28 unfolded   u32 unit
//! 32 seqno of the oldest of them << 8 | level   u64; level: one more than the highest of theirs
//! 40 value
//! ```
//!
//! If keys have several spellings, a word before each version tells which one was written. It is 0
//! for the spelling of the node. Other spellings follow the value of the first version that has
//! them:
//!
//! ```text
//! -8 length of the spelling << 32 | its unit   u64
//!  0 the version, its value, perhaps a spelling
//! ```

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::arena::PAGE;
use crate::index::bytes_for_nodes;
use crate::sync::{AtomicU32, Word, Written};

/// Largest sequence number a record may have: 56 bits, the kind has the other 8.
pub const MAX_SEQNO: u64 = (1 << 56) - 1;

/// The only kind of record with a meaning in this crate: a delete, whatever lies below. Cursors
/// learn to jump over runs of such keys.
pub const DELETED: u8 = 0;

/// Bytes per address.
pub(crate) const UNIT: usize = 8;

/// Bytes of key and value inside a node.
pub(crate) const PAYLOAD: usize = 32;

/// The address that means "the version inside the node". Node 0 lies there, so no version can.
pub(crate) const IN_NODE: u32 = 0;

/// Most bytes of records. With the slot tables that they may need, all bytes are addressable in
/// units, and fit into the address space of the machine.
const MAX_DATA_BYTES: usize = match usize::BITS {
    64.. => 1 << 34,
    _ => 1 << 29,
};

/// A key and its first version. Only the atomics, and a value of 8 bytes, change after the node is
/// published.
#[repr(C, align(64))]
pub(crate) struct NodeRecord {
    pub(crate) newest: AtomicU32,
    pub(crate) versions: AtomicU32,
    pub(crate) seqno_kind: u64,
    pub(crate) key_len: u32,
    pub(crate) value_len: u32,
    pub(crate) operator: u32,
    pub(crate) spill: u32,
    /// In a cell because its first word may hold a value of 8 bytes, which a later write may fold
    /// into.
    pub(crate) payload: UnsafeCell<[MaybeUninit<u8>; PAYLOAD]>,
    pub(crate) written: Written,
    pub(crate) word: Word,
}

/// Bytes of a node.
pub(crate) const NODE: usize = size_of::<NodeRecord>();

/// A further version; its value follows. It is written once, before it is published, except for a
/// value of 8 bytes.
#[repr(C, align(8))]
pub(crate) struct VersionRecord {
    pub(crate) seqno_kind: u64,
    pub(crate) older: u32,
    pub(crate) jump: u32,
    pub(crate) depth: u32,
    pub(crate) operator: u32,
    pub(crate) value_len: u32,
    pub(crate) unfolded: u32,
    pub(crate) written: Written,
    pub(crate) word: Word,
}

/// Bytes of a version without its value.
pub(crate) const VERSION: usize = size_of::<VersionRecord>();

/// Bytes between a folded version and its value.
pub(crate) const FOLDED_EXTRA: usize = 8;

/// Bytes of the word before a version, if keys have spellings.
pub(crate) const SPELLING: usize = 8;

/// Where the spelling of a version lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spelling {
    pub(crate) unit: u32,
    pub(crate) len: u32,
}

impl Spelling {
    /// The word of the node's spelling. Node 0 lies at unit 0, so no spelling can.
    pub(crate) const OF_NODE: u64 = 0;

    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.len) << 32 | u64::from(self.unit)
    }

    pub(crate) fn of_word(word: u64) -> Option<Spelling> {
        let spelling = Spelling { unit: word as u32, len: (word >> 32) as u32 };
        (word != Spelling::OF_NODE).then_some(spelling)
    }
}

/// The `unfolded` link of a version that was not folded. Node 0 lies there, so no version can.
pub(crate) const NOT_FOLDED: u32 = 0;

#[cfg(not(loom))]
const _: () = {
    assert!(NODE == 64 && std::mem::offset_of!(NodeRecord, payload) == 32);
    assert!(VERSION == 32);
};
const _: () = {
    let most = Regions::for_capacity(usize::MAX).end;
    assert!(most as u64 <= u32::MAX as u64 * UNIT as u64 && most <= isize::MAX as usize - PAGE);
};
const _: () = assert!(PAGE.is_multiple_of(align_of::<NodeRecord>()));
const _: () = assert!(NODE.is_multiple_of(UNIT) && VERSION.is_multiple_of(UNIT));

/// Packs sequence number and kind into one word; words compare like sequence numbers.
#[inline]
pub(crate) fn pack(seqno: u64, kind: u8) -> u64 {
    seqno << 8 | u64::from(kind)
}

/// Returns the largest packed word that a reader at `max_seqno` may see.
#[inline]
pub(crate) fn visible_up_to(max_seqno: u64) -> u64 {
    pack(max_seqno.min(MAX_SEQNO), u8::MAX)
}

/// Rounds `bytes` up to whole units.
#[inline]
pub(crate) fn round_up(bytes: usize) -> usize {
    (bytes + UNIT - 1) & !(UNIT - 1)
}

/// Returns the bytes of a value in front of a key: a small one has a word for itself.
#[inline]
fn padded(value_len: usize) -> usize {
    if value_len <= UNIT { round_up(value_len) } else { value_len }
}

/// Where key and first value of a node lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Both in the payload, the key from `key_at` on.
    Inside { key_at: usize },
    /// The key in the payload, the value spilled.
    KeyInside,
    /// Both spilled, the key from `key_at` on.
    Spilled { key_at: usize },
}

impl Placement {
    #[inline]
    pub(crate) fn of(key_len: usize, value_len: usize) -> Placement {
        let key_at = padded(value_len);
        if key_at + key_len <= PAYLOAD {
            Placement::Inside { key_at }
        } else if key_len <= PAYLOAD {
            Placement::KeyInside
        } else {
            Placement::Spilled { key_at }
        }
    }

    /// Returns the bytes that the key and first value take outside of the node.
    #[inline]
    pub(crate) fn spill_bytes(self, key_len: usize, value_len: usize) -> usize {
        match self {
            Placement::Inside { .. } => 0,
            Placement::KeyInside => round_up(value_len),
            Placement::Spilled { key_at } => round_up(key_at + key_len),
        }
    }
}

/// Returns the bytes of a further version with its value.
#[inline]
pub(crate) fn version_bytes(value_len: usize) -> usize {
    VERSION + round_up(value_len)
}

/// The regions of an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regions {
    /// End of nodes and downward region, start of the slot tables. A multiple of a node.
    pub(crate) data_end: usize,
    /// End of the arena.
    pub(crate) end: usize,
}

impl Regions {
    /// Makes room for `capacity` bytes of records, and the slot tables that they may need.
    pub(crate) const fn for_capacity(capacity: usize) -> Regions {
        let bytes = if capacity < MAX_DATA_BYTES { capacity } else { MAX_DATA_BYTES };
        let nodes = if bytes == 0 { 1 } else { bytes.div_ceil(NODE) };
        Regions { data_end: nodes * NODE, end: nodes * NODE + bytes_for_nodes(nodes) }
    }

    pub(crate) fn layout(self) -> Layout {
        match Layout::from_size_align(self.end, PAGE) {
            Ok(layout) => layout,
            Err(_) => panic!("an arena of {} bytes is beyond the address space", self.end),
        }
    }
}
