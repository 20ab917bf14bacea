//! Reading an iterator from both ends.
//!
//! An iterator has a cursor and an *end*. It still has to yield the entries from the cursor to the
//! end: `next` takes the first of them and moves the cursor, `next_back` takes the last of them and
//! moves the end before it. Every other call moves the cursor alone, to any entry before the end.
//! No call moves the end back.
//!
//! ```text
//! a b c d    next = a, next_back = d, next_back = c    next = b, then nothing from either side
//! a b c d    next_back = d, seek(a), next = a          seek(d) finds nothing: it lies behind
//! ```
//!
//! The end is the upper bound of the range, so `next` compares nothing more than before.
//!
//! As long as only `next_back` is called, the one cursor over the sources serves the back. A second
//! one is opened when both ends are in use.

use std::sync::Arc;

use crate::error::Result;
use crate::iterator::visible::{Iter, Opened, State, VisibleParts, Way};
use crate::value::Value;

impl DoubleEndedIterator for Iter {
    /// Yields the last entry that the iterator has not yielded, as [`Iterator::next`] yields the
    /// first. An entry comes from one end or from the other, never from both.
    ///
    /// Later calls of every kind find only entries before the one that this call returns.
    fn next_back(&mut self) -> Option<Self::Item> {
        match self.state {
            State::Exhausted => None,
            State::Fresh | State::FromBack => self.take_last_alone(),
            State::Forward | State::Backward => {
                let mut back = self.back.take().unwrap_or_else(|| self.open_back());
                let last = self.take_last(&mut back);
                self.back = Some(back);
                last
            }
        }
    }
}

impl Iter {
    /// Takes the last entry while nothing but `next_back` has moved the iterator.
    fn take_last_alone(&mut self) -> Option<Result<(Vec<u8>, Value)>> {
        let has_taken = self.state == State::FromBack;
        let moved = if has_taken {
            // The records of the entry taken last lie behind the cursor.
            std::mem::swap(&mut self.key, &mut self.last_taken);
            self.state = State::Exhausted;
            self.find_backward()
        } else {
            self.find_last_from_behind()
        };
        let moved = self.after_move(Way::Backward, moved);
        if let Ok(true) = moved {
            self.state = State::FromBack;
            return Some(self.entry());
        }
        if has_taken {
            self.parts.bounds.end_before(&self.last_taken);
        }
        moved.err().map(Err)
    }

    /// Moves to the last entry, and the records' cursor before it.
    fn find_last_from_behind(&mut self) -> Result<bool> {
        let found = self.seek_to_last()?;
        if self.state == State::Forward {
            self.state = State::Exhausted;
            self.parts.records.seek_before(&self.key)?;
        }
        Ok(found)
    }

    /// Takes the last entry from the cursor on. `back` stands on the entry that it took last,
    /// or on one that it found and left, or has yet to begin.
    fn take_last(&mut self, back: &mut Iter) -> Option<Result<(Vec<u8>, Value)>> {
        let moved = if back.valid() && !back.yielded { Ok(true) } else { back.retreat() };
        match moved {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let order = self.parts.comparator.compare(&back.key, &self.key);
        if order.is_lt() || order.is_eq() && self.yielded {
            return None;
        }
        back.yielded = true;
        self.parts.bounds.end_before(&back.key);
        if order.is_eq() {
            // The entry under the cursor is taken, so nothing is left.
            self.state = State::Exhausted;
        }
        Some(back.entry())
    }

    /// Opens the back end. A watched iterator then counts as a walk over all of its range.
    #[cold]
    fn open_back(&mut self) -> Box<Iter> {
        self.reach_all();
        Box::new(self.second())
    }

    /// Makes the cursor ready to be moved, after calls of `next_back`.
    #[cold]
    pub(super) fn leave_back(&mut self) {
        if self.state == State::FromBack {
            self.reach_all();
            let front = self.second();
            let mut back = std::mem::replace(self, front);
            (back.state, back.yielded) = (State::Backward, true);
            self.parts.bounds.end_before(&back.key);
            self.back = Some(Box::new(back));
        } else if self.back.as_ref().is_some_and(|back| back.state == State::Exhausted) {
            // It failed to read. The next call begins anew.
            self.back = None;
        }
    }

    /// Moves the cursor of an iterator that only `next_back` had moved.
    #[cold]
    pub(super) fn with_front(&mut self, seek: fn(&mut Iter) -> Result<bool>) -> Result<bool> {
        self.state = State::FromBack;
        seek(self)
    }

    /// Opens the same sources again, for a second cursor at the same moment. It is not watched.
    pub(crate) fn second(&self) -> Iter {
        let parts = &self.parts;
        let Opened { records, covers, values } =
            parts.origin.open(parts.seqno, parts.report.as_ref());
        Iter::new(VisibleParts {
            records,
            covers,
            seqno: parts.seqno,
            time: parts.time.clone(),
            bounds: parts.bounds.clone(),
            comparator: Arc::clone(&parts.comparator),
            resolver: parts.resolver.clone(),
            values,
            origin: Arc::clone(&parts.origin),
            totals: Arc::clone(&parts.totals),
            report: parts.report.clone(),
        })
    }
}
