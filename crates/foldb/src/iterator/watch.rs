//! Which ranges an iterator reads, for a transaction that claims them.
//!
//! A walk begins at a seek. It covers all keys between that place and the farthest places that it
//! came to, absent ones included:
//!
//! ```text
//! seek c -> d, next -> g      before c .. behind g
//! seek c -> none              before c .. the upper bound
//! ```

use crate::key::Comparator;
use crate::range_tombstone::Edge;

/// Receives the start and the end of each walk.
pub(crate) type OnWalk = Box<dyn FnMut(Edge, Edge) + Send + Sync>;

/// The walk in progress.
pub(crate) struct Watch {
    on_walk: OnWalk,
    walk: Option<(Edge, Edge)>,
    /// Whether the walk came to an end of the range, or failed with an error.
    at_end: bool,
}

impl Watch {
    pub(crate) fn new(on_walk: OnWalk) -> Watch {
        Watch { on_walk, walk: None, at_end: false }
    }

    /// Extends the walk to a place. The first place begins it.
    pub(crate) fn reach(&mut self, comparator: &dyn Comparator, place: Edge) {
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

    /// Notes that the walk came to an end of the range.
    pub(crate) fn note_end(&mut self) {
        self.at_end = true;
    }

    pub(crate) fn came_to_an_end(&self) -> bool {
        self.at_end || self.walk.is_none()
    }

    /// Ends the walk.
    pub(crate) fn settle(&mut self) {
        if let Some((start, end)) = self.walk.take() {
            self.settle_as(start, end);
        }
    }

    /// Ends the walk, as one over these keys.
    pub(crate) fn settle_as(&mut self, start: Edge, end: Edge) {
        (self.walk, self.at_end) = (None, false);
        (self.on_walk)(start, end);
    }
}
