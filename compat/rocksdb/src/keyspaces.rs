//! The names of keyspaces: which are column families, and which are this library's own.
//!
//! Invariant: a program sees no name of a keyspace that is no family.

/// The name of the family that every database has.
pub(crate) const DEFAULT_FAMILY: &str = "default";

/// The keyspace of the default family in a database with a time to live.
pub(crate) const DEFAULT_WITH_TTL: &str = "rocksdb default with a time to live";

/// The keyspace of prepared transactions.
pub(crate) const PREPARED: &str = "rocksdb prepared transactions";

/// The keyspace of numbers of families that no other keyspace stores.
pub(crate) const NUMBERS: &str = "rocksdb column family numbers";

/// Returns whether a keyspace is this library's own, no family.
pub(crate) fn is_hidden(keyspace: &str) -> bool {
    [DEFAULT_WITH_TTL, PREPARED, NUMBERS].contains(&keyspace)
}

/// Returns the name of the family that has a keyspace. `None` for the library's own keyspaces.
pub(crate) fn family_name(keyspace: &str) -> Option<&str> {
    match keyspace {
        DEFAULT_WITH_TTL => Some(DEFAULT_FAMILY),
        own if is_hidden(own) => None,
        family => Some(family),
    }
}
