//! Passing many deleted keys at once, as far as a source knows them.
//!
//! Invariant: a source is led past records only if no reader of this cursor sees them, and if no
//! older source then shows what they hid.

use std::ops::Bound;

use foldb_chains::{Cover, Way};

use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::iterator::dead::Dead;
use crate::iterator::merging::MergingCursor;
use crate::iterator::source::Source;
use crate::key::SeqNo;
use crate::range_tombstone::Edge;

impl MergingCursor {
    /// Skips records that no reader at `seqno` sees, as far as a source knows them at once. A table
    /// skips those that a range delete up to `cover` deletes in the fragment between these edges. A
    /// memtable skips runs of deleted keys that no other source has. Returns whether the cursor
    /// moved.
    #[cold]
    pub(crate) fn pass_gone(
        &mut self,
        seqno: SeqNo,
        cover: SeqNo,
        fragment: Option<(&Edge, &Edge)>,
    ) -> Result<bool> {
        let winner = self.winner();
        let way = self.way;
        if let Source::Run(cursor) = &mut self.sources[winner] {
            self.effort.gone += 1;
            let Some(fragment) = fragment.filter(|_| cover > 0) else { return Ok(false) };
            match cursor.pass_covered(way, cover, fragment) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
                Err(error) => return Err(self.fail(error)),
            }
        } else {
            let limit = self.next_of_others(winner).map(|key| key.to_vec());
            let is_here = |limit: &[u8]| {
                limit == self.sources[winner].key() || self.is_spelled_otherwise(limit)
            };
            if limit.as_deref().is_some_and(is_here) {
                return Ok(false);
            }
            let Source::Memtable(cursor) = &mut self.sources[winner] else { return Ok(false) };
            let cover = fragment.and_then(|fragment| memtable_cover(cover, fragment));
            if !cursor.pass_gone(way, seqno, cover, limit.as_deref()) {
                return Ok(false);
            }
        }
        self.effort.steps += 1;
        self.replay(winner);
        Ok(true)
    }

    /// Leads runs past a stretch of deleted keys that the cursor is in. Returns whether one moved.
    ///
    /// A run passes only if no older source stays inside the stretch. Else the deletes that it
    /// hides would no longer hide the records below them:
    ///
    /// ```text
    /// newer run   a.DEL.5             a stretch at 7 covers this file,
    /// older run   a.PUT.1  z.PUT.9    and not this one
    /// ```
    #[cold]
    pub(crate) fn pass_dead(&mut self, dead: &Dead) -> Result<bool> {
        let mut moved = false;
        for index in (0..self.sources.len()).rev() {
            match self.lead_past(index, dead) {
                Ok(false) => {}
                Ok(true) => {
                    moved = true;
                    self.refresh(index);
                }
                Err(error) => return Err(self.fail(error)),
            }
            if self.stays_inside(index, dead) && !planted(Fault::PassDeadAlone) {
                break;
            }
        }
        if moved {
            self.effort.steps += 1;
            self.play_all();
        }
        Ok(moved)
    }

    /// Leads one source past a stretch, as far as it may go. Returns whether it moved.
    fn lead_past(&mut self, index: usize, dead: &Dead) -> Result<bool> {
        let way = self.way;
        let source = &mut self.sources[index];
        let mut moved = false;
        while source.valid() && dead.holds(self.order.comparator(), source.key()) {
            let passed = match source {
                Source::Memtable(_) => false,
                Source::Run(cursor) => cursor.pass_dead(way, dead)?,
                Source::Folded(cursor) => cursor.pass_dead(way, dead)?,
            };
            if !passed {
                break;
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Returns whether a source still stands on a key of a stretch. The last key does not count,
    /// because no source goes behind it.
    fn stays_inside(&self, index: usize, dead: &Dead) -> bool {
        let source = &self.sources[index];
        if !source.valid() || !dead.holds(self.order.comparator(), source.key()) {
            return false;
        }
        let is_last = match (self.way, &dead.end) {
            (Way::Forward, Edge::Behind(last)) => self.order.compare(source.key(), last).is_eq(),
            _ => false,
        };
        !is_last
    }

    /// Returns the key that comes first, in the cursor's direction, in all sources but one.
    fn next_of_others(&self, winner: usize) -> Option<&[u8]> {
        let others = self.sources.iter().enumerate().filter(|(index, _)| *index != winner);
        let keys = others.map(|(_, source)| source).filter(|source| source.valid());
        let keys = keys.map(Source::key);
        let compare = |a: &&[u8], b: &&[u8]| self.order.compare(a, b);
        match self.way {
            Way::Forward => keys.min_by(compare),
            Way::Backward => keys.max_by(compare),
        }
    }
}

/// Returns what a memtable's cursor needs to know of a range delete, or `None` where there is none.
fn memtable_cover<'a>(seqno: SeqNo, (from, to): (&'a Edge, &'a Edge)) -> Option<Cover<'a>> {
    let from = match from {
        Edge::Lowest => Bound::Unbounded,
        Edge::Before(key) => Bound::Included(&**key),
        Edge::Behind(key) => Bound::Excluded(&**key),
        Edge::Highest => return None,
    };
    let to = match to {
        Edge::Lowest => return None,
        Edge::Before(key) => Bound::Excluded(&**key),
        Edge::Behind(key) => Bound::Included(&**key),
        Edge::Highest => Bound::Unbounded,
    };
    (seqno > 0).then_some(Cover { seqno, from, to })
}
