//! The properties of a table, and its metaindex. Both are blocks of entries.
//!
//! ```text
//! metaindex:   name of a block → handle
//! properties:  name → text, varint, or number of fixed length
//! ```
//!
//! Metaindexes of this crate: the properties, the index from format version 6 on, tombstones of
//! ranges, and the dictionary of the compression.

use std::collections::BTreeMap;

use foldb_leveldb_format::encoding::Fields;
use foldb_leveldb_format::table::Handle;

use crate::block::Entries;
use crate::{Fault, Read};

/// The block of properties. The second name is of old releases.
pub const PROPERTIES: [&[u8]; 2] = [b"rocksdb.properties", b"rocksdb.stats"];
/// The index.
pub const INDEX: &[u8] = b"rocksdb.index";
/// The tombstones of ranges.
pub const RANGE_DELETIONS: &[u8] = b"rocksdb.range_del";
/// The dictionary of the compression.
pub const DICTIONARY: &[u8] = b"rocksdb.compression_dict";

/// Reads the entries of a metaindex or of a block of properties.
///
/// # Errors
/// Fails for bytes that are no entry.
pub fn entries(contents: &[u8]) -> Read<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut entries = Entries::of(contents)?;
    let mut found = BTreeMap::new();
    while !entries.rest.is_empty() {
        let damaged = || Fault::damaged("an entry of the metaindex or properties is damaged");
        let (_, len) = entries.next_key(Fields::varint32).ok_or_else(damaged)?;
        let value = entries.rest.take(len as usize).ok_or_else(damaged)?;
        found.insert(entries.key.clone(), value.to_vec());
    }
    Ok(found)
}

/// Returns the handle of a block by its name.
///
/// # Errors
/// Fails if the block has a damaged handle.
pub fn handle(metaindex: &BTreeMap<Vec<u8>, Vec<u8>>, name: &[u8]) -> Read<Option<Handle>> {
    let found = metaindex.get(name).map(|value| Handle::of(value));
    match found {
        None => Ok(None),
        Some(Some(handle)) => Ok(Some(handle)),
        Some(None) => Err(Fault::damaged("a handle of the metaindex is damaged")),
    }
}

/// What this crate wants to know of the properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// The kind of the index.
    pub index_kind: Option<u32>,
    /// Whether values of the index are differences.
    pub index_values_are_delta_encoded: bool,
    /// Records, with tombstones of keys and without tombstones of ranges.
    pub entries: Option<u64>,
    /// The name of the comparator.
    pub comparator: Option<String>,
    /// The name of the merge operator. `None` if the table was written without one.
    pub operator: Option<String>,
    /// The number of the column family.
    pub family: Option<u64>,
    /// The version of the format of a table that was written outside of a database.
    pub external_version: Option<u32>,
    /// The sequence number of all records of such a table.
    pub global_sequence: Option<u64>,
}

/// What stands for no name.
const NO_NAME: &str = "nullptr";

impl Properties {
    /// Reads the block.
    ///
    /// # Errors
    /// Fails for bytes that are no entry, and for numbers that are cut.
    pub fn decode(contents: &[u8]) -> Read<Properties> {
        let found = entries(contents)?;
        let get = |name: &str| found.get(name.as_bytes());
        let cut = |name: &str| Fault::damaged(format!("the property {name} is cut"));
        let varint = |name: &str| match get(name) {
            None => Ok(None),
            Some(value) => Fields(value).varint().map(Some).ok_or_else(|| cut(name)),
        };
        let u32 = |name: &str| match get(name) {
            None => Ok(None),
            Some(value) => Fields(value).u32().map(Some).ok_or_else(|| cut(name)),
        };
        let name = |name: &str| {
            let text = get(name).map(|value| String::from_utf8_lossy(value).into_owned());
            text.filter(|text| text != NO_NAME && !text.is_empty())
        };
        let global = "rocksdb.external_sst_file.global_seqno";
        Ok(Properties {
            index_kind: u32("rocksdb.block.based.table.index.type")?,
            index_values_are_delta_encoded: varint("rocksdb.index.value.is.delta.encoded")?
                .is_some_and(|number| number != 0),
            entries: varint("rocksdb.num.entries")?,
            comparator: name("rocksdb.comparator"),
            operator: name("rocksdb.merge.operator"),
            family: varint("rocksdb.column.family.id")?,
            external_version: u32("rocksdb.external_sst_file.version")?,
            global_sequence: match get(global) {
                None => None,
                Some(value) => Some(Fields(value).u64().ok_or_else(|| cut(global))?),
            },
        })
    }
}
