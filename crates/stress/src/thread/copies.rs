//! A thread's copies of the database: checkpoints, backups, read-only views. Each must hold what
//! the thread has written.

use std::path::Path;

use foldb::backup::Backups;

use super::Worker;
use crate::check::{self, Wrong, told};
use crate::coverage::Counted;

/// A visitor may restore the newest backup while the worker makes and deletes some.
const KEPT_BACKUPS: usize = 5;

impl Worker<'_> {
    /// Makes a checkpoint, and checks that this thread's keys in it equal the current ones.
    pub(super) fn checkpoint(&mut self) -> Result<(), Wrong> {
        let name = format!("checkpoint-{}-{}", self.life.life, self.thread);
        let path = self.life.database.with_extension(name);
        let _from_an_earlier_life = std::fs::remove_dir_all(&path);
        if !self.excused("a checkpoint failed", self.stage.db.checkpoint(&path).map(drop))? {
            let _what_it_left = std::fs::remove_dir_all(&path);
            return Ok(());
        }
        self.compare_copy("in a checkpoint", &path)?;
        std::fs::remove_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.counts.add(Counted::CheckpointCheck);
        Ok(())
    }

    /// Makes a backup, and checks that this thread's keys in it equal the current ones. Keeps some
    /// backups for visitors.
    pub(super) fn back_up(&mut self) -> Result<(), Wrong> {
        let Ok(_alone) = self.stage.around.backing_up.try_lock() else { return Ok(()) };
        let path = self.life.database.with_extension("backups");
        let backups = Backups::at(path, &self.stage.features.options());
        let restored = self.life.database.with_extension("restored");
        let _from_an_earlier_life = std::fs::remove_dir_all(&restored);
        let mut id = 0;
        let created = backups.create(&self.stage.db).map(|info| id = info.id);
        if !self.excused("a backup failed", created)? {
            return Ok(());
        }
        backups.restore(Some(id), &restored).map_err(told("a restore"))?;
        self.compare_copy("in a backup", &restored)?;
        let _the_next_backup_does = std::fs::remove_dir_all(&restored);
        let old = backups.list().map_err(told("the list of backups"))?;
        for old in &old[..old.len().saturating_sub(KEPT_BACKUPS)] {
            backups.delete(old.id).map_err(told("a delete of a backup"))?;
        }
        self.counts.add(Counted::BackupCheck);
        Ok(())
    }

    /// Opens the database read-only while its writers work.
    pub(super) fn read_only(&mut self) -> Result<(), Wrong> {
        self.compare_copy("opened to read only", &self.life.database)?;
        self.counts.add(Counted::ReadOnlyCheck);
        Ok(())
    }

    /// Checks that this thread's keys equal the current ones in the database at `path`.
    fn compare_copy(&self, what: &str, path: &Path) -> Result<(), Wrong> {
        let Some(copy) = self.stage.look(path)? else { return Ok(()) };
        check::own_keys(&copy, self.thread, &self.model)
            .and_then(|()| check::pairs(&copy).map(drop))
            .map_err(|wrong| format!("{what}, {wrong}"))
    }
}
