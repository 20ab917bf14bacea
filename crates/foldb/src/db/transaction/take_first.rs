//! Taking the first entry of a range: the front of a queue.
//!
//! The keys before it are mostly deleted ones. Walks remember them ([`crate::iterator`]), so a call
//! takes as long however many entries were taken before, and from however many queues. The queues
//! used last do not even begin a walk there: a call leaves a *front* behind.
//!
//! ```text
//! [start .......... front] had no entry at 812     a write inside since then?
//!                          next call looks here     no, say the notes of recent writes
//! ```
//!
//! If the notes do not reach back that far, or have too many writes since, or a key was put before
//! the front, the next call walks from the start.

use std::ops::Bound;

use crate::db::handle::read_options::ReadOptions;
use crate::db::state::fronts::Front;
use crate::db::state::recent_writes::{EdgeRange, Noted, RecentWrites};
use crate::db::throttle::room::Patience;
use crate::db::transaction::conditional::{Conditional, lost_the_key};
use crate::error::Result;
use crate::iterator::Bounds;
use crate::key::{AsKeyRange, Kind, NO_OPERATOR, SeqNo};
use crate::range_tombstone::Edge;
use crate::value::Value;

/// Writes since a front was left, up to which a look through them is cheaper than a walk.
const MOST_SINCE: usize = 256;

impl Conditional<'_> {
    /// Deletes the first entry of a range, and returns it; `None` if the range has no entry. A
    /// call takes as long however many entries were taken before.
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("task 1", "write")?;
    /// db.put("task 2", "test")?;
    /// let (key, task) = db.take_first("task ".."task:")?.unwrap();
    /// assert_eq!((&key[..], &task[..]), (&b"task 1"[..], &b"write"[..]));
    /// assert_eq!(db.take_first(..)?.unwrap().0, b"task 2");
    /// assert!(db.take_first(..)?.is_none());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.check_writable()?;
        self.options.check()?;
        let bounds = Bounds::of(&range);
        let start = Edge::at_start(bounds.as_refs().0);
        let clock = &*core.options.env.clock;
        let patience = Patience::of(self.options, clock);
        let _noting = core.noting(patience)?;
        let mut losses = 0;
        loop {
            let _turn = core.turn_after(losses, patience)?;
            let front = core.fronts.find(keyspace.id, &start);
            let since = core.published();
            let time = self.time();
            let from = match &front {
                Some(front) => Bound::Excluded(front.key.to_vec()),
                None => bounds.lower.clone(),
            };
            let rest = Bounds { lower: from, upper: bounds.upper.clone() };
            let first = self.keyspace.new_iter(rest, &ReadOptions::default())?.at_front().next();
            let Some(Ok((key, value))) = first else {
                // A key may have come before the front. Then the rest does not matter.
                if let Some(front) = front
                    && !self.is_still_empty(&start, &front, patience)?
                {
                    core.fronts.forget(keyspace.id, &start, &front);
                    continue;
                }
                return first.transpose();
            };
            let gone = EdgeRange { start: start.clone(), end: Edge::Behind(key[..].into()) };
            let mut deleted_at = 0;
            let (mut lost, mut is_passed) = (false, false);
            let delete = (Kind::Delete, NO_OPERATOR);
            let options = patience.limit(self.options, clock);
            let written = core.write_one_if(keyspace, delete, &key, &[], &options, |writer| {
                let recent = &writer.recent;
                is_passed =
                    front.as_ref().is_some_and(|front| !self.is_untouched(recent, &start, front));
                lost = is_passed || !self.is_unchanged(recent, &gone, since) || self.is_later(time);
                deleted_at = core.published() + 1;
                if lost { Err(lost_the_key()) } else { Ok(()) }
            });
            if !lost {
                written?;
                let front = Front { key: key[..].into(), seqno: deleted_at };
                core.fronts.set(keyspace.id, &start, front);
                return Ok(Some((key, value)));
            }
            if let Some(front) = front.filter(|_| is_passed) {
                core.fronts.forget(keyspace.id, &start, &front);
            }
            losses += 1;
        }
    }

    /// Returns whether the range before the front is as empty as when the front was left, and moves
    /// the front to the present.
    fn is_still_empty(&self, start: &Edge, front: &Front, patience: Patience) -> Result<bool> {
        let core = self.keyspace.core();
        let writer = core.lock_writer_for(patience)?;
        let is_untouched = self.is_untouched(&writer.recent, start, front);
        if is_untouched {
            let front = Front { key: front.key.clone(), seqno: core.published() };
            core.fronts.set(self.keyspace.state().id, start, front);
        }
        Ok(is_untouched)
    }

    /// Returns whether no key before the front was written after the front was left.
    fn is_untouched(&self, recent: &RecentWrites, start: &Edge, front: &Front) -> bool {
        if recent.keys_since(front.seqno).is_none_or(|newer| newer.len() > MOST_SINCE) {
            return false;
        }
        let end = Edge::Behind(front.key.clone());
        self.is_unchanged(recent, &EdgeRange { start: start.clone(), end }, front.seqno)
    }

    fn is_unchanged(&self, recent: &RecentWrites, range: &EdgeRange, since: SeqNo) -> bool {
        let keyspace = self.keyspace.state();
        let (id, comparator) = (keyspace.id, &*keyspace.comparator);
        recent.has_range_changed(id, comparator, range, since) == Noted::Unchanged
    }
}
