//! Watched iterators: the walks of a transaction's iterator, as [`Watch`] collects them.
//!
//! A seek begins a walk. A turn, the end of the range and the end of the iterator extend it. A step
//! that finds an entry does nothing here, so an iterator that no transaction watches pays nothing.

use crate::error::Result;
use crate::iterator::bounds::Bounds;
use crate::iterator::visible::{Iter, State, Way};
use crate::iterator::watch::{OnWalk, Watch};
use crate::range_tombstone::Edge;

impl Iter {
    /// Calls `on_walk` with each range that the iterator reads, at the latest when it is dropped.
    pub(crate) fn watched(mut self, on_walk: OnWalk) -> Iter {
        self.watch = Some(Box::new(Watch::new(on_walk)));
        self
    }

    /// Ends the watched walk, and begins the next one where a seek begins.
    #[inline]
    pub(super) fn begin_walk(&mut self, place: impl FnOnce(&Bounds) -> Edge) {
        if self.watch.is_some() {
            let place = place(&self.parts.bounds);
            self.settle_walk();
            self.reach(place);
        }
    }

    #[cold]
    fn reach(&mut self, place: Edge) {
        if let Some(watch) = &mut self.watch {
            watch.reach(&*self.parts.comparator, place);
        }
    }

    /// Extends the watched walk to the key under the cursor.
    #[cold]
    pub(super) fn reach_here(&mut self) {
        if self.valid() || self.state == State::FromBack {
            self.reach(Edge::Before(self.key[..].into()));
            self.reach(Edge::Behind(self.key[..].into()));
        }
    }

    #[cold]
    fn settle_walk(&mut self) {
        self.reach_here();
        let was_cut_short = self.state == State::Exhausted;
        let Some(watch) = &mut self.watch else { return };
        if was_cut_short && !watch.came_to_an_end() {
            // A comparator panicked during a move, so it is unknown how far the move came.
            let (lower, upper) = self.parts.bounds.as_refs();
            watch.settle_as(Edge::at_start(lower), Edge::at_end(upper));
        } else {
            watch.settle();
        }
    }

    /// Extends the watched walk, if a move came to no entry.
    #[inline]
    pub(super) fn after_move(&mut self, way: Way, moved: Result<bool>) -> Result<bool> {
        if !matches!(moved, Ok(true)) && self.watch.is_some() {
            self.reach_ends(way, moved.is_err());
        }
        moved
    }

    /// Extends the watched walk to the whole range.
    pub(super) fn reach_all(&mut self) {
        if self.watch.is_some() {
            self.reach_ends(Way::Forward, true);
        }
    }

    #[cold]
    fn reach_ends(&mut self, way: Way, failed: bool) {
        let Bounds { lower, upper } = &self.parts.bounds;
        let start = Edge::at_start(lower.as_ref().map(Vec::as_slice));
        let end = Edge::at_end(upper.as_ref().map(Vec::as_slice));
        if let Some(watch) = &mut self.watch {
            watch.note_end();
        }
        // It is unknown how far a failed move came.
        if failed || way == Way::Forward {
            self.reach(end);
        }
        if failed || way == Way::Backward {
            self.reach(start);
        }
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        // A walk calls the comparator. While a panic unwinds, a second panic would abort the
        // process; the claim of the live iterator then stays.
        if self.watch.is_some() && !std::thread::panicking() {
            self.settle_walk();
        }
    }
}
