//! Lists the tables of a keyspace.

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::version::TableRef;

/// A table in a tree: a file, and the range of its keys that the tree shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableInfo {
    /// The level that the table is in. 0 is the newest.
    pub level: usize,
    /// The number in the name of its file.
    pub number: u64,
    /// Bytes of the file. Two parts of a file that a compaction cut have the same file.
    pub bytes: u64,
    /// Records in the file.
    pub records: u64,
    /// Deletes in the file: of a key, or of a range of keys.
    pub deletes: u64,
    /// The lower bound of its keys.
    pub smallest: Vec<u8>,
    /// The upper bound of its keys.
    pub largest: Vec<u8>,
    /// The smallest sequence number of its records.
    pub smallest_seqno: u64,
    /// The largest sequence number of its records.
    pub largest_seqno: u64,
}

impl TableInfo {
    fn of(level: usize, table: &TableRef) -> TableInfo {
        TableInfo {
            level,
            number: table.file.number,
            bytes: table.file.len,
            records: table.file.entries,
            deletes: table.file.deletes + table.file.range_deletes,
            smallest: table.lo.to_vec(),
            largest: table.hi.key().to_vec(),
            smallest_seqno: table.file.smallest_seqno,
            largest_seqno: table.file.largest_seqno,
        }
    }
}

impl Core {
    /// Returns the tables of a keyspace: see [`crate::Keyspace::tables`].
    pub(crate) fn tables(&self, keyspace: &KeyspaceState) -> Result<Vec<TableInfo>> {
        self.check_open()?;
        let view = keyspace.view.load_full();
        let runs = view.version.runs();
        let tables =
            runs.flat_map(|(level, run)| run.tables.iter().map(move |table| (level, table)));
        Ok(tables.map(|(level, table)| TableInfo::of(level, table)).collect())
    }
}
