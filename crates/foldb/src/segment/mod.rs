//! Value segments: large values, stored apart from the tables. Compactions do not copy them.
//!
//! A flush or compaction separates a large value: it writes the value to a segment. The tree keeps
//! the value's [`Address`], which never changes. A *segment* is a section of a *segment file*.
//! Files grow by a section at each flush ([`writer`]) until they have `segment_size` bytes.
//!
//! ```text
//! table  k1 -> (7, 0)  k2 -> (9, 0)  k3 -> (7, 300)         file 31: | segment 7 | segment 9 |
//! ```
//!
//! The live values are those that the tables of a version refer to ([`references`]). A version
//! knows where its segments lie and how many bytes of each are live ([`map`]). A file is removed
//! when tables refer to none of its segments. Garbage collection (`gc`) rewrites other files
//! without their dead values. In the new file, values keep their positions, and the next version
//! finds the segment in that file. A rewrite changes no address and no table, so it cannot undo a
//! concurrent write (H6). Readers of an older version continue in the old file.
//!
//! Reading order: [`address`], [`format`], [`extents`], [`references`], [`map`]; then [`writer`],
//! [`open`], [`scan`]; then `gc`.

mod adopted;
#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
pub(crate) mod file;
pub(crate) mod format;
pub(crate) mod hints;
pub(crate) mod logged;
pub(crate) mod map;
pub(crate) mod open;
pub(crate) mod record_check;
mod salvage;
mod scan;
pub(crate) mod section;
mod sections;
pub(crate) mod tails;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub(crate) use adopted::AdoptedLog;
pub(crate) use file::SegmentFiles;
pub(crate) use format::{FILE_HEADER_LEN as SEGMENT_HEADER_LEN, FileHeader as SegmentHeader};
pub(crate) use map::{FileUse, Placement, SegmentMap};
pub(crate) use open::{OpenFile as OpenSegment, OpenSegments};
pub(crate) use scan::ValueReader;
pub(crate) use section::WriterContext;
pub(crate) use sections::FoundSection;
pub(crate) use writer::{GrowingFiles, NewSegments, Separation, ValueWriter};
