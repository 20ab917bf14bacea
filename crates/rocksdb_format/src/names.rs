//! The names by which a database of foldb keeps what only RocksDB has: the numbers of column
//! families, and the operators of programs. The import writes them, and librocksdb reads them.

/// What the schema of a family's keyspace begins with. Its number follows.
const SCHEMA: &str = "rocksdb column family ";

/// What the name of a family's operator begins with.
const OPERATOR: &str = "rocksdb.";

/// The longest name of an operator in foldb, in bytes.
const LONGEST_NAME: usize = 255;

/// The longest name of a family that can have an operator of the program, in bytes. A colon and a
/// percent sign count three times.
pub const LONGEST_FAMILY: usize = LONGEST_NAME - OPERATOR.len();

/// Returns the schema of the keyspace of a family.
pub fn schema_of(number: u32) -> String {
    format!("{SCHEMA}{number}")
}

/// Returns the number that a schema has.
pub fn number_in(schema: &str) -> Option<u32> {
    schema.strip_prefix(SCHEMA)?.parse().ok()
}

/// Returns the name of the operator that a program brings for a family. A colon would separate a
/// parameter, so it is written `%3A`, and a percent sign `%25`. `None`: it would be too long.
///
/// # Example
/// ```
/// use foldb_rocksdb_format::names::operator_of;
///
/// assert_eq!(operator_of("visits").as_deref(), Some("rocksdb.visits"));
/// assert_eq!(operator_of("a:b").as_deref(), Some("rocksdb.a%3Ab"));
/// ```
pub fn operator_of(family: &str) -> Option<String> {
    let name = format!("{OPERATOR}{}", family.replace('%', "%25").replace(':', "%3A"));
    (name.len() <= LONGEST_NAME).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_stores_the_number() {
        assert_eq!(number_in(&schema_of(12)), Some(12));
        assert_eq!(number_in("rocksdb column family 12"), Some(12));
        assert_eq!(number_in("a schema of the program"), None);
    }

    #[test]
    fn a_name_of_an_operator_has_no_colon_and_an_end() {
        assert_eq!(operator_of("a:b%").as_deref(), Some("rocksdb.a%3Ab%25"));
        assert!(operator_of(&"a".repeat(LONGEST_FAMILY)).is_some());
        assert_eq!(operator_of(&"a".repeat(LONGEST_FAMILY + 1)), None);
    }
}
