//! Ranges of keys, as Python gives them: bounds and a prefix.

use std::ops::Bound as End;

use pyo3::prelude::*;

use crate::keys::Codec;

/// A range of encoded keys.
pub(crate) type Range = (End<Vec<u8>>, End<Vec<u8>>);

/// The arguments of a range, as Python gives them.
pub(crate) struct Asked<'a, 'py> {
    pub(crate) start: Option<&'a Bound<'py, PyAny>>,
    pub(crate) stop: Option<&'a Bound<'py, PyAny>>,
    pub(crate) prefix: Option<&'a Bound<'py, PyAny>>,
    pub(crate) include_start: bool,
    pub(crate) include_stop: bool,
}

impl Asked<'_, '_> {
    /// Returns the range of encoded keys: what lies in the bounds and has the prefix.
    pub(crate) fn range(&self, keys: &Codec) -> PyResult<Range> {
        let bound = |given: Option<&Bound<'_, PyAny>>, name, includes| -> PyResult<End<Vec<u8>>> {
            match given.filter(|given| !given.is_none()) {
                None => Ok(End::Unbounded),
                Some(given) => {
                    let bytes = keys.encode_bound(given, name)?.into_owned();
                    Ok(if includes { End::Included(bytes) } else { End::Excluded(bytes) })
                }
            }
        };
        let start = bound(self.start, "start", self.include_start)?;
        let stop = bound(self.stop, "stop", self.include_stop)?;
        let Some(prefix) = self.prefix.filter(|prefix| !prefix.is_none()) else {
            return Ok((start, stop));
        };
        let prefix = keys.encode_prefix(prefix, "prefix")?;
        let start = match start {
            End::Included(key) | End::Excluded(key) if *key < *prefix => {
                End::Included(prefix.to_vec())
            }
            End::Unbounded => End::Included(prefix.to_vec()),
            later => later,
        };
        let stop = match (successor(&prefix), stop) {
            (None, stop) => stop,
            (Some(end), End::Unbounded) => End::Excluded(end),
            (Some(end), End::Included(key)) if key >= end => End::Excluded(end),
            (Some(end), End::Excluded(key)) if key > end => End::Excluded(end),
            (Some(_), stop) => stop,
        };
        Ok((start, stop))
    }
}

/// Returns the first key after all keys with this prefix; `None` if there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// The range of all keys.
pub(crate) const EVERYTHING: Asked<'static, 'static> =
    Asked { start: None, stop: None, prefix: None, include_start: true, include_stop: false };
