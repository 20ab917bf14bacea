//! Changes of the tree, one manifest edit at a time.
//!
//! Order of an install: sync the files, sync their directory, sync the edit, replace the view. Old
//! files are unlinked when their last reader drops them. A crash between any two steps leaves the
//! old tree or the new one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::key::SeqNo;
use crate::separated::SegmentId;
use crate::version::{
    Edit, KeyspaceEdit, TableRef, TreeEdit, Version, check_order, check_structure,
};

/// In builds with debug assertions, the largest number of keys for which each install checks the
/// order invariant key by key.
const DEEP_CHECK_ENTRIES: u64 = 20_000;

impl Core {
    /// Makes an edit durable and its versions the current ones. All its keyspaces must exist.
    ///
    /// # Errors
    /// See [`Core::append_edit`]. Readers then see no change.
    pub(crate) fn install(&self, tree: &mut Tree, edit: Edit) -> Result<()> {
        let is_installed = install_unless_seen(self, tree, edit, None)?;
        assert!(is_installed, "only an edit that names snapshots is refused");
        Ok(())
    }
}

/// Installs an edit as [`Core::install`] does, unless a snapshot above this number is live: it may
/// have read what the edit removes. Returns whether the edit was installed.
///
/// # Errors
/// As [`Core::install`].
pub(super) fn install_unless_seen(
    core: &Core,
    tree: &mut Tree,
    mut edit: Edit,
    newest_snapshot: Option<SeqNo>,
) -> Result<bool> {
    assert!(edit.log.is_none_or(|log| log >= tree.log), "a log that was given up stays so");
    let versions = versions_after(core, tree, &mut edit)?;
    assert!(changes_each_once(&edit), "each keyspace of an edit has one tree after it");
    if names_files(&edit) && !planted(Fault::SkipDirSync) {
        let directory = core.names.directory();
        let trash = core.segment_files.trash();
        let synced = trash.synced(|| core.options.env.fs.sync_dir(directory));
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
    }
    // Relaxed: the numbers of the edit's files were taken before ([`Core::next_file`]).
    edit.next_file = Some(core.next_file.load(Ordering::Relaxed));
    edit.next_run = Some(tree.next_run);
    edit.last_seqno = Some(core.last_seqno(tree));
    // A write between these two lines is in both after a kill: its replay counts it again.
    edit.totals = Some(core.totals.to_vec());
    for version in &versions {
        check_numbers(version, &edit);
    }
    let taking = match newest_snapshot.map(|newest| core.snapshots.keep_out_above(newest)) {
        Some(None) => return Ok(false),
        taking => taking,
    };
    core.append_edit(tree, &edit)?;
    tree.log = edit.log.unwrap_or(tree.log);
    let changes = edit.keyspaces.iter().zip(versions);
    let replaced: Vec<_> =
        changes.map(|(change, version)| replace(tree, change, version)).collect();
    drop(taking);
    note_changes(core, tree, &edit, &replaced);
    core.roll_long_manifest(tree)?;
    Ok(true)
}

/// Returns the versions that an edit makes, in the order of its keyspaces.
fn versions_after(core: &Core, tree: &Tree, edit: &mut Edit) -> Result<Vec<Arc<Version>>> {
    let versions = edit.keyspaces.iter_mut().map(|change| {
        let own = &tree.keyspaces[&change.id];
        let flushed = change.flushed_through.unwrap_or(own.flushed_through);
        assert!(flushed >= own.flushed_through, "writes in tables need no log again");
        change.dead_share = Some(own.dead_share.get());
        own.keyspace.guarded("a change of the tree", || {
            let comparator = &*own.keyspace.comparator;
            let version =
                Arc::new(own.version.apply(&change.tree, comparator, &core.segment_files)?);
            check_invariants(&own.keyspace, &version)?;
            Ok(version)
        })
    });
    versions.collect()
}

/// Notes what follows from an edit that readers see, and from the versions that it replaced.
fn note_changes(core: &Core, tree: &mut Tree, edit: &Edit, replaced: &[Arc<Version>]) {
    for (change, old) in edit.keyspaces.iter().zip(replaced) {
        let Some(own) = tree.keyspaces.get_mut(&change.id) else { continue };
        for inserted in &change.tree {
            if let TreeEdit::Insert { file, .. } = inserted
                && file.kept_apart > 0
            {
                core.snapshots.note_kept_apart(file.kept_apart);
            }
        }
        own.settled = false;
        own.trials.clear();
        core.background.rest.note_news();
        old.mark_obsolete_files(&own.version);
        own.keyspace.growing.remove_obsolete();
        own.keyspace.gc_backoff.changed();
        own.keyspace.lost_time.tree_changed();
        own.forget_gone_damage();
        core.set_pace(own);
    }
}

/// Shows a keyspace's new version to readers. Returns the old one.
fn replace(tree: &mut Tree, change: &KeyspaceEdit, version: Arc<Version>) -> Arc<Version> {
    let own = tree.keyspaces.get_mut(&change.id).expect("the keyspaces of an edit exist");
    own.flushed_through = change.flushed_through.unwrap_or(own.flushed_through);
    own.keyspace.view.install(Arc::clone(&version), own.flushed_through);
    let old = std::mem::replace(&mut own.version, version);
    debug_assert!(
        Arc::ptr_eq(&own.keyspace.view.load().version, &own.version),
        "readers see the tree that the manifest describes"
    );
    old
}

/// Panics if a number that the edit stores as unused is in use. A later open would give it to
/// another run, table or write.
fn check_numbers(version: &Version, edit: &Edit) {
    let next_run = edit.next_run.unwrap_or(u64::MAX);
    assert!(
        version.runs().all(|(_, run)| run.id < next_run),
        "the next run has a number of its own"
    );
    if cfg!(debug_assertions) {
        let next_file = edit.next_file.unwrap_or(u64::MAX);
        let last_seqno = edit.last_seqno.unwrap_or(SeqNo::MAX);
        for TableRef { file, .. } in version.tables() {
            assert!(file.number < next_file, "the next file has a number of its own: {file:?}");
            assert!(file.largest_seqno <= last_seqno, "a table holds no future write: {file:?}");
        }
    }
}

fn check_invariants(keyspace: &KeyspaceState, version: &Version) -> Result<()> {
    assert_eq!(version.levels.len(), keyspace.num_levels, "a tree keeps its number of levels");
    check_structure(version, &*keyspace.comparator);
    if cfg!(debug_assertions) {
        check_references(version);
        let entries: u64 = version.tables().map(|table| table.file.entries).sum();
        let ranges: u64 = version.tables().map(|table| table.file.range_deletes).sum();
        // The check compares every key with every range tombstone.
        if (entries + ranges) * (1 + ranges / 32) <= DEEP_CHECK_ENTRIES {
            // Damage of a table that the edit does not read concerns the readers of that table.
            let checked = check_order(version, &keyspace.tables, &*keyspace.comparator);
            return checked.or_else(|error| match error.kind() {
                ErrorKind::Corruption => Ok(()),
                _ => Err(error),
            });
        }
    }
    Ok(())
}

/// Checks that each value segment counts the tables and the bytes that refer to it. Garbage
/// collection takes what the counts leave for dead.
fn check_references(version: &Version) {
    let mut files = HashSet::new();
    let mut referenced: HashMap<SegmentId, u64> = HashMap::new();
    for TableRef { file, .. } in version.tables() {
        if files.insert(file.number) {
            for &(segment, bytes) in &*file.references {
                *referenced.entry(segment).or_default() += bytes;
            }
        }
    }
    for segment in version.segments.iter() {
        let id = segment.placement.segment;
        let found = referenced.remove(&id).unwrap_or(0);
        assert_eq!(segment.referenced(), found, "bytes of segment {id} that tables refer to");
    }
    assert!(referenced.is_empty(), "tables refer to segments that are not there: {referenced:?}");
}

fn changes_each_once(edit: &Edit) -> bool {
    let mut ids: Vec<_> = edit.keyspaces.iter().map(|change| change.id).collect();
    ids.sort_unstable();
    ids.is_sorted_by(|a, b| a < b)
}

/// Returns whether the edit names files whose names may not be durable yet.
fn names_files(edit: &Edit) -> bool {
    let mut changes = edit.keyspaces.iter().flat_map(|keyspace| &keyspace.tree);
    edit.log.is_some()
        || changes.any(|change| matches!(change, TreeEdit::Insert { .. } | TreeEdit::Place(_)))
}
