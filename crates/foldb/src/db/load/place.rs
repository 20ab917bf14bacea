//! The place of a sorted load in the order of writes.
//!
//! A load ends under the writer lock: it takes the next sequence number, its edit becomes durable,
//! and the number is published. A write before it in the order is in the log, which is synced
//! first. So a crash that keeps the load keeps all logged writes before it.
//!
//! Memtables may hold older records of the load's keys. A read would find them first, so they have
//! to be in tables before the load is. The first rounds flush them while writers go on. Each round
//! leaves less: what arrived during the flush. The last round flushes the rest under the writer
//! lock. A write that goes to other keys needs no flush, because the order of records matters only
//! within a key.
//!
//! ```text
//! round 1:  a load of [a, z) finds c@52 in a memtable     flush, writers go on: e@55 arrives
//! round 2:  finds e@55                                    flush, writers go on: x@56 arrives
//! round 3:  takes the writer lock, finds x@56, flushes    the load is 57
//! ```
//!
//! The load becomes the newest run of level 0. A later flush may put a run with smaller numbers
//! above it, but only with keys outside the load's range.

use std::sync::Arc;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::{KeyspaceState, dropped};
use crate::db::state::patience::Patience;
use crate::db::state::recent_writes::EdgeRange;
use crate::db::trees::flush::{Written, new_level0_run};
use crate::error::Result;
use crate::events::holding_back;
use crate::faults::{Fault, planted};
use crate::key::{MAX_SEQNO, SeqNo};
use crate::memtable::Memtable;
use crate::range_tombstone::RangeTombstone;
use crate::segment::NewSegments;
use crate::version::{Edit, FileFacts, KeyRange, KeyspaceEdit};

/// Rounds after which the rest is flushed under the writer lock.
const ROUNDS: usize = 3;

/// The writes of a load, for the statistics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) puts: u64,
    pub(super) merges: u64,
    /// Bytes of keys and values.
    pub(super) user: u64,
}

impl Core {
    /// Adds tables with the records of a load, in the order of their keys. Returns the load's
    /// sequence number.
    pub(super) fn add_load(
        &self,
        keyspace: &Arc<KeyspaceState>,
        files: Vec<FileFacts>,
        counts: Counts,
    ) -> Result<SeqNo> {
        let range = KeyRange {
            lo: files.first().map(|first| Arc::clone(&first.smallest)),
            hi: files.last().map(|last| last.end.clone()),
        };
        assert!(
            files.is_sorted_by(|before, next| before.number < next.number),
            "a load numbers its tables in the order of their keys, so the first names the load"
        );
        let mut files = files;
        let mut round = 1;
        loop {
            if has_unflushed(keyspace, &range)? {
                self.flush_sealed()?;
            }
            // Level 0 takes no run beyond its stop trigger.
            self.wait_for_buffer(std::slice::from_ref(keyspace), Patience::ENDLESS)?;
            // Most of the log is then durable before the writer lock is taken.
            self.sync()?;
            let is_last = round >= ROUNDS;
            let attempt = || self.try_add_load(keyspace, &range, &mut files, counts, is_last);
            let (added, events) = holding_back(attempt);
            self.events.tell_held(&events);
            self.tell_failed_callbacks();
            if let Some(seqno) = added? {
                self.wake();
                return Ok(seqno);
            }
            round += 1;
        }
    }

    /// Adds the load if memtables hold no record of its range, or if they do and it is the last
    /// round. Takes `files` if it does.
    fn try_add_load(
        &self,
        keyspace: &KeyspaceState,
        range: &KeyRange,
        files: &mut Vec<FileFacts>,
        counts: Counts,
        is_last: bool,
    ) -> Result<Option<SeqNo>> {
        // A listener may write while its thread flushes, so this lock comes before the writer's.
        let _flushing = self.background.locks.flush();
        let mut writer = self.lock_writer()?;
        self.check_writable()?;
        keyspace.check_comparator()?;
        if !writer.buffers.contains(keyspace.id) {
            return Err(dropped(&keyspace.name));
        }
        if has_unflushed(keyspace, range)? {
            if !is_last {
                return Ok(None);
            }
            self.flush_all(&mut writer)?;
            keyspace.check_comparator()?;
        }
        let (sync, frame) = (Arc::clone(writer.log.sync_handle()), writer.log.frames());
        self.sync_through(&sync, frame)?;

        let mut tree = self.lock_tree();
        let seqno = self.published() + 1;
        let newest = tree.keyspaces.get(&keyspace.id).map(|own| own.flushed_through);
        assert!(newest.is_none_or(|newest| newest < seqno), "a load is newer than all tables");
        let mut files = std::mem::take(files);
        let first = files.first().map_or(0, |file| file.number);
        for file in &mut files {
            file.loaded = Some(first);
            (file.smallest_seqno, file.largest_seqno) = (seqno, seqno);
        }
        let bytes = files.iter().map(|file| file.len).sum();
        let written = Written { files, segments: NewSegments::default() };
        let run = new_level0_run(tree.next_run, written);
        tree.next_run += 1;
        // The edit stores the number as used. A failed edit must not: the number comes again.
        let before = std::mem::replace(&mut tree.last_loaded, seqno);
        let edit = Edit::of_keyspace(KeyspaceEdit::of_tree(keyspace.id, run));
        // A failed edit may be in the manifest all the same.
        #[cfg(all(debug_assertions, feature = "internals"))]
        crate::numbering::note(seqno, seqno);
        if let Err(error) = self.install(&mut tree, edit) {
            tree.last_loaded = before;
            return Err(error);
        }
        // With the tree locked: a compaction of these tables begins later, and then knows every
        // snapshot that is older than the load.
        if !planted(Fault::LoadBehindViews) {
            keyspace.view.note_load(seqno);
        }
        self.pins.publish(seqno);
        // A reader may hold a memtable and not know the load. No later write may fold into a record
        // that this reader can see.
        assert_eq!(self.published(), seqno, "a load is published under the writer's lock");
        self.pins.pin();
        if writer.recent.is_on() {
            let range = EdgeRange { start: range.start(), end: range.end() };
            writer.recent.note_range(keyspace.id, range, seqno);
        }
        if let Some(feed) = &self.feed {
            // Logged writes before the load were synced above.
            feed.note_durable(seqno);
        }
        self.totals.add_exclusive(Total::Puts, counts.puts);
        self.totals.add_exclusive(Total::Merges, counts.merges);
        self.totals.add_exclusive(Total::BytesUser, counts.user);
        self.totals.add(Total::BytesFlush, bytes);
        self.totals.add_level_bytes(0, bytes);
        Ok(Some(seqno))
    }
}

/// Returns whether memtables hold a record or range delete in a key range.
fn has_unflushed(keyspace: &KeyspaceState, range: &KeyRange) -> Result<bool> {
    if planted(Fault::LoadOverUnflushed) {
        return Ok(false);
    }
    let view = keyspace.view.load();
    keyspace.guarded("a sorted load", || {
        Ok(view.memtables().any(|memtable| has_any(keyspace, memtable, range)))
    })
}

/// Returns whether a memtable holds a record or range delete in a key range.
fn has_any(keyspace: &KeyspaceState, memtable: &Memtable, range: &KeyRange) -> bool {
    let comparator = &*keyspace.comparator;
    let deletes = |tombstone: &RangeTombstone| {
        tombstone.clipped(comparator, &range.start(), &range.end()).is_some()
    };
    if memtable.range_tombstones().is_some_and(|all| all.to_vec().iter().any(deletes)) {
        return true;
    }
    if memtable.is_empty() {
        return false;
    }
    let mut cursor = memtable.cursor(MAX_SEQNO);
    match &range.lo {
        Some(lo) => cursor.seek(lo),
        None => cursor.seek_to_first(),
    }
    cursor.valid() && range.contains(comparator, cursor.key())
}
