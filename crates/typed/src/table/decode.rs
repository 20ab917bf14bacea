//! The change feed, as keys and values of a table.

use std::ops::Bound;
use std::time::SystemTime;

use foldb::feed::UpdateOp;
use foldb::{Error, Result, Value};

use crate::key::{Key, decode};
use crate::range::EncodedRange;
use crate::table::Table;
use crate::value::Format;

/// One write to a table, as the change feed has it. Made by [`Table::decode`].
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

impl<K: Key, V, F: Format<V>> Table<K, V, F> {
    /// Returns what a write of the change feed did to the table; `None` if it wrote another
    /// keyspace.
    ///
    /// # Errors
    /// `Corruption` if the bytes are no such key or value. `InvalidArgument` for a merge: only the
    /// untyped calls write one to a table.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb_typed::foldb::feed::{Change, Position};
    /// use foldb_typed::foldb::{Db, Options};
    /// use foldb_typed::{Table, TableUpdate};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     wal_retention_bytes: 64 << 20,
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path().join("db"), options)?;
    /// let people = Table::<(String, u32), String>::open(&db, "people")?;
    /// people.put(("berlin", 1), "ada")?;
    /// db.put("other", "keyspace")?;
    /// people.delete(("paris", 2))?;
    /// people.delete_range(("rome", ..))?;
    /// db.sync()?;
    ///
    /// let mut seen = Vec::new();
    /// for update in db.updates_since(&Position::BEGINNING)? {
    ///     let Change::Batch(batch) = update?.change else { continue };
    ///     for op in batch.iter() {
    ///         match people.decode(&op)? {
    ///             Some(TableUpdate::Put { key, value, .. }) => {
    ///                 seen.push(format!("{}: {value}", key.0));
    ///             }
    ///             Some(TableUpdate::Delete { key }) => seen.push(format!("no {}", key.0)),
    ///             Some(TableUpdate::DeleteRange(range)) => {
    ///                 assert!(range.contains::<(String, u32)>(("rome", 7)));
    ///             }
    ///             _ => {}
    ///         }
    ///     }
    /// }
    /// assert_eq!(seen, ["berlin: ada", "no paris"]);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn decode(&self, op: &UpdateOp<'_>) -> Result<Option<TableUpdate<K, V>>> {
        if op.keyspace() != self.access.name() {
            return Ok(None);
        }
        let update = match *op {
            UpdateOp::Put { key, value, expires, .. } => {
                let value = F::decode(Value::from(value))?;
                TableUpdate::Put { key: decode(key)?, value, expires }
            }
            UpdateOp::Delete { key, .. } => TableUpdate::Delete { key: decode(key)? },
            UpdateOp::DeleteRange { start, end, .. } => {
                TableUpdate::DeleteRange(encoded(start, end))
            }
            _ => {
                let (name, key) = (self.access.name(), op.key().unwrap_or_default());
                let key = key.escape_ascii();
                let message = format!("a write to '{key}' of table '{name}' is no put or delete");
                return Err(Error::invalid_argument(message));
            }
        };
        Ok(Some(update))
    }
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
