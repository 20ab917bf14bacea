//! Files: removal of those that no version and no reader refers to, and their statistics.

use std::sync::{Arc, PoisonError};

use crate::db::core::Core;
use crate::files::{FileKind, Proof, remove};
use crate::stats::SegmentStats;

impl Core {
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

    pub(crate) fn segment_stats(&self) -> SegmentStats {
        let mut stats = SegmentStats::default();
        for keyspace in self.all_keyspaces() {
            let version = Arc::clone(&keyspace.view.load().version);
            for file in version.segments.files().into_values() {
                stats.segments += file.segments.len() as u64;
                stats.files += 1;
                stats.bytes += file.end;
                stats.live_bytes += file.live;
                stats.dead_bytes += file.dead();
            }
        }
        stats
    }
}
