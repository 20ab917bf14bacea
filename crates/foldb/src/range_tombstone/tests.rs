//! Compares the set and its skylines with a scan over all tombstones.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as AtomicOrdering};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::key::{BytewiseComparator, MAX_SEQNO};

/// Orders keys by their bytes, largest first.
#[derive(Debug)]
struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &'static str {
        "test.descending"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
    fn bytewise_order(&self) -> bool {
        false
    }
    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Orders keys by their bytes, and counts the comparisons.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &'static str {
        "test.counting"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, AtomicOrdering::Relaxed);
        a.cmp(b)
    }
    fn bytewise_order(&self) -> bool {
        true
    }
    fn bytewise_equality(&self) -> bool {
        true
    }
}

const KEYS: u8 = 12;

fn key(n: u8) -> Key {
    Arc::from([n])
}

fn edge() -> impl Strategy<Value = Edge> {
    prop_oneof![
        1 => Just(Edge::Lowest),
        8 => (0..KEYS).prop_map(|n| Edge::Before(key(n))),
        4 => (0..KEYS).prop_map(|n| Edge::Behind(key(n))),
        1 => Just(Edge::Highest),
    ]
}

/// Makes the edges of fewer than `most` tombstones, oldest first.
fn tombstones(most: usize) -> impl Strategy<Value = Vec<(Edge, Edge)>> {
    vec((edge(), edge()), 0..most)
}

fn ordered(comparator: &dyn Comparator, edges: Vec<(Edge, Edge)>) -> Vec<RangeTombstone> {
    let mut seqno = 0;
    let mut tombstone = |(a, b): (Edge, Edge)| {
        seqno += 10;
        match a.compare(comparator, &b) {
            Ordering::Less => Some(RangeTombstone { start: a, end: b, seqno }),
            Ordering::Greater => Some(RangeTombstone { start: b, end: a, seqno }),
            Ordering::Equal => None,
        }
    };
    edges.into_iter().filter_map(&mut tombstone).collect()
}

fn cover_by_definition(
    comparator: &dyn Comparator,
    all: &[RangeTombstone],
    key: &[u8],
    at: SeqNo,
) -> SeqNo {
    let covering = all.iter().filter(|t| t.seqno <= at && t.contains(comparator, key));
    covering.map(|t| t.seqno).max().unwrap_or(0)
}

fn comparators() -> [Box<dyn Comparator>; 2] {
    [Box::new(BytewiseComparator), Box::new(Descending)]
}

proptest! {
    /// Looks up every key at every sequence number, in a set that grew tombstone by tombstone and
    /// in a set made from all of them.
    #[test]
    fn h10_a_set_covers_what_its_tombstones_cover(edges in tombstones(70), reads in vec(0..70usize, 0..9)) {
        for comparator in comparators() {
            let comparator = &*comparator;
            let all = ordered(comparator, edges.clone());
            let mut grown = RangeTombstones::default();
            for (at, tombstone) in all.iter().enumerate() {
                grown = grown.with(tombstone.clone());
                if reads.contains(&at) {
                    // This read makes the skylines of the tombstones so far.
                    grown.cover(comparator, b"", MAX_SEQNO);
                }
            }
            prop_assert_eq!(grown.to_vec(), all.clone());
            let made = RangeTombstones::new(all.clone());
            for n in 0..KEYS {
                for at in (0..all.len() as u64 + 2).map(|n| n * 10 + 5) {
                    let expected = cover_by_definition(comparator, &all, &[n], at);
                    for set in [&grown, &made] {
                        prop_assert_eq!(set.cover(comparator, &[n], at), expected);
                        check_narrowing(comparator, set, n, at, expected)?;
                    }
                }
            }
        }
    }

    /// A skyline is in order, without overlaps, and covers what its tombstones cover.
    #[test]
    fn h10_a_skyline_is_the_newest_of_each_key(edges in tombstones(40)) {
        for comparator in comparators() {
            let comparator = &*comparator;
            let all = ordered(comparator, edges.clone());
            let skyline = skyline::of(comparator, &all);
            for fragment in &skyline {
                prop_assert!(fragment.start.compare(comparator, &fragment.end).is_lt());
            }
            for pair in skyline.windows(2) {
                prop_assert!(pair[0].end.compare(comparator, &pair[1].start).is_le());
                prop_assert!(pair[0].end != pair[1].start || pair[0].seqno != pair[1].seqno);
            }
            for n in 0..KEYS {
                let expected = cover_by_definition(comparator, &all, &[n], MAX_SEQNO);
                prop_assert_eq!(skyline::search(&skyline, comparator, &[n], &mut |_, _| {}), expected);
            }
        }
    }
}

/// Checks that all keys inside the bounds that a search reports have the same cover.
fn check_narrowing(
    comparator: &dyn Comparator,
    set: &RangeTombstones,
    n: u8,
    at: SeqNo,
    cover: SeqNo,
) -> Result<(), TestCaseError> {
    let (mut start, mut end) = (Edge::Lowest, Edge::Highest);
    set.search(comparator, &[n], at, &mut |from, to| {
        start = Edge::later(comparator, &start, from).clone();
        end = Edge::earlier(comparator, &end, to).clone();
    });
    let stretch = RangeTombstone { start, end, seqno: 0 };
    prop_assert!(stretch.contains(comparator, &[n]));
    for other in (0..KEYS).filter(|&other| stretch.contains(comparator, &[other])) {
        prop_assert_eq!(set.cover(comparator, &[other], at), cover);
    }
    Ok(())
}

/// Deletes `count` ranges, nested or side by side, and reads twice after each delete. Returns the
/// number of comparisons.
fn steps_of(count: u32, nested: bool) -> u64 {
    let comparator = Counting::default();
    let mut set = RangeTombstones::default();
    for n in 0..count {
        // Each nested range contains all earlier ranges. Otherwise each range lies after the one
        // before.
        let from = if nested { count - n } else { 2 * n };
        let to = if nested { count + n + 1 } else { 2 * n + 1 };
        let at = |n: u32| Edge::Before(Key::from(&n.to_be_bytes()[..]));
        set = set.with(RangeTombstone { start: at(from), end: at(to), seqno: u64::from(n) + 1 });
        let probe = from.to_be_bytes();
        assert_eq!(set.cover(&comparator, &probe, MAX_SEQNO), u64::from(n) + 1);
        // Reads at an older sequence number.
        assert!(set.cover(&comparator, &count.to_be_bytes(), u64::from(n / 2)) <= u64::from(n / 2));
    }
    comparator.0.load(AtomicOrdering::Relaxed)
}

/// Ten times as many range deletes, each followed by reads, cost less than twenty times the
/// comparisons. If each read fragmented all tombstones again, they would cost a hundred times as
/// many.
#[test]
fn h10_ten_thousand_range_deletes_are_not_a_hundred_million_steps() {
    for nested in [true, false] {
        let (few, many) = (steps_of(1000, nested), steps_of(10_000, nested));
        assert!(many < 20 * few, "nested {nested}: {few} steps for 1000, {many} for 10 000");
        assert!(many < 10_000_000, "nested {nested}: {many} steps");
    }
}
