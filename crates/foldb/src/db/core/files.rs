//! Files: removal of those that no version and no reader refers to, and their statistics.

use crate::db::core::Core;
use crate::files::{FileKind, Proof, remove};

impl Core {
    /// Unlinks tables that were written for a keyspace that was dropped in the meantime.
    pub(crate) fn discard_tables(&self, numbers: impl IntoIterator<Item = u64>) {
        self.unlink(numbers.into_iter().map(FileKind::Table));
    }

    /// Unlinks files. Does nothing after the lock was released, because the files may belong to
    /// another open.
    fn unlink(&self, files: impl Iterator<Item = FileKind>) {
        if !self.standing.is_in_its_process() {
            return;
        }
        if let Some(_owned) = self.ownership.hold() {
            self.unlink_locked(files);
        }
    }

    /// Unlinks files. The caller holds the ownership of the directory.
    fn unlink_locked(&self, files: impl Iterator<Item = FileKind>) {
        let fs = &*self.options.env.fs;
        for file in files {
            let path = match file {
                FileKind::Archive(number) => {
                    // The rename may have failed when the log was archived.
                    let _best_effort = remove(fs, &self.names.log(number), Proof::Listed);
                    self.names.archive(number)
                }
                // A flush adopted the log again. The name will be thrown away once more.
                FileKind::Segment(number) if self.segment_files.is_in_use(number) => continue,
                FileKind::Segment(number) => self.names.segment(number),
                FileKind::Table(number) => {
                    debug_assert!(!self.shows_table(number), "readers need no removed table");
                    self.names.table(number)
                }
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

    /// Returns whether the tree of a keyspace has a table.
    fn shows_table(&self, number: u64) -> bool {
        self.keyspaces
            .all()
            .iter()
            .any(|own| own.view.load().version.tables().any(|table| table.file.number == number))
    }

    /// Unlinks tables that were not installed. The step writes them again when it is retried, and
    /// repeated attempts must not fill the disk. The tables stay if the manifest may name them.
    pub(crate) fn discard_uninstalled(&self, numbers: Vec<u64>) {
        if !self.standing.may_have_failed_edit() {
            self.discard_tables(numbers);
        }
    }

    /// Unlinks files that no version and no reader refers to. When the call returns, these files
    /// are gone, whichever thread unlinked them. After a failed sync they stay, because an edit on
    /// the medium may refer to them.
    pub(crate) fn remove_unreferenced_tables(&self) {
        let owned = self.ownership.hold();
        // A step that fails poisons the database before it drops its files, so the list of
        // unreferenced files is read first.
        let files = self.segment_files.trash().empty();
        if !self.standing.is_poisoned() && owned.is_some() {
            self.unlink_locked(files.into_iter());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use foldb_env::{Env, FileSystem, MemFs};

    use crate::files::FileKind;
    use crate::{Db, Options};

    /// `adopt, throw away, adopt again, unlink what was thrown away`: the second segment stays.
    #[test]
    fn a_log_that_is_adopted_again_keeps_the_name_that_was_thrown_away() {
        let fs = MemFs::new();
        let env = Env::in_memory(fs.clone());
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        let (core, path) = (db.core(), Path::new("db/000007.seg"));
        drop(fs.create(path).unwrap());
        let first = core.segment_files.get(7);
        first.set_obsolete(true);
        drop(first);
        let second = core.segment_files.get(7);
        core.remove_unreferenced_tables();
        assert!(fs.exists(path), "the second segment has this name");
        second.set_obsolete(true);
        drop(second);
        assert_eq!(core.segment_files.trash().empty(), [FileKind::Segment(7)], "thrown again");
        core.segment_files.trash().throw(FileKind::Segment(7));
        core.remove_unreferenced_tables();
        assert!(!fs.exists(path));
    }
}
