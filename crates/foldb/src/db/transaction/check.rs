//! Whether the claims of a transaction hold.
//!
//! Before it takes the writer lock, the commit puts the claimed ranges in order and joins those
//! that meet. Under the lock it looks into the notes of recent writes, and reads no table. A key
//! takes about a cache miss. If ranges were read, each write since the snapshot takes a binary
//! search. The notes may say "perhaps changed" of a key that did not change. The commit then
//! releases the lock, reads the newest records of its claims, and comes back for the few writes
//! since:
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
use crate::db::state::disjoint_ranges::DisjointRanges;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::recent_writes::RecentWrites;
use crate::db::state::view::View;
use crate::db::transaction::claims::{Forbids, KeyClaim, KeyspaceClaims, Settled};
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::iterator::{MergingCursor, RunCursor, Source};
use crate::key::{KeyspaceId, MAX_SEQNO, RecordHeader, SeqNo};
use crate::user_code::guarded;
use crate::version::{KeyRange, TableRef};

/// The answer of the notes about all claims of a transaction. The greater of two counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Hold,
    /// The records must be read.
    Doubtful,
    Broken,
}

impl Settled<'_> {
    /// Checks the claims by the notes. The caller holds the writer lock. With `c` claims and `n`
    /// notes since the snapshot, it takes about `(c + n) log (c + n)` comparisons.
    pub(super) fn check_noted(&self, recent: &RecentWrites, since: SeqNo) -> Verdict {
        let check = || {
            let is_dropped = self.keyspaces.iter().any(|(own, _)| own.state().is_dropped());
            if is_dropped || self.are_keys_covered(recent, since) {
                return Verdict::Broken;
            }
            match self.check_ranges(recent, since) {
                Verdict::Broken => Verdict::Broken,
                ranges => ranges.max(self.check_keys(recent, since)),
            }
        };
        // A comparator that panics has compared these keys before, so it contradicts itself.
        guarded(check).unwrap_or(Verdict::Broken)
    }

    /// Checks the keys, apart from range deletes that the notes know.
    fn check_keys(&self, recent: &RecentWrites, since: SeqNo) -> Verdict {
        let has_changed = |own: &KeyspaceClaims, claim: KeyClaim<'_>| {
            let last = recent.last_writes(own.id(), claim.hash);
            let last = if claim.forbids == Forbids::Any { last.any } else { last.base };
            last > since && !planted(Fault::ForgetKeysRead)
        };
        let are_known = recent.knows_ranges_since(since);
        let is_doubtful = self
            .keyspaces
            .iter()
            .any(|(own, _)| own.keys().any(|claim| !are_known || has_changed(own, claim)));
        if is_doubtful { Verdict::Doubtful } else { Verdict::Hold }
    }

    /// Returns whether a range delete of the notes covers a key.
    fn are_keys_covered(&self, recent: &RecentWrites, since: SeqNo) -> bool {
        if recent.ranges_since(since).next().is_none() || planted(Fault::ForgetKeysRead) {
            return false;
        }
        self.keyspaces.iter().any(|(own, _)| {
            let comparator = &*own.state().comparator;
            let deleted = recent.ranges_since(since).filter(|(keyspace, _)| *keyspace == own.id());
            let deleted = deleted.map(|(_, range)| range.clone()).collect();
            let deleted = DisjointRanges::new(deleted, comparator);
            own.keys().any(|claim| deleted.holds(comparator, claim.key))
        })
    }

    fn check_ranges(&self, recent: &RecentWrites, since: SeqNo) -> Verdict {
        let has_none = self.keyspaces.iter().all(|(_, ranges)| ranges.is_empty());
        if has_none || planted(Fault::ForgetRangesRead) {
            return Verdict::Hold;
        }
        let overlaps = |(keyspace, range)| {
            let of_it = |(own, ranges): &(&KeyspaceClaims, DisjointRanges)| {
                ranges.overlap(&*own.state().comparator, range)
            };
            self.of(keyspace).is_some_and(of_it)
        };
        let holds = |(keyspace, key)| {
            let of_it = |(own, ranges): &(&KeyspaceClaims, DisjointRanges)| {
                ranges.holds(&*own.state().comparator, key)
            };
            self.of(keyspace).is_some_and(of_it)
        };
        if recent.ranges_since(since).any(overlaps) {
            return Verdict::Broken;
        }
        let keys = recent.keys_since(since);
        let is_known = keys.is_some() && recent.knows_ranges_since(since);
        if keys.into_iter().flatten().any(holds) {
            return Verdict::Broken;
        }
        if is_known { Verdict::Hold } else { Verdict::Doubtful }
    }

    /// Returns the claims in a keyspace.
    fn of(&self, keyspace: KeyspaceId) -> Option<&(&KeyspaceClaims, DisjointRanges)> {
        let at = self.keyspaces.binary_search_by_key(&keyspace, |(own, _)| own.id()).ok()?;
        Some(&self.keyspaces[at])
    }

    /// Checks the claims by the newest records. Returns whether they hold.
    ///
    /// # Errors
    /// `Corruption`, `Io`.
    pub(super) fn check_records(&self, core: &Core, since: SeqNo) -> Result<bool> {
        for (own, ranges) in &self.keyspaces {
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
            if !ranges.is_empty() && have_changed(keyspace, &view, ranges, since)? {
                return Ok(false);
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
fn have_changed(
    keyspace: &KeyspaceState,
    view: &View,
    ranges: &DisjointRanges,
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
    for range in ranges.iter() {
        match range.start.key() {
            None => records.seek_to_first()?,
            Some(key) => records.seek(key)?,
        }
        while records.valid() && !range.end.is_before(&**comparator, records.key()) {
            let is_inside = range.start.is_before(&**comparator, records.key());
            if is_inside && records.header().seqno > since {
                return Ok(true);
            }
            if planted(Fault::CheckRangeStart) {
                break;
            }
            records.next()?;
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
