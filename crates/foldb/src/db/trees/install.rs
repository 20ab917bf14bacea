//! Changes of the tree, one manifest edit at a time.
//!
//! Order of an install: sync the files, sync their directory, sync the edit, replace the view. Old
//! files are unlinked when their last reader drops them. A crash between any two steps leaves the
//! old tree or the new one.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::KeyspaceTree;
use crate::db::state::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::files::FileKind;
use crate::files::{Proof, remove};
use crate::key::SeqNo;
use crate::version::{Edit, Manifest, TreeEdit, Version, check_order, check_structure};

/// In builds with debug assertions, the largest number of keys for which each install checks the
/// order invariant key by key.
const DEEP_CHECK_ENTRIES: u64 = 20_000;

impl Core {
    /// Makes an edit durable and its versions the current ones. All its keyspaces must exist.
    ///
    /// # Errors
    /// See [`Core::append_edit`]. Readers then see no change.
    pub(crate) fn install(&self, tree: &mut Tree, mut edit: Edit) -> Result<()> {
        let mut versions = Vec::with_capacity(edit.keyspaces.len());
        for change in &mut edit.keyspaces {
            let own = &tree.keyspaces[&change.id];
            versions.push(own.keyspace.guarded("a change of the tree", || {
                let comparator = &*own.keyspace.comparator;
                let version =
                    Arc::new(own.version.apply(&change.tree, comparator, &self.segment_files)?);
                check_invariants(&own.keyspace, &version)?;
                Ok(version)
            })?);
            change.dead_share = Some(own.dead_share.get());
        }
        if names_files(&edit) && !planted(Fault::SkipDirSync) {
            let directory = self.names.directory();
            let trash = self.segment_files.trash();
            let synced = trash.synced(|| self.options.env.fs.sync_dir(directory));
            synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
        }
        edit.next_file = Some(self.next_file.load(Ordering::Relaxed));
        edit.next_run = Some(tree.next_run);
        edit.last_seqno = Some(self.last_seqno(tree));
        edit.totals = Some(self.totals.to_vec());
        self.append_edit(tree, &edit)?;
        tree.log = edit.log.unwrap_or(tree.log);
        for (change, version) in edit.keyspaces.iter().zip(versions) {
            let Some(own) = tree.keyspaces.get_mut(&change.id) else { continue };
            let old = std::mem::replace(&mut own.version, Arc::clone(&version));
            for inserted in &change.tree {
                if let TreeEdit::Insert { file, .. } = inserted
                    && file.kept_apart > 0
                {
                    self.snapshots.note_kept_apart(file.kept_apart);
                }
            }
            own.flushed_through = change.flushed_through.unwrap_or(own.flushed_through);
            own.settled = false;
            self.background.note_news();
            own.keyspace.view.install(Arc::clone(&version), own.flushed_through);
            old.mark_obsolete_files(&version);
            own.keyspace.growing.remove_obsolete();
            own.keyspace.gc_turn.changed();
            own.keyspace.read_account.tree_changed();
            own.forget_gone_damage();
            self.set_pace(own);
        }
        self.roll_long_manifest(tree)
    }

    /// Begins a new manifest if the manifest is long.
    pub(crate) fn roll_long_manifest(&self, tree: &mut Tree) -> Result<()> {
        if tree.manifest.is_long() { self.roll_manifest(tree) } else { Ok(()) }
    }

    /// Returns the last sequence number that the stored state has used.
    fn last_seqno(&self, tree: &Tree) -> SeqNo {
        self.published().max(tree.last_loaded)
    }

    /// Appends an edit to the manifest and syncs it.
    ///
    /// # Errors
    /// If the append fails, for example on a full disk, nothing changed and the caller may retry.
    /// If the sync fails, the database is poisoned. `Closed` if the database was closed, because
    /// the files may belong to another open.
    pub(crate) fn append_edit(&self, tree: &mut Tree, edit: &Edit) -> Result<()> {
        self.append_unsynced(tree, edit)?;
        tree.manifest.sync().inspect_err(|error| self.poison(error))
    }

    /// Does the same as [`Core::append_edit`] without the sync, which the caller does.
    pub(crate) fn append_unsynced(&self, tree: &mut Tree, edit: &Edit) -> Result<()> {
        self.check_lock()?;
        self.check_sound()?;
        let before = tree.manifest.len();
        tree.manifest.append(edit)?;
        self.totals.add(Total::BytesManifest, tree.manifest.len() - before);
        Ok(())
    }

    /// Checks that the files still belong to this open.
    ///
    /// # Errors
    /// `Closed` if the database was closed, `Forked` in a fork of the process that opened it,
    /// `DirectoryLost` if the path leads elsewhere now.
    fn check_lock(&self) -> Result<()> {
        self.check_process()?;
        match &*self.lock.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lock) => match lock.place().map_or(Ok(()), |place| place.check()) {
                Ok(()) => Ok(()),
                Err(error) => Err(Error::io(&self.names.current(), "change the database", &error)),
            },
            None => Err(Error::new(ErrorKind::Closed, "the database was closed during this call")),
        }
    }

    /// Begins a new manifest that describes the current state, and removes the old one. If the new
    /// manifest cannot be created, the old one stays in force and the next edit tries again.
    ///
    /// # Errors
    /// If it is unknown which of the two manifests is in force, the database is poisoned.
    fn roll_manifest(&self, tree: &mut Tree) -> Result<()> {
        let begun = self.begin_manifest(tree);
        if self.poison.get().is_some() { begun } else { Ok(()) }
    }

    /// Begins a new manifest that describes the current state, and removes the old one.
    ///
    /// # Errors
    /// If the new manifest cannot be created, nothing changes. If it is unknown which of the two
    /// manifests is in force, the database is poisoned.
    pub(crate) fn begin_manifest(&self, tree: &mut Tree) -> Result<()> {
        self.check_lock()?;
        let number = self.new_file_number();
        let snapshot = self.describe(tree);
        let fs = &self.options.env.fs;
        let next = Manifest::begin(fs, &self.names, number, self.database, &snapshot)?;
        next.put_in_force(&**fs, &self.names).inspect_err(|error| self.poison(error))?;
        let old = std::mem::replace(&mut tree.manifest, next);
        self.totals.add(Total::BytesManifest, tree.manifest.len());
        // If the old manifest cannot be removed, it wastes only a few bytes until the next open.
        let _best_effort = remove(&**fs, old.path(), Proof::Listed);
        Ok(())
    }

    /// Returns one edit that describes the whole state.
    pub(crate) fn describe(&self, tree: &Tree) -> Edit {
        Edit {
            database: Some(self.database),
            log: Some(tree.log),
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            next_run: Some(tree.next_run),
            last_seqno: Some(self.last_seqno(tree)),
            next_keyspace: Some(tree.next_keyspace),
            operators: self.registry.resolver().dynamic_definitions().cloned().collect(),
            totals: Some(self.totals.to_vec()),
            keyspaces: tree.keyspaces.values().map(KeyspaceTree::describe).collect(),
            dropped: Vec::new(),
            feed_end: self.feed_end_before(tree.log),
            time: Some(self.time.last_seen()).filter(|time| *time > 0),
        }
    }

    /// Unlinks tables that were written for a keyspace that was dropped in the meantime.
    pub(crate) fn discard_tables(&self, numbers: impl IntoIterator<Item = u64>) {
        self.unlink(numbers.into_iter().map(FileKind::Table));
    }

    /// Unlinks files. Does nothing after the lock was released, because the files may belong to
    /// another open.
    fn unlink(&self, files: impl Iterator<Item = FileKind>) {
        if !self.process.is_current() {
            return;
        }
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_some() {
            self.unlink_locked(files);
        }
    }

    /// Unlinks files. The caller has locked `self.lock`, which holds the directory's lock.
    fn unlink_locked(&self, files: impl Iterator<Item = FileKind>) {
        let fs = &*self.options.env.fs;
        for file in files {
            let path = match file {
                FileKind::Archive(number) => {
                    // The rename may have failed when the log was archived.
                    let _best_effort = remove(fs, &self.names.log(number), Proof::Listed);
                    self.names.archive(number)
                }
                FileKind::Segment(number) => self.names.segment(number),
                FileKind::Table(number) => self.names.table(number),
                _ => continue,
            };
            // A file that cannot be unlinked now is removed at the next open.
            let removed = remove(fs, &path, Proof::Listed);
            if let FileKind::Table(number) = file {
                let trash = self.segment_files.trash();
                trash.note_gone(number);
                if removed.is_ok() {
                    trash.note_unlinked(number);
                }
            }
        }
    }

    /// Unlinks tables that were not installed. The step writes them again when it is retried, and
    /// repeated attempts must not fill the disk. After a failed sync the tables stay, because the
    /// manifest may name them.
    pub(crate) fn discard_uninstalled(&self, numbers: Vec<u64>) {
        if self.poison.get().is_none() {
            self.discard_tables(numbers);
        }
    }

    /// Unlinks files that no version and no reader refers to. When the call returns, these files
    /// are gone, whichever thread unlinked them. After a failed sync they stay, because an edit on
    /// the medium may refer to them.
    pub(crate) fn remove_unreferenced_tables(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // A step that fails poisons the database before it drops its files, so the list of
        // unreferenced files is read first.
        let files = self.segment_files.trash().empty();
        if self.poison.get().is_none() && lock.is_some() {
            self.unlink_locked(files.into_iter());
        }
    }
}

fn check_invariants(keyspace: &KeyspaceState, version: &Version) -> Result<()> {
    check_structure(version, &*keyspace.comparator);
    if cfg!(debug_assertions) {
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

/// Returns whether the edit names files whose names may not be durable yet.
fn names_files(edit: &Edit) -> bool {
    let mut changes = edit.keyspaces.iter().flat_map(|keyspace| &keyspace.tree);
    edit.log.is_some()
        || changes.any(|change| matches!(change, TreeEdit::Insert { .. } | TreeEdit::Place(_)))
}
