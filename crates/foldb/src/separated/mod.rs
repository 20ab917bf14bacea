//! Separated values: values that lie outside the tree. The tree keeps only their addresses.
//!
//! The tree holds a value's [`Address`], which never changes. [`record`] encodes the value itself.
//! [`references`] encodes which values a table refers to. This module opens no file, because
//! tables, logs and segments all build on it.

pub(crate) mod address;
pub(crate) mod extents;
pub(crate) mod record;
pub(crate) mod references;

pub(crate) use address::{Address, SegmentId};
pub(crate) use extents::{Extent, Extents, MOST_PIECE, PIECE};
pub(crate) use record::{put_record, record_checksum};
pub(crate) use references::{References, ReferencesBuilder, ReferencesEntry, SegmentPieces};
