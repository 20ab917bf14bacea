//! A cursor: walks ranges of keys at one moment of a store, a page of packed entries at a time.

use foldb::{Error, Iter, Result};

use crate::packed::{Reader, append};
use crate::store::Opened;

/// Entries of the first page, and of the pages after it.
const PAGES: [usize; 2] = [64, 256];

/// Bytes after which a page ends early.
const PAGE_BYTES: usize = 256 << 10;

/// A range of keys: from a key on and before a key. `None`: no bound there.
type KeyRange = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Walks ranges of keys, one after the other.
#[derive(Debug)]
pub struct Cursor {
    entries: Iter,
    ranges: std::vec::IntoIter<KeyRange>,
    /// The range that is being walked.
    range: Option<KeyRange>,
    is_reverse: bool,
    is_first_page: bool,
    /// The error that ended the last page. The next call reports it.
    failed: Option<Error>,
    /// A page that Java could not take, and whether more may follow. The next call returns it.
    kept: Option<(Vec<u8>, bool)>,
}

impl Cursor {
    /// Returns a cursor over packed ranges: for each two entries without a key, whose values are
    /// the bounds. A reverse cursor walks the last range first, and each from its end. The cursor
    /// sees the store as of this call.
    ///
    /// # Errors
    /// Of the engine. `InvalidArgument` for a malformed array.
    pub fn new(store: &Opened, is_reverse: bool, packed: &[u8]) -> Result<Cursor> {
        let mut reader = Reader::new(packed);
        let mut ranges: Vec<KeyRange> = Vec::new();
        while let Some((_, from)) = reader.entry()? {
            let missing = || Error::invalid_argument("a packed range has no upper bound");
            let (_, to) = reader.entry()?.ok_or_else(missing)?;
            ranges.push((from.map(<[u8]>::to_vec), to.map(<[u8]>::to_vec)));
        }
        ranges.retain(|(from, to)| match (from, to) {
            (Some(from), Some(to)) => from < to,
            _ => true,
        });
        // One iterator over all ranges, so that all are seen at one moment.
        let from = ranges.iter().map(|(from, _)| from.as_deref()).min();
        let unbounded = ranges.iter().any(|(_, to)| to.is_none());
        let to = ranges.iter().filter_map(|(_, to)| to.as_deref()).max();
        let entries = match from {
            None => store.range(Some(b""), Some(b""))?,
            Some(from) => store.range(from, if unbounded { None } else { to })?,
        };
        if is_reverse {
            ranges.reverse();
        }
        Ok(Cursor {
            entries,
            ranges: ranges.into_iter(),
            range: None,
            is_reverse,
            is_first_page: true,
            failed: None,
            kept: None,
        })
    }

    /// Returns the next entries behind `header` zero bytes, and whether more may follow.
    ///
    /// # Errors
    /// Of the engine. An error after the first entry of a page is reported by the next call. A
    /// cursor that failed at a value goes on with the next entry.
    pub fn page(&mut self, header: usize) -> Result<(Vec<u8>, bool)> {
        if let Some(kept) = self.kept.take() {
            return Ok(kept);
        }
        let mut page = vec![0; header];
        let may_follow = self.fill(&mut page)?;
        Ok((page, may_follow))
    }

    /// Takes back a page of [`Cursor::page`] that did not reach Java, so that no entry is lost.
    pub fn keep(&mut self, page: Vec<u8>, may_follow: bool) {
        self.kept = Some((page, may_follow));
    }

    /// Appends the next entries, and returns whether more may follow.
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let most = PAGES[usize::from(!std::mem::take(&mut self.is_first_page))];
        let before = out.len();
        for taken in 0..most {
            match self.append_next(out) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) if taken == 0 => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    return Ok(true);
                }
            }
            if out.len() - before >= PAGE_BYTES {
                break;
            }
        }
        Ok(true)
    }

    /// Appends the next entry. Returns whether there was one.
    fn append_next(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let mut is_there = match &self.range {
            None => false,
            Some(_) if self.is_reverse => self.entries.retreat()?,
            Some(_) => self.entries.advance()?,
        };
        while !(is_there && self.is_in_range()) {
            let Some(range) = self.ranges.next() else {
                self.range = None;
                return Ok(false);
            };
            is_there = self.seek(&range)?;
            self.range = Some(range);
        }
        append(out, self.entries.key(), Some(self.entries.value()?))?;
        Ok(true)
    }

    /// Moves to the first entry of a range, or to its last one. The entry may lie outside.
    fn seek(&mut self, (from, to): &KeyRange) -> Result<bool> {
        match (self.is_reverse, from, to) {
            (false, Some(from), _) => self.entries.seek(from),
            (false, None, _) => self.entries.seek_to_first(),
            (true, _, None) => self.entries.seek_to_last(),
            (true, _, Some(to)) => {
                let is_there = self.entries.seek_for_prev(to)?;
                if is_there && self.entries.key() == to {
                    self.entries.retreat()
                } else {
                    Ok(is_there)
                }
            }
        }
    }

    fn is_in_range(&self) -> bool {
        let key = self.entries.key();
        self.range.as_ref().is_some_and(|(from, to)| {
            if self.is_reverse {
                from.as_deref().is_none_or(|from| from <= key)
            } else {
                to.as_deref().is_none_or(|to| key < to)
            }
        })
    }
}
