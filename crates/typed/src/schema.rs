//! The stored text: how the keys and values of a table are encoded.
//!
//! ```text
//! schema:   foldb-typed/1 keys=TYPE values=VALUES
//! TYPE:     u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 bool char str bytes uuid time duration
//!           bytes(N)  option(TYPE)  (TYPE,…)  {name:TYPE,…}  enum(VARIANT,…)
//! VARIANT:  Name  Name(TYPE,…)  Name{name:TYPE,…}
//! VALUES:   postcard  raw  none  key(TYPE)  counter  sum(TYPE)  max(TYPE)  min(TYPE)  set(TYPE)
//!           last(N)  sketch(TYPE)  top(N,TYPE)  stats  histogram(PERCENT)  json
//! ```
//!
//! The number behind `foldb-typed/` is the version of all encodings. Types from other crates may
//! add names. The entries of an index are `key(TYPE)` if it is unique, and `none` otherwise.

use std::fmt;
use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::{Db, Error, ErrorKind, Keyspace, KeyspaceOptions, KeyspaceReader, ReadOnlyDb, Result};

pub use crate::show::KeyColumns;

/// The version of the encodings.
const BEGINNING: &str = "foldb-typed/1 keys=";
const VALUES: &str = " values=";

/// How the keys and values of a keyspace are encoded, as two texts.
///
/// # Example
/// ```
/// use foldb_typed::schema::Schema;
///
/// let schema = Schema::parse("foldb-typed/1 keys=(str,u32) values=postcard").unwrap();
/// assert_eq!(schema.keys, "(str,u32)");
/// assert_eq!(schema.show_key(b"a\0\0\0\0\x07")?, "(\"a\", 7)");
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The type of the keys.
    pub keys: String,
    /// The format of the values.
    pub values: String,
}

impl Schema {
    /// Reads a stored text; `None` for one of another program or version.
    pub fn parse(text: &str) -> Option<Schema> {
        let (keys, values) = text.strip_prefix(BEGINNING)?.split_once(VALUES)?;
        Some(Schema { keys: keys.to_owned(), values: values.to_owned() })
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGINNING}{}{VALUES}{}", self.keys, self.values)
    }
}

/// Opens a keyspace of typed entries, and creates it if it is missing.
///
/// # Errors
/// `InvalidArgument` if its schema, order or operator is another one.
pub(crate) fn open(
    db: &Db,
    name: &str,
    schema: &Schema,
    operator: Option<String>,
    options: KeyspaceOptions,
) -> Result<Keyspace> {
    let is_missing = match db.keyspace(name) {
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::KeyspaceMissing => true,
        Err(error) => return Err(error),
    };
    // An existing keyspace is checked below, with errors that speak of tables.
    let options = KeyspaceOptions {
        schema: Some(schema.to_string()),
        // Otherwise a new keyspace takes the order of the keyspace `default`.
        comparator: is_missing.then(|| Arc::new(BytewiseComparator) as _),
        merge_operator: operator.clone().filter(|_| is_missing),
        ..options
    };
    let keyspace = db.keyspace_or_create(name, options)?;
    check_order(name, keyspace.comparator())?;
    let has = keyspace.options().merge_operator;
    match operator.filter(|operator| has.as_ref() != Some(operator)) {
        None => Ok(keyspace),
        Some(operator) => Err(Error::invalid_argument(format!(
            "table '{name}' merges with the operator '{operator}', and its keyspace has {}: drop \
             the table, or merge with foldb itself",
            has.map_or("none".to_owned(), |has| format!("'{has}'"))
        ))),
    }
}

/// Finds a keyspace of typed entries in a database that is only read.
///
/// # Errors
/// `KeyspaceMissing`; `InvalidArgument` if its schema or order is another one.
pub(crate) fn read(db: &ReadOnlyDb, name: &str, schema: &Schema) -> Result<KeyspaceReader> {
    let keyspace = db.keyspace(name)?;
    check_order(name, keyspace.comparator())?;
    let (expected, found) = (schema.to_string(), keyspace.schema().unwrap_or("none"));
    if found != expected {
        return Err(Error::invalid_argument(format!(
            "keyspace '{name}' is read as '{expected}', and its schema is '{found}'"
        )));
    }
    Ok(keyspace)
}

fn check_order(name: &str, order: &dyn Comparator) -> Result<()> {
    match order.bytewise_order() {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "a table needs keys in byte order, and keyspace '{name}' has the order of '{}'",
            order.name()
        ))),
    }
}
