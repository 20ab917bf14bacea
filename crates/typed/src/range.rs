//! Ranges and prefixes of keys.
//!
//! No encoding begins with another of its type. So the keys from a field on begin at its encoding,
//! and those after a field begin *behind* it: at the first bytes that are larger than everything
//! that begins with it. That holds in the middle of a tuple as well as for whole keys.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use foldb::{Reader, Result};

use crate::borrowed::AsKey;
use crate::key::{Key, text};

/// A range of keys of type `K`: a range of Rust, a [`Bounds`], or for tuples and structs the first
/// fields and a range of the next one. A range that ends before it starts has no keys.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::Table;
///
/// let people = Table::<(String, u32), String>::open(&db, "people")?;
/// people.put(("berlin", 1), "ada")?;
/// people.put(("berlin", 2), "bob")?;
/// people.put(("paris", 1), "cid")?;
/// assert_eq!(people.range(..)?.count(), 3);
/// assert_eq!(people.range(("berlin", ..))?.count(), 2);
/// assert_eq!(people.range(("berlin", 2..))?.count(), 1);
/// assert_eq!(people.range(("berlin", 2)..=("paris", 1))?.count(), 2);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of keys of type `{K}`",
    note = "give `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b` or `Bounds`, or for a tuple its first \
            fields and a range of the next one: `(\"berlin\", ..)`"
)]
pub trait AsRange<K> {
    /// Returns the range, of keys that stand behind these bytes.
    fn encode_range(&self, before: &[u8]) -> EncodedRange;
}

/// The front of keys of type `K`: a beginning of a text or of bytes, or the first fields of a tuple
/// or struct.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::Table;
///
/// let words = Table::<String, ()>::open(&db, "words")?;
/// words.put("there", ())?;
/// words.put("this", ())?;
/// assert_eq!(words.prefix("th")?.count(), 2);
/// let days = Table::<(u16, u8, u8), ()>::open(&db, "days")?;
/// days.put((2026, 11, 27), ())?;
/// assert_eq!(days.prefix((2026, 11))?.count(), 1);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prefix of keys of type `{K}`",
    note = "give the beginning of a text or of bytes, or the first fields of a tuple: \
            `(\"berlin\",)`"
)]
pub trait AsPrefix<K> {
    /// Appends the bytes with which the keys begin.
    fn encode_prefix(&self, out: &mut Vec<u8>);
}

/// A range of encoded keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRange {
    /// The smallest bytes in the range.
    pub start: Vec<u8>,
    /// The smallest bytes behind the range; `None` if nothing comes behind it.
    pub end: Option<Vec<u8>>,
}

impl EncodedRange {
    /// Returns all bytes that begin with `prefix`.
    pub(crate) fn of_prefix(prefix: Vec<u8>) -> EncodedRange {
        EncodedRange { end: behind(&prefix), start: prefix }
    }

    /// Returns whether the encoding of a key is in the range.
    pub fn contains<K: Key>(&self, key: impl AsKey<K>) -> bool {
        let key = crate::encode::<K>(key);
        self.start <= key && self.end.as_ref().is_none_or(|end| key < *end)
    }

    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let end = self.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        (Bound::Included(&self.start), end)
    }
}

/// Counts the entries of a range.
pub(crate) fn count(entries: &impl Reader, range: &EncodedRange) -> Result<u64> {
    let mut count = 0;
    let mut entries = entries.range(range.bounds())?;
    while entries.advance()? {
        count += 1;
    }
    Ok(count)
}

/// Returns the first bytes behind everything that begins with `prefix`.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// Two ends of a range, for one that does not include its start.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use std::ops::Bound::{Excluded, Unbounded};
/// use foldb_typed::{Bounds, Table};
///
/// let table = Table::<u32, ()>::open(&db, "numbers")?;
/// table.put(1, ())?;
/// table.put(2, ())?;
/// assert_eq!(table.range(Bounds(Excluded(1), Unbounded))?.next().unwrap()?, (2, ()));
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<Q>(
    /// The start.
    pub Bound<Q>,
    /// The end.
    pub Bound<Q>,
);

fn encoded<K, Q: AsKey<K>>(before: &[u8], (start, end): (Bound<&Q>, Bound<&Q>)) -> EncodedRange {
    let whole = |key: &Q| {
        let mut bytes = before.to_vec();
        key.encode_key(&mut bytes);
        bytes
    };
    // Where nothing comes behind the start, the range has no keys: it also ends at its start.
    let (start, is_empty) = match start {
        Bound::Unbounded => (before.to_vec(), false),
        Bound::Included(key) => (whole(key), false),
        Bound::Excluded(key) => {
            let key = whole(key);
            behind(&key).map_or((key, true), |behind| (behind, false))
        }
    };
    let end = match end {
        _ if is_empty => Some(start.clone()),
        Bound::Unbounded => behind(before),
        Bound::Included(key) => behind(&whole(key)),
        Bound::Excluded(key) => Some(whole(key)),
    };
    EncodedRange { start, end }
}

impl<K, R: AsRange<K>> AsRange<K> for &R {
    fn encode_range(&self, before: &[u8]) -> EncodedRange {
        (**self).encode_range(before)
    }
}

impl<K> AsRange<K> for RangeFull {
    fn encode_range(&self, before: &[u8]) -> EncodedRange {
        EncodedRange::of_prefix(before.to_vec())
    }
}

macro_rules! ranges {
    ($($range:ident |$own:ident| $bounds:expr;)*) => {$(
        impl<K, Q: AsKey<K>> AsRange<K> for $range<Q> {
            fn encode_range(&self, before: &[u8]) -> EncodedRange {
                let $own = self;
                encoded::<K, Q>(before, $bounds)
            }
        }
    )*};
}

ranges! {
    Range |own| (Bound::Included(&own.start), Bound::Excluded(&own.end));
    RangeInclusive |own| (Bound::Included(own.start()), Bound::Included(own.end()));
    RangeFrom |own| (Bound::Included(&own.start), Bound::Unbounded);
    RangeTo |own| (Bound::Unbounded, Bound::Excluded(&own.end));
    RangeToInclusive |own| (Bound::Unbounded, Bound::Included(&own.end));
    Bounds |own| (own.0.as_ref(), own.1.as_ref());
}

impl<K, P: AsPrefix<K> + ?Sized> AsPrefix<K> for &P {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        (**self).encode_prefix(out);
    }
}

macro_rules! beginnings {
    ($($key:ty: $beginning:ty;)*) => {$(
        impl AsPrefix<$key> for $beginning {
            fn encode_prefix(&self, out: &mut Vec<u8>) {
                text::escape(self.as_ref(), out);
            }
        }
    )*};
}

beginnings! {
    String: str;
    String: String;
    Vec<u8>: [u8];
    Vec<u8>: Vec<u8>;
    Vec<u8>: str;
}

impl<const N: usize> AsPrefix<Vec<u8>> for [u8; N] {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        text::escape(self, out);
    }
}
