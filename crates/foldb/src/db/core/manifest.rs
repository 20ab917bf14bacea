//! The manifest: edits are appended to it, and a new one describes the whole state.

use std::sync::atomic::Ordering;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::tree::{KeyspaceTree, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::files::{Proof, remove};
use crate::key::SeqNo;
use crate::version::{CloseRecord, Edit, Manifest};

impl Core {
    /// Begins a new manifest if the manifest is long.
    pub(crate) fn roll_long_manifest(&self, tree: &mut Tree) -> Result<()> {
        if tree.manifest.is_long() { self.roll_manifest(tree) } else { Ok(()) }
    }

    /// Returns the last sequence number that the stored state has used.
    pub(crate) fn last_seqno(&self, tree: &Tree) -> SeqNo {
        self.published().max(tree.last_loaded)
    }

    /// Appends an edit to the manifest and syncs it.
    ///
    /// # Errors
    /// If the append fails, for example on a full disk, nothing changed and the caller may retry.
    /// If not even its bytes could be cleared, the files that the edit names stay: see
    /// `Standing::may_have_failed_edit`.
    /// If the sync fails, the database is poisoned. `Closed` if the database was closed, because
    /// the files may belong to another open.
    pub(crate) fn append_edit(&self, tree: &mut Tree, edit: &Edit) -> Result<()> {
        self.append_unsynced(tree, edit)?;
        tree.manifest.sync().inspect_err(|error| self.standing.poison(error))
    }

    /// Does the same as [`Core::append_edit`] without the sync, which the caller does.
    pub(crate) fn append_unsynced(&self, tree: &mut Tree, edit: &Edit) -> Result<()> {
        self.check_lock()?;
        self.standing.check_sound()?;
        if tree.manifest.is_closed() {
            self.begin_manifest(tree)?;
        }
        let before = tree.manifest.len();
        let appended = tree.manifest.append(edit);
        let fs = &*self.options.env.fs;
        self.standing.note_edit_in_doubt(tree.manifest.may_hold_failed_edit(fs));
        appended?;
        self.totals.add(Total::BytesManifest, tree.manifest.len() - before);
        Ok(())
    }

    /// Checks that the files still belong to this open.
    ///
    /// # Errors
    /// `Closed` if the database was closed, `Forked` in a fork of the process that opened it,
    /// `DirectoryLost` if the path leads elsewhere now.
    fn check_lock(&self) -> Result<()> {
        self.standing.check_process()?;
        let Some(owned) = self.ownership.hold() else {
            let message = "the database was closed during this call";
            return Err(Error::new(ErrorKind::Closed, message));
        };
        let checked = owned.check_place();
        checked.map_err(|error| Error::io(&self.names.current(), "change the database", &error))
    }

    /// Begins a new manifest that describes the current state, and removes the old one. If the new
    /// manifest cannot be created, the old one stays in force and the next edit tries again.
    ///
    /// # Errors
    /// If it is unknown which of the two manifests is in force, the database is poisoned.
    fn roll_manifest(&self, tree: &mut Tree) -> Result<()> {
        let begun = self.begin_manifest(tree);
        if self.standing.is_poisoned() { begun } else { Ok(()) }
    }

    /// Begins a new manifest that describes the current state, and removes the old one.
    ///
    /// # Errors
    /// If the new manifest cannot be created, or another program holds `CURRENT`, nothing changes.
    /// If it is unknown which of the two manifests is in force, the database is poisoned.
    pub(crate) fn begin_manifest(&self, tree: &mut Tree) -> Result<()> {
        self.check_lock()?;
        let number = self.new_file_number();
        let snapshot = self.describe(tree);
        let fs = &self.options.env.fs;
        let next = Manifest::begin(fs, &self.names, number, self.database, &snapshot)?;
        if self.last_close.is_in_force() {
            // A failure of this leaves the old manifest in force, so it poisons nothing.
            if let Err(error) = CloseRecord::invalidate(&**fs, &self.names) {
                next.discard(&**fs, &self.names);
                return Err(error);
            }
            self.last_close.end();
        }
        if let Err(error) = next.put_in_force(&**fs, &self.names) {
            match error.did_nothing() {
                true => next.discard(&**fs, &self.names),
                false => self.standing.poison(&error),
            }
            return Err(error);
        }
        let old = std::mem::replace(&mut tree.manifest, next);
        self.totals.add(Total::BytesManifest, tree.manifest.len());
        // If the old manifest cannot be removed, it wastes only a few bytes until the next open.
        let _best_effort = remove(&**fs, old.path(), Proof::Listed);
        Ok(())
    }

    /// Returns one edit that describes the whole state.
    pub(crate) fn describe(&self, tree: &Tree) -> Edit {
        // Relaxed: the files of the tree came in under its lock, behind their numbers.
        let next_file = self.next_file.load(Ordering::Relaxed);
        let tables = tree.keyspaces.values().flat_map(|own| own.version.tables());
        assert!(
            tables.map(|table| table.file.number).all(|number| number < next_file),
            "the next file gets the number of no other file"
        );
        Edit {
            database: Some(self.database),
            log: Some(tree.log),
            next_file: Some(next_file),
            next_run: Some(tree.next_run),
            last_seqno: Some(self.last_seqno(tree)),
            next_keyspace: Some(tree.next_keyspace),
            operators: self.registry.resolver().dynamic_definitions().cloned().collect(),
            totals: Some(self.totals.to_vec()),
            keyspaces: tree.keyspaces.values().map(KeyspaceTree::describe).collect(),
            dropped: Vec::new(),
            feed_end: self.feed.as_ref().and_then(|feed| feed.predecessor_of(tree.log)),
            time: Some(self.time.last_seen()).filter(|time| *time > 0),
        }
    }
}
