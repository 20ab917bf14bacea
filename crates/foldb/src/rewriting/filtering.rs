//! A caller's compaction filter at work in one part of a compaction.
//!
//! Invariant: a filter that panics or asks for the impossible costs only its own effect. The entry
//! stays as it is, and the first failure is kept for the listeners.

use std::sync::Arc;

use crate::error::Error;
use crate::fold::Record;
use crate::fold::stamp::Stamp;
use crate::key::{Kind, NO_OPERATOR, RecordHeader};
use crate::limits;
use crate::rewriting::filter::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};
use crate::user_code::guarded;
use crate::value::Value;

/// The filters of a keyspace, as its compactions get them.
#[derive(Clone, Debug)]
pub(crate) struct KeyspaceFilters {
    pub(crate) factory: Arc<dyn CompactionFilterFactory>,
    pub(crate) keyspace: Arc<str>,
    /// Whether values end with a stamp, because the entries expire.
    pub(crate) stamps: bool,
}

impl KeyspaceFilters {
    /// Begins a part of a compaction. Returns `None` if the factory has no filter for it.
    pub(crate) fn begin(&self, level: usize, is_full: bool, is_manual: bool) -> Option<Filtering> {
        let keyspace = Arc::clone(&self.keyspace);
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let context = FilterContext { keyspace: &keyspace, level, is_full, is_manual };
        let made = guarded(|| self.factory.filter(&context)).transpose()?;
        let (filter, failure) = match made {
            Ok(filter) => (Some(filter), None),
            Err(panic) => (None, Some(failed(&keyspace, &format!("was not made: {panic}")))),
        };
        Some(Filtering { filter, keyspace, level, stamps: self.stamps, verdicts: 0, failure })
    }
}

/// A filter in one part of a compaction.
#[derive(Debug)]
pub(crate) struct Filtering {
    /// `None` after a panic.
    filter: Option<Box<dyn CompactionFilter>>,
    keyspace: Arc<str>,
    level: u32,
    stamps: bool,
    /// How many entries it removed or changed.
    verdicts: u64,
    failure: Option<Error>,
}

/// What a filter did to a part of a compaction.
#[derive(Debug, Default)]
pub(crate) struct Filtered {
    /// How many entries it removed or changed.
    pub(crate) verdicts: u64,
    /// How it failed first, if it did.
    pub(crate) failure: Option<Error>,
}

impl Filtering {
    /// Returns whether the filter still looks at entries.
    pub(crate) fn goes_on(&self) -> bool {
        self.filter.is_some()
    }

    /// Shows a stored value to the filter. Returns the record that replaces it, or `None` if it
    /// stays.
    pub(crate) fn judge(
        &mut self,
        key: &[u8],
        header: RecordHeader,
        stored: &[u8],
    ) -> Option<Record> {
        let (payload, stamp) = match self.stamps {
            true => Stamp::split(stored).map(|(payload, stamp)| (payload, Some(stamp)))?,
            false => (stored, None),
        };
        let (filter, level) = (self.filter.as_mut()?, self.level);
        let verdict = match guarded(|| filter.filter(level, key, payload)) {
            Ok(verdict) => verdict,
            Err(panic) => {
                self.end();
                self.note_failure(&format!("panicked: {panic}; its entries were kept"));
                return None;
            }
        };
        let (kind, value) = match verdict {
            Verdict::Keep => return None,
            Verdict::Remove => (Kind::Delete, Value::default()),
            Verdict::Change(mut value) => {
                stamp.inspect(|stamp| value.extend_from_slice(&stamp.encode()));
                if let Err(error) = limits::check_value(&value) {
                    self.note_failure(&format!("changed an entry, which was kept: {error}"));
                    return None;
                }
                (Kind::Put, Value::from(value))
            }
        };
        self.verdicts += 1;
        Some(Record { header: RecordHeader { kind, operator: NO_OPERATOR, ..header }, value })
    }

    /// Ends the part. Returns what the filter did.
    pub(crate) fn finish(mut self) -> Filtered {
        self.end();
        Filtered { verdicts: self.verdicts, failure: self.failure.take() }
    }

    /// Drops the filter, whose own code may panic once more.
    fn end(&mut self) {
        let filter = self.filter.take();
        if let Err(panic) = guarded(|| drop(filter)) {
            self.note_failure(&format!("panicked at its end: {panic}"));
        }
    }

    #[cold]
    fn note_failure(&mut self, what: &str) {
        self.failure.get_or_insert_with(|| failed(&self.keyspace, what));
    }
}

impl Drop for Filtering {
    fn drop(&mut self) {
        self.end();
    }
}

fn failed(keyspace: &str, what: &str) -> Error {
    Error::invalid_argument(format!("the compaction filter of keyspace '{keyspace}' {what}"))
}
