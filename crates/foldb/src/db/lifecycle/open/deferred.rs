//! An open on a full disk: the logged writes stay in memory and in their logs, because the disk has
//! no space for their tables.
//!
//! The writes of each log become a group of sealed memtables, as they were before the last stop. A
//! worker flushes them when there is space, and the log then goes. So such an open writes no more
//! than the beginnings of a log and a manifest.
//!
//! Invariant: the old logs are durable before a write is logged after them. A power loss must not
//! take an older write and leave a newer one.
//!
//! A log that replay refused is gone, durably, before a write is logged. The next replay would stop
//! there again, and refuse the newer write too:
//!
//! ```text
//! log 7: 1 2 3 (4 lost)    log 8: 5 6, refused    log 10, of this open: 4 5
//! ```

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::lifecycle::replay::Replayed;
use crate::db::state::buffers::SealedGroup;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::{Error, Result};
use crate::files::{Proof, remove};

impl Core {
    /// Keeps the logged writes, which were replayed log by log. The logs from `first_log` on stay
    /// needed. `next_log` takes the next writes.
    ///
    /// # Errors
    /// `Io` if a log cannot be synced, or one that replay refused cannot be removed.
    pub(crate) fn keep_replayed(
        &self,
        replayed: &Replayed,
        first_log: u64,
        next_log: u64,
    ) -> Result<()> {
        if let Some(refused) = replayed.refused_from {
            self.remove_refused(refused)?;
        }
        for (log, _) in self.logs.since(first_log) {
            let path = self.names.log(log);
            let synced = self.options.env.fs.open(&path).and_then(|log| log.sync());
            synced.map_err(|error| Error::io(&path, "sync the log", &error))?;
        }
        self.lock_tree().log = first_log;
        let keyspaces = self.keyspaces.all();
        assert!(
            replayed.groups.is_sorted_by(|older, newer| older.through <= newer.through),
            "memtables are flushed in the order of their writes"
        );
        assert!(
            replayed.groups.iter().all(|group| first_log <= group.log && group.log < next_log),
            "the writes of an older log do not need the new one"
        );
        let ends = replayed.groups.iter().skip(1).map(|group| group.log).chain([next_log]);
        for (group, next_log) in replayed.groups.iter().zip(ends) {
            let of = |own: &Arc<KeyspaceState>| (Arc::clone(own), group.memtables.get(&own.id));
            let memtables: Vec<_> = keyspaces
                .iter()
                .map(of)
                .flat_map(|(own, held)| {
                    held.into_iter().flatten().map(move |held| (Arc::clone(&own), Arc::clone(held)))
                })
                .collect();
            for (_, memtable) in &memtables {
                memtable.seal(group.through);
            }
            let bytes = memtables.iter().map(|(_, memtable)| memtable.bytes()).sum();
            self.sealed.push(SealedGroup {
                through: group.through,
                bytes,
                log_bytes: 0,
                next_log,
                unlogged: false,
                log: None,
                memtables,
            });
        }
        for keyspace in keyspaces {
            let groups = replayed.groups.iter().rev();
            let newest_first = groups.filter_map(|group| group.memtables.get(&keyspace.id));
            keyspace.view.hold(newest_first.flatten().cloned().collect());
        }
        Ok(())
    }

    /// Removes the logs that replay refused, durably. No sync ever covered them.
    fn remove_refused(&self, first: u64) -> Result<()> {
        let fs = &*self.options.env.fs;
        for (log, _) in self.logs.take_from(first) {
            let path = self.names.log(log);
            let removed = remove(fs, &path, Proof::Listed);
            removed.map_err(|error| Error::io(&path, "remove the log", &error))?;
        }
        let directory = self.names.directory();
        let synced = fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))
    }
}
