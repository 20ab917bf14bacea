//! Tables: sorted, immutable files of records.
//!
//! A [`TableBuilder`] writes a table once, record by record in order (key ascending, seqno
//! descending). Any number of threads read it through a [`TableReader`]: point reads
//! ([`TableReader::get`], after a look at the filter), and ordered walks ([`TableCursor`]).
//!
//! Records lie in sub-blocks of about 4 KiB. Each sub-block is a *frame* with its own codec and
//! checksum, and is read and cached alone. A *block* of the configured size is several sub-blocks
//! and a *directory* of them; the *top index* finds the block. So a large `block_size` makes the
//! top index small without making a point read large (H24).
//!
//! Invariant: every byte that is read was checksummed, with the file's number and the offset as
//! seed. Damaged, truncated or misplaced bytes are an error, never a panic and never a wrong
//! record.
//!
//! Range tombstones have a frame of their own ([`tombstone_block`]), which is read when the table
//! is opened. The filter does not know the keys they cover: a table whose filter rejects a key may
//! still hold a tombstone that deletes it.
//!
//! Reading order: [`entry`] (one record), [`data_block`], [`frame`], [`index`], [`filter`],
//! [`policy_filter`], [`properties`], [`footer`]; then [`builder`], [`blocks`], [`reader`],
//! [`kept_block`], [`slots`], [`fetch`], [`cursor`].

mod block_builder;
mod block_writer;
mod blocks;
mod builder;
mod cache;
mod chunk;
mod cursor;
mod custom_cache;
mod data_block;
#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
mod entry;
pub(crate) mod expiry;
mod fetch;
mod filter;
mod footer;
mod frame;
mod frame_search;
mod frame_writer;
mod hash_list;
mod helper;
mod index;
mod kept_block;
mod key_buffer;
mod later_syncs;
mod order;
mod policy_filter;
mod position;
mod properties;
mod read_window;
mod reader;
mod references;
mod salvage;
mod samples;
mod separator;
mod slots;
mod snappy;
mod sorted_reads;
mod source;
mod tombstone_block;
mod verify;
pub(crate) mod zstd;

#[cfg(test)]
mod tests;

pub(crate) use builder::TableSummary;
pub use builder::{TableBuilder, TableBuilderOptions};
pub use cache::BlockCache;
pub(crate) use cache::BlockStore;
pub use cursor::{CursorOptions, TableCursor};
pub use custom_cache::{CustomCache, SharedBlock};
pub(crate) use helper::HELPER_BYTES;
pub(crate) use later_syncs::LaterSyncs;
pub(crate) use properties::{Loaded, Piece, Surroundings};
pub(crate) use read_window::READAHEAD;
pub(crate) use reader::Approach;
pub use reader::TableReader;
pub(crate) use references::ReferencesReader;
pub(crate) use salvage::{Gap, salvage};
pub(crate) use sorted_reads::SortedReads;
pub(crate) use source::LARGE_BLOCK;
