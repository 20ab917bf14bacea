//! Finds the live records of a segment in bounded memory.
//!
//! A lookup gathers live extents from tables, in any order. If tables share an extent, it comes
//! several times. When the room is full, the lookup joins neighbouring extents. If the room is
//! still nearly full, the lookup drops the half at the largest positions. Its result is then
//! complete only up to the first dropped extent, and a further pass begins there:
//!
//! ```text
//! room for 4      found  30-40  0-10  70-80  50-60        full: 0-10 30-40 | until 50
//!                 next pass from 50 on                            50-60 70-80
//! ```
//!
//! Extents begin and end at record boundaries, so a part never ends inside a record.

use crate::segment::map::Placement;
use crate::separated::address::SegmentId;
use crate::separated::extents::{Extent, Extents};

/// Smallest room of a lookup, in extents.
const LEAST_ROOM: usize = 64;

/// A search for the live extents of a segment, from a position on.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) segment: SegmentId,
    stretches: Vec<Extent>,
    /// Most extents held at once.
    room: usize,
    from: u64,
    /// Where the first dropped extent begins, if extents were dropped.
    until: Option<u64>,
}

/// Live extents of a segment, from one position up to another.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) live: Extents,
    /// Where the next part begins; `None` for the last part.
    pub(super) until: Option<u64>,
}

impl Lookup {
    pub(super) fn new(segment: SegmentId, from: u64, room: usize) -> Lookup {
        let room = room.max(LEAST_ROOM);
        Lookup { segment, stretches: Vec::new(), room, from, until: None }
    }

    /// Returns the room for one extent of each value, and for an eighth of them a second time. It
    /// suffices even if no extent joins another: if neighbouring values lie in different tables.
    pub(super) fn most_of(placement: &Placement) -> usize {
        let values = usize::try_from(placement.values).unwrap_or(usize::MAX);
        values.saturating_add(values / 8).saturating_add(LEAST_ROOM)
    }

    /// Returns the bytes of this many extents, with the smaller old copy that exists while the
    /// memory grows.
    pub(super) fn bytes_of(stretches: usize) -> usize {
        stretches.saturating_add(stretches.div_ceil(2)).saturating_mul(size_of::<Extent>())
    }

    /// Adds an extent. If the memory grew, returns the bytes of the old and the new memory
    /// together.
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
            assert!(self.stretches.len() < self.room, "a full lookup gives up its last stretches");
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

    /// Returns the next capacity. The steps double and end at the room, so the old and the new
    /// memory together never exceed one and a half times the room.
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
        /// With any room, the parts together are the sorted union of all extents, and no part
        /// exceeds the room.
        #[test]
        fn parts_together_hold_all_found_extents(
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
