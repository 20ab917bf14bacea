//! Reports the cost of a read to callers that ask for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the cost of the reads that carry it. Pass a clone in [`crate::ReadOptions::report`] and
/// read the counts afterwards. All clones share the counts. An iterator counts as it moves.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     default: foldb::KeyspaceOptions::with_operator("append"),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::stats::ReadReport;
/// use foldb::ReadOptions;
///
/// db.put("a", "1")?;
/// db.flush()?;
/// db.merge("a", "2")?;
/// db.merge("a", "3")?;
///
/// let report = ReadReport::default();
/// let options = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
/// assert_eq!(db.with(&options).get("a")?.unwrap(), b"123");
/// assert_eq!((report.operands_seen(), report.tables_touched()), (2, 1));
/// assert!(report.bytes_read() > 0);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadReport(Arc<Counters>);

/// All accesses are `Relaxed`: nothing else depends on a count. A thread that waits for a read to
/// return sees all that it counted.
#[derive(Debug, Default)]
struct Counters {
    operands: AtomicU64,
    tables: AtomicU64,
    tables_ruled_out: AtomicU64,
    cached_blocks: AtomicU64,
    read_blocks: AtomicU64,
    bytes_read: AtomicU64,
}

impl ReadReport {
    /// Returns the operands that reads collected to fold.
    pub fn operands_seen(&self) -> u64 {
        self.0.operands.load(Ordering::Relaxed)
    }

    /// Returns the tables that reads searched, once per search. A table that its filter ruled out
    /// does not count.
    pub fn tables_touched(&self) -> u64 {
        self.0.tables.load(Ordering::Relaxed)
    }

    /// Returns the tables that filters ruled out, once per lookup of a key.
    pub fn tables_ruled_out(&self) -> u64 {
        self.0.tables_ruled_out.load(Ordering::Relaxed)
    }

    /// Returns the blocks that were in the cache.
    pub fn cached_blocks(&self) -> u64 {
        self.0.cached_blocks.load(Ordering::Relaxed)
    }

    /// Returns the blocks that were read from files.
    pub fn read_blocks(&self) -> u64 {
        self.0.read_blocks.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the blocks read, compressed as in the files.
    pub fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Ordering::Relaxed)
    }

    pub(crate) fn saw_operands(&self, operands: usize) {
        self.0.operands.fetch_add(operands as u64, Ordering::Relaxed);
    }

    pub(crate) fn touched_table(&self) {
        self.0.tables.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ruled_out_tables(&self, tables: u64) {
        self.0.tables_ruled_out.fetch_add(tables, Ordering::Relaxed);
    }

    pub(crate) fn found_block(&self) {
        self.0.cached_blocks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read_block(&self, bytes: u64) {
        self.0.read_blocks.fetch_add(1, Ordering::Relaxed);
        self.0.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }
}
