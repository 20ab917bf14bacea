//! Garbage collection on demand, as a program asks for it.

use crate::db::handle::database::Db;
use crate::db::handle::with::With;
use crate::db::trees::gc::{GcOptions, GcReport};
use crate::error::Result;

impl With<'_, Db, GcOptions> {
    /// Collects garbage with these options: see [`Db::collect_garbage`].
    ///
    /// # Errors
    /// As [`Db::collect_garbage`], and `InvalidArgument` for a fraction outside 0 to 1.
    pub fn collect_garbage(&self) -> Result<GcReport> {
        self.handle.core().collect_garbage(self.options)
    }
}

impl Db {
    /// Reclaims the space of separated values that were overwritten or deleted. In each keyspace it
    /// rewrites segment files until at most [`GcOptions::max_dead_fraction`] of their bytes are
    /// known to be dead. It also ends when a step makes no progress. Background workers collect
    /// garbage without this call ([`crate::Options::max_dead_fraction`]). Use the call for a lower
    /// bound, or to choose the time. Reads, writes and snapshots continue. While foreground
    /// operations run, the collection works one third of the time, or one sixth while synced writes
    /// run. It flushes the memtables first, so that it knows which values their entries replace or
    /// delete. If the disk has no space for this flush, it collects what the tables show. Without
    /// [`GcOptions::compact_first`] it does not flush.
    ///
    /// # Errors
    /// `NoSpace`, `Io`, `ReadOnly`, `Closed`. After an error in one keyspace it still collects in
    /// the others. The collection skips a damaged segment file, and collects beside a tree that
    /// cannot be compacted first. It reports both as an
    /// [`crate::events::Event::BackgroundError`]. It skips keyspaces whose comparator failed.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, KeyspaceOptions, Options};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     default: KeyspaceOptions { value_separation_min: Some(512), ..KeyspaceOptions::default() },
    ///     max_dead_fraction: 1.0, // The background collects nothing.
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path(), options)?;
    /// for round in 0..2u8 {
    ///     for n in 0..100 {
    ///         db.put(format!("key{n:03}"), [round; 1000])?;
    ///     }
    ///     db.flush()?;
    /// }
    /// let report = db.collect_garbage()?;
    /// assert!(report.reduction_ratio() > 0.4);
    /// assert_eq!(db.get("key007")?.unwrap(), [1; 1000]);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn collect_garbage(&self) -> Result<GcReport> {
        self.with(&GcOptions::default()).collect_garbage()
    }
}
