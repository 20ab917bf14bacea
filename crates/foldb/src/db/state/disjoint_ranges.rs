//! Key ranges in order, for a search among many.
//!
//! Invariant: the ranges ascend, and no two of them meet. So one binary search tells whether a key
//! lies in one of them, or whether another range overlaps one:
//!
//! ```text
//! given    d..k   a..c   f..m   m..p
//! kept     a..c   d..p
//! ```

use crate::db::state::recent_writes::EdgeRange;
use crate::key::Comparator;

/// Key ranges in order that do not meet.
#[derive(Debug, Default)]
pub(crate) struct DisjointRanges(Vec<EdgeRange>);

impl DisjointRanges {
    /// Puts ranges in order, joins those that meet, and drops the empty ones. `n` ranges take about
    /// `n log n` comparisons.
    pub(crate) fn new(mut ranges: Vec<EdgeRange>, comparator: &dyn Comparator) -> DisjointRanges {
        ranges.retain(|range| range.start.compare(comparator, &range.end).is_lt());
        ranges.sort_by(|a, b| a.start.compare(comparator, &b.start));
        ranges.dedup_by(|next, last| {
            let meets = next.start.compare(comparator, &last.end).is_le();
            if meets && last.end.compare(comparator, &next.end).is_lt() {
                last.end = next.end.clone();
            }
            meets
        });
        debug_assert!(
            ranges.is_sorted_by(|a, b| a.end.compare(comparator, &b.start).is_lt()),
            "a search finds the only range around a key"
        );
        DisjointRanges(ranges)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_vec(self) -> Vec<EdgeRange> {
        self.0
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, EdgeRange> {
        self.0.iter()
    }

    /// Returns whether a key lies in one of the ranges.
    pub(crate) fn holds(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        let behind = self.0.partition_point(|range| range.start.is_before(comparator, key));
        behind > 0 && !self.0[behind - 1].end.is_before(comparator, key)
    }

    /// Returns whether a key may lie in one of the ranges and in another range.
    pub(crate) fn overlap(&self, comparator: &dyn Comparator, other: &EdgeRange) -> bool {
        let ends_first = |range: &EdgeRange| range.end.compare(comparator, &other.start).is_le();
        let next = self.0.partition_point(ends_first);
        self.0.get(next).is_some_and(|range| range.overlaps(comparator, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::BytewiseComparator as Bytewise;
    use crate::range_tombstone::Edge;

    fn edge(rng: &mut fastrand::Rng) -> Edge {
        let key = [rng.u8(..40)];
        match rng.u8(..12) {
            0 => Edge::Lowest,
            1 => Edge::Highest,
            2..7 => Edge::Before(key[..].into()),
            _ => Edge::Behind(key[..].into()),
        }
    }

    /// Ranges that are empty or run backwards are among them.
    fn range(rng: &mut fastrand::Rng) -> EdgeRange {
        EdgeRange { start: edge(rng), end: edge(rng) }
    }

    fn has_keys(range: &EdgeRange) -> bool {
        range.start.compare(&Bytewise, &range.end).is_lt()
    }

    #[test]
    fn a_search_finds_what_a_walk_over_all_ranges_finds() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let given: Vec<EdgeRange> = (0..rng.usize(..8)).map(|_| range(&mut rng)).collect();
            let ranges = DisjointRanges::new(given.clone(), &Bytewise);
            for pair in ranges.0.windows(2) {
                assert!(pair[0].end.compare(&Bytewise, &pair[1].start).is_lt(), "{pair:?}");
            }
            for key in 0..40 {
                let expected = given.iter().any(|range| range.holds(&Bytewise, &[key]));
                assert_eq!(ranges.holds(&Bytewise, &[key]), expected, "{key} in {given:?}");
            }
            for other in (0..10).map(|_| range(&mut rng)).filter(has_keys) {
                let full = given.iter().filter(|range| has_keys(range));
                let expected = full.into_iter().any(|range| range.overlaps(&Bytewise, &other));
                let found = ranges.overlap(&Bytewise, &other);
                assert_eq!(found, expected, "{other:?} in {given:?}");
            }
        }
    }
}
