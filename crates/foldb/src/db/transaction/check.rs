//! Whether the claims of a transaction hold.
//!
//! Before it takes the writer lock, the commit puts the claimed ranges in order and joins those
//! that meet. Under the lock it catches up with the notes of recent writes, and reads no table: it
//! looks up each newer note among the claims. A note that hits a claim is a conflict. If there are
//! many notes, the commit releases the lock after some of them, so that other writers wait for
//! microseconds only.
//!
//! The notes may not reach back to the snapshot. The commit then reads the newest records of its
//! claims, without the lock. It catches up from time to time meanwhile, so that the notes are not
//! lost again:
//!
//! ```text
//! snapshot 100     records of all claims, as of 250 or later      lock: catch up from 290
//!      |---------------------------------------------|-----|-----|--------|
//!                                                   250   270   290   write
//! ```
//!
//! So the work is in proportion to the claims and to the writes of others, whatever they write.
//!
//! The records suffice. The snapshot still lives, so no fold hides that a record is newer than it.
//! A key that was absent at the snapshot, and is absent again, may look unchanged: what the
//! transaction read is then true at its commit too.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::read::key_walk::{KeyVisitor, Place, Sought, point_read};
use crate::db::read::settings::ReadSettings;
use crate::db::state::disjoint_ranges::DisjointRanges;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::patience::Patience;
use crate::db::state::recent_writes::{EdgeRange, RecentWrites, WrittenKey};
use crate::db::state::view::View;
use crate::db::transaction::claims::{KeyClaim, KeyspaceClaims, Settled};
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::iterator::{MergingCursor, RunCursor, Source, Sources};
use crate::key::{KeyspaceId, MAX_SEQNO, RecordHeader, SeqNo};
use crate::user_code::guarded;
use crate::value::Value;
use crate::version::{KeyRange, TableRef};

/// Notes that a commit looks up before it lets other writers pass.
const NOTES_AT_ONCE: usize = 1024;

/// Products of claims and notes up to which a plain comparison of all hashes is cheapest.
const FEW_PAIRS: usize = 4096;

/// The answer of the notes about all claims of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Hold,
    /// Another write changed what a claim forbids to change.
    Broken,
    /// More notes are left. The caller calls [`Check::prepare`] and comes back.
    Behind,
    /// The notes do not reach back far enough. The records must be read.
    Lost,
}

/// The check of the claims of one commit.
pub(super) struct Check<'a> {
    claims: Settled<'a>,
    snapshot: SeqNo,
    /// No claim is broken by a write up to this one, apart from range deletes.
    through: SeqNo,
    /// No claim is broken by a range delete up to this one, apart from `deleted`.
    ranges_through: SeqNo,
    /// Range deletes of the notes that are yet to be compared with the keys.
    deleted: Vec<(KeyspaceId, EdgeRange)>,
    /// The keys of each keyspace by their hashes, if they are needed.
    by_hash: Option<Vec<ByHash>>,
}

impl<'a> Check<'a> {
    /// Begins the check of claims that hold at the snapshot.
    pub(super) fn new(claims: Settled<'a>, snapshot: SeqNo) -> Check<'a> {
        Check {
            claims,
            snapshot,
            through: snapshot,
            ranges_through: snapshot,
            deleted: Vec::new(),
            by_hash: None,
        }
    }

    /// Looks up newer notes among the claims. The caller holds the writer lock.
    pub(super) fn catch_up(&mut self, recent: &RecentWrites) -> Verdict {
        // A comparator that panics has compared these keys before, so it contradicts itself.
        guarded(|| self.catch_up_guarded(recent)).unwrap_or(Verdict::Broken)
    }

    fn catch_up_guarded(&mut self, recent: &RecentWrites) -> Verdict {
        if self.claims.keyspaces.iter().any(|(own, _)| own.state().is_dropped()) {
            return Verdict::Broken;
        }
        if !recent.knows_ranges_since(self.ranges_through) {
            return Verdict::Lost;
        }
        let Some(newer) = recent.keys_since(self.through) else { return Verdict::Lost };
        if recent.ranges_since(self.ranges_through).next().is_some() {
            return self.take_range_deletes(recent);
        }
        let (notes, keys) = (newer.len(), self.claims.number_of_keys());
        if notes.min(NOTES_AT_ONCE) * keys > FEW_PAIRS && self.by_hash.is_none() {
            return Verdict::Behind;
        }
        for note in newer.take(NOTES_AT_ONCE) {
            if self.is_broken_by(note) {
                return Verdict::Broken;
            }
            debug_assert!(self.through <= note.seqno, "a check goes through the writes in order");
            self.through = note.seqno;
        }
        if notes > NOTES_AT_ONCE { Verdict::Behind } else { Verdict::Hold }
    }

    /// Compares new range deletes with the claimed ranges, and keeps them for the keys.
    fn take_range_deletes(&mut self, recent: &RecentWrites) -> Verdict {
        let since = self.ranges_through;
        for (at, (keyspace, range)) in recent.ranges_since(since).enumerate() {
            if at == 0 {
                self.ranges_through = recent.last_range();
            }
            let Some(at) = self.claims.position(keyspace) else { continue };
            let (own, ranges) = &self.claims.keyspaces[at];
            let comparator = &*own.state().comparator;
            if ranges.overlap(comparator, range) && !planted(Fault::ForgetRangesRead) {
                return Verdict::Broken;
            }
            if own.number_of_keys() > 0 && !planted(Fault::ForgetKeysRead) {
                self.deleted.push((keyspace, range.clone()));
            }
        }
        Verdict::Behind
    }

    fn is_broken_by(&self, note: WrittenKey<'_>) -> bool {
        let Some(at) = self.claims.position(note.keyspace) else { return false };
        let (own, ranges) = &self.claims.keyspaces[at];
        let is_in_range = || {
            !ranges.is_empty()
                && ranges.holds(&*own.state().comparator, note.key)
                && !planted(Fault::ForgetRangesRead)
        };
        let is_key = || match &self.by_hash {
            _ if own.number_of_keys() == 0 => false,
            Some(by_hash) => by_hash[at].is_broken_by(own, note),
            None => {
                let hash = note.hash();
                own.keys().any(|claim| claim.hash == hash && claim.is_broken_by(note.is_base))
            }
        };
        is_in_range() || is_key() && !planted(Fault::ForgetKeysRead)
    }

    /// Does the work of the check that needs no lock. Returns whether the claims still hold.
    pub(super) fn prepare(&mut self) -> bool {
        if self.by_hash.is_none() && self.claims.number_of_keys() * NOTES_AT_ONCE > FEW_PAIRS {
            let keyspaces = self.claims.keyspaces.iter();
            self.by_hash = Some(keyspaces.map(|(own, _)| ByHash::new(own)).collect());
        }
        let deleted = std::mem::take(&mut self.deleted);
        deleted.is_empty() || guarded(|| !self.are_keys_in(&deleted)).unwrap_or(false)
    }

    /// Returns whether a claimed key lies in a deleted range.
    fn are_keys_in(&self, deleted: &[(KeyspaceId, EdgeRange)]) -> bool {
        self.claims.keyspaces.iter().any(|(own, _)| {
            let comparator = &*own.state().comparator;
            let of_it = deleted.iter().filter(|(keyspace, _)| *keyspace == own.id());
            let of_it = of_it.map(|(_, range)| range.clone()).collect();
            let of_it = DisjointRanges::new(of_it, comparator);
            !of_it.is_empty() && own.keys().any(|claim| of_it.holds(comparator, claim.key))
        })
    }

    /// Reads the newest records of all claims. Returns whether the claims hold at
    /// [`Check::through`]. If the notes were lost meanwhile, the next call of [`Check::catch_up`]
    /// says so.
    ///
    /// # Errors
    /// `Corruption`, `Io`; `Busy` if patience ends.
    pub(super) fn read_records(&mut self, core: &Core, patience: Patience) -> Result<bool> {
        let published = core.published();
        let (knows_range_deletes, most_behind) = {
            let recent = &core.lock_writer_for(patience)?.recent;
            (recent.knows_ranges_since(self.ranges_through), Cell::new(most_behind(recent)))
        };
        if !knows_range_deletes {
            self.ranges_through = published;
        }
        self.through = published;
        let reading = Reading { core, patience, knows_range_deletes, most_behind };
        for at in 0..self.claims.keyspaces.len() {
            let keyspace = Arc::clone(self.claims.keyspaces[at].0.state());
            let view = keyspace.view.load_full();
            if keyspace.is_dropped() || !reading.keys(self, at, &view)? {
                return Ok(false);
            }
            if !self.claims.keyspaces[at].1.is_empty() && !reading.ranges(self, at, &view)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// One reading of the newest records of all claims.
struct Reading<'a> {
    core: &'a Core,
    patience: Patience,
    /// Whether the notes know all range deletes since the snapshot. Those of the records then count
    /// for nothing.
    knows_range_deletes: bool,
    /// Writes after which the check must catch up, so that it does not lose the notes.
    most_behind: Cell<SeqNo>,
}

/// Returns how many writes a check may be behind the notes before it catches up.
fn most_behind(recent: &RecentWrites) -> SeqNo {
    recent.reach() as SeqNo / 4
}

impl Reading<'_> {
    /// Catches up with the notes if they may be lost soon. Returns whether the claims still hold.
    #[inline]
    fn keep_up(&self, check: &mut Check<'_>) -> Result<bool> {
        match self.core.published() - check.through > self.most_behind.get() {
            true => self.catch_up(check),
            false => Ok(true),
        }
    }

    #[cold]
    fn catch_up(&self, check: &mut Check<'_>) -> Result<bool> {
        loop {
            let verdict = {
                let writer = self.core.lock_writer_for(self.patience)?;
                self.most_behind.set(most_behind(&writer.recent));
                check.catch_up(&writer.recent)
            };
            match verdict {
                Verdict::Hold => return Ok(true),
                Verdict::Lost => {
                    // There is nothing left to lose.
                    self.most_behind.set(SeqNo::MAX);
                    return Ok(true);
                }
                Verdict::Broken => return Ok(false),
                Verdict::Behind if !check.prepare() => return Ok(false),
                Verdict::Behind => {}
            }
        }
    }

    /// Reads the records of the claimed keys of a keyspace.
    fn keys(&self, check: &mut Check<'_>, at: usize, view: &View) -> Result<bool> {
        let own = check.claims.keyspaces[at].0;
        for claim in own.keys() {
            let mut breach = Breach::new(claim, check.snapshot);
            let sought = Sought { key: claim.key, hash: claim.hash, seqno: MAX_SEQNO };
            own.state().walk_key(view, &sought, ReadSettings::default(), &mut breach)?;
            if breach.is_found || !self.keep_up(check)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the records of the claimed ranges of a keyspace. Range deletes count as a change of
    /// every range, unless the notes know them all.
    fn ranges(&self, check: &mut Check<'_>, at: usize, view: &View) -> Result<bool> {
        let (own, ranges) = &check.claims.keyspaces[at];
        let (own, ranges) = (*own, Arc::clone(ranges));
        self.have_held(check, own.state(), view, &ranges, check.snapshot)
    }
}

/// The keys of a keyspace by their hashes.
struct ByHash {
    /// Numbers of keys plus one, and [`ANY`]; 0 in a slot without a key. A power of two of them.
    slots: Vec<u32>,
}

/// Set in a slot if the key forbids any write.
const ANY: u32 = 1 << 31;

impl ByHash {
    fn new(own: &KeyspaceClaims) -> ByHash {
        let mut by_hash = ByHash { slots: vec![0; (2 * own.number_of_keys()).next_power_of_two()] };
        for (number, claim) in (1..ANY).zip(own.keys()) {
            let slot = by_hash.slot_of(own, claim.hash);
            let number = if by_hash.slots[slot] == 0 { number } else { by_hash.slots[slot] };
            let any = if claim.is_broken_by(false) { ANY } else { 0 };
            by_hash.slots[slot] = number | any;
        }
        by_hash
    }

    /// Returns the slot of a hash, or the free one for it.
    fn slot_of(&self, own: &KeyspaceClaims, hash: u64) -> usize {
        debug_assert!(
            self.slots.len().is_power_of_two() && self.slots.len() > own.number_of_keys(),
            "a free slot ends each search"
        );
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(number) = (self.slots[at] & !ANY).checked_sub(1)
            && own.hash_of(number as usize) != hash
        {
            at = (at + 1) & mask;
        }
        at
    }

    fn is_broken_by(&self, own: &KeyspaceClaims, note: WrittenKey<'_>) -> bool {
        let found = self.slots[self.slot_of(own, note.hash())];
        found & ANY != 0 || found != 0 && note.is_base
    }
}

/// Looks for a record after `since` that a claim forbids.
pub(super) struct Breach<'a> {
    claim: KeyClaim<'a>,
    since: SeqNo,
    is_found: bool,
}

impl<'a> Breach<'a> {
    pub(super) fn new(claim: KeyClaim<'a>, since: SeqNo) -> Breach<'a> {
        Breach { claim, since, is_found: false }
    }

    pub(super) fn is_found(&self) -> bool {
        self.is_found
    }
}

impl KeyVisitor for Breach<'_> {
    fn enter(&mut self, _: Place, largest_seqno: SeqNo) -> bool {
        largest_seqno > self.since
    }

    fn cover(&mut self, seqno: SeqNo) -> ControlFlow<()> {
        self.is_found = seqno > self.since;
        if self.is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn record(&mut self, header: RecordHeader, _: impl FnOnce() -> Value) -> ControlFlow<()> {
        let is_newer = header.seqno > self.since;
        self.is_found = is_newer && self.claim.is_broken_by(header.kind.is_base());
        match is_newer && !self.is_found {
            true => ControlFlow::Continue(()),
            // Older records are no newer than this one (H4).
            false => ControlFlow::Break(()),
        }
    }
}

impl Reading<'_> {
    /// Returns whether no key of the ranges was written after `since`.
    fn have_held(
        &self,
        check: &mut Check<'_>,
        keyspace: &KeyspaceState,
        view: &View,
        ranges: &DisjointRanges,
        since: SeqNo,
    ) -> Result<bool> {
        let comparator = &keyspace.comparator;
        let counts = !self.knows_range_deletes;
        let mut sources = Sources::new();
        for memtable in view.memtables() {
            if counts && memtable.last_range_delete() > since {
                return Ok(false);
            }
            sources.push(Source::Memtable(Box::new(memtable.cursor(MAX_SEQNO))));
        }
        for (_, run) in view.version.runs() {
            let is_newer = |table: &&TableRef| table.file.largest_seqno > since;
            let mut newer = run.tables.iter().filter(is_newer).peekable();
            if newer.peek().is_none() {
                continue;
            }
            if counts && newer.any(|table| table.has_range_tombstones()) {
                return Ok(false);
            }
            let (everything, options) = (KeyRange::all(), point_read(ReadSettings::default()));
            let cursor = RunCursor::new(run, &everything, &keyspace.tables, comparator, options);
            sources.push(Source::Run(cursor));
        }
        let mut records = MergingCursor::new(sources, comparator);
        for range in ranges.iter() {
            match range.start.key() {
                None => records.seek_to_first()?,
                Some(key) => records.seek(key)?,
            }
            while records.valid() && !range.end.is_before(&**comparator, records.key()) {
                let is_inside = range.start.is_before(&**comparator, records.key());
                if is_inside && records.header().seqno > since || !self.keep_up(check)? {
                    return Ok(false);
                }
                if planted(Fault::CheckRangeStart) {
                    break;
                }
                records.next()?;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
