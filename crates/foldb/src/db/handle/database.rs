//! The handle of a database.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::db::core::{Core, Handle};
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::handle::snapshot::Snapshot;
use crate::db::lifecycle::destroy;
use crate::db::lifecycle::open;
use crate::db::lifecycle::open::{
    KeyspaceInfo, RepairOptions, RepairReport, VerifyProgress, VerifyReport,
};
use crate::db::lifecycle::stats::stats_of;
use crate::error::Result;
use crate::key::AsKeyRange;
use crate::memory::MemoryUsage;
use crate::options::Options;
use crate::stats::Stats;

/// An open database. Cloning is cheap: all clones are handles of one database. It closes when the
/// last handle, snapshot and iterator is dropped.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::{Db, KeyspaceOptions, Options};
///
/// let options = Options {
///     create_if_missing: true,
///     default: KeyspaceOptions::with_operator("uint64add"),
///     ..Options::default()
/// };
/// let db = Db::open(&path, options)?;
/// for word in ["to", "be", "or", "not", "to", "be"] {
///     db.merge(word, 1u64.to_le_bytes())?;
/// }
/// assert_eq!(db.get("be")?.unwrap(), 2u64.to_le_bytes());
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct Db(Keyspace);

/// Checks a closed database, whether or not it opens, and changes nothing. It checks:
///
/// - every checksum of every file, and the order and bounds of all tables;
/// - filters against keys, and operands against their operators;
/// - references to value segments, and the bytes referred to in each;
/// - the manifest against the directory, and whether the logs can be replayed.
///
/// Register operators and comparators as for [`Db::open`]. The report counts operands of
/// unregistered operators. A check takes as much memory as an open.
///
/// The report holds the first fault of each file.
/// # Errors
/// `DatabaseMissing` if the directory holds no database. `Locked` while it is open; [`Db::verify`]
/// checks an open database. `InvalidArgument` for options out of range. `Io` if the directory
/// cannot be read.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::{Db, Options};
///
/// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
/// db.put("key", "value")?;
/// drop(db);
/// let report = foldb::repair::verify(&path, Options::default())?;
/// assert!(report.is_sound() && report.records() > 0);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn verify(path: impl AsRef<Path>, options: Options) -> Result<VerifyReport> {
    verify_with_progress(path, options, |_| {})
}

/// Does the same as [`verify`], and reports its progress after each file.
///
/// # Errors
/// As [`verify`].
pub fn verify_with_progress(
    path: impl AsRef<Path>,
    options: Options,
    mut progress: impl FnMut(VerifyProgress),
) -> Result<VerifyReport> {
    open::verify(path.as_ref(), options, &mut progress)
}

impl Db {
    /// Opens a database. [`Options::create_if_missing`] creates it if it does not exist. An open
    /// that fails changes nothing.
    ///
    /// # Errors
    /// - `DatabaseMissing` without [`Options::create_if_missing`]; `DatabaseExists` with
    ///   [`Options::error_if_exists`]; `Locked` while the database is open elsewhere.
    /// - `UnknownOperator`: a stored operator is neither built in nor in [`Options::operators`].
    /// - `UnknownComparator`: the comparator of a keyspace is not in [`Options::comparators`].
    /// - `InvalidArgument` for options out of range.
    /// - `Corruption`, which names the file and the offset, also for a database whose restore was
    ///   interrupted; `Io`.
    /// - `Unsupported` on a platform where the tests of foldb have not run, unless the cargo
    ///   feature `untested-platform` is on.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let db = Db::of(open::open(path.as_ref(), options)?);
        db.core().join_runtime();
        Ok(db)
    }

    /// Opens a database that a restore fills.
    pub(crate) fn open_to_restore(path: &Path, options: Options) -> Result<Db> {
        let db = Db::of(open::open_to_restore(path, options)?);
        db.core().join_runtime();
        Ok(db)
    }

    /// Opens the database of a directory with default options, and creates it if it does not exist.
    /// For other options see [`Db::open`] and [`Options::create_if_missing`].
    ///
    /// # Errors
    /// As [`Db::open`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("db");
    /// let db = foldb::Db::create(&path)?;
    /// db.put("key", "value")?;
    /// assert_eq!(db.path(), path);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn create(path: impl AsRef<Path>) -> Result<Db> {
        Db::open(path, Options { create_if_missing: true, ..Options::default() })
    }

    /// Opens a database for reading, also while another handle or process writes to it. The open
    /// takes no lock, starts no thread and writes nothing, so the directory may be read-only.
    ///
    /// The handle shows the database at one moment during this call. It sees every write that had
    /// returned before, except unflushed writes with [`crate::WriteOptions::disable_wal`]. The
    /// handle stays at that moment; to see later writes, open the database again. The open reads
    /// the manifest and the logs once and replays the logs into memory. It cannot flush, so the
    /// logged writes may exceed [`Options::memory_budget`]; [`Db::memory`] tells them. The handle
    /// keeps every table open until it is dropped, even beyond [`Options::max_open_files`]. A table
    /// that the writer removes frees its space only when the handle is dropped.
    ///
    /// The handle has the methods that read, and no others; there is no background work.
    /// [`Options::create_if_missing`] has no effect. Register operators and comparators as for
    /// [`Db::open`].
    ///
    /// # Errors
    /// As [`Db::open`], and:
    ///
    /// - `DatabaseMissing` if the directory holds no database, even with
    ///   [`Options::create_if_missing`].
    /// - `ReadOnly` for a merge operator in `options.default` that the database has never used.
    /// - `Locked` if writers changed the database too quickly for the open to read it at one
    ///   moment.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("db");
    /// use foldb::{Db, Options};
    ///
    /// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
    /// db.put("key", "before")?;
    /// let shown = Db::open_read_only(&path, Options::default())?;
    /// db.put("key", "after")?;
    /// assert_eq!(shown.get("key")?.unwrap(), b"before");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<ReadOnlyDb> {
        let own = options.clone();
        let open = || open::open_read_only(path.as_ref(), options);
        let (core, shown) = open::with_comparators(&own, "the open", open)?;
        Ok(ReadOnlyDb::of(Db::of(core), shown))
    }

    /// Lists the keyspaces of a database, in the order of their names, without opening it: as the
    /// manifest describes them. So no comparator and no operator is needed. Another process may
    /// write to the database meanwhile.
    ///
    /// # Errors
    /// `DatabaseMissing`, `ForeignDatabase`, `RestoreUnfinished`; `InvalidArgument` for `options`;
    /// `Corruption`; `Locked` if writers changed the manifest too quickly to be read.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("db");
    /// use foldb::{Db, KeyspaceOptions, Options};
    ///
    /// let db = Db::create(&path)?;
    /// db.create_keyspace("visits", KeyspaceOptions::default())?;
    /// let found = Db::list_keyspaces(&path, Options::default())?;
    /// let names: Vec<&str> = found.iter().map(|keyspace| &*keyspace.name).collect();
    /// assert_eq!(names, ["default", "visits"]);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn list_keyspaces(path: impl AsRef<Path>, options: Options) -> Result<Vec<KeyspaceInfo>> {
        open::list_keyspaces(path.as_ref(), options)
    }

    fn of(core: Arc<Core>) -> Db {
        let default = Arc::clone(core.keyspaces.default());
        Db(Keyspace::new(Arc::new(Handle { core, close: Core::close_at_last }), default))
    }

    /// Removes a database: its own files, and the directory if nothing else is in it. It is no
    /// error if `path` holds no database.
    ///
    /// # Errors
    /// `Locked` while it is open; `Io`.
    pub fn destroy(path: impl AsRef<Path>, options: &Options) -> Result<()> {
        destroy::destroy(path.as_ref(), options)
    }

    /// Rebuilds a database with missing or damaged files so that it opens, and reports what is
    /// lost.
    ///
    /// Opening never repairs. A repair reads the manifest and all tables, removes unreadable tables
    /// from the tree, and writes a new manifest. A database that opens keeps its contents. If no
    /// table is damaged, no synced write is lost. The repair rewrites every readable block of a
    /// damaged table, and reports the lost key ranges. In these ranges it recovers the newest
    /// separated value of each key from hints: the keys and sequence numbers at the end of a value
    /// segment. It reads segments without hints (`value_hints`) whole. Deletes, operands
    /// and other values of the lost ranges are gone, so an older value may show.
    ///
    /// Without a readable manifest, the repair builds one from tables and logs. Names and options
    /// of keyspaces are lost then. Only the manifest knows which tables a compaction has replaced.
    /// If such a file still exists, after a power loss or because a reader kept it, its merges may
    /// count twice. Register operators and comparators as for [`Db::open`].
    ///
    /// With [`RepairOptions`] in place of [`Options`] it repairs a copy, only reports, or cuts a
    /// damaged log.
    ///
    /// # Errors
    /// `DatabaseMissing` if the directory holds no database; `Locked` while it is open; `Io`.
    /// `DatabaseExists` if the directory of the copy holds a database, `InvalidArgument` if it
    /// holds other files. `InvalidArgument` if the log to cut does not exist.
    /// `Corruption` if neither manifest nor table nor log can be read, or if a log is damaged
    /// before its end.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("db");
    /// use foldb::{Db, Options};
    ///
    /// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
    /// db.put("key", "value")?;
    /// drop(db);
    /// std::fs::remove_file(path.join("CURRENT")).unwrap();
    /// let report = Db::repair(&path, Options::default())?;
    /// assert!(report.manifest.is_some() && report.lost_tables.is_empty());
    /// assert_eq!(Db::open(&path, Options::default())?.get("key")?.unwrap(), b"value");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn repair(
        path: impl AsRef<Path>,
        options: impl Into<RepairOptions>,
    ) -> Result<RepairReport> {
        let options = options.into();
        let own = options.open.clone();
        open::with_comparators(&own, "the repair", || open::repair(path.as_ref(), options))
    }

    /// Takes a snapshot: keeps the current state of all keyspaces readable.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.0)
    }

    /// Flushes all memtables of all keyspaces to tables, and waits for the flush.
    ///
    /// # Errors
    /// `NoSpace`, `Corruption`, `Io`, `Closed`.
    pub fn flush(&self) -> Result<()> {
        self.core().flush()
    }

    /// Flushes, then compacts a key range of every keyspace into one run of the last level, and
    /// waits for the compaction. The compaction folds operands and drops deleted entries, except
    /// for what a snapshot still sees. [`Keyspace::compact`] compacts one keyspace.
    ///
    /// # Errors
    /// As [`Db::flush`].
    pub fn compact(&self, range: impl AsKeyRange) -> Result<()> {
        self.core().compact_all(range.key_bounds())
    }

    /// Waits until sealed memtables are flushed, and compactions and garbage collection of value
    /// segments have nothing left to do. Some compactions normally wait until the database has had
    /// no write for a second. They run immediately if a caller waits and no write arrives.
    ///
    /// # Errors
    /// As [`Db::flush`]. Also the error of a garbage collection that failed.
    pub fn wait_for_background(&self) -> Result<()> {
        self.core().wait_for_background()
    }

    /// Runs one step of pending background work on this thread: a flush, or one slice of a
    /// compaction. Returns whether it ran a step. It is for environments without threads. In other
    /// environments the workers run all steps, and this call returns `false`.
    ///
    /// # Errors
    /// As [`Db::flush`].
    pub fn step_background(&self) -> Result<bool> {
        self.core().check_open()?;
        self.core().step_background()
    }

    /// Reads every table of all keyspaces whole and checks checksums, record order, filters,
    /// properties and value segments. Returns the bytes read.
    ///
    /// # Errors
    /// `Corruption`, which names the file and the offset of the first fault; `Io`.
    pub fn verify(&self) -> Result<u64> {
        self.core().verify()
    }

    /// Makes all earlier writes durable.
    ///
    /// # Errors
    /// `Io` if the sync fails. The database then takes no more writes.
    pub fn sync(&self) -> Result<()> {
        self.core().sync()
    }

    /// Returns statistics: what the engine did, and the shape of its trees.
    pub fn stats(&self) -> Stats {
        stats_of(self.core())
    }

    /// Returns the memory use of the database's runtime by item. Databases that share a runtime
    /// ([`Options::runtime`]) share one budget, so the figures include all of them.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for (item, bytes) in db.memory().items() {
    ///     println!("{item}: {bytes}");
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn memory(&self) -> MemoryUsage {
        self.core().runtime.memory()
    }

    /// Closes the database. Background work ends, and later calls fail with `Closed`. The close
    /// first flushes writes that were not logged. Closing twice is no error. A compaction or
    /// garbage collection that another thread asked for ends at its next step, and the close waits
    /// for it.
    ///
    /// Existing iterators continue. An iterator that needs a removed file fails with `Closed`.
    /// Files are removed when the path is opened again or destroyed.
    ///
    /// # Errors
    /// The error of the last flush or manifest edit. The database is closed despite the error.
    /// `Poisoned` if a sync had failed: some acknowledged writes may not be durable. `Reentrant` on
    /// a thread inside a callback of the database (an [`crate::events::EventListener`], an
    /// operator, a progress report): the close would wait for that callback, so the database stays
    /// open.
    pub fn close(&self) -> Result<()> {
        self.core().close()
    }

    /// Returns the directory of the database: the path that was given at the open, made absolute
    /// where the file system has a working directory.
    pub fn path(&self) -> &Path {
        self.core().names.directory()
    }

    /// Returns the identity of the database: a random number that was chosen when it was created.
    /// Every open finds the same one, and so do checkpoints and restored backups.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, Options};
    ///
    /// let path = dir.path().join("db");
    /// let db = Db::create(&path)?;
    /// let id = db.id();
    /// db.close()?;
    /// assert_eq!(Db::open(&path, Options::default())?.id(), id);
    /// assert_ne!(Db::create(dir.path().join("other"))?.id(), id);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn id(&self) -> u64 {
        self.core().database
    }

    /// Returns the keyspace that [`Db`]'s own data methods read and write.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("key", "value")?;
    /// assert_eq!(db.default_keyspace().get("key")?.unwrap(), b"value");
    /// assert_eq!(db.default_keyspace().name(), "default");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn default_keyspace(&self) -> &Keyspace {
        &self.0
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.0.core()
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Db({})", self.core().names.directory().display())
    }
}
