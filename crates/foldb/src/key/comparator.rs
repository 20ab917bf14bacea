//! The order of user keys.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Bound;

use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::key::KeyBounds;
use crate::user_code::guarded;

/// A total order of user keys.
///
/// The engine passes whole keys only: keys that were written, and keys that the caller gives to
/// reads, seeks and ranges. It also passes what the comparator's own [`Comparator::separator`] and
/// [`Comparator::successor`] return. So an order for keys of a fixed layout may simply slice them.
///
/// The engine first compares each such key with itself. If `compare` panics, or does not call the
/// key equal to itself, the call fails with `InvalidArgument` and nothing is written.
///
/// A comparator may still panic later, or contradict itself: its order is not total, not
/// transitive, or changes between calls. Such a comparator harms only the keyspaces that use it.
/// When background work notices the failure, writes to the keyspace fail with `ComparatorFailed`,
/// and a [`crate::events::Event::BackgroundError`] describes the failure. The database keeps the
/// logs with the keyspace's writes until it is reopened with a comparator that is a total order.
/// Until then, reads of the keyspace may miss keys. A panic inside a read unwinds into the caller
/// of the read. An iterator that it interrupts becomes invalid.
///
/// The database stores the name, and refuses to open with a comparator of another name. It also
/// refuses a comparator that contradicts the order of stored tables (`ComparatorFailed`); such an
/// open changes nothing. This check looks at the first and last key of each table and at a few keys
/// between them.
///
/// Two promises enable fast paths: [`Comparator::bytewise_order`] (8-byte prefixes, short
/// separators) and [`Comparator::bytewise_equality`] (hashes and filters).
///
/// Without the second promise, byte strings that compare equal are *spellings* of one key. Any
/// spelling reads, deletes and merges the key. An iterator shows the spelling of the newest write
/// that it sees. A write then compares its key with some other keys while all other writes wait, so
/// `compare` must not call the database. Bloom filters look at bytes, so tables have filters only
/// with a [`crate::custom::FilterPolicy`].
///
/// # Example
/// ```
/// use std::cmp::Ordering;
/// use foldb::custom::Comparator;
///
/// /// Newest first: keys are big-endian timestamps, in descending order.
/// #[derive(Debug)]
/// struct Descending;
///
/// impl Comparator for Descending {
///     fn name(&self) -> &str { "example.descending" }
///     fn compare(&self, a: &[u8], b: &[u8]) -> Ordering { b.cmp(a) }
///     fn bytewise_order(&self) -> bool { false }
///     fn bytewise_equality(&self) -> bool { true }
/// }
/// assert_eq!(Descending.compare(b"1", b"2"), Ordering::Greater);
/// ```
pub trait Comparator: Debug + Send + Sync {
    /// Returns the name. Change it whenever the order changes.
    fn name(&self) -> &str;
    /// Compares two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
    /// Returns whether `compare` is exactly the order of the bytes.
    fn bytewise_order(&self) -> bool;
    /// Returns whether keys that compare equal have the same bytes. Without this promise, keys may
    /// have several spellings. An order by bytes must make it. Change the name if the answer
    /// changes.
    fn bytewise_equality(&self) -> bool;

    /// Writes to `out`, which is empty, a short key `s` with `start <= s < limit`. `start < limit`
    /// holds. The index of a table stores `s` in place of `start`, so shorter keys make it smaller.
    ///
    /// The engine ignores an answer that is not shorter than `start`, or that breaks the rule, and
    /// stores `start`. The default writes `start`. With [`Comparator::bytewise_order`] the engine
    /// does not call this. LevelDB: `FindShortestSeparator`.
    fn separator(&self, start: &[u8], limit: &[u8], out: &mut Vec<u8>) {
        let _no_shorter_key = limit;
        out.extend_from_slice(start);
    }

    /// Writes to `out`, which is empty, a short key `s` with `key <= s`, for the end of an index.
    /// Otherwise as [`Comparator::separator`]. LevelDB: `FindShortSuccessor`.
    fn successor(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(key);
    }
}

/// Orders keys by their bytes: the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytewiseComparator;

impl Comparator for BytewiseComparator {
    fn name(&self) -> &'static str {
        "foldb.bytewise"
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        true
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Checks that a comparator can compare a key.
///
/// # Errors
/// `InvalidArgument` if the comparator panics or does not call the key equal to itself.
#[cold]
pub(crate) fn check_key(comparator: &dyn Comparator, key: &[u8]) -> Result<()> {
    if planted(Fault::TakeAnyKey) {
        return Ok(());
    }
    let what = match guarded(|| comparator.compare(key, key)) {
        Ok(Ordering::Equal) => return Ok(()),
        Ok(Ordering::Less) => "calls it less than itself".to_owned(),
        Ok(Ordering::Greater) => "calls it greater than itself".to_owned(),
        Err(panic) => format!("panicked: {panic}"),
    };
    let name = comparator.name();
    let key = shown(key);
    Err(Error::invalid_argument(format!(
        "comparator '{name}' cannot compare the key '{key}': it {what}"
    )))
}

/// Checks that a comparator can compare both ends of a range.
///
/// # Errors
/// `InvalidArgument` as [`check_key`], for either end.
pub(crate) fn check_ends(comparator: &dyn Comparator, (start, end): KeyBounds<'_>) -> Result<()> {
    if comparator.bytewise_order() {
        return Ok(());
    }
    for end in [start, end] {
        if let Bound::Included(key) | Bound::Excluded(key) = end {
            check_key(comparator, key)?;
        }
    }
    Ok(())
}

/// Returns the first bytes of a key as text for messages.
pub(crate) fn shown(key: &[u8]) -> String {
    let dots = if key.len() > 64 { "…" } else { "" };
    format!("{}{dots}", key[..key.len().min(64)].escape_ascii())
}
