//! Taking the first entry of a range: the front of a queue.
//!
//! Deleted keys stay in memtables and tables until compactions drop them. A search from the start
//! of the range would pass all of them, again at each call. So a call leaves a *front* behind:
//!
//! ```text
//! [start .......... front] had no entry at 812     a write inside since then?
//!                          next call looks here     no, say the notes of recent writes
//! ```
//!
//! If the notes do not reach back that far, or a key was put before the front, the next call
//! searches from the start again.

use std::ops::Bound;

use crate::db::handle::read_options::ReadOptions;
use crate::db::state::fronts::Front;
use crate::db::state::recent_writes::{EdgeRange, Noted, RecentWrites};
use crate::db::transaction::conditional::{Conditional, TURN, lost_the_key};
use crate::db::transaction::transact::LOSSES_BEFORE_TURN;
use crate::error::Result;
use crate::iterator::Bounds;
use crate::key::{AsKeyRange, Kind, NO_OPERATOR, SeqNo};
use crate::range_tombstone::Edge;
use crate::value::Value;

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
        let _noting = core.noting();
        let bounds = Bounds::of(&range);
        let start = Edge::at_start(bounds.as_refs().0);
        let mut losses = 0;
        loop {
            let _turn =
                if losses < LOSSES_BEFORE_TURN { None } else { Some(core.take_turn(TURN)?) };
            let front = core.fronts.find(keyspace.id, &start);
            let since = core.published();
            let from = match &front {
                Some(front) => Bound::Excluded(front.key.to_vec()),
                None => bounds.lower.clone(),
            };
            let rest = Bounds { lower: from, upper: bounds.upper.clone() };
            let first = match self.keyspace.new_iter(rest, &ReadOptions::default()) {
                Ok(mut iter) => iter.next().transpose()?,
                // The front lies behind the end of this range.
                Err(_) if front.is_some() => None,
                Err(error) => return Err(error),
            };
            let Some((key, value)) = first else {
                if front.is_none() {
                    return Ok(None);
                }
                // A key may have been put before the front.
                core.fronts.forget(keyspace.id, &start);
                continue;
            };
            let gone = EdgeRange { start: start.clone(), end: Edge::Behind(key[..].into()) };
            let mut deleted_at = 0;
            let mut lost = false;
            let delete = (Kind::Delete, NO_OPERATOR);
            let written = core.write_one_if(keyspace, delete, &key, &[], self.options, |writer| {
                lost = !self.is_still_first(&writer.recent, &gone, since, front.as_ref());
                deleted_at = core.published() + 1;
                if lost { Err(lost_the_key()) } else { Ok(()) }
            });
            if !lost {
                written?;
                let front = Front { key: key[..].into(), seqno: deleted_at };
                core.fronts.set(keyspace.id, &start, front);
                return Ok(Some((key, value)));
            }
            core.fronts.forget(keyspace.id, &start);
            losses += 1;
        }
    }

    /// Returns whether no key before the end of `gone` was written after the search for it began,
    /// and none before the front after the front was left.
    fn is_still_first(
        &self,
        recent: &RecentWrites,
        gone: &EdgeRange,
        since: SeqNo,
        front: Option<&Front>,
    ) -> bool {
        let keyspace = self.keyspace.state();
        let (id, comparator) = (keyspace.id, &*keyspace.comparator);
        let before_front = front.is_none_or(|front| {
            let end = Edge::Behind(front.key.clone());
            let passed = EdgeRange { start: gone.start.clone(), end };
            recent.has_changed(id, comparator, &passed, front.seqno) == Noted::Unchanged
        });
        before_front && recent.has_changed(id, comparator, gone, since) == Noted::Unchanged
    }
}
