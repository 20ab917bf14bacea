//! Building an index: step by step, each one transaction.
//!
//! A step reads some entries of the table, adds them to the index, and stores how far it came. So a
//! kill loses no step and repeats none. The step that finds no further entry marks the index as
//! built; it conflicts with a write that adds one meanwhile, and then runs again.

use std::ops::Bound;
use std::sync::Arc;

use foldb::expiry::Expires;
use foldb::{Db, Error, KeyspaceOptions, Result, Transaction};

use crate::index::table::Kept;
use crate::index::{AnyIndex, Indexes, Progress, Stored, keyspace_name, open_indexes};
use crate::key::{Key, decode};
use crate::schema;
use crate::table::Table;
use crate::value::Format;

/// The most entries of a step.
const STEP: usize = 1000;
/// Bytes of values after which a step ends: a transaction has a limit.
const STEP_BYTES: usize = 256 << 10;

/// Opens an index of a table, and builds it if it is new or unfinished.
///
/// # Errors
/// `InvalidArgument` if the table has an index of this name and another type. `Aborted` if two
/// entries have one key of a unique index.
pub(super) fn build<K: Key, V, F: Format<V>>(
    db: &Db,
    name: &str,
    table: &Table<K, V, F>,
    index: Arc<dyn AnyIndex<K, V>>,
) -> Result<Kept<K, V>> {
    let (indexes, schema) = (open_indexes(db)?, index.schema());
    let id = (name.to_owned(), index.name().to_owned());
    let stored = indexes.get(&id)?;
    if let Some(stored) = stored.as_ref().filter(|stored| stored.schema != schema.to_string()) {
        return Err(Error::invalid_argument(format!(
            "index '{}' of table '{name}' was declared as '{}', and is now '{schema}': drop it \
             with IndexedTable::drop_index, or give the new one another name",
            index.name(),
            stored.schema
        )));
    }
    let expiry = table.keyspace().options().expiry;
    let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    let keyspace = schema::open(db, &keyspace_name(name, index.name()), &schema, None, options)?;
    if keyspace.options().expiry != expiry {
        return Err(Error::invalid_argument(format!(
            "the entries of index '{}' expire otherwise than those of table '{name}': drop the \
             index with IndexedTable::drop_index",
            index.name()
        )));
    }
    let kept = Kept { index, keyspace };
    if stored.is_none() {
        // Entries may be left of an index that was dropped.
        kept.keyspace.clear()?;
        let progress = Progress::Through(None);
        indexes.put(&id, Stored { schema: schema.to_string(), progress })?;
    }
    let mut is_built = stored.is_some_and(|stored| stored.progress == Progress::Built);
    while !is_built {
        is_built = db.transact(|transaction| step(transaction, &indexes, &id, table, &kept))?;
    }
    Ok(kept)
}

/// Adds the next entries. Returns whether there are no others.
fn step<K: Key, V, F: Format<V>>(
    transaction: &Transaction,
    indexes: &Indexes,
    id: &(String, String),
    table: &Table<K, V, F>,
    kept: &Kept<K, V>,
) -> Result<bool> {
    let indexes = indexes.within(transaction);
    let Some(stored) = indexes.get(id)? else {
        let message = "the index was dropped while it was built";
        return Err(Error::aborted(message));
    };
    let start = match &stored.progress {
        Progress::Built => return Ok(true),
        Progress::Through(None) => Bound::Unbounded,
        Progress::Through(Some(key)) => Bound::Excluded(&key[..]),
    };
    let table = transaction.keyspace(table.keyspace());
    let mut rows = table.range((start, Bound::Unbounded))?;
    let (mut last, mut bytes) = (None, 0);
    let expires = kept.keyspace.options().expiry.is_some();
    for row in rows.by_ref().take(STEP) {
        let (key, value) = row?;
        bytes += key.len() + value.len();
        let (typed, value): (K, V) = (decode(&key)?, F::decode(value)?);
        if expires {
            let end = table.expires_at(&key)?;
            transaction.set_expires(Some(end.map_or(Expires::Never, Expires::At)));
        }
        for own in kept.index.keys(&typed, &value) {
            kept.add(transaction, &own, &key)?;
        }
        last = Some(key);
        if bytes >= STEP_BYTES {
            break;
        }
    }
    transaction.set_expires(None);
    let is_built = last.is_none();
    let progress = if is_built { Progress::Built } else { Progress::Through(last) };
    indexes.put(id, Stored { progress, ..stored })?;
    Ok(is_built)
}
