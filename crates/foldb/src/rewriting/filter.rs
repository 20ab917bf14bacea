//! Compaction filters of the caller: the traits, and what they promise.

use std::fmt::Debug;

/// Looks at folded values while a compaction rewrites them, and keeps, removes or changes each.
///
/// A filter can expire entries by a rule of the program, remove the data of a deleted customer, or
/// bring values into a new format. It costs no write: compactions rewrite the values anyway.
///
/// # What a filter sees
/// - Only compactions ask a filter: no flush, no read. A filter sees keys in ascending order, each
///   at most once.
/// - It sees whole values: a put, or operands folded onto their base. It never sees operands whose
///   base is not known, and no deletes. In a keyspace with expiry it sees the value without its end
///   of life, and a changed value keeps that end. A separated value is read for it. Above such a
///   value, a few small operands may wait for the last level before they fold. It is shown then.
/// - It sees the newest version that the compaction has of a key. A newer version may lie in
///   another table or in a memtable. [`FilterContext::is_full`] rules out the former.
/// - A value that an open [`Snapshot`](crate::Snapshot) can read is passed over. A later compaction
///   shows it, once the snapshot is gone. A transaction holds a snapshot from its first read on. If
///   a snapshot is taken while a compaction runs, the filter may see values a second time, or its
///   verdicts on them may come to nothing.
/// - A compaction that the engine begins by itself moves some tables without rewriting them, and it
///   may leave a table alone for ever. [`Db::compact`](crate::Db::compact) of all keys, while a
///   filter is set, rewrites every table. So it shows each value once, except to the rule above.
///
/// # What a verdict does
/// A verdict takes effect when the compaction's tables do. No read sees a part of it, and no open
/// snapshot or iterator sees it at all. After a crash, either all of the old tables are there or
/// the new ones, and a filter may see a value again.
///
/// A verdict is no write. It has no sequence number and no record in the log. So the change feed
/// does not tell it, and no transaction conflicts with it. Secondary indexes of the program do not
/// follow it. A backup holds what the tables held.
///
/// A removed value leaves a tombstone where older versions of the key may exist, so they never come
/// back. An operand that is newer than a removed value folds onto nothing:
///
/// ```text
/// above          a.MERGE.7(+1)                       a.MERGE.7(+1)   reads 1
/// compacted      a.PUT.5(10)      removed    ->      a.DEL.5
/// below          a.PUT.2(3)                          a.PUT.2(3)
/// ```
///
/// # Failures
/// If a filter panics, the compaction keeps the entry, and shows this filter no further one. If it
/// changes a value to more than [`MAX_VALUE_BYTES`](crate::limits::MAX_VALUE_BYTES), the
/// compaction keeps the entry. A [`BackgroundError`](crate::events::Event::BackgroundError)
/// describes the first failure of each output table. A value that cannot be read is kept as it is.
///
/// A filter may read the database. A call that would wait for background work fails with
/// [`Reentrant`](crate::ErrorKind::Reentrant), as in a merge operator.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use std::sync::Arc;
/// use foldb::custom::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};
/// use foldb::{Db, Options};
///
/// /// Removes values that begin with `old`.
/// #[derive(Debug)]
/// struct DropOld;
///
/// impl CompactionFilterFactory for DropOld {
///     fn filter(&self, _: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>> {
///         Some(Box::new(DropOld))
///     }
/// }
/// impl CompactionFilter for DropOld {
///     fn filter(&mut self, _level: u32, _key: &[u8], value: &[u8]) -> Verdict {
///         if value.starts_with(b"old") { Verdict::Remove } else { Verdict::Keep }
///     }
/// }
///
/// let options = Options {
///     create_if_missing: true,
///     compaction_filters: vec![("default".to_owned(), Arc::new(DropOld))],
///     ..Options::default()
/// };
/// let db = Db::open(dir.path(), options)?;
/// db.put("a", "old news")?;
/// db.put("b", "new news")?;
/// assert!(db.get("a")?.is_some());
/// db.compact(..)?;
/// assert!(db.get("a")?.is_none());
/// assert!(db.get("b")?.is_some());
/// # Ok::<(), foldb::Error>(())
/// ```
pub trait CompactionFilter: Debug + Send {
    /// Returns what becomes of an entry that the compaction writes into this level.
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict;
}

/// Makes the filters of a keyspace.
///
/// [`Options::compaction_filters`](crate::Options::compaction_filters) and
/// [`Keyspace::set_compaction_filter`](crate::Keyspace::set_compaction_filter) take one. The
/// database does not store it: every open gives it again.
pub trait CompactionFilterFactory: Debug + Send + Sync {
    /// Returns a filter for a part of a compaction: the entries of one output table. Several parts
    /// may run at the same time. `None` keeps all entries. If it panics, they are kept too.
    fn filter(&self, context: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>>;
}

/// The part of a compaction that a filter is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FilterContext<'a> {
    /// The name of the keyspace.
    pub keyspace: &'a str,
    /// The level that the compaction writes into.
    pub level: u32,
    /// Whether the compaction reads every table of the keyspace that has keys of this part. Then a
    /// newer version of a key can only be in a memtable, or in a table flushed since it began.
    pub is_full: bool,
    /// Whether a caller asked for the compaction.
    pub is_manual: bool,
}

/// What becomes of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays as it is.
    Keep,
    /// It goes, and with it all older versions of the key.
    Remove,
    /// It gets this value, and keeps its place in the order of writes.
    Change(Vec<u8>),
}
