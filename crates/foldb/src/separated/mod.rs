//! Separated values: what the tree keeps of a value that lies elsewhere.
//!
//! The tree holds its [`Address`], which never changes; [`record`] is the form of the value itself,
//! and [`references`] is what a table says of the values that it refers to. Nothing here opens a
//! file: tables and logs stand on this room as segments do.

pub(crate) mod address;
pub(crate) mod extents;
pub(crate) mod record;
pub(crate) mod references;

pub(crate) use address::{Address, SegmentId};
pub(crate) use extents::{Extent, Extents, MOST_PIECE, PIECE};
pub(crate) use record::{put_record, record_checksum};
pub(crate) use references::{References, ReferencesBuilder, ReferencesEntry, SegmentPieces};
