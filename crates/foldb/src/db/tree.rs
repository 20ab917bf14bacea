//! Changing the tree: one manifest edit at a time.
//!
//! Order of an install: files synced, their directory synced, edit synced, view replaced, old files
//! unlinked when their last reader lets go. A crash between any two leaves the old tree or the new.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::compaction::job::Job;
use crate::compaction::policy::DeadShare;
use crate::db::core::Core;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::memtable::Memtable;
use crate::totals::Total;
use crate::version::{Edit, Manifest, RunId, TreeEdit, Version, check_order, check_structure};

/// The newest version and what is being done to it.
pub(crate) struct Tree {
    pub(crate) manifest: Manifest,
    pub(crate) version: Arc<Version>,
    pub(crate) next_run: RunId,
    /// Jobs whose slices are being made, so that no two share a run.
    pub(crate) running: Vec<Job>,
    /// First log that is needed after a crash.
    pub(crate) log: u64,
    /// Writes up to here need no log.
    pub(crate) flushed_through: u64,
    /// How much of what reached the oldest data was dead weight there.
    pub(crate) dead_share: DeadShare,
    /// Last sequence number when a worker last found nothing to do.
    pub(crate) idle_since: u64,
}

/// Keys in the tree up to which every install checks the order invariant key by key, in builds with
/// debug assertions.
const DEEP_CHECK_ENTRIES: u64 = 20_000;

impl Core {
    /// Makes an edit durable and its version the current one.
    ///
    /// # Errors
    /// Of the manifest: see [`Core::append_edit`]. Nothing changed for readers then.
    pub(crate) fn install(
        &self,
        tree: &mut Tree,
        mut edit: Edit,
        flushed: &[Arc<Memtable>],
    ) -> Result<()> {
        let version = Arc::new(tree.version.apply(&edit.tree, &*self.comparator, &self.trash)?);
        self.check_invariants(&version)?;
        if names_files(&edit) && !planted(Fault::SkipDirSync) {
            let directory = self.names.directory();
            let synced = self.options.env.fs.sync_dir(directory);
            synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
        }
        edit.next_file = Some(self.next_file.load(Ordering::Relaxed));
        edit.next_run = Some(tree.next_run);
        edit.last_seqno = Some(self.published());
        edit.dead_share = Some(tree.dead_share.get());
        edit.totals = Some(self.totals.to_vec());
        self.append_edit(tree, &edit)?;
        let old = std::mem::replace(&mut tree.version, Arc::clone(&version));
        if let Some(log) = edit.log {
            tree.log = log;
        }
        if let Some((_, seqno)) = edit.flushed_through {
            tree.flushed_through = seqno;
        }
        self.view.install(Arc::clone(&version), flushed);
        old.mark_obsolete_files(&version);
        if tree.manifest.is_long() {
            self.roll_manifest(tree)?;
        }
        Ok(())
    }

    /// Makes an edit durable.
    ///
    /// # Errors
    /// If it could not be appended (a full disk, say) nothing happened, and it may be tried again; if
    /// it could not be synced writes are refused from now on.
    pub(crate) fn append_edit(&self, tree: &mut Tree, edit: &Edit) -> Result<()> {
        self.check_sound()?;
        let before = tree.manifest.len();
        tree.manifest.append(edit)?;
        self.totals.add(Total::BytesManifest, tree.manifest.len() - before);
        tree.manifest.sync().inspect_err(|error| self.poison(error))
    }

    /// Begins a new manifest that describes the current state, and removes the old one. If it cannot
    /// be begun the old one stays in force, and the next edit tries again.
    ///
    /// # Errors
    /// When it is unknown which of the two is in force: writes are refused.
    fn roll_manifest(&self, tree: &mut Tree) -> Result<()> {
        let number = self.new_file_number();
        let snapshot = self.describe(tree);
        let fs = &self.options.env.fs;
        let Ok(next) = Manifest::begin(fs, &self.names, number, self.database, &snapshot) else {
            let _best_effort = fs.remove(&self.names.manifest(number));
            return Ok(());
        };
        next.put_in_force(&**fs, &self.names).inspect_err(|error| self.poison(error))?;
        let old = std::mem::replace(&mut tree.manifest, next);
        self.totals.add(Total::BytesManifest, tree.manifest.len());
        // An old manifest that stays is only a few bytes too many; the next open removes it.
        let _best_effort = fs.remove(old.path());
        Ok(())
    }

    /// One edit that describes everything.
    pub(crate) fn describe(&self, tree: &Tree) -> Edit {
        Edit {
            comparator: Some(self.comparator.name().to_owned()),
            database: Some(self.database),
            num_levels: Some(self.options.num_levels as u64),
            log: Some(tree.log),
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            next_run: Some(tree.next_run),
            last_seqno: Some(self.published()),
            flushed_through: Some((crate::key::DEFAULT_KEYSPACE, tree.flushed_through)),
            operators: self.registry.resolver().dynamic_definitions().cloned().collect(),
            default_operator: self.default_operator.as_ref().map(|operator| operator.id),
            tree: tree.version.describe(),
            dead_share: Some(tree.dead_share.get()),
            totals: Some(self.totals.to_vec()),
        }
    }

    /// Unlinks tables that nobody refers to any more.
    pub(crate) fn remove_unreferenced_tables(&self) {
        for number in self.trash.empty() {
            // A table that cannot be unlinked now is removed at the next open.
            let _best_effort = self.options.env.fs.remove(&self.names.table(number));
        }
    }

    fn check_invariants(&self, version: &Version) -> Result<()> {
        check_structure(version, &*self.comparator);
        if cfg!(debug_assertions) {
            let entries: u64 = version.tables().map(|table| table.file.entries).sum();
            if entries <= DEEP_CHECK_ENTRIES {
                check_order(version, &self.tables, &*self.comparator)?;
            }
        }
        Ok(())
    }
}

/// Whether the edit names files whose names may not be durable yet.
fn names_files(edit: &Edit) -> bool {
    edit.log.is_some() || edit.tree.iter().any(|change| matches!(change, TreeEdit::Insert { .. }))
}
