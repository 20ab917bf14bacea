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
}

impl Watch {
    pub(crate) fn new(on_walk: OnWalk) -> Watch {
        Watch { on_walk, walk: None }
    }

    /// Extends the walk to a place. The first place begins it.
    pub(crate) fn reach(&mut self, comparator: &dyn Comparator, place: Edge) {
        let (start, end) = self.walk.take().unwrap_or_else(|| (place.clone(), place.clone()));
        let earlier = Edge::earlier(comparator, &start, &place).clone();
        let later = Edge::later(comparator, &end, &place).clone();
        self.walk = Some((earlier, later));
    }

    /// Ends the walk.
    pub(crate) fn settle(&mut self) {
        if let Some((start, end)) = self.walk.take() {
            (self.on_walk)(start, end);
        }
    }
}
