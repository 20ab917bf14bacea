//! Iterators that stay open while the database changes.

use foldb::Iter;

use super::compare::{Entries, seen};
use super::program::{Key, Move};

/// An iterator and its expected position.
pub(super) struct HeldIterator {
    iter: Iter,
    entries: Entries,
    position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Fresh,
    At(usize),
    Exhausted,
}

impl HeldIterator {
    pub(super) fn new(iter: Iter, entries: Entries) -> HeldIterator {
        HeldIterator { iter, entries, position: Position::Fresh }
    }

    pub(super) fn make(&mut self, a_move: Move) {
        let entries = &self.entries;
        let at = |index: Option<usize>| match index {
            Some(index) if index < entries.len() => Position::At(index),
            _ => Position::Exhausted,
        };
        let first_from = |key: Key| entries.partition_point(|(other, _)| *other < key.bytes());
        let first_behind = |key: Key| entries.partition_point(|(other, _)| *other <= key.bytes());
        let last = entries.len().checked_sub(1);
        let expected = match (a_move, self.position) {
            (Move::First, _) | (Move::Advance, Position::Fresh) => at(Some(0)),
            (Move::Last, _) | (Move::Retreat, Position::Fresh) => at(last),
            (Move::Seek(key), _) => at(Some(first_from(key))),
            (Move::SeekForPrev(key), _) => at(first_behind(key).checked_sub(1)),
            (Move::Advance, Position::At(index)) => at(Some(index + 1)),
            (Move::Retreat, Position::At(index)) => at(index.checked_sub(1)),
            (Move::Advance | Move::Retreat, Position::Exhausted) => Position::Exhausted,
        };
        let moved = match a_move {
            Move::First => self.iter.seek_to_first(),
            Move::Last => self.iter.seek_to_last(),
            Move::Seek(key) => self.iter.seek(key.bytes()),
            Move::SeekForPrev(key) => self.iter.seek_for_prev(key.bytes()),
            Move::Advance => self.iter.advance(),
            Move::Retreat => self.iter.retreat(),
        };
        let moved = moved.expect("a move");
        assert_eq!(moved, self.iter.valid(), "{a_move:?} says where it stands");
        let stands = moved.then(|| {
            let value = self.iter.value().map(|value| Some(value.clone()));
            (self.iter.key().to_vec(), seen(value).expect("an entry has a value"))
        });
        let wanted = match expected {
            Position::At(index) => Some(entries[index].clone()),
            Position::Fresh | Position::Exhausted => None,
        };
        assert_eq!(stands, wanted, "{a_move:?} from {:?}", self.position);
        self.position = expected;
    }
}
