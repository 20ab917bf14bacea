//! Values for a walk over keys: read ahead where they lie one after another.
//!
//! Values are written in key order, so a walk over keys that were flushed together meets them as they
//! lie in the file. Once it has read two that way, stretches of growing length are read at once and
//! values handed out of them as they are, each keeping its stretch alive. A value elsewhere is read
//! alone.

use std::sync::Arc;

use super::map::SegmentMap;
use super::open::{Located, OpenSegments, about};
use crate::error::Result;
use crate::key::KeyspaceId;
use crate::value::Value;

/// First and longest stretch that is read ahead, in bytes.
const FIRST_STRETCH: u64 = 16 << 10;
const LONGEST_STRETCH: u64 = 256 << 10;

/// Bytes between two values, at most, that are read with them.
const MOST_SKIPPED: u64 = 16 << 10;

/// Finds the values of a walk.
pub(crate) struct ValueReader {
    segments: Arc<OpenSegments>,
    keyspace: KeyspaceId,
    map: SegmentMap,
    /// Where the last value ended: file and offset.
    last: (u64, u64),
    /// How many values came one after another.
    streak: u32,
    stretch: Option<Stretch>,
}

/// Bytes of a file that were read at once.
struct Stretch {
    file: u64,
    offset: u64,
    bytes: Arc<[u8]>,
}

impl ValueReader {
    pub(crate) fn new(
        segments: &Arc<OpenSegments>,
        keyspace: KeyspaceId,
        map: &SegmentMap,
    ) -> ValueReader {
        let (segments, map) = (Arc::clone(segments), map.clone());
        ValueReader { segments, keyspace, map, last: (0, 0), streak: 0, stretch: None }
    }

    /// The value at an address, which the tree holds for `key`.
    ///
    /// # Errors
    /// As [`OpenSegments::value`].
    pub(crate) fn value(&mut self, address: &[u8], key: &[u8]) -> Result<Value> {
        let located = self.segments.locate(self.keyspace, &self.map, address, key)?;
        let (offset, end) = (located.offset, located.offset + located.len());
        let follows = self.last.0 == located.number
            && (self.last.1..=self.last.1 + MOST_SKIPPED).contains(&offset);
        self.last = (located.number, end);
        self.streak = if follows { self.streak + 1 } else { 0 };
        if let Some(stretch) = &self.stretch
            && let Some(start) = stretch.find(&located)
        {
            return located.value_in(&stretch.bytes, start, key);
        }
        let ahead = match self.streak {
            0 | 1 => 0,
            streak => (FIRST_STRETCH << (streak - 2).min(8)).min(LONGEST_STRETCH),
        };
        let len = located.len().max(ahead).min(located.records_end - offset);
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len as usize).collect();
        let buffer = Arc::get_mut(&mut bytes).expect("a new Arc is not shared");
        located.file.read(buffer, offset).map_err(|error| about(error, key))?;
        let value = located.value_in(&bytes, 0, key);
        self.stretch = (ahead > 0).then_some(Stretch { file: located.number, offset, bytes });
        if ahead > 0 {
            located.file.will_need(offset + len, LONGEST_STRETCH);
        }
        value
    }
}

impl Stretch {
    /// Where a record begins in it, if it has all of it.
    fn find(&self, located: &Located) -> Option<usize> {
        let start = located.offset.checked_sub(self.offset).filter(|_| self.file == located.number);
        let start = start?;
        (start + located.len() <= self.bytes.len() as u64).then_some(start as usize)
    }
}
