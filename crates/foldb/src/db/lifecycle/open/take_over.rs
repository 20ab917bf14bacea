//! The logged writes become tables, which one edit adds to the trees together with the number of
//! the new log.
//!
//! The logs may hold more than fits into memory. Then the first replay applied only a part of them.
//! That part is flushed, and a second replay flushes each further share of memory that it fills:
//!
//! ```text
//! first replay    apply ████ then only check ┊┊┊┊┊┊┊┊     one share of memory
//! second replay   flush ████ apply ████ flush  apply ██ flush        edit: all tables, new log
//! ```
//!
//! Each flush sees the tables of those before it, which are durable by then. No manifest names them
//! before the one edit, so after a crash the next open removes them and replays all logs again.
//! Nothing expires in these flushes, because the rest of the logs may have renewed it:
//!
//! ```text
//! a lives 10 seconds from its last write   logs: a.PUT@0 ┊ a.MERGE@8   open at 12: a lives to 18
//! ```

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::lifecycle::replay::{
    Memtables, Replay, ReplayKeyspace, Replayed, WhenFull, needed_logs, replay_logs,
};
use crate::db::state::announced::Announced;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::writer::WriterState;
use crate::db::trees::flush::{Flushed, Written, new_level0_run};
use crate::error::{Error, Result};
use crate::files::{FileKind, Identity, Proof, remove};
use crate::key::{KeyspaceId, MAX_SEQNO, SeqNo};
use crate::table::LaterSyncs;
use crate::version::{CloseRecord, Version};
use crate::wal::Predecessor;

/// The logs that an open replays.
pub(super) struct StoredLogs {
    /// The first log with writes that no table holds.
    pub(super) first: u64,
    /// All logs in the directory, ascending.
    pub(super) on_disk: Vec<u64>,
    pub(super) closed: Option<CloseRecord>,
}

/// Tables of logged writes that no edit has added yet.
struct Pending {
    /// Each keyspace with its tree, and the tables among `flushed` that are durable.
    keyspaces: BTreeMap<KeyspaceId, (Arc<KeyspaceState>, Arc<Version>)>,
    /// Oldest first.
    flushed: Vec<Flushed>,
    /// The number of those that are durable.
    durable: usize,
}

impl Core {
    /// Begins the log of an open with what its records may need. `announced`: the keyspaces that
    /// the log before it announced, if they may not be the ones that exist.
    fn begin_log(
        &self,
        predecessor: Option<Predecessor>,
        announced: Option<Announced>,
    ) -> Result<()> {
        let mut writer = self.lock_writer()?;
        writer.owed = announced;
        let WriterState { log, defined, owed, .. } = &mut *writer;
        let link = self.begin_lineage(log, predecessor, owed.as_ref())?;
        self.define_operators(log, defined)?;
        self.logs.push(log);
        self.note_link(link);
        Ok(())
    }

    /// Keeps the logged writes in memory, for an open on a full disk.
    pub(super) fn defer(
        &self,
        replayed: &Replayed,
        first_log: u64,
        next_log: u64,
        predecessor: Option<Predecessor>,
        announced: Option<Announced>,
    ) -> Result<()> {
        self.keep_replayed(replayed, first_log, next_log)?;
        self.begin_log(predecessor, announced)?;
        let _tried_again_before_a_batch = self.append_owed(&mut *self.lock_writer()?);
        Ok(())
    }

    /// Adds the logged writes to the trees as tables, in one edit with the number of the new log.
    pub(super) fn take_over(
        &self,
        mut replayed: Replayed,
        logs: StoredLogs,
        last_seqno: SeqNo,
        log: u64,
        predecessor: Option<Predecessor>,
        announced: Option<Announced>,
    ) -> Result<()> {
        self.begin_log(predecessor, announced)?;
        let mut pending = self.nothing_pending();
        let memtables = std::mem::take(&mut replayed.memtables);
        let written = match replayed.applied_through {
            None => self.write_replayed(memtables, last_seqno, &mut pending),
            Some(through) => {
                assert!(through <= last_seqno, "a part of the logs ends no later than all of them");
                // A later operand in the logs may need a value that it came to in time.
                let _unapplied = self.time.await_logged_writes();
                self.write_replayed(memtables, through, &mut pending).and_then(|()| {
                    self.replay_rest(&replayed, logs, through, last_seqno, &mut pending)
                })
            }
        };
        if let Err(error) = written {
            return Err(self.give_up(&pending.flushed, error));
        }
        let Pending { keyspaces, mut flushed, .. } = pending;
        let has_tables: HashSet<_> = flushed.iter().map(|(keyspace, _)| keyspace.id).collect();
        let others = keyspaces.into_values().map(|(keyspace, _)| keyspace);
        let others = others.filter(|keyspace| !has_tables.contains(&keyspace.id));
        flushed.extend(others.map(|keyspace| (keyspace, Written::default())));
        self.install_flushed(flushed, log, last_seqno)?;
        assert_taken_over(self, log, last_seqno);
        // A reader takes a log with these records for one whose open succeeded.
        let _tried_again_before_a_batch = self.append_owed(&mut *self.lock_writer()?);
        Ok(())
    }

    fn nothing_pending(&self) -> Pending {
        let with_version = |keyspace: Arc<KeyspaceState>| {
            let version = Arc::clone(&keyspace.view.load().version);
            (keyspace.id, (keyspace, version))
        };
        let keyspaces = self.keyspaces.all().into_iter().map(with_version).collect();
        Pending { keyspaces, flushed: Vec::new(), durable: 0 }
    }

    /// Flushes memtables of a replay, which applied all writes up to `through`.
    fn write_replayed(
        &self,
        memtables: Memtables,
        through: SeqNo,
        pending: &mut Pending,
    ) -> Result<()> {
        let later = LaterSyncs::default();
        for (id, memtables) in memtables {
            let (keyspace, version) = &pending.keyspaces[&id];
            let written = keyspace.guarded("the flush of logged writes", || {
                self.write_memtables(keyspace, &memtables, version, through, Vec::new(), &later)
            })?;
            pending.flushed.push((Arc::clone(keyspace), written));
            if later.is_full() {
                self.sync_tables(&later)?;
            }
        }
        self.sync_tables(&later)
    }

    /// Replays the writes after `through`, which did not fit into memory.
    fn replay_rest(
        &self,
        first: &Replayed,
        logs: StoredLogs,
        through: SeqNo,
        last_seqno: SeqNo,
        pending: &mut Pending,
    ) -> Result<()> {
        self.settle(pending)?;
        let (fs, names) = (&*self.options.env.fs, &self.names);
        let tree = self.lock_tree();
        let keyspaces = tree.keyspaces.values().map(|own| {
            let comparator = Arc::clone(&own.keyspace.comparator);
            let flushed_through = own.flushed_through.max(through);
            (own.keyspace.id, ReplayKeyspace { comparator, flushed_through })
        });
        let (keyspaces, next_keyspace) = (keyspaces.collect(), tree.next_keyspace);
        drop(tree);
        let replay = Replay {
            options: &self.options,
            names,
            registry: &self.registry,
            runtime: &self.runtime,
            member: self.member,
            memtable_bytes: self.options.replayed_bytes(&self.runtime.ledger().shares),
            first_log: logs.first,
            logs: needed_logs(fs, names, logs.first, logs.on_disk, logs.closed.as_ref()),
            closed: logs.closed.as_ref(),
            totals: &self.totals,
            // The first replay counted the writes.
            counted_through: MAX_SEQNO,
            through: MAX_SEQNO,
            database: Some(self.database),
            keyspaces,
            next_keyspace,
            by_log: false,
        };
        let mut flush = |memtables: Memtables, through| {
            self.write_replayed(memtables, through, pending)?;
            self.settle(pending)
        };
        let mut second = replay_logs(replay, WhenFull::Pass(&mut flush))?;
        check_same(first, &second)?;
        self.write_replayed(std::mem::take(&mut second.memtables), last_seqno, pending)
    }

    /// Lets later flushes see the tables written so far. They must be durable first: if a repair
    /// finds the tables of a later flush, it takes those of the earlier ones for written.
    fn settle(&self, pending: &mut Pending) -> Result<()> {
        let directory = self.names.directory();
        let synced = self.options.env.fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
        let next_run = self.lock_tree().next_run;
        let runs = (next_run..).zip(&pending.flushed).skip(pending.durable);
        for (run, (keyspace, written)) in runs.filter(|(_, (_, written))| !written.files.is_empty())
        {
            let Some((_, version)) = pending.keyspaces.get_mut(&keyspace.id) else { continue };
            let changes = new_level0_run(run, written.clone());
            let after = keyspace.guarded("the flush of logged writes", || {
                version.apply(&changes, &*keyspace.comparator, &self.segment_files)
            })?;
            *version = Arc::new(after);
        }
        pending.durable = pending.flushed.len();
        Ok(())
    }

    /// Removes files that nothing refers to: unfinished tables, old logs and manifests.
    pub(super) fn remove_leftovers(&self, present: &[FileKind], log: u64, manifest: u64) {
        self.remove_logs_below(log);
        let unneeded = leftovers(self, present, manifest);
        if unneeded.is_empty() {
            return;
        }
        let fs = &*self.options.env.fs;
        let Some(identity) = Identity::of(fs, &self.names) else { return };
        for (kind, path) in unneeded {
            // The next open tries again to remove what cannot be removed now.
            let removed = remove(fs, &path, Proof::Named(&identity));
            if let (FileKind::Table(number), Err(_)) = (kind, removed) {
                self.segment_files.trash().note_gone(number);
            }
        }
    }
}

/// Panics if a write still needs a log from before the open, unless its keyspace has failed.
fn assert_taken_over(core: &Core, log: u64, last_seqno: SeqNo) {
    let tree = core.lock_tree();
    if tree.keyspaces.values().any(|own| own.keyspace.has_failed()) {
        return;
    }
    assert_eq!(tree.log, log, "an open needs no log from before it");
    let are_flushed = tree.keyspaces.values().all(|own| own.flushed_through == last_seqno);
    assert!(are_flushed, "all logged writes are in tables");
    assert!(core.published() >= last_seqno, "readers see all recovered writes");
}

/// Returns the files among these, logs aside, that nothing refers to.
fn leftovers(core: &Core, present: &[FileKind], manifest: u64) -> Vec<(FileKind, PathBuf)> {
    let tree = core.lock_tree();
    let tables = tree.keyspaces.values().flat_map(|own| own.version.tables());
    let used: HashSet<u64> = tables.map(|table| table.file.number).collect();
    let segments = tree.keyspaces.values().flat_map(|own| own.version.segments.iter());
    let segments: HashSet<u64> = segments.map(|segment| segment.placement.file).collect();
    let kept = |log| core.feed.as_ref().is_some_and(|feed| feed.find(log).is_some());
    let mut unneeded = Vec::new();
    for &kind in present {
        let is_needed = match kind {
            FileKind::Table(number) => used.contains(&number),
            FileKind::Segment(number) => segments.contains(&number),
            FileKind::Manifest(number) => number == manifest,
            FileKind::Archive(number) => kept(number),
            FileKind::Temporary => {
                unneeded.extend(core.names.temporaries().map(|path| (kind, path)));
                continue;
            }
            _ => true,
        };
        if !is_needed {
            unneeded.push((kind, core.names.of(kind)));
        }
    }
    unneeded
}

/// Checks that two replays of the same logs found the same.
///
/// # Errors
/// `Corruption` if they did not. The logs are locked, so a read must have been wrong.
fn check_same(first: &Replayed, second: &Replayed) -> Result<()> {
    let ends = |replayed: &Replayed| -> Vec<_> {
        replayed.logs.iter().map(|log| (log.number, log.len, log.frames)).collect()
    };
    if first.last_seqno == second.last_seqno && ends(first) == ends(second) {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "expected the same logs at both reads: first they ended with write {} (log, bytes, frames: \
         {:?}), then with {} ({:?})",
        first.last_seqno,
        ends(first),
        second.last_seqno,
        ends(second)
    )))
}
