//! Secondary indexes: a table's entries by other keys, kept in the same commit.
//!
//! ```text
//! keyspace "people"             key K                     value V
//! keyspace "people.by_city"     key I, then key K         nothing
//! keyspace "people.by_email"    key I (unique index)      key K
//! keyspace "foldb-typed.indexes"
//!                               key (table, index)        how far it is built
//! ```
//!
//! Invariant: while the last keyspace has an index, every write to its table goes through a handle
//! that keeps it. Plain tables refuse to write, and an open that does not declare it fails.

mod build;
mod by;
mod table;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use foldb::{Db, Error, ErrorKind, Keyspace, KeyspaceOptions, Result};
use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::schema::{self, Schema};
use crate::table::Table;

pub use by::{By, Found, IndexKeys};
pub use table::{IndexedTable, IndexedWithin};

/// An index of a table from `K` to `V`: its name, and the keys of type `I` by which it finds an
/// entry. A program declares it once, as a `static`.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{Index, IndexedTable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Person {
///     email: String,
///     city: Option<String>,
/// }
///
/// static BY_EMAIL: Index<u64, Person, String> =
///     Index::unique("by_email", |_, person| Some(person.email.clone()));
/// static BY_CITY: Index<u64, Person, String> =
///     Index::new("by_city", |_, person| person.city.clone());
///
/// let people = IndexedTable::<u64, Person>::open(&db, "people", &[&BY_EMAIL, &BY_CITY])?;
/// let ann = Person { email: "ann@example.org".into(), city: Some("berlin".into()) };
/// people.put(7, &ann)?;
/// people.put(8, Person { email: "bob@example.org".into(), ..ann })?;
/// assert_eq!(people.by(&BY_EMAIL)?.get("ann@example.org")?.unwrap().0, 7);
/// assert_eq!(people.by(&BY_CITY)?.all("berlin")?.count(), 2);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
pub struct Index<K, V, I> {
    name: &'static str,
    is_unique: bool,
    keys: Keys<K, V, I>,
}

/// Makes the keys by which an index finds an entry.
enum Keys<K, V, I> {
    One(fn(&K, &V) -> Option<I>),
    Many(fn(&K, &V) -> Vec<I>),
}

impl<K, V, I> Clone for Keys<K, V, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V, I> Copy for Keys<K, V, I> {}

impl<K, V, I> Index<K, V, I> {
    /// Makes an index that has an entry under the key that `key` returns, and leaves out entries
    /// for which it returns `None`.
    pub const fn new(name: &'static str, key: fn(&K, &V) -> Option<I>) -> Index<K, V, I> {
        Index { name, is_unique: false, keys: Keys::One(key) }
    }

    /// Makes an index in which no two entries have one key. A write that would give a key to a
    /// second entry fails with `Aborted`.
    pub const fn unique(name: &'static str, key: fn(&K, &V) -> Option<I>) -> Index<K, V, I> {
        Index { name, is_unique: true, keys: Keys::One(key) }
    }

    /// Makes an index that has an entry under each key that `keys` returns.
    pub const fn many(name: &'static str, keys: fn(&K, &V) -> Vec<I>) -> Index<K, V, I> {
        Index { name, is_unique: false, keys: Keys::Many(keys) }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    fn same(&self) -> Index<K, V, I> {
        Index { name: self.name, is_unique: self.is_unique, keys: self.keys }
    }
}

impl<K, V, I: Key> Index<K, V, I> {
    /// Returns the encoded keys of an entry.
    fn encoded_keys(&self, key: &K, value: &V) -> Vec<Vec<u8>> {
        let own: Vec<I> = match self.keys {
            Keys::One(of) => of(key, value).into_iter().collect(),
            Keys::Many(of) => of(key, value),
        };
        own.iter().map(|key| crate::encode::<I>(key)).collect()
    }

    /// Returns whether an entry has this encoded key.
    fn has_key(&self, key: &K, value: &V, own: &[u8]) -> bool {
        self.encoded_keys(key, value).iter().any(|key| **key == *own)
    }
}

impl<K, V, I> fmt::Debug for Index<K, V, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({})", self.name)
    }
}

/// An [`Index`] of a table from `K` to `V`, whatever the type of its own keys.
pub trait AnyIndex<K, V>: fmt::Debug + Send + Sync {
    #[doc(hidden)]
    fn name(&self) -> &'static str;
    #[doc(hidden)]
    fn is_unique(&self) -> bool;
    /// Returns the type of its own keys.
    #[doc(hidden)]
    fn key_type(&self) -> TypeId;
    /// Returns the schema of the keyspace that holds it.
    #[doc(hidden)]
    fn schema(&self) -> Schema;
    /// Returns the encoded keys of an entry, ascending, each once.
    #[doc(hidden)]
    fn keys(&self, key: &K, value: &V) -> Vec<Vec<u8>>;
    #[doc(hidden)]
    fn shared(&self) -> Arc<dyn AnyIndex<K, V>>;
}

impl<K: Key + 'static, V: 'static, I: Key + 'static> AnyIndex<K, V> for Index<K, V, I> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_unique(&self) -> bool {
        self.is_unique
    }

    fn key_type(&self) -> TypeId {
        TypeId::of::<I>()
    }

    fn schema(&self) -> Schema {
        let (own, table) = (I::schema(), K::schema());
        match self.is_unique {
            true => Schema { keys: own, values: format!("key({table})") },
            false => Schema { keys: format!("({own},{table})"), values: "none".to_owned() },
        }
    }

    fn keys(&self, key: &K, value: &V) -> Vec<Vec<u8>> {
        let mut encoded = self.encoded_keys(key, value);
        encoded.sort_unstable();
        encoded.dedup();
        encoded
    }

    fn shared(&self) -> Arc<dyn AnyIndex<K, V>> {
        Arc::new(self.same())
    }
}

/// The keyspace that lists the indexes of all tables.
const INDEXES: &str = "foldb-typed.indexes";

/// How far an index is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Progress {
    /// Every entry is in it.
    Built,
    /// The entries up to this key are in it; none are in the beginning.
    Through(Option<Vec<u8>>),
}

/// The stored description of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stored {
    /// How its keys and values are encoded.
    schema: String,
    progress: Progress,
}

/// The indexes by table and name.
type Indexes = Table<(String, String), Stored>;

fn open_indexes(db: &Db) -> Result<Indexes> {
    let schema = Indexes::schema();
    schema::open(db, INDEXES, &schema, None, KeyspaceOptions::default()).map(Table::of)
}

/// Returns the indexes, if a table has any.
fn find_indexes(db: &Db) -> Result<Option<Indexes>> {
    match db.keyspace(INDEXES) {
        Err(error) if error.kind() == ErrorKind::KeyspaceMissing => Ok(None),
        found => found.and_then(|_| open_indexes(db)).map(Some),
    }
}

/// Returns the names of the stored indexes of a table. Forgets those of a table that was dropped.
fn names_of(db: &Db, table: &str) -> Result<Vec<String>> {
    let Some(indexes) = find_indexes(db)? else { return Ok(Vec::new()) };
    if is_missing(db.keyspace(table))? {
        indexes.delete_range((table, ..))?;
    }
    indexes.range((table, ..))?.map(|entry| entry.map(|((_, name), _)| name)).collect()
}

fn is_missing(keyspace: Result<Keyspace>) -> Result<bool> {
    match keyspace {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::KeyspaceMissing => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns why a handle of a table that keeps no index may not write, if it may not.
pub(crate) fn refusal(db: &Db, table: &str) -> Result<Option<Arc<str>>> {
    let names = names_of(db, table)?;
    Ok((!names.is_empty()).then(|| {
        let names = names.join(", ");
        Arc::from(format!(
            "table '{table}' has indexes that this handle does not keep ({names}): write through \
             IndexedTable::open, which declares them, or drop them with IndexedTable::drop_index"
        ))
    }))
}

/// Checks that the names of indexes are names of keyspaces behind that of the table.
///
/// # Errors
/// `InvalidArgument` for a name that is empty or has a dot, and for one that two indexes have.
fn check_names<K, V>(indexes: &[&dyn AnyIndex<K, V>]) -> Result<()> {
    for (at, index) in indexes.iter().enumerate() {
        let name = index.name();
        let why = match name {
            "" => "it is empty",
            _ if name.contains('.') => "a dot separates it from the name of the table",
            _ if indexes[..at].iter().any(|other| other.name() == name) => "another one has it",
            _ => continue,
        };
        return Err(Error::invalid_argument(format!("an index cannot be called '{name}': {why}")));
    }
    Ok(())
}

/// Returns the name of the keyspace of an index.
fn keyspace_name(table: &str, index: &str) -> String {
    format!("{table}.{index}")
}
