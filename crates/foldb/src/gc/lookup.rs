//! Which records of a segment are alive, found in as much room as there is.
//!
//! Stretches are gathered from tables in any order, several times where tables share them. When the
//! room is full they are joined; if that does not help, those of the largest positions are given
//! up, and what was found is complete only up to there:
//!
//! ```text
//! room for 4      found  30-40  0-10  70-80  50-60        full: 0-10 30-40 | until 50
//!                 next pass from 50 on                            50-60 70-80
//! ```
//!
//! Stretches begin and end where records do, so a part never ends inside a record.

use crate::segment::map::Placement;
use crate::separated::address::SegmentId;
use crate::separated::extents::{Extent, Extents};

/// Least stretches that there is room for.
const LEAST_ROOM: usize = 64;

/// A search for the live stretches of a segment, from a position on.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) segment: SegmentId,
    stretches: Vec<Extent>,
    /// Most stretches held at once.
    room: usize,
    from: u64,
    /// Where those that were given up begin.
    until: Option<u64>,
}

/// Live stretches of a segment, from one position up to another.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) live: Extents,
    /// Where the next part begins.
    pub(super) until: Option<u64>,
}

impl Lookup {
    pub(super) fn new(segment: SegmentId, from: u64, room: usize) -> Lookup {
        let room = room.max(LEAST_ROOM);
        Lookup { segment, stretches: Vec::new(), room, from, until: None }
    }

    /// The most stretches that a segment can take: each record in another table than its
    /// neighbours, and some of them told twice.
    pub(super) fn most_of(placement: &Placement) -> usize {
        let values = usize::try_from(placement.values).unwrap_or(usize::MAX);
        values.saturating_add(values / 8).saturating_add(LEAST_ROOM)
    }

    /// Bytes of so many stretches, and of their copy while the memory for them grows.
    pub(super) fn bytes_of(stretches: usize) -> usize {
        stretches.saturating_add(stretches.div_ceil(2)).saturating_mul(size_of::<Extent>())
    }

    /// Adds a stretch. Answers the bytes held meanwhile, if the memory grew.
    pub(super) fn add(&mut self, stretch: Extent) -> Option<usize> {
        let end = self.until.map_or(stretch.end, |until| stretch.end.min(until));
        let stretch = Extent { start: stretch.start.max(self.from), end };
        if stretch.start >= stretch.end {
            return None;
        }
        if let Some(last) = self.stretches.last_mut()
            && last.end == stretch.start
        {
            last.end = stretch.end;
            return None;
        }
        if self.stretches.len() == self.room {
            self.make_room();
            return self.add(stretch);
        }
        let before = self.stretches.capacity();
        if self.stretches.len() == before {
            self.stretches.reserve_exact(self.next_capacity() - before);
        }
        self.stretches.push(stretch);
        let after = self.stretches.capacity();
        (after > before).then_some((before + after) * size_of::<Extent>())
    }

    /// Twice as much, by steps that end at the room: the old and the new are never more than half
    /// as much again.
    fn next_capacity(&self) -> usize {
        let least = self.stretches.capacity().max(LEAST_ROOM / 2);
        let mut next = self.room;
        while next.div_ceil(2) > least {
            next = next.div_ceil(2);
        }
        next
    }

    fn make_room(&mut self) {
        self.join();
        if self.stretches.len() > self.room - self.room / 16 {
            let kept = self.room / 2;
            self.until = Some(self.stretches[kept].start);
            self.stretches.truncate(kept);
        }
    }

    fn join(&mut self) {
        self.stretches = Extents::of(std::mem::take(&mut self.stretches)).into_stretches();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<Extent>()
    }

    pub(super) fn finish(self) -> Part {
        Part { live: Extents::of(self.stretches), until: self.until }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However little room there is, the parts together are the union, in order, and no part is
        /// larger.
        #[test]
        fn parts_together_are_all_that_was_found(
            found in proptest::collection::vec((0..900u64, 1..4u64), 0..700),
            room in 64..300usize,
        ) {
            let found: Vec<Extent> = found
                .into_iter()
                .map(|(start, len)| Extent { start: 4 * start, end: 4 * (start + len) })
                .collect();
            let mut together = Vec::new();
            let mut from = Some(0);
            while let Some(start) = from {
                let mut lookup = Lookup::new(7, start, room);
                for &stretch in &found {
                    let held = lookup.add(stretch).unwrap_or(lookup.memory_bytes());
                    prop_assert!(held <= Lookup::bytes_of(room));
                }
                let part = lookup.finish();
                prop_assert!(part.until.is_none_or(|until| until > start));
                prop_assert!(part.live.iter().all(|stretch| stretch.start >= start));
                together.extend(part.live.iter());
                from = part.until;
            }
            prop_assert!(together.is_sorted());
            prop_assert_eq!(Extents::of(together), Extents::of(found));
        }
    }
}
