//! The hash-indexed chains under the foldb memtable.
//!
//! A memtable is a table of chains. A hash index leads to one 64-byte node per key.
//! The node holds the key's first version and a link to the newest; versions link to older ones.
//! Keys are sorted only when a cursor needs their order, and then only the new ones.
//!
//! If different bytes may be the same key ([`KeyOrder::Spelled`]), a skiplist replaces the hash
//! index, and each record keeps the spelling of its key.
//!
//! ```text
//!   index (256 shards)          arena: one reservation, written from both ends
//!   tag|node  ─────────────►  [node][node][node]───►      ◄───[version][value][version]
//!                                 │ newest                        ▲   │ older, jump
//!                                 └───────────────────────────────┘   └──► … ──► the node
//! ```
//!
//! The link *older* leads to the next older version. The link *jump* skips several versions, so a
//! reader finds the version of an old snapshot in a logarithmic number of steps.
//!
//! There is one [`Writer`] at a time, enforced by `&mut`, and any number of readers. Readers take
//! no lock and see a record whole or not at all. Memory is freed when the last reader drops the
//! [`Chains`], so bytes handed out ([`PinnedBytes`], [`Cursor`]) never move and never change. Only
//! an accumulator, a value of 8 bytes, may change; readers get a copy of it.
//!
//! Chains stay short in two ways. One atomic store may fold a write into the newest version in
//! place, if no reader can see the difference ([`Pins`] decides). And one *folded* version may
//! stand for several versions. These stay in memory, for readers older than the newest of them:
//!
//! ```text
//! newest ─► F.110 ── older ──────────────► .79 ─► …      reads at 110 and above
//!             └ unfolded ─► .110 ─► … .80 ─┘             reads at 80 to 109
//! ```
//!
//! Below the engine, only this crate and the mapped log of `foldb_env` contain `unsafe`; above it,
//! the C interface does. The public interface of this crate is safe, whatever the caller does.
//! Wrong use (another hash for the same key, say) gives wrong answers, never undefined behaviour.
//!
//! # Example
//! ```
//! use foldb_chains::{ArenaPool, Chains, KeyOrder};
//!
//! let pool = ArenaPool::new(64 << 20);
//! let (mut writer, chains) = Chains::create(&pool, 1 << 20, KeyOrder::Bytewise);
//! let hash = |key: &[u8]| key.iter().fold(7u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x9E3779B97F4A7C15));
//! writer.insert(hash(b"a"), b"a", 1, 1, 0, b"old").unwrap();
//! writer.insert(hash(b"a"), b"a", 2, 1, 0, b"new").unwrap();
//!
//! let node = chains.find(hash(b"a"), b"a").unwrap();
//! assert_eq!(node.versions(u64::MAX).next().unwrap().value, b"new");
//! assert_eq!(node.versions(1).next().unwrap().value, b"old");
//!
//! let mut cursor = chains.cursor(u64::MAX);
//! cursor.seek_to_first();
//! assert_eq!((cursor.key(), cursor.seqno()), (b"a".as_slice(), 2));
//! ```

#![warn(missing_docs)]

mod arena;
mod bytes;
mod chains;
mod create;
mod cursor;
mod ends;
mod foldable;
mod gone;
mod index;
mod layout;
mod lookahead;
mod node;
mod order;
mod pinned;
mod pins;
#[cfg_attr(not(loom), allow(dead_code))]
#[doc(hidden)]
pub mod planted;
mod prefetch;
mod skiplist;
mod sync;
mod versions;
mod writer;

pub use arena::ArenaPool;
pub use bytes::{ValueBytes, WordBytes};
pub use chains::Chains;
pub use cursor::{Cursor, Way};
pub use foldable::Foldable;
pub use gone::Cover;
pub use layout::{DELETED, MAX_SEQNO};
pub use node::Node;
pub use order::{CompareKeys, KeyOrder};
pub use pinned::PinnedBytes;
pub use pins::{ApplyPhase, Pinning, Pins};
pub use prefetch::{prefetch, prefetch_value, prefetch_words};
pub use versions::{Version, Versions};
pub use writer::{
    FoldWord, Full, Inserted, NewRecord, Writer, bytes_needed, bytes_with_spellings,
    folded_bytes_needed,
};
