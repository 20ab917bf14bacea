//! Separated values: values that lie outside the tree, and what the tree keeps of them.
//!
//! The tree holds a value's [`Address`], which never changes. [`record`] is the form of the value
//! itself, and [`references`] is what a table stores about the values that it refers to. This
//! module opens no file: tables, logs and segments all build on it.

pub(crate) mod address;
pub(crate) mod extents;
pub(crate) mod record;
pub(crate) mod references;

pub(crate) use address::{Address, SegmentId};
pub(crate) use extents::{Extent, Extents, MOST_PIECE, PIECE};
pub(crate) use record::{put_record, record_checksum};
pub(crate) use references::{References, ReferencesBuilder, ReferencesEntry, SegmentPieces};
