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
/// It is shown whole keys only: those that were written, and those that the caller gives to reads,
/// seeks and ranges. Each of these is first compared with itself; one over which `compare` panics,
/// or that it does not call equal to itself, is refused with `InvalidArgument` before anything is
/// written. So an order for keys of a fixed layout may simply slice them.
///
/// A comparator that panics all the same, or contradicts itself (it is not total or not transitive,
/// or answers otherwise the second time), harms its keyspaces and nothing else. When background
/// work notices, the keyspace takes no more writes (`ComparatorFailed`), an
/// [`crate::Event::BackgroundError`] says what was seen, and the logs that hold the keyspace's
/// writes are kept until a reopen with a comparator that is a total order. Until it is noticed,
/// reads of these keyspaces may miss keys. A panic inside a read unwinds into its caller; the
/// iterator that it interrupts stands nowhere.
///
/// The name is stored in the database; opening it with a comparator of another name is refused. So
/// is an open with one that contradicts the order of stored tables, as far as their first and last
/// keys and a few between them show (`ComparatorFailed`); such an open changes nothing.
/// Two promises let the engine take its fast ways: [`Comparator::bytewise_order`] (8-byte
/// prefixes, short separators) and [`Comparator::bytewise_equality`] (hashes and filters).
///
/// # Example
/// ```
/// use std::cmp::Ordering;
/// use foldb::Comparator;
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
    /// A name that changes whenever the order changes.
    fn name(&self) -> &str;
    /// Compares two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
    /// Whether `compare` is exactly the order of the bytes.
    fn bytewise_order(&self) -> bool;
    /// Whether keys that compare equal are the same bytes. Without it a database cannot be opened
    /// yet: hashes and filters would miss keys.
    fn bytewise_equality(&self) -> bool;
}

/// The order of the bytes: the default.
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

/// Refuses a key that a comparator cannot compare.
///
/// # Errors
/// `InvalidArgument`, saying what the comparator did.
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

/// Refuses a range whose ends a comparator cannot compare.
///
/// # Errors
/// `InvalidArgument`.
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

/// The first bytes of a key, as text for messages.
pub(crate) fn shown(key: &[u8]) -> String {
    let dots = if key.len() > 64 { "…" } else { "" };
    format!("{}{dots}", key[..key.len().min(64)].escape_ascii())
}
