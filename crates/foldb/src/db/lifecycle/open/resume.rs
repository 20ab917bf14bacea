//! An open after a clean close, which goes on where the close ended and changes no file.
//!
//! The record of the close proves what the manifest and the logs hold. So the open keeps them in
//! force: the logged writes return to the memtables that new writes go to, and the logs stay. The
//! first write begins a log that follows them, and the first edit begins a manifest. A database
//! that is opened, read and closed has no sync, no new file, and still the record of the close
//! before.
//!
//! ```text
//! close        MANIFEST-000005  000004.log            CLOSED
//! open, get    MANIFEST-000005  000004.log            CLOSED
//! put          MANIFEST-000005  000004.log 000006.log
//! close        MANIFEST-000005  000004.log 000006.log CLOSED
//! ```
//!
//! Logs that each open adds to are read by each later open. So once they are many or long, an open
//! makes tables of them instead, as after a kill.
//!
//! Invariant: no file of the record changes or grows. Whatever follows is in files with larger
//! numbers.

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::lifecycle::open::assembly::Assembly;
use crate::db::lifecycle::open::files::archives_in;
use crate::db::lifecycle::open::opening::{InMemory, Listed, Opening};
use crate::db::lifecycle::replay::Unsealed;
use crate::db::state::logs::KnownLog;
use crate::version::Manifest;
use crate::wal::{Extent, LogWriter};

/// The most logs that an open keeps. Each open with writes adds one, and reads all of them.
const MOST_LOGS: usize = 32;
/// The most bytes of the logs that an open keeps: their replay takes about as long as one sync, and
/// the memory of a database that is only read stays small.
const MOST_BYTES: u64 = 1 << 20;
/// The logs have at most the bytes of the write buffer divided by this number, so that new writes
/// have room beside them.
const PART_OF_WRITE_BUFFER: u64 = 4;

/// The files of a clean close that stay in force.
pub(super) struct Resumable {
    manifest: Extent,
    /// The logs before the last one.
    earlier: Box<[Extent]>,
    last: Extent,
}

impl InMemory {
    /// Returns the files of the last close, if they may stay in force.
    pub(super) fn resumable(&self, opening: &Opening<'_>) -> Option<Resumable> {
        let Listed { present, logs, .. } = &self.listed;
        let closed = logs.closed.as_ref()?;
        let (last, earlier) = closed.logs.split_last()?;
        let bytes: u64 = closed.logs.iter().map(|log| log.len).sum();
        let buffer = opening.options.write_buffer_size as u64;
        let most_bytes = MOST_BYTES.min(buffer / PART_OF_WRITE_BUFFER);
        let is_little = closed.logs.len() <= MOST_LOGS && bytes <= most_bytes;
        // Logs of another number are left from an open that failed.
        let are_the_logs =
            logs.on_disk.iter().copied().eq(closed.logs.iter().map(|log| log.number))
                && logs.on_disk.first() == Some(&logs.first);
        // The change feed reads logs from its archive, and each of its logs names the one before.
        let is_fed = self.settings.wal_retention.is_on()
            || opening.stored.feed_end.is_some()
            || !archives_in(present).is_empty()
            || self.replayed.logs.iter().any(|log| log.lineage.is_some());
        let is_in_memory = self.replayed.applied_through.is_none()
            && self.replayed.unsealed.0.len() == self.replayed.memtables.len();
        let may_resume = is_little
            && self.replayed.refused_from.is_none()
            && are_the_logs
            && !is_fed
            && is_in_memory
            && opening.given_back.is_none()
            && opening.stored.describes(&self.trees);
        let files =
            || Resumable { manifest: closed.manifest, earlier: earlier.into(), last: *last };
        may_resume.then(files)
    }

    /// Makes the database of the files of the last close.
    pub(super) fn resume(self, opening: Opening<'_>, files: &Resumable) -> Arc<Core> {
        let Opening { options, names, fs, lock, stored, runtime, .. } = opening;
        let InMemory {
            listed, trees, replayed, settings, reserve, last_seqno, dropped, cache, ..
        } = self;
        let Listed { present, segment_files, logs, next_log, member, .. } = listed;
        let closed = |log: &Extent| LogWriter::closed(&fs, &names.log(log.number), log);
        let log = closed(&files.last);
        let earlier = files.earlier.iter().map(|extent| closed(extent).seal(Arc::default()).sync);
        let numbers = files.earlier.iter().map(|extent| extent.number);
        let mut known: Vec<KnownLog> = numbers.zip(earlier.map(Some)).collect();
        known.push((log.number(), Some(Arc::clone(log.sync_handle()))));
        let core = Assembly {
            log,
            manifest: Manifest::closed(&fs, &names, &files.manifest),
            options,
            settings,
            names,
            stored,
            trees,
            cache,
            runtime,
            member,
            held: None,
            segment_files,
            last_seqno,
            next_file: next_log,
            first_log: logs.first,
            logs: known,
            is_as_closed: true,
            feed: None,
            dropped,
            reserve,
            lock: lock.take(),
        }
        .into_core();
        go_on_with(&core, replayed.unsealed);
        core.remove_leftovers(&present, logs.first, files.manifest.number);
        core
    }
}

/// Lets writes go to the memtables that a replay filled.
fn go_on_with(core: &Core, unsealed: Unsealed) {
    let mut writer = core.writer.lock();
    if !unsealed.0.is_empty() {
        writer.filling_since = Some(core.options.env.clock.now());
    }
    for (id, memtable) in unsealed.0 {
        writer.buffers.resume(id, memtable);
    }
    // So a seal begins the next log.
    writer.log_used = true;
    drop(writer);
    let is_due = !core.settings.disable_auto_compactions
        && core.keyspaces.all().iter().any(|keyspace| core.is_much_deleted(keyspace));
    if is_due {
        core.background.requests.see_deletes.raise();
    }
}
