//! The tree's shape: immutable versions, the edits that lead from one version to the next, and the
//! manifest that stores the edits.
//!
//! Invariant (H4): for each key, a walk over levels from the top and runs newest first never meets
//! a larger sequence number after a smaller one. Tombstones count as records.

mod apply;
mod bounds;
mod closed;
mod edit;
mod file;
mod keyspace_edit;
mod level;
mod manifest;
mod open_tables;
mod order;
#[cfg(test)]
mod tests;

pub(crate) use bounds::{Key, KeyRange, Upper};
pub(crate) use closed::{CloseRecord, Known as CloseKnown};
pub(crate) use edit::{Edit, TreeEdit};
#[cfg(test)]
pub(crate) use file::FileMeta;
pub(crate) use file::{FileFacts, has_much_expired};
pub(crate) use keyspace_edit::KeyspaceEdit;
pub(crate) use level::{Level, Run, RunId, TableRef, Version};
pub(crate) use manifest::{Manifest, Recovered, manifest_in_force, refuse_other_manifest};
pub(crate) use open_tables::OpenTables;
pub(crate) use order::{check_order, check_structure};
