//! The chain of a key, unfolded.

use std::sync::Arc;

use crate::value::Value;

/// The stored parts of a key: a base and the operands merged onto it. Flushes and compactions fold
/// neighbouring operands, so there may be fewer operands than were written. Applied in order to the
/// base, they always give the value that [`Reader::get`](crate::Reader::get) returns.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     default: foldb::KeyspaceOptions::with_operator("stringappend:,"),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::operators::Base;
///
/// db.put("colours", "red")?;
/// db.merge("colours", "green")?;
/// db.merge("colours", "blue")?;
///
/// let chain = db.get_operands("colours")?;
/// assert!(matches!(chain.base(), Base::Put(value) if value == b"red"));
/// let values: Vec<_> = chain.oldest_first().map(|operand| operand.value()).collect();
/// assert_eq!(values, [b"green".as_slice(), b"blue"]);
/// let newest = chain.newest_first().next().unwrap();
/// assert_eq!((newest.operator(), &**newest.value()), ("stringappend:,", b"blue".as_slice()));
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operands {
    pub(super) newest_first: Vec<Operand>,
    pub(super) base: Base,
}

impl Operands {
    /// Returns the operands, the last one merged first.
    pub fn newest_first(&self) -> impl DoubleEndedIterator<Item = &Operand> + ExactSizeIterator {
        self.newest_first.iter()
    }

    /// Returns the operands in the order in which they apply.
    pub fn oldest_first(&self) -> impl DoubleEndedIterator<Item = &Operand> + ExactSizeIterator {
        self.newest_first.iter().rev()
    }

    /// Returns the base that the oldest operand applies to.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// Returns the number of operands.
    pub fn len(&self) -> usize {
        self.newest_first.len()
    }

    /// Returns whether there are no operands, so that the value is the base.
    pub fn is_empty(&self) -> bool {
        self.newest_first.is_empty()
    }
}

/// A merged operand that is not folded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    pub(super) operator: Arc<str>,
    pub(super) value: Value,
}

impl Operand {
    /// Returns the operator that applies the operand, as `NAME` or `NAME:PARAM`.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Returns the bytes of the operand.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// The base of a chain of operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A value that was put, or that older records were folded into.
    Put(Value),
    /// The key was deleted.
    Deleted,
    /// The key has no older record.
    Nothing,
}
