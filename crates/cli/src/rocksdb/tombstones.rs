//! Which records tombstones of ranges cover.
//!
//! A tombstone covers the records of its range with smaller sequence numbers. One in a table says
//! nothing about keys outside of the bounds of that table.

use std::collections::BinaryHeap;

use super::order::Order;

/// A tombstone of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tombstone {
    pub(super) start: Vec<u8>,
    pub(super) end: Vec<u8>,
    /// Whether the range has the key `end`.
    pub(super) has_end: bool,
    pub(super) sequence: u64,
}

impl Tombstone {
    /// Cuts the tombstone at the bounds of its table. With `has_last`, the table may have records
    /// of the last key. Returns false if nothing is left.
    pub(super) fn cut(&mut self, first: &[u8], last: &[u8], has_last: bool, order: Order) -> bool {
        if order.compare(&self.start, first).is_lt() {
            self.start = first.to_vec();
        }
        if order.compare(&self.end, last).is_gt() {
            self.end = last.to_vec();
            self.has_end = has_last;
        }
        match order.compare(&self.start, &self.end) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.has_end,
            std::cmp::Ordering::Greater => false,
        }
    }

    fn is_over(&self, key: &[u8], order: Order) -> bool {
        match order.compare(&self.end, key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => !self.has_end,
            std::cmp::Ordering::Greater => false,
        }
    }
}

/// The tombstones of a family, for keys that ascend.
#[derive(Debug)]
pub(super) struct Tombstones {
    order: Order,
    /// In the order of their starts, the first one last.
    waiting: Vec<Tombstone>,
    /// Those whose start was reached, by sequence number. Some may be over.
    begun: BinaryHeap<Begun>,
}

#[derive(Debug, PartialEq, Eq)]
struct Begun(Tombstone);

impl Ord for Begun {
    fn cmp(&self, other: &Begun) -> std::cmp::Ordering {
        self.0.sequence.cmp(&other.0.sequence)
    }
}

impl PartialOrd for Begun {
    fn partial_cmp(&self, other: &Begun) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Tombstones {
    pub(super) fn new(mut all: Vec<Tombstone>, order: Order) -> Tombstones {
        all.sort_by(|one, other| order.compare(&other.start, &one.start));
        Tombstones { order, waiting: all, begun: BinaryHeap::new() }
    }

    /// Returns the largest sequence number of the tombstones over a key; 0 for none. The key is not
    /// before the last one.
    pub(super) fn over(&mut self, key: &[u8]) -> u64 {
        while self.waiting.last().is_some_and(|next| self.order.compare(&next.start, key).is_le()) {
            self.begun.extend(self.waiting.pop().map(Begun));
        }
        while self.begun.peek().is_some_and(|Begun(largest)| largest.is_over(key, self.order)) {
            self.begun.pop();
        }
        self.begun.peek().map_or(0, |Begun(largest)| largest.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tombstone(start: &str, end: &str, sequence: u64) -> Tombstone {
        let (start, end) = (start.as_bytes().to_vec(), end.as_bytes().to_vec());
        Tombstone { start, end, has_end: false, sequence }
    }

    #[test]
    fn the_newest_tombstone_over_a_key_counts() {
        let all = vec![tombstone("b", "f", 5), tombstone("d", "h", 9), tombstone("a", "c", 7)];
        let mut tombstones = Tombstones::new(all, Order::Bytewise);
        let found = ["a", "b", "c", "d", "f", "h"].map(|key| tombstones.over(key.as_bytes()));
        assert_eq!(found, [7, 7, 5, 9, 9, 0]);
        let all = vec![tombstone("f", "b", 5)];
        let mut tombstones = Tombstones::new(all, Order::Reverse);
        assert_eq!(["g", "f", "c", "b"].map(|key| tombstones.over(key.as_bytes())), [0, 5, 5, 0]);
    }

    #[test]
    fn a_tombstone_ends_at_the_bounds_of_its_table() {
        let mut cut = tombstone("a", "z", 5);
        assert!(cut.cut(b"c", b"f", true, Order::Bytewise));
        let mut tombstones = Tombstones::new(vec![cut], Order::Bytewise);
        assert_eq!(["b", "c", "f", "g"].map(|key| tombstones.over(key.as_bytes())), [0, 5, 5, 0]);
        assert!(!tombstone("a", "c", 5).cut(b"c", b"f", true, Order::Bytewise));
    }
}
