//! Compares the iterator that users see with a sorted vector of the visible entries.

use std::ops::Bound;

use super::visible::{at, iter};
use super::*;
use crate::error::ErrorKind;
use crate::key::SeqNo;
use crate::testing::tree::read_events_in;

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Advance,
    Retreat,
    Next,
    NextBack,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => key().prop_map(Move::Seek),
        2 => key().prop_map(Move::SeekForPrev),
        4 => Just(Move::Advance),
        4 => Just(Move::Retreat),
        4 => Just(Move::Next),
        4 => Just(Move::NextBack),
    ];
    proptest::collection::vec(one, 1..40)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        2 => Just(Bound::Unbounded),
        1 => key().prop_map(Bound::Included),
        1 => key().prop_map(Bound::Excluded),
    ]
}

pub(super) fn split() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let operands = vec!["+1", "-2", ",x", "=v", "!", "#1", "#-1", "*"];
    let event = prop_oneof![
        3 => select(operands).prop_map(|operand| Event::merge("", 0, operand)),
        4 => Just(Event::put("", 0, "1")),
        2 => Just(Event::delete("", 0)),
        1 => key().prop_map(|end| Event { value: end, ..Event::delete_range("", "", 0) }),
    ];
    let events = proptest::collection::vec((key(), event, any::<prop::sample::Index>()), 0..40);
    (1..5usize, events).prop_map(|(count, events)| {
        let mut split = vec![Vec::new(); count];
        for (seqno, (key, mut event, source)) in (1..).zip(events) {
            (event.key, event.header.seqno) = (key, seqno);
            split[source.index(count)].push(event);
        }
        split
    })
}

/// Moves records to older sources, so that of one key no source has an older record than a source
/// below it, as in a tree.
fn as_in_a_tree(comparator: &dyn Comparator, split: Vec<Vec<Event>>) -> Vec<Vec<Event>> {
    let mut placed = vec![Vec::new(); split.len()];
    let drawn = split.into_iter().enumerate();
    let mut events: Vec<(Event, usize)> =
        drawn.flat_map(|(source, events)| events.into_iter().map(move |e| (e, source))).collect();
    events.sort_by_key(|(event, _)| event.header.seqno);
    let mut sources: Vec<(Vec<u8>, usize)> = Vec::new();
    for (event, drawn) in events {
        let same = |key: &[u8]| comparator.compare(key, &event.key).is_eq();
        let source = match sources.iter_mut().find(|(key, _)| same(key)) {
            _ if event.is_range() => drawn,
            None => {
                sources.push((event.key.clone(), drawn));
                drawn
            }
            Some((_, last)) => {
                *last = drawn.min(*last);
                *last
            }
        };
        placed[source].push(event);
    }
    placed
}

/// Returns a key in the spelling of its newest record that a reader at `seqno` sees.
fn newest_spelling(
    comparator: &dyn Comparator,
    events: &[Event],
    key: &[u8],
    seqno: SeqNo,
) -> Vec<u8> {
    let of_key = events.iter().filter(|event| !event.is_range() && event.header.seqno <= seqno);
    let of_key = of_key.filter(|event| comparator.compare(&event.key, key).is_eq());
    of_key.max_by_key(|event| event.header.seqno).expect("a visible key").key.clone()
}

/// Position of the model.
#[derive(Clone, Copy)]
enum Place {
    Fresh,
    At(usize),
    Nowhere,
}

/// An entry as text, `!` for a failed merge.
type Entry = (Vec<u8>, String);

/// Returns an entry that an iterator yielded. A failed merge has no key.
fn shown(entry: crate::Result<(Vec<u8>, crate::Value)>) -> Entry {
    match entry {
        Ok((key, value)) => (key, value.escape_ascii().to_string()),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::MergeFailed);
            (Vec::new(), "!".to_owned())
        }
    }
}

/// An iterator over a slice.
struct Model<'a> {
    /// The entries before the end.
    entries: &'a [Entry],
    place: Place,
    /// Whether `next` yielded the entry at the place.
    yielded: bool,
}

impl Model<'_> {
    /// Returns the first entry that the iterator has still to yield.
    fn rest(&self) -> usize {
        match self.place {
            Place::Fresh => 0,
            Place::At(index) => index + usize::from(self.yielded),
            Place::Nowhere => self.entries.len(),
        }
    }

    fn at(&self) -> Option<Entry> {
        match self.place {
            Place::At(index) => Some(self.entries[index].clone()),
            _ => None,
        }
    }

    fn next(&mut self) -> Option<Entry> {
        let index = self.rest();
        let entry = self.entries.get(index);
        self.place = entry.map_or(Place::Nowhere, |_| Place::At(index));
        self.yielded = true;
        entry.map(without_key_of_a_failure)
    }

    fn next_back(&mut self) -> Option<Entry> {
        let rest = self.rest();
        let (last, before) = self.entries.split_last().filter(|_| rest < self.entries.len())?;
        self.entries = before;
        if let Place::At(index) = self.place
            && index == before.len()
        {
            self.place = Place::Nowhere;
        }
        Some(without_key_of_a_failure(last))
    }
}

fn without_key_of_a_failure((key, value): &Entry) -> Entry {
    let key = if value == "!" { Vec::new() } else { key.clone() };
    (key, value.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn iterators_against_a_vector(
        split in split(),
        seqno in 0..45u64,
        lower in bound(),
        upper in bound(),
        moves in moves(),
        comparator in orders(),
    ) {
        let compare = |a: &[u8], b: &[u8]| comparator.compare(a, b);
        let bench = Workbench::ordered_by(Arc::clone(&comparator));
        let split: Vec<Vec<Event>> = split
            .into_iter()
            .map(|events| events.into_iter().map(|e| e.in_order(&*comparator)).collect())
            .collect();
        let split = as_in_a_tree(&*comparator, split);
        let events = split.concat();
        let mut keys: Vec<_> = events.iter().map(|event| event.key.clone()).collect();
        keys.sort_by(|a, b| compare(a, b));
        keys.dedup_by(|a, b| compare(a, b).is_eq());
        let inside = |key: &[u8]| {
            let above = match &lower {
                Bound::Unbounded => true,
                Bound::Included(lower) => compare(key, lower).is_ge(),
                Bound::Excluded(lower) => compare(key, lower).is_gt(),
            };
            above && match &upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => compare(key, upper).is_le(),
                Bound::Excluded(upper) => compare(key, upper).is_lt(),
            }
        };
        let entries: Vec<_> = keys
            .into_iter()
            .filter(|key| inside(key))
            .map(|key| (read_events_in(&*comparator, &events, &key, seqno), key))
            .filter(|(value, _)| value != "-")
            .map(|(value, key)| (newest_spelling(&*comparator, &events, &key, seqno), value))
            .collect();

        let bounds = Bounds::between((lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)));
        let mut iter = iter(&bench, &split, seqno, bounds);
        let mut model = Model { entries: &entries[..], place: Place::Fresh, yielded: false };
        for step in moves {
            if let Move::Next | Move::NextBack = step {
                let (found, expected) = match step {
                    Move::Next => (iter.next(), model.next()),
                    _ => (iter.next_back(), model.next_back()),
                };
                prop_assert_eq!(found.map(shown), expected, "{:?}", step);
                prop_assert_eq!(at(&iter), model.at(), "{:?}", step);
                continue;
            }
            let (entries, place) = (model.entries, model.place);
            let first_at_or_above =
                |key: &[u8]| entries.partition_point(|entry| compare(&entry.0, key).is_lt());
            let to = match (&step, place) {
                (Move::First, _) | (Move::Advance, Place::Fresh) => Some(0),
                (Move::Last, _) | (Move::Retreat, Place::Fresh) => entries.len().checked_sub(1),
                (Move::Seek(key), _) => Some(first_at_or_above(key)),
                (Move::SeekForPrev(key), _) => entries
                    .partition_point(|entry| compare(&entry.0, key).is_le())
                    .checked_sub(1),
                (Move::Advance, Place::At(index)) => Some(index + 1),
                (Move::Retreat, Place::At(index)) => index.checked_sub(1),
                (Move::Advance | Move::Retreat, Place::Nowhere) => None,
                (Move::Next | Move::NextBack, _) => unreachable!("done above"),
            };
            let there = match &step {
                Move::First => iter.seek_to_first(),
                Move::Last => iter.seek_to_last(),
                Move::Seek(key) => iter.seek(key),
                Move::SeekForPrev(key) => iter.seek_for_prev(key),
                Move::Advance => iter.advance(),
                Move::Retreat => iter.retreat(),
                Move::Next | Move::NextBack => unreachable!("done above"),
            };
            let expected = to.and_then(|index| entries.get(index));
            model.yielded = false;
            model.place = match (expected, to) {
                (Some(_), Some(index)) => Place::At(index),
                _ => Place::Nowhere,
            };
            prop_assert_eq!(there.unwrap(), expected.is_some(), "{:?}", step);
            prop_assert_eq!(at(&iter), expected.cloned(), "{:?}", step);
        }
    }
}
