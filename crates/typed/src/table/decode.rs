//! The change feed, as keys and values of a table.

use std::ops::Bound;
use std::time::SystemTime;

use foldb::feed::UpdateOp;
use foldb::{Error, Result, Value};

use crate::key::{Key, decode};
use crate::range::EncodedRange;
use crate::value::Format;

/// One write to a table, as the change feed has it. Made by
/// [`Table::decode`](crate::Table::decode).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableUpdate<K, V> {
    /// The value of a key was set.
    Put {
        /// The key.
        key: K,
        /// The new value.
        value: V,
        /// When the value expires, if it does.
        expires: Option<SystemTime>,
    },
    /// A key was deleted.
    Delete {
        /// The key.
        key: K,
    },
    /// All keys of a range were deleted.
    DeleteRange(EncodedRange),
}

/// Returns what a write to a table did.
pub(super) fn decoded<K: Key, V, F: Format<V>>(op: &UpdateOp<'_>) -> Result<TableUpdate<K, V>> {
    Ok(match *op {
        UpdateOp::Put { key, value, expires, .. } => {
            let value = F::decode(Value::from(value))?;
            TableUpdate::Put { key: decode(key)?, value, expires }
        }
        UpdateOp::Delete { key, .. } => TableUpdate::Delete { key: decode(key)? },
        UpdateOp::DeleteRange { start, end, .. } => TableUpdate::DeleteRange(encoded(start, end)),
        _ => {
            let (name, key) = (op.keyspace(), op.key().unwrap_or_default().escape_ascii());
            let message = format!("a write to '{key}' of table '{name}' is no put or delete");
            return Err(Error::invalid_argument(message));
        }
    })
}

/// Returns a range of bytes with its start, and without its end.
fn encoded(start: Bound<&[u8]>, end: Bound<&[u8]>) -> EncodedRange {
    let behind = |key: &[u8]| [key, &[0]].concat();
    let start = match start {
        Bound::Unbounded => Vec::new(),
        Bound::Included(key) => key.to_vec(),
        Bound::Excluded(key) => behind(key),
    };
    let end = match end {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(behind(key)),
        Bound::Excluded(key) => Some(key.to_vec()),
    };
    EncodedRange { start, end }
}
