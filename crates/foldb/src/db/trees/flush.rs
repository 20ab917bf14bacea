//! Flush: sealed memtables become a run of level 0.
//!
//! Several sealed memtables are flushed together (hazard H19): their records fold into each other,
//! and level 0 gets fewer, larger runs. The oldest memtables go first, so runs appear in the order
//! in which memtables were sealed. One edit adds the tables of all keyspaces whose memtables were
//! sealed at one moment (H5).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::buffers::SealedGroup;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Tree;
use crate::db::state::writer::WriterState;
use crate::db::throttle::full_disk::flushed_file_size;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::faults::{Fault, planted};
use crate::files::{Proof, remove};
use crate::iterator::{CoverSource, Covers, MergingCursor, Source};
use crate::key::{KeyspaceId, SeqNo};
use crate::memtable::Memtable;
use crate::range_tombstone::Edge;
use crate::rewriting::folding::{Folder, stripe_ends};
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::output::TableOutput;
use crate::rewriting::range_deletes::{PassedOn, passed_on};
use crate::segment::{AdoptedLog, NewSegments};
use crate::table::LaterSyncs;
use crate::user_code::Inside;
use crate::version::{Edit, FileFacts, KeyRange, KeyspaceEdit, TreeEdit, Version};

/// Most groups of sealed memtables that one flush takes.
const MAX_TOGETHER: usize = 8;

/// The sealed memtables of a keyspace, newest first.
pub(crate) type Sealed = (Arc<KeyspaceState>, Vec<Arc<Memtable>>);

/// The tables that a flush wrote for a keyspace.
pub(crate) type Flushed = (Arc<KeyspaceState>, Written);

/// Tables, and the segments of the values that were separated from them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) files: Vec<FileFacts>,
    pub(crate) segments: NewSegments,
}

impl Core {
    /// Flushes all memtables. The caller holds `background.flushing`.
    pub(crate) fn flush_all(&self, writer: &mut WriterState) -> Result<()> {
        if !writer.buffers.is_empty() {
            self.seal(writer)?;
        }
        while self.sealed.len() > 0 {
            self.flush_oldest(true)?;
        }
        Ok(())
    }

    /// Flushes the oldest sealed memtables once there are enough of them, or at once if `eager`.
    /// Returns whether there was anything to flush.
    pub(crate) fn flush_step(&self, eager: bool) -> Result<bool> {
        let _flushing = self.background.locks.flush();
        self.flush_oldest(eager)
    }

    /// Does what [`Core::flush_step`] does. The caller holds `background.flushing`.
    pub(crate) fn flush_oldest(&self, eager: bool) -> Result<bool> {
        let _inside = Inside::enter(self.events.mark());
        self.remove_unreferenced_tables();
        let wanted = if eager { 1 } else { self.settings.write_buffers.flushed_together };
        let sealed = self.sealed.len();
        if sealed < wanted.max(1) {
            debug_assert!(
                sealed + 1 < self.settings.write_buffers.most,
                "{sealed} sealed memtables stop writers, but no worker flushes them"
            );
            return Ok(false);
        }
        self.check_writable()?;
        // On a full disk all go together, so that deletes meet what they delete. If a flush needs
        // too much space, the oldest group goes alone, and then its log.
        let together = if self.reserve.is_open() { usize::MAX } else { MAX_TOGETHER };
        match self.flush_groups(self.sealed.oldest(together)) {
            Err(error)
                if error.kind() == ErrorKind::NoSpace && (sealed > 1 || self.reserve.is_open()) =>
            {
                self.with_rest_of_reserve(|| self.flush_groups(self.sealed.oldest(1)))
            }
            flushed => flushed,
        }
    }

    /// Flushes the oldest sealed groups, which are these.
    fn flush_groups(&self, groups: Vec<Arc<SealedGroup>>) -> Result<bool> {
        let _span = tracing::debug_span!("foldb::flush").entered();
        let newest = &groups[groups.len() - 1];
        let (next_log, through) = (newest.next_log, newest.through);
        assert!(
            groups.is_sorted_by(|older, newer| older.through <= newer.through),
            "memtables are flushed in the order of their seals (H4)"
        );
        let clock = &self.options.env.clock;
        let start = clock.now();
        self.sync_for_feed(&groups)?;
        let flushed = self.write_groups(&groups)?;
        let next_log = match self.install_flushed(flushed, next_log, through) {
            Ok(next_log) => next_log,
            // The next step flushes the other keyspaces.
            Err(error) if error.kind() == ErrorKind::ComparatorFailed => return Ok(true),
            Err(error) => return Err(error),
        };
        let memtables = groups.iter().flat_map(|group| &group.memtables);
        let bytes = memtables.map(|(_, memtable)| memtable.bytes()).sum();
        let write_buffer = self.settings.write_buffers.size;
        self.background.flushes.note(bytes, write_buffer, clock.now() - start);
        self.sealed.flushed(groups.len());
        let log_bytes = groups.iter().map(|group| group.log_bytes).sum();
        drop(groups);
        self.runtime.ledger().rest();
        self.background.memtables_flushed(log_bytes);
        self.reserve.look_soon();
        if let Some(feed) = &self.feed {
            feed.note_durable(through);
        }
        self.remove_logs_below(next_log);
        Ok(true)
    }

    /// Writes the tables of sealed groups, oldest first, for each keyspace that still exists.
    fn write_groups(&self, groups: &[Arc<SealedGroup>]) -> Result<Vec<Flushed>> {
        let mut memtables: BTreeMap<KeyspaceId, Sealed> = BTreeMap::new();
        for (keyspace, memtable) in groups.iter().rev().flat_map(|group| &group.memtables) {
            let (_, own) =
                memtables.entry(keyspace.id).or_insert_with(|| (keyspace.clone(), Vec::new()));
            own.push(Arc::clone(memtable));
        }
        let through = groups.last().map_or(0, |newest| newest.through);
        let mut adopted = self.adopt_logs(groups, &memtables)?;
        let (mut flushed, later) = (Vec::new(), LaterSyncs::default());
        for (keyspace, memtables) in memtables.into_values() {
            if keyspace.is_dropped() || keyspace.has_failed() {
                continue;
            }
            let version = Arc::clone(&keyspace.view.load().version);
            let logs = adopted.extract_if(.., |log| log.keyspace == keyspace.id).collect();
            let written = keyspace.guarded("a flush", || {
                self.write_memtables(&keyspace, &memtables, &version, through, logs, &later)
            });
            let written = written.and_then(|files| {
                flushed.push((Arc::clone(&keyspace), files));
                if later.is_full() { self.sync_tables(&later) } else { Ok(()) }
            });
            match written {
                Ok(()) => {}
                // The memtables of that keyspace stay in its view, and the logs with its writes are
                // kept.
                Err(error) if error.kind() == ErrorKind::ComparatorFailed => {}
                Err(error) => return Err(self.give_up(&flushed, error)),
            }
        }
        match self.sync_tables(&later) {
            Ok(()) => Ok(flushed),
            Err(error) => Err(self.give_up(&flushed, error)),
        }
    }

    /// Removes tables that will not be installed. The next attempt writes them again.
    pub(crate) fn give_up(&self, flushed: &[Flushed], error: Error) -> Error {
        let tree = self.lock_tree();
        flushed.iter().for_each(|flushed| self.discard(flushed, &tree));
        error
    }

    /// Syncs the tables of a flush.
    pub(crate) fn sync_tables(&self, later: &LaterSyncs) -> Result<()> {
        later.sync_all(&**self.runtime.workers().threads())
    }

    /// Adds tables to the trees in one edit, which says which writes need no log any more. Several
    /// flushes of one keyspace come oldest first. Returns the first log that is still needed. That
    /// number does not change while a keyspace cannot be flushed.
    pub(crate) fn install_flushed(
        &self,
        flushed: Vec<Flushed>,
        log: u64,
        through: SeqNo,
    ) -> Result<u64> {
        let mut tree = self.lock_tree();
        let is_held = tree.keyspaces.values().any(|own| own.keyspace.has_failed());
        let log = if is_held { tree.log } else { log };
        let feed_end = self.feed.as_ref().and_then(|feed| feed.predecessor_of(log));
        let mut changes: BTreeMap<KeyspaceId, KeyspaceEdit> = BTreeMap::new();
        let mut written = Vec::new();
        let mut separated = Vec::new();
        for flushed in flushed {
            let (keyspace, Written { files, segments }) = &flushed;
            if !tree.keyspaces.contains_key(&keyspace.id) {
                // The keyspace was dropped while its tables were written.
                self.discard(&flushed, &tree);
                continue;
            }
            let id = keyspace.id;
            let change = changes.entry(id).or_insert_with(|| KeyspaceEdit::of_tree(id, Vec::new()));
            change.flushed_through = Some(through);
            if !files.is_empty() {
                let before = tree.keyspaces[&id].flushed_through;
                assert!(
                    files.iter().all(|file| holds_writes_between(before, through, file)),
                    "a flush holds each write since the last flush, up to its seal, once (H5)"
                );
                written.extend(files.iter().map(|file| file.number));
                separated.push((id, segments.clone()));
                change.tree.extend(new_level0_run(tree.next_run, flushed.1));
                tree.next_run += 1;
            }
        }
        let keyspaces = changes.into_values().collect();
        let edit = Edit { log: Some(log), feed_end, keyspaces, ..Edit::default() };
        self.install(&mut tree, edit).inspect_err(|_| {
            self.discard_uninstalled(written);
            for (id, segments) in &separated {
                self.discard_segments(&tree, *id, &segments.placed);
            }
        })?;
        Ok(log)
    }

    pub(crate) fn discard(&self, (keyspace, written): &Flushed, tree: &Tree) {
        self.discard_tables(written.files.iter().map(|file| file.number));
        self.discard_segments(tree, keyspace.id, &written.segments.placed);
    }

    /// Folds memtables of a keyspace, newest first, into tables. Values of adopted logs stay in
    /// these logs. The caller makes the tables durable through `later`.
    pub(crate) fn write_memtables(
        &self,
        keyspace: &KeyspaceState,
        memtables: &[Arc<Memtable>],
        version: &Version,
        through: SeqNo,
        logs: Vec<AdoptedLog>,
        later: &LaterSyncs,
    ) -> Result<Written> {
        if memtables.is_empty() {
            return Ok(Written::default());
        }
        let start = self.options.env.clock.now();
        memtables.iter().for_each(|memtable| memtable.order_all());
        // The time first. Otherwise a snapshot released in between would keep an operand apart from
        // its base, and no longer keep the base from expiring.
        let expired_through = self.expired_through(keyspace, memtables);
        let snapshots = self.snapshots.live();
        let shown: &[SeqNo] = if planted(Fault::FlushFoldedWhole) { &[] } else { &snapshots };
        let sources =
            memtables.iter().map(|memtable| Source::Memtable(Box::new(memtable.cursor_for(shown))));
        let mut records = MergingCursor::new(sources.collect(), &keyspace.comparator);
        let resolver = self.registry.resolver();
        let older = OlderTables::below(version, &[], &KeyRange::all(), &keyspace.comparator);
        let covers = covers_of(keyspace, memtables, &snapshots);
        let mut folder =
            Folder::new(&resolver, &snapshots, older).covered_by(covers).expiring(expired_through);
        let next_number = || self.new_file_number();
        let fs = &self.options.env.fs;
        let options = self.table_options(keyspace, 0);
        let memory = self.work_memory();
        let mut output =
            TableOutput::new(fs, &self.names, &next_number, options, &memory).syncing_later(later);
        output = output.of_flush(through);
        if let Some(values) = self.value_writer(keyspace, &next_number, &memory) {
            output = output.separating(values.adopting(logs));
        }
        let tombstones = tombstones_to_pass_on(keyspace, &folder, &mut records)?;
        output.set_tombstones(tombstones, &folder.older);
        records.seek_to_first()?;
        let target_file_size = flushed_file_size(self);
        while records.valid() {
            if output.is_full(target_file_size, folder.memory_bytes()) {
                output.cut_before(records.key())?;
            }
            folder.fold_key(&mut records, &mut output)?;
        }
        let segments = output.finish_values()?;
        let gone = self.segment_files.trash().gone();
        output.set_surroundings(version.surroundings(
            &[],
            &*keyspace.comparator,
            through,
            &gone,
        )?);
        let (files, counts) = (output.finish()?, folder.counts);
        debug_assert!(
            counts.records_out <= counts.records_in,
            "folds make no more records than they get"
        );
        let bytes = files.iter().map(|file| file.len).sum();
        self.totals.add(Total::Flushes, memtables.len() as u64);
        self.totals.add(Total::BytesFlush, bytes);
        self.totals.add(Total::BytesSegments, segments.bytes);
        self.totals.add(Total::BytesAdopted, segments.adopted);
        self.totals.add_level_bytes(0, bytes);
        self.totals.add(Total::FlushRecordsIn, counts.records_in);
        self.totals.add(Total::FlushRecordsOut, counts.records_out);
        self.totals.add(Total::FailedMerges, counts.failed);
        self.events.tell(&Event::Flush {
            keyspace: Arc::clone(&keyspace.name),
            memtables: memtables.len(),
            records_in: counts.records_in,
            records_out: counts.records_out,
            bytes_written: bytes,
            bytes_adopted: segments.adopted,
            files: files.iter().map(|file| self.names.table(file.number)).collect(),
            seqnos: (
                files.iter().map(|file| file.smallest_seqno).min().unwrap_or(0),
                files.iter().map(|file| file.largest_seqno).max().unwrap_or(0),
            ),
            duration: self.options.env.clock.now() - start,
        });
        self.tell_failures(keyspace, &folder.failures);
        Ok(Written { files, segments })
    }

    /// Unlinks logs whose writes are all in tables, or archives them for the change feed.
    pub(crate) fn remove_logs_below(&self, needed: u64) {
        // Unlinking a long log takes milliseconds, and a seal may need the list during that time.
        for (log, sync) in &self.logs.take_below(needed) {
            if let Some(sync) = sync {
                sync.retire();
            }
            if !self.archive_log(*log) {
                // A log that cannot be unlinked now is removed at the next open.
                let _best_effort =
                    remove(&*self.options.env.fs, &self.names.log(*log), Proof::Listed);
            }
            if planted(Fault::UnlinkAdoptedLog) {
                let _segment =
                    remove(&*self.options.env.fs, &self.names.segment(*log), Proof::Listed);
            }
        }
        self.trim_archive();
    }
}

/// Whether all records of a table were written after `before`, and not after `through`. Number 0
/// stands for records whose numbers no reader needs.
fn holds_writes_between(before: SeqNo, through: SeqNo, file: &FileFacts) -> bool {
    let is_new = file.smallest_seqno == 0 || file.smallest_seqno > before;
    is_new && file.largest_seqno <= through
}

/// Returns the edits that make tables the newest run of level 0.
pub(crate) fn new_level0_run(run: u64, written: Written) -> Vec<TreeEdit> {
    let mut edits = vec![TreeEdit::NewRun { level: 0, run, before: None }];
    edits.extend(written.segments.placed.into_iter().map(TreeEdit::Place));
    edits.extend(written.files.into_iter().map(|file| TreeEdit::Insert {
        run,
        lo: Arc::clone(&file.smallest),
        hi: file.end.clone(),
        file,
    }));
    edits
}

/// Returns the range tombstones of memtables, stripe by stripe.
pub(crate) fn covers_of(
    keyspace: &KeyspaceState,
    memtables: &[Arc<Memtable>],
    snapshots: &[SeqNo],
) -> Option<Covers> {
    let sets = memtables.iter().filter_map(|memtable| memtable.range_tombstones());
    let sources = sets.map(CoverSource::Memtable).collect();
    Covers::new(sources, stripe_ends(snapshots), &keyspace.comparator)
}

/// Returns the range tombstones that a flush writes. Moves the cursor of `records`.
fn tombstones_to_pass_on(
    keyspace: &KeyspaceState,
    folder: &Folder<'_>,
    records: &mut MergingCursor,
) -> Result<PassedOn> {
    let Some(covers) = folder.covers() else { return Ok(PassedOn::default()) };
    let all = covers.between(&Edge::Lowest, &Edge::Highest)?;
    records.seek_to_first()?;
    let first = records.valid().then(|| Edge::Before(records.key().into()));
    records.seek_to_last()?;
    let last = records.valid().then(|| Edge::Behind(records.key().into()));
    let own = first.zip(last);
    Ok(passed_on(all, folder.snapshots, &folder.older, own.as_ref(), &*keyspace.comparator))
}
