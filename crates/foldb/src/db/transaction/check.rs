//! Whether the claims of a transaction hold.
//!
//! Under the writer lock, the commit looks into the notes of recent writes and reads no table. A
//! key takes about a cache miss, a range one comparison for each write since the snapshot. The
//! notes may say "perhaps changed" of a key that did not change. The commit then releases the lock,
//! reads the newest records of its claims, and comes back for the few writes since:
//!
//! ```text
//! snapshot 100          all claims unchanged up to 250, by their records
//!      |------------------------------------------|--------|  lock: notes since 250
//! ```
//!
//! The records suffice. The snapshot still lives, so no fold hides that a record is newer than it.
//! A key that was absent at the snapshot, and is absent again, may look unchanged: what the
//! transaction read is then true at its commit too.

use std::ops::ControlFlow;

use crate::db::core::Core;
use crate::db::handle::read_options::ReadOptions;
use crate::db::read::get::point_read;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::recent_writes::{EdgeRange, Noted, RecentWrites};
use crate::db::state::view::View;
use crate::db::transaction::claims::{Claims, Forbids, KeyClaim, KeyspaceClaims};
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::iterator::{MergingCursor, RunCursor, Source};
use crate::key::{MAX_SEQNO, RecordHeader, SeqNo};
use crate::user_code::guarded;
use crate::version::{KeyRange, TableRef};

/// The answer of the notes about all claims of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Hold,
    Broken,
    /// The records must be read.
    Doubtful,
}

impl Claims {
    /// Checks the claims by the notes. The caller holds the writer lock.
    pub(super) fn check_noted(&self, recent: &RecentWrites, since: SeqNo) -> Verdict {
        let mut verdict = Verdict::Hold;
        for own in &self.keyspaces {
            let check = || self.check_keyspace(own, recent, since);
            // A comparator that panics has compared these keys before, so it contradicts itself.
            match guarded(check).unwrap_or(Verdict::Broken) {
                Verdict::Hold => {}
                Verdict::Doubtful => verdict = Verdict::Doubtful,
                Verdict::Broken => return Verdict::Broken,
            }
        }
        verdict
    }

    fn check_keyspace(&self, own: &KeyspaceClaims, recent: &RecentWrites, since: SeqNo) -> Verdict {
        let keyspace = own.state();
        if keyspace.is_dropped() {
            return Verdict::Broken;
        }
        let (id, comparator) = (keyspace.id, &*keyspace.comparator);
        let mut verdict = Verdict::Hold;
        for claim in own.keys() {
            if planted(Fault::ForgetKeysRead) {
                continue;
            }
            let last = recent.last_writes(id, claim.hash);
            let last = if claim.forbids == Forbids::Any { last.any } else { last.base };
            if last > since {
                verdict = Verdict::Doubtful;
            }
            match recent.is_covered(id, comparator, claim.key, since) {
                Noted::Unchanged => {}
                Noted::Changed => return Verdict::Broken,
                Noted::Unknown => verdict = Verdict::Doubtful,
            }
        }
        for range in own.ranges.iter().chain(self.live_walks(id)) {
            match recent.has_changed(id, comparator, range, since) {
                Noted::Unchanged => {}
                Noted::Changed => return Verdict::Broken,
                Noted::Unknown => verdict = Verdict::Doubtful,
            }
        }
        verdict
    }

    /// Checks the claims by the newest records. Returns whether they hold.
    ///
    /// # Errors
    /// `Corruption`, `Io`.
    pub(super) fn check_records(&self, core: &Core, since: SeqNo) -> Result<bool> {
        for own in &self.keyspaces {
            let keyspace = own.state();
            let view = keyspace.view.load_full();
            if keyspace.is_dropped() {
                return Ok(false);
            }
            for claim in own.keys() {
                if core.key_changed(keyspace, &view, claim, since)? {
                    return Ok(false);
                }
            }
            for range in own.ranges.iter().chain(self.live_walks(keyspace.id)) {
                if range_changed(keyspace, &view, range, since)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Core {
    /// Returns whether a key has a record after `since` that the claim forbids.
    fn key_changed(
        &self,
        keyspace: &KeyspaceState,
        view: &View,
        claim: KeyClaim<'_>,
        since: SeqNo,
    ) -> Result<bool> {
        let KeyClaim { key, hash, forbids } = claim;
        let breaks = |header: RecordHeader| {
            header.seqno > since && (forbids == Forbids::Any || header.kind.is_base())
        };
        let mut is_broken = false;
        for memtable in view.memtables() {
            let cover = memtable.records_of(hash, key, MAX_SEQNO, |header, _| {
                is_broken |= breaks(header);
            });
            if is_broken || cover > since {
                return Ok(true);
            }
        }
        for (_, run) in view.version.runs() {
            let Some(found) = run.table_of(&*keyspace.comparator, key) else { continue };
            if found.file.largest_seqno <= since {
                continue;
            }
            let table = keyspace.tables.get_owned(&found.file)?;
            if found.has_range_tombstones() && table.cover(key, MAX_SEQNO) > since {
                return Ok(true);
            }
            table.get(key, MAX_SEQNO, point_read(&ReadOptions::default()), |header, _| {
                is_broken |= breaks(header);
                match header.seqno > since && !is_broken {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            if is_broken {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns whether a key of a range was written after `since`. A range delete since then counts as
/// a change of every range.
fn range_changed(
    keyspace: &KeyspaceState,
    view: &View,
    range: &EdgeRange,
    since: SeqNo,
) -> Result<bool> {
    let comparator = &keyspace.comparator;
    let mut sources = Vec::new();
    for memtable in view.memtables() {
        if memtable.last_range_delete() > since {
            return Ok(true);
        }
        sources.push(Source::Memtable(memtable.cursor(MAX_SEQNO)));
    }
    for (_, run) in view.version.runs() {
        let is_newer = |table: &&TableRef| table.file.largest_seqno > since;
        let mut newer = run.tables.iter().filter(is_newer).peekable();
        if newer.peek().is_none() {
            continue;
        }
        if newer.any(|table| table.has_range_tombstones()) {
            return Ok(true);
        }
        let (everything, options) = (KeyRange::all(), point_read(&ReadOptions::default()));
        let cursor = RunCursor::new(run, &everything, &keyspace.tables, comparator, options);
        sources.push(Source::Run(cursor));
    }
    let mut records = MergingCursor::new(sources, comparator.clone());
    match range.start.key() {
        None => records.seek_to_first()?,
        Some(key) => records.seek(key)?,
    }
    while records.valid() && !range.end.is_before(&**comparator, records.key()) {
        let is_inside = range.start.is_before(&**comparator, records.key());
        if is_inside && records.header().seqno > since {
            return Ok(true);
        }
        records.next()?;
    }
    Ok(false)
}
