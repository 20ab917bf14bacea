//! The reverse order of the bytes, in which an import from RocksDB may have put a keyspace.
//!
//! Every open of the shell knows it. A program of its own registers a comparator of the same name.

use std::cmp::Ordering;

use foldb::custom::Comparator;

/// Orders keys by their bytes, the largest first. It has the name of RocksDB's comparator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReverseBytewise;

impl ReverseBytewise {
    /// The name that RocksDB and databases store.
    pub(crate) const NAME: &str = "rocksdb.ReverseBytewiseComparator";
}

impl Comparator for ReverseBytewise {
    fn name(&self) -> &str {
        ReverseBytewise::NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}
