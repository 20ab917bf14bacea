//! The one home of a rule: every read of an iterator leaves a claim.
//!
//! A serializable transaction claims what it reads, absent keys included. So its iterators are
//! watched. A walk begins at a seek. It covers all keys between that place and the farthest places
//! that it came to:
//!
//! ```text
//! seek c -> d, next -> g      before c .. behind g
//! seek c -> none              before c .. the end of the range
//! ```
//!
//! Invariant: all moves of an iterator go through [`Watched`], and at each moment the walk and the
//! key under the cursor together cover what was read since the last seek. A step that finds an
//! entry notes nothing, so an iterator that no transaction watches pays nothing.

use foldb_chains::Way;

use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::iterator::bounded::{Bounded, Position};
use crate::iterator::folded::Entries;
use crate::key::Comparator;
use crate::range_tombstone::Edge;
use crate::value::Value;

/// Receives the start and the end of each walk.
pub(crate) type OnWalk = Box<dyn FnMut(Edge, Edge) + Send + Sync>;

/// A bounded cursor, and who learns of its walks. It reads as the cursor does.
pub(crate) struct Watched {
    cursor: Bounded,
    watch: Option<Box<Watch>>,
}

/// The walk in progress.
struct Watch {
    on_walk: OnWalk,
    /// The range of the iterator when it was made. Entries that are taken from its back make it
    /// smaller, and they were read too.
    range: (Edge, Edge),
    walk: Option<(Edge, Edge)>,
    /// Whether the walk came to an end of the range, or failed with an error.
    at_end: bool,
}

impl std::ops::Deref for Watched {
    type Target = Bounded;

    #[inline]
    fn deref(&self) -> &Bounded {
        &self.cursor
    }
}

impl From<Bounded> for Watched {
    fn from(cursor: Bounded) -> Watched {
        Watched { cursor, watch: None }
    }
}

impl Watched {
    /// Calls `on_walk` with each range that the cursor reads, at the latest when it is dropped.
    pub(crate) fn watch(&mut self, on_walk: OnWalk) {
        let (lower, upper) = self.cursor.bounds().as_refs();
        let range = (Edge::at_start(lower), Edge::at_end(upper));
        self.watch = Some(Box::new(Watch { on_walk, range, walk: None, at_end: false }));
    }

    /// See [`Bounded::seek_to_first`].
    pub(super) fn seek_to_first(&mut self) -> Result<bool> {
        self.begin(|_, range| range.0.clone());
        let moved = self.cursor.seek_to_first();
        self.after_move(Way::Forward, moved)
    }

    /// See [`Bounded::seek_to_last`].
    pub(super) fn seek_to_last(&mut self) -> Result<bool> {
        self.begin(|_, range| range.1.clone());
        let moved = self.cursor.seek_to_last();
        self.after_landing(moved)
    }

    /// See [`Bounded::seek`].
    #[inline]
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.begin(|comparator, range| {
            Edge::later(comparator, &range.0, &Edge::Before(key.into())).clone()
        });
        let moved = self.cursor.seek(key);
        self.after_move(Way::Forward, moved)
    }

    /// See [`Bounded::seek_for_prev`].
    pub(super) fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        self.begin(|comparator, range| {
            Edge::earlier(comparator, &range.1, &Edge::Behind(key.into())).clone()
        });
        let moved = self.cursor.seek_for_prev(key);
        self.after_landing(moved)
    }

    /// See [`Bounded::advance`].
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.before_reversal(Way::Forward);
        debug_assert!(self.has_claimed(Way::Forward), "a walk claims each entry that it leaves");
        let moved = self.cursor.advance();
        self.after_move(Way::Forward, moved)
    }

    /// See [`Bounded::retreat`].
    #[inline]
    pub(super) fn retreat(&mut self) -> Result<bool> {
        self.before_reversal(Way::Backward);
        debug_assert!(self.has_claimed(Way::Backward), "a walk claims each entry that it leaves");
        let moved = self.cursor.retreat();
        self.after_move(Way::Backward, moved)
    }

    /// Leaves the entries, as a walk to the end of the range does.
    pub(super) fn leave(&mut self, way: Way) {
        self.reach_here();
        self.cursor.leave();
        let _none = self.after_move(way, Ok(()));
    }

    /// See [`Bounded::take`].
    pub(super) fn take(&mut self) {
        self.cursor.take();
    }

    /// See [`Bounded::end_before`].
    pub(super) fn end_before(&mut self, key: &[u8]) {
        self.cursor.end_before(key);
    }

    /// See [`Bounded::expect_deleted`].
    pub(super) fn expect_deleted(&mut self) {
        self.cursor.expect_deleted();
    }

    /// Claims all of the range: another cursor reads it too, which is not watched.
    #[cold]
    pub(super) fn claim_range(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.reach_ends(self.cursor.comparator(), Way::Forward, true);
        }
    }

    /// Ends the walk, and begins the next one at this place.
    #[inline]
    fn begin(&mut self, place: impl FnOnce(&dyn Comparator, &(Edge, Edge)) -> Edge) {
        if self.watch.is_none() {
            return;
        }
        self.settle();
        if let Some(watch) = &mut self.watch {
            let comparator = self.cursor.comparator();
            watch.reach(comparator, place(comparator, &watch.range));
        }
    }

    /// Extends the walk to the entry from which it now goes the other way.
    #[inline]
    fn before_reversal(&mut self, way: Way) {
        if self.watch.is_some()
            && let Position::On(other) | Position::Taken(other) = self.cursor.position()
            && other != way
        {
            self.reach_here();
        }
    }

    /// Whether the claim holds this entry when the walk goes on in this direction. The end of the
    /// walk extends the claim on the other side. Only the order of bytes is asked, so that another
    /// comparator is called by the step alone.
    fn has_claimed(&self, way: Way) -> bool {
        let Some(watch) = self.watch.as_ref().filter(|_| !planted(Fault::ForgetExactHit)) else {
            return true;
        };
        let (comparator, key) = (self.cursor.comparator(), self.cursor.key());
        if !comparator.bytewise_order() {
            return true;
        }
        let is_on_entry = matches!(self.cursor.position(), Position::On(_) | Position::Taken(_));
        !is_on_entry
            || watch.walk.as_ref().is_some_and(|(start, end)| match way {
                Way::Forward => start.is_before(comparator, key),
                Way::Backward => !end.is_before(comparator, key),
            })
    }

    /// Extends the walk, if a move came to no entry. Returns whether there is one.
    #[inline]
    fn after_move(&mut self, way: Way, moved: Result<()>) -> Result<bool> {
        let is_on_entry = self.cursor.valid();
        if !is_on_entry && let Some(watch) = &mut self.watch {
            watch.reach_ends(self.cursor.comparator(), way, moved.is_err());
        }
        moved.map(|()| is_on_entry)
    }

    /// Extends the walk after a move to the last entry at or before a place. If the entry has the
    /// key of that place, the next step forwards begins behind it. So the walk must have it now.
    fn after_landing(&mut self, moved: Result<()>) -> Result<bool> {
        let is_exact = self.cursor.position() == Position::On(Way::Forward);
        if self.watch.is_some() && is_exact && !planted(Fault::ForgetExactHit) {
            self.reach_here();
        }
        self.after_move(Way::Backward, moved)
    }

    /// Extends the walk to the key under the cursor.
    #[cold]
    fn reach_here(&mut self) {
        if let Some(watch) = &mut self.watch
            && let Position::On(_) | Position::Taken(_) = self.cursor.position()
        {
            let (comparator, key) = (self.cursor.comparator(), self.cursor.key());
            watch.reach(comparator, Edge::Before(key.into()));
            watch.reach(comparator, Edge::Behind(key.into()));
        }
    }

    /// Ends the walk.
    #[cold]
    fn settle(&mut self) {
        self.reach_here();
        if let Some(watch) = &mut self.watch {
            watch.settle(self.cursor.position() == Position::Nowhere);
        }
    }
}

impl Entries for Watched {
    fn comparator(&self) -> &dyn Comparator {
        self.cursor.comparator()
    }

    fn valid(&self) -> bool {
        self.cursor.valid()
    }

    fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    fn value(&self) -> &Result<Value> {
        self.cursor.value()
    }

    fn seek_to_first(&mut self) -> Result<bool> {
        Watched::seek_to_first(self)
    }

    fn seek_to_last(&mut self) -> Result<bool> {
        Watched::seek_to_last(self)
    }

    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        Watched::seek(self, key)
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        Watched::seek_for_prev(self, key)
    }

    fn advance(&mut self) -> Result<bool> {
        Watched::advance(self)
    }

    fn retreat(&mut self) -> Result<bool> {
        Watched::retreat(self)
    }

    fn leave(&mut self, way: Way) {
        Watched::leave(self, way);
    }
}

impl Watch {
    /// Extends the walk to a place. The first place begins it.
    #[cold]
    fn reach(&mut self, comparator: &dyn Comparator, place: Edge) {
        // If the comparator panics, the walk is as before.
        let extended = match &self.walk {
            None => (place.clone(), place),
            Some((start, end)) => (
                Edge::earlier(comparator, start, &place).clone(),
                Edge::later(comparator, end, &place).clone(),
            ),
        };
        self.walk = Some(extended);
    }

    /// Extends the walk to the end that a move came to. It is unknown how far a failed move came.
    #[cold]
    fn reach_ends(&mut self, comparator: &dyn Comparator, way: Way, failed: bool) {
        self.at_end = true;
        let (start, end) = self.range.clone();
        if failed || way == Way::Forward {
            self.reach(comparator, end);
        }
        if failed || way == Way::Backward {
            self.reach(comparator, start);
        }
    }

    /// Ends the walk. If its cursor stands nowhere and came to no end, a comparator panicked during
    /// a move. It is then unknown how far the move came.
    #[cold]
    fn settle(&mut self, is_nowhere: bool) {
        let was_cut_short = is_nowhere && !self.at_end;
        self.at_end = false;
        if let Some(walk) = self.walk.take() {
            let (start, end) = if was_cut_short { self.range.clone() } else { walk };
            (self.on_walk)(start, end);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // A walk calls the comparator. While a panic unwinds, a second panic would abort the
        // process; the claim of the live iterator then stays.
        if self.watch.is_some() && !std::thread::panicking() {
            self.settle();
        }
    }
}
