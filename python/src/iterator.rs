//! Iterators over entries: forwards, backwards, and from any place.
//!
//! An iterator stands between two entries. It reads some entries ahead without the GIL, and more
//! with each round, so a loop over many entries switches rarely.

use std::sync::Arc;

use foldb::{Error, Iter};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::callbacks::detached;
use crate::ending::Unlocked;
use crate::errors::{closed, raise};
use crate::keys::Codec;
use crate::released::release;
use crate::snapshot::Moment;
use crate::standing::Standing;

/// Most entries, and about the most bytes, that are read ahead: they stay in the nearest cache.
const MOST_AHEAD: usize = 128;
const MOST_BYTES: usize = 32 << 10;

/// What an iterator yields of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Keys,
    Values,
    Items,
    /// `None` for each entry.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Forward,
    Back,
}

/// The place between two entries where an iterator stands, when it has no cursor there.
#[derive(Clone, Debug)]
enum Gap {
    Start,
    End,
    Before(Vec<u8>),
    After(Vec<u8>),
}

/// Entries that were read ahead: keys and values one after the other.
#[derive(Default)]
struct Ahead {
    bytes: Vec<u8>,
    /// Where each key and each value ends.
    ends: Vec<(usize, usize)>,
    /// The next entry to yield.
    next: usize,
}

impl Ahead {
    fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (key, value) = self.ends[index];
        (&self.bytes[begin..key], &self.bytes[key..value])
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.next = 0;
    }
}

/// An iterator over entries in the order of their keys. It shows the moment at which it was made.
#[pyclass(module = "foldb")]
pub(crate) struct Entries {
    iter: Option<Iter>,
    keys: Arc<Codec>,
    shown: Shown,
    reverse: bool,
    moment: Option<Arc<Moment>>,
    /// Whether the database was closed, or the process forked.
    closed: Arc<Standing>,
    ahead: Ahead,
    /// The way of the entries ahead.
    way: Way,
    /// Where the iterator stands if nothing was yielded of the entries ahead.
    gap: Gap,
    /// Whether the cursor stands on the entry after those ahead, or past the last one.
    is_placed: bool,
    /// How many entries the next round reads.
    round: usize,
    failed: Option<Error>,
    /// What each key begins with and does not show.
    hidden: Vec<u8>,
}

impl Entries {
    pub(crate) fn new(
        iter: Iter,
        keys: Arc<Codec>,
        shown: Shown,
        reverse: bool,
        moment: Option<Arc<Moment>>,
        closed: Arc<Standing>,
    ) -> Entries {
        Entries {
            iter: Some(iter),
            keys,
            shown,
            reverse,
            moment,
            closed,
            ahead: Ahead::default(),
            way: Way::Forward,
            gap: if reverse { Gap::End } else { Gap::Start },
            is_placed: false,
            round: 1,
            failed: None,
            hidden: Vec::new(),
        }
    }

    /// Shows keys without these bytes at their front, and finds keys that are given so.
    pub(crate) fn hiding(mut self, front: &[u8]) -> Entries {
        self.hidden = front.to_vec();
        self
    }

    fn check_open(&self) -> PyResult<()> {
        if self.iter.is_none() {
            return Err(raise(closed("iterator")));
        }
        check(self.moment.as_ref(), &self.closed)
    }

    /// Forgets what was read ahead, and stands at a place.
    fn stand(&mut self, gap: Gap) {
        self.ahead.clear();
        self.gap = gap;
        self.is_placed = false;
        self.round = 1;
        self.failed = None;
    }

    /// Returns the place after what was yielded last.
    fn here(&self) -> Gap {
        match self.ahead.next.checked_sub(1) {
            None => self.gap.clone(),
            Some(last) => {
                let key = self.ahead.entry(last).0.to_vec();
                if self.way == Way::Forward { Gap::After(key) } else { Gap::Before(key) }
            }
        }
    }

    /// Moves over one entry, and returns its number among those ahead.
    fn step(&mut self, py: Python<'_>, way: Way) -> PyResult<Option<usize>> {
        self.check_open()?;
        if self.way != way {
            let here = self.here();
            self.stand(here);
            self.way = way;
        }
        if self.ahead.next == self.ahead.ends.len() {
            if let Some(error) = self.failed.clone() {
                return Err(raise(error));
            }
            detached(py, || self.read_ahead())?;
            if self.ahead.next == self.ahead.ends.len() {
                return Ok(None);
            }
        }
        self.ahead.next += 1;
        Ok(Some(self.ahead.next - 1))
    }

    /// Reads a round of entries. An error behind an entry waits until that entry was yielded.
    fn read_ahead(&mut self) -> Result<(), Error> {
        let here = self.here();
        let Some(iter) = &mut self.iter else { return Ok(()) };
        if !self.is_placed {
            place(iter, &here, self.way)?;
            self.is_placed = true;
        }
        if !iter.valid() {
            return Ok(());
        }
        self.gap = here;
        self.ahead.clear();
        while iter.valid() {
            self.ahead.bytes.extend_from_slice(iter.key());
            let key = self.ahead.bytes.len();
            if matches!(self.shown, Shown::Values | Shown::Items) {
                match iter.value() {
                    Ok(value) => self.ahead.bytes.extend_from_slice(value),
                    Err(error) => return self.fail(error),
                }
            }
            self.ahead.ends.push((key, self.ahead.bytes.len()));
            let moved = if self.way == Way::Forward { iter.advance() } else { iter.retreat() };
            if let Err(error) = moved {
                return self.fail(error);
            }
            if self.ahead.ends.len() == self.round || self.ahead.bytes.len() > MOST_BYTES {
                break;
            }
        }
        self.round = (self.round * 4).min(MOST_AHEAD);
        Ok(())
    }

    fn fail(&mut self, error: Error) -> Result<(), Error> {
        if self.ahead.ends.is_empty() {
            self.is_placed = false;
            return Err(error);
        }
        self.failed = Some(error);
        Ok(())
    }

    fn show<'py>(
        &self,
        py: Python<'py>,
        entry: Option<usize>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(index) = entry else { return Ok(None) };
        let (key, value) = self.ahead.entry(index);
        let key = key.get(self.hidden.len()..).unwrap_or_default();
        Ok(Some(match self.shown {
            Shown::Keys => self.keys.decode(py, key)?,
            Shown::Values => PyBytes::new(py, value).into_any(),
            Shown::Nothing => py.None().into_bound(py),
            Shown::Items => {
                let pair = (self.keys.decode(py, key)?, PyBytes::new(py, value));
                pair.into_pyobject(py)?.into_any()
            }
        }))
    }
}

/// # Errors
/// `Closed` if the snapshot or the database of an iterator was closed; `Forked`.
pub(crate) fn closed_below(moment: Option<&Arc<Moment>>, standing: &Standing) -> Result<(), Error> {
    standing.check()?;
    match moment {
        Some(moment) if moment.is_closed() => Err(closed("snapshot")),
        _ => Ok(()),
    }
}

pub(crate) fn check(moment: Option<&Arc<Moment>>, standing: &Standing) -> PyResult<()> {
    closed_below(moment, standing).map_err(raise)
}

/// Places the cursor on the entry next to a gap.
fn place(iter: &mut Iter, gap: &Gap, way: Way) -> Result<(), Error> {
    match (way, gap) {
        (Way::Forward, Gap::Start) => iter.seek_to_first()?,
        (Way::Back, Gap::End) => iter.seek_to_last()?,
        (Way::Forward, Gap::Before(key)) => iter.seek(key)?,
        (Way::Back, Gap::After(key)) => iter.seek_for_prev(key)?,
        (Way::Forward, Gap::After(key)) => {
            let found = iter.seek(key)?;
            if found && iter.key() == key { iter.advance()? } else { found }
        }
        (Way::Back, Gap::Before(key)) => {
            let found = iter.seek_for_prev(key)?;
            if found && iter.key() == key { iter.retreat()? } else { found }
        }
        (Way::Forward, Gap::End) => iter.seek_to_last()? && iter.advance()?,
        (Way::Back, Gap::Start) => iter.seek_to_first()? && iter.retreat()?,
    };
    Ok(())
}

/// Moves over entries.
#[pymethods]
impl Entries {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let way = if self.reverse { Way::Back } else { Way::Forward };
        let entry = self.step(py, way)?;
        self.show(py, entry)
    }

    /// Moves one entry back and returns it: what the last `next` returned. Raises `StopIteration`
    /// at the beginning.
    fn prev<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let way = if self.reverse { Way::Forward } else { Way::Back };
        let entry = self.step(py, way)?;
        let shown = self.show(py, entry)?;
        shown.ok_or_else(|| pyo3::exceptions::PyStopIteration::new_err(()))
    }

    /// Stands before the first key of the range, whichever way the iterator goes.
    fn seek_to_start(&mut self) -> PyResult<()> {
        self.check_open()?;
        self.stand(Gap::Start);
        Ok(())
    }

    /// Stands after the last key of the range, whichever way the iterator goes.
    fn seek_to_stop(&mut self) -> PyResult<()> {
        self.check_open()?;
        self.stand(Gap::End);
        Ok(())
    }

    /// Stands directly before the first key that is not less than `target`, in the order of keys.
    fn seek(&mut self, target: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check_open()?;
        let mut key = self.hidden.clone();
        key.extend_from_slice(&self.keys.encode_bound(target, "target")?);
        self.stand(Gap::Before(key));
        Ok(())
    }

    /// Lets go of what the iterator holds. Later calls raise `Closed`.
    fn close(&mut self, py: Python<'_>) {
        let iter = self.iter.take();
        py.unlocked(|| drop(iter));
        self.ahead = Ahead::default();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        if let Some(iter) = self.iter.take() {
            release(iter);
        }
    }
}
