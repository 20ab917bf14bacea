//! The iterator that users see: a cursor over a key range that is read from both ends.
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
//! Invariant: the end is the upper bound of the front's range, so `next` compares nothing more than
//! before. As long as only `next_back` is called, the front's cursor serves the back, and stands on
//! the entry that was taken last. A second cursor is opened when both ends are in use.

use std::time::Instant;

use foldb_chains::Way;

use crate::counters::is_sampled;
use crate::error::{Error, Result};
use crate::iterator::bounded::{Bounded, Position};
use crate::iterator::watched::Watched;
use crate::value::Value;

/// A cursor over the entries of a key range, in both directions.
///
/// It starts before the first entry; position it with one of the `seek` calls. It shows the
/// database as it was when the iterator was made, and keeps that state alive.
///
/// As a Rust iterator it yields `(key, value)` pairs forwards from its position, or from the first
/// entry if it was never positioned. From the other end, [`DoubleEndedIterator::next_back`] yields
/// pairs backwards from the last entry. An entry whose merge failed is an error of its own, and
/// iteration continues after it.
///
/// Both ends meet, and each entry comes once. `next_back` also ends the range before the entry that
/// it returns: every later call finds only entries before it. A positioning call moves the front,
/// so entries after the new position that `next` yielded before come again.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// for fruit in ["apple", "cherry", "pear"] {
///     db.put(fruit, "")?;
/// }
/// let mut fruits = db.range("b"..)?;
/// assert!(fruits.seek_to_first()?);
/// assert_eq!(fruits.key(), b"cherry");
/// assert!(fruits.advance()?);
/// assert!(fruits.retreat()?);
/// assert_eq!(fruits.key(), b"cherry");
/// assert!(!fruits.retreat()?, "apple lies outside the range");
///
/// let mut fruits = db.iter()?.map(|entry| entry.map(|(key, _)| key));
/// assert_eq!(fruits.next_back().unwrap()?, b"pear");
/// assert_eq!(fruits.next().unwrap()?, b"apple");
/// assert_eq!(fruits.next_back().unwrap()?, b"cherry");
/// assert!(fruits.next().is_none() && fruits.next_back().is_none());
/// assert_eq!(db.iter()?.rev().count(), 3);
/// # Ok::<(), foldb::Error>(())
/// ```
pub struct Iter {
    front: Watched,
    /// The cursor of the back end, once both ends are in use.
    back: Option<Box<Watched>>,
    /// Whether `Iterator::next` returned the entry under the cursor already.
    yielded: bool,
}

impl From<Bounded> for Iter {
    fn from(front: Bounded) -> Iter {
        Iter::from(Watched::from(front))
    }
}

impl From<Watched> for Iter {
    fn from(front: Watched) -> Iter {
        Iter { front, back: None, yielded: false }
    }
}

impl Iter {
    /// Expects that the first key is a deleted one, as at the front of a queue.
    pub(crate) fn at_front(mut self) -> Iter {
        self.front.expect_deleted();
        self
    }

    /// Moves to the first entry. Each positioning call returns whether there is an entry.
    ///
    /// # Errors
    /// `Corruption` or `Io` when a table cannot be read.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        self.timed_seek(Watched::seek_to_first)
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`].
    pub fn seek_to_last(&mut self) -> Result<bool> {
        self.timed_seek(Watched::seek_to_last)
    }

    /// Moves to the first entry at or above `key`.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`]. `InvalidArgument` for a key that the comparator cannot compare;
    /// the iterator then stays where it is.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.front.check_key(key)?;
        self.timed_seek(|front| front.seek(key))
    }

    /// Moves to the last entry at or below `key`.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.front.check_key(key)?;
        self.timed_seek(|front| front.seek_for_prev(key))
    }

    /// Moves to the next entry; from a fresh iterator, to the first.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`].
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        if !self.valid() {
            return self.begin(Iter::seek_to_first);
        }
        self.yielded = false;
        self.front.advance()
    }

    /// Moves to the previous entry; from a fresh iterator, to the last.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`].
    #[inline]
    pub fn retreat(&mut self) -> Result<bool> {
        if !self.valid() {
            return self.begin(Iter::seek_to_last);
        }
        self.yielded = false;
        self.front.retreat()
    }

    /// Moves the cursor for the first time. A cursor that ran off an end stays there.
    #[cold]
    fn begin(&mut self, seek: fn(&mut Iter) -> Result<bool>) -> Result<bool> {
        match self.front.position() {
            Position::Nowhere => Ok(false),
            _ => seek(self),
        }
    }

    /// Returns whether the iterator stands on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.front.valid()
    }

    /// Returns the key under the cursor.
    ///
    /// # Panics
    /// When the iterator is not [`Iter::valid`].
    #[inline]
    pub fn key(&self) -> &[u8] {
        assert!(self.valid(), "the iterator stands on no entry");
        self.front.key()
    }

    /// Returns the value under the cursor.
    ///
    /// # Errors
    /// `MergeFailed` when this key's merge failed. `Corruption` or `Io` when the value lies in a
    /// value segment that cannot be read. The iterator can still move on.
    ///
    /// # Panics
    /// When the iterator is not [`Iter::valid`].
    #[inline]
    pub fn value(&self) -> Result<&Value> {
        assert!(self.valid(), "the iterator stands on no entry");
        self.front.value().as_ref().map_err(Error::clone)
    }

    /// Moves the front. Times some of the moves.
    #[inline]
    fn timed_seek(&mut self, seek: impl FnOnce(&mut Watched) -> Result<bool>) -> Result<bool> {
        self.before_seek();
        if !is_sampled() {
            return seek(&mut self.front);
        }
        let start = Instant::now();
        let found = seek(&mut self.front);
        self.front.note_seek(start.elapsed());
        found
    }

    /// Makes the front ready for a seek.
    #[inline]
    fn before_seek(&mut self) {
        self.yielded = false;
        if self.back.is_some() || matches!(self.front.position(), Position::Taken(_)) {
            self.part_ends();
        }
    }

    /// Gives the back a cursor of its own, after calls of `next_back`.
    #[cold]
    fn part_ends(&mut self) {
        if let Position::Taken(_) = self.front.position() {
            self.front.claim_range();
            let front = Watched::from(self.front.second());
            let back = std::mem::replace(&mut self.front, front);
            self.back = Some(Box::new(back));
        } else if self.back.as_ref().is_some_and(|back| back.position() == Position::Nowhere) {
            // It failed to read. The next call begins anew.
            self.back = None;
        }
    }

    /// Takes the last entry while nothing but `next_back` has moved the iterator.
    fn take_last_alone(&mut self, moved: Result<bool>) -> Option<Entry> {
        let last = entry_after(moved, &self.front);
        self.front.take();
        last
    }

    /// Takes the last entry from the cursor on.
    fn take_last(&mut self) -> Option<Entry> {
        let mut back = self.back.take();
        let moved = match &mut back {
            // It was found and left, because it lies before the cursor.
            Some(back) if back.valid() => Ok(true),
            Some(back) => back.retreat(),
            None => back.insert(self.open_back()).seek_to_last(),
        };
        let back = self.back.insert(back?);
        let last = entry_after(moved, back)?;
        if !back.valid() {
            return Some(last);
        }
        let order = self.front.comparator().compare(back.key(), self.front.key());
        if order.is_lt() || order.is_eq() && self.yielded {
            return None;
        }
        self.front.end_before(back.key());
        back.take();
        if order.is_eq() {
            // The entry under the cursor is taken, so nothing is left.
            self.front.leave(Way::Forward);
        }
        Some(last)
    }

    /// Opens the back end. A watched iterator then counts as a walk over all of its range.
    #[cold]
    fn open_back(&mut self) -> Box<Watched> {
        self.front.claim_range();
        Box::new(Watched::from(self.front.second()))
    }
}

/// A step of a Rust iterator.
type Entry = Result<(Vec<u8>, Value)>;

/// Returns the entry that a move of a cursor came to.
fn entry_after(moved: Result<bool>, cursor: &Bounded) -> Option<Entry> {
    match moved {
        Ok(true) => Some(cursor.value().clone().map(|value| (cursor.key().to_vec(), value))),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    }
}

impl Iterator for Iter {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let moved = if self.valid() && !self.yielded { Ok(true) } else { self.advance() };
        self.yielded = matches!(moved, Ok(true));
        entry_after(moved, &self.front)
    }
}

impl DoubleEndedIterator for Iter {
    /// Yields the last entry that the iterator has not yielded, as [`Iterator::next`] yields the
    /// first. An entry comes from one end or from the other, never from both.
    ///
    /// Later calls of every kind find only entries before the one that this call returns.
    fn next_back(&mut self) -> Option<Entry> {
        match self.front.position() {
            Position::Nowhere => None,
            Position::On(_) => self.take_last(),
            Position::Fresh => {
                let moved = self.front.seek_to_last();
                self.take_last_alone(moved)
            }
            Position::Taken(_) => {
                let moved = self.front.retreat();
                self.take_last_alone(moved)
            }
        }
    }
}

impl std::fmt::Debug for Iter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter").field("position", &self.front.position()).finish_non_exhaustive()
    }
}
