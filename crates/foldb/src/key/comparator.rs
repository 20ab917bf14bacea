//! The order of user keys.

use std::cmp::Ordering;
use std::fmt::Debug;

/// A total order of user keys.
///
/// The name is stored in the database; opening it with a comparator of another name is refused.
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
