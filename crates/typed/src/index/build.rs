//! Building an index: step by step, each one transaction.
//!
//! A step reads some entries of the table, adds them to the index, and stores how far it came. So a
//! kill loses no step and repeats none. The step that finds no further entry marks the index as
//! built; it conflicts with a write that adds one meanwhile, and then runs again.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldb::expiry::{Expires, Expiry};
use foldb::{Db, Error, ErrorKind, Keyspace, KeyspaceOptions, Result, Transaction, WriteOptions};

use crate::index::table::Kept;
use crate::index::{
    AnyIndex, Indexes, Progress, Stored, find_indexes, keyspace_name, open_indexes,
};
use crate::key::{Key, decode};
use crate::schema::{self, Schema};
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
    let expiry = table.keyspace().options().expiry;
    let (keyspace, progress) = prepare(db, &indexes, &id, &schema, expiry)?;
    let kept = Kept { index, keyspace, expires: expiry.is_some() };
    let mut is_built = progress == Progress::Built;
    while !is_built {
        is_built = db.transact(|transaction| step(transaction, &indexes, &id, table, &kept))?;
    }
    Ok(kept)
}

/// Keeps keyspaces of indexes from changing in two threads at once.
static CHANGES: Mutex<()> = Mutex::new(());

/// Waits for the changes of other threads to keyspaces of indexes, and keeps others away.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the keyspace of an index, and how far it is built.
///
/// The index begins anew if it is not stored, and if its entries expire otherwise than the rows:
/// then some of them may have ended before their rows. A kill between two steps leaves a stored
/// index without a keyspace, which begins anew too.
fn prepare(
    db: &Db,
    indexes: &Indexes,
    id: &(String, String),
    schema: &Schema,
    expiry: Option<Expiry>,
) -> Result<(Keyspace, Progress)> {
    let _alone = alone();
    let (table, index) = id;
    let stored = indexes.get(id)?;
    if let Some(stored) = stored.as_ref().filter(|stored| stored.schema != schema.to_string()) {
        return Err(Error::invalid_argument(format!(
            "index '{index}' of table '{table}' was declared as '{}', and is now '{schema}': drop \
             it with IndexedTable::drop_index, or give the new one another name",
            stored.schema
        )));
    }
    let own = keyspace_name(table, index);
    let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    let found = find_keyspace(db, &own)?;
    let expires_so = |found: &Keyspace| found.options().expiry == expiry;
    if let Some(stored) = stored.filter(|_| found.as_ref().is_some_and(expires_so)) {
        return Ok((schema::open(db, &own, schema, None, options)?, stored.progress));
    }
    if let Some(found) = found {
        check_is_index(&found, schema)?;
        db.drop_keyspace(&own)?;
    }
    let progress = Progress::Through(None);
    let begun = Stored { schema: schema.to_string(), progress: progress.clone() };
    // A power loss must not leave an empty keyspace of an index that counts as built.
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    indexes.with(&synced).put(id, begun)?;
    Ok((schema::open(db, &own, schema, None, options)?, progress))
}

fn find_keyspace(db: &Db, name: &str) -> Result<Option<Keyspace>> {
    match db.keyspace(name) {
        Err(error) if error.kind() == ErrorKind::KeyspaceMissing => Ok(None),
        found => found.map(Some),
    }
}

/// Checks that a keyspace which is dropped holds such an index, and nothing of another program.
fn check_is_index(found: &Keyspace, schema: &Schema) -> Result<()> {
    let (name, expected) = (found.name(), schema.to_string());
    match found.schema() {
        Some(has) if *has == *expected => Ok(()),
        has => Err(Error::invalid_argument(format!(
            "an index needs the keyspace '{name}' with the schema '{expected}', and it exists with \
             the schema '{}': drop it with Db::drop_keyspace, or give the index another name",
            has.unwrap_or("none")
        ))),
    }
}

/// Drops an index: first its keyspace, so that a kill leaves no keyspace that nothing lists.
///
/// # Errors
/// `InvalidArgument` if the table has no such index; as [`Db::drop_keyspace`].
pub(super) fn drop_index(db: &Db, table: &str, index: &str) -> Result<()> {
    let _alone = alone();
    let id = (table.to_owned(), index.to_owned());
    let stored = match find_indexes(db)? {
        Some(indexes) if indexes.contains(&id)? => indexes,
        _ => {
            let message = format!("table '{table}' has no index '{index}'");
            return Err(Error::invalid_argument(message));
        }
    };
    match db.drop_keyspace(&keyspace_name(table, index)) {
        Err(error) if error.kind() != ErrorKind::KeyspaceMissing => Err(error),
        _ => stored.delete(&id),
    }
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
    for row in rows.by_ref().take(STEP) {
        let (key, value) = row?;
        bytes += key.len() + value.len();
        let (typed, value): (K, V) = (decode(&key)?, F::decode(value)?);
        if kept.expires {
            let end = table.expires_at(&key)?;
            transaction.set_expires(Some(end.map_or(Expires::Never, Expires::At)));
        }
        for own in kept.index.keys(&typed, &value) {
            kept.add::<F>(transaction, &table, &own, &key)?;
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
