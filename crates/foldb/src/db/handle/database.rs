//! The handle of a database.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::handle::keyspace::{Handle, Keyspace};
use crate::db::handle::read_options::ReadOptions;
use crate::db::handle::snapshot::Snapshot;
use crate::db::lifecycle::destroy;
use crate::db::lifecycle::open;
use crate::db::lifecycle::open::{RepairOptions, RepairReport, VerifyProgress, VerifyReport};
use crate::db::write::batch::WriteBatch;
use crate::error::Result;
use crate::fold::Operator;
use crate::iterator::Iter;
use crate::key::AsKeyRange;
use crate::memory::MemoryUsage;
use crate::options::{ExplainedOption, Options, WriteOptions};
use crate::stats::Stats;
use crate::value::Value;

/// An open database. Cheap to clone: all clones are the same database, which closes when the last
/// of them, of its snapshots and of its iterators is dropped.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::{Db, Options};
///
/// let options = Options {
///     create_if_missing: true,
///     merge_operator: Some("uint64add".to_owned()),
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

/// Checks a database that is closed, whether or not it opens: every checksum of every file, the
/// order and bounds of all tables, filters against keys, references to value segments and their
/// sums, operands against their operators, the manifest against the directory, and whether the logs
/// can be replayed. Nothing is changed. Operators and comparators must be given as to [`Db::open`];
/// operands of operators that are not given are counted. It takes as much memory as an open.
///
/// What is wrong with the database is in the report; of each file the first thing is.
///
/// # Errors
/// `DatabaseMissing` where nothing is; `Locked` while the database is open: then [`Db::verify`]
/// checks it; `InvalidArgument` for options out of range; `Io` if the directory cannot be read.
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
/// let report = foldb::verify(&path, Options::default())?;
/// assert!(report.is_sound() && report.records() > 0);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn verify(path: impl AsRef<Path>, options: Options) -> Result<VerifyReport> {
    verify_with_progress(path, options, |_| {})
}

/// [`verify`], which tells how far it is behind each file.
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
    /// Opens a database, creating it if [`Options::create_if_missing`] says so.
    ///
    /// # Errors
    /// `DatabaseMissing`, `DatabaseExists`, `Locked`, `UnknownOperator` (a stored operator that is
    /// neither built in nor in [`Options::operators`]), `UnknownComparator` (of a keyspace, not in
    /// [`Options::comparators`]), `InvalidArgument` for options out of range,
    /// and `Corruption` naming file and offset. An open that fails changes nothing.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let db = Db::of(open::open(path.as_ref(), options)?);
        db.core().join_runtime()?;
        Ok(db)
    }

    /// Opens the database of a directory with default options, and creates it where none is. For
    /// other options see [`Db::open`] and [`Options::create_if_missing`].
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

    /// Opens a database to look at it, also while another handle or process writes to it: takes no
    /// lock, writes nothing (the directory may be read-only), starts no thread.
    ///
    /// What it shows is the database at one moment of this call, all writes that had returned
    /// before included, except those with [`WriteOptions::disable_wal`] that were not flushed yet.
    /// It stays at that moment whatever the writer does; to see later writes, open it again. It
    /// reads the manifest and the logs once, replays the logs into memory, and keeps every table
    /// open as long as it lives: [`Options::max_open_files`] does not bound it, and the space of
    /// tables that the writer removes comes back when it is dropped.
    ///
    /// Reads, iterators, snapshots and all questions work as ever. What would write, flush,
    /// compact, or change keyspaces or operators answers `ReadOnly`; background work never is any.
    /// [`Options::create_if_missing`] is ignored; operators and comparators must be given as to
    /// [`Db::open`].
    ///
    /// # Errors
    /// As [`Db::open`], but for `DatabaseMissing` where none is whatever the options say.
    /// `ReadOnly` for an [`Options::merge_operator`] that the database has never met. `Locked` if
    /// writers changed the database so quickly, time and again, that no moment of it could be held.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("db");
    /// use foldb::{Db, ErrorKind, Options};
    ///
    /// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
    /// db.put("key", "before")?;
    /// let shown = Db::open_read_only(&path, Options::default())?;
    /// db.put("key", "after")?;
    /// assert_eq!(shown.get("key")?.unwrap(), b"before");
    /// assert_eq!(shown.put("key", "x").unwrap_err().kind(), ErrorKind::ReadOnly);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let own = options.clone();
        let open = || open::open_read_only(path.as_ref(), options);
        open::with_comparators(&own, "the open", open).map(Db::of)
    }

    fn of(core: Arc<Core>) -> Db {
        let default = Arc::clone(&core.default);
        Db(Keyspace::new(Arc::new(Handle { core }), default))
    }

    /// Removes a database: the files it knows, and its directory if nothing else is in it. No
    /// database at `path` is no error.
    ///
    /// # Errors
    /// `Locked` while it is open; `Io`.
    pub fn destroy(path: impl AsRef<Path>, options: &Options) -> Result<()> {
        destroy::destroy(path.as_ref(), options)
    }

    /// Makes a database that opens of one with files missing or damaged, and reports what is lost.
    ///
    /// Opening never repairs. A repair reads all tables and the manifest, takes what cannot be read
    /// out of the tree, and puts a new manifest in force; a database that opens comes out as it
    /// was. With no table damaged nothing that was synced is lost. Every block of a damaged table
    /// that can be read is written anew; the report has the ranges of keys that are lost. Of these
    /// it finds the separated values again, the newest of each key, by the hints of their segments,
    /// or by reading segments that have none ([`Options::value_hints`]); deletes, operands and
    /// other values that only those tables held are unknown, so an older value may show.
    ///
    /// Where no manifest can be read one is made of what tables and logs tell; names and options of
    /// keyspaces are lost then. Only the manifest knew which tables a compaction had used up: where
    /// the file of one is still there, after a loss of power or because a reader kept it, its
    /// merges may count twice. Operators and comparators must be given as to [`Db::open`].
    ///
    /// # Errors
    /// `DatabaseMissing` where nothing is, `Locked` while the database is open, `Corruption` where
    /// neither manifest nor table nor log can be read, or a log is damaged before its end; `Io`.
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
    pub fn repair(path: impl AsRef<Path>, options: Options) -> Result<RepairReport> {
        Db::repair_with(path, options, &RepairOptions::default())
    }

    /// [`Db::repair`] of a copy, without changing anything, or giving up the end of a damaged log.
    ///
    /// # Errors
    /// As [`Db::repair`]; `DatabaseExists` or `InvalidArgument` for a directory of a copy with
    /// something in it; `InvalidArgument` for a log to be cut that is not there.
    pub fn repair_with(
        path: impl AsRef<Path>,
        options: Options,
        how: &RepairOptions,
    ) -> Result<RepairReport> {
        let own = options.clone();
        let repair = || open::repair(path.as_ref(), options, how);
        open::with_comparators(&own, "the repair", repair)
    }

    /// Reads a key.
    ///
    /// # Errors
    /// `MergeFailed` when its operands cannot be applied (only this key is affected), `Corruption`,
    /// `Io`, `Closed`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.0.get(key)
    }

    /// Returns whether a key has a value, as [`Db::get`] would find it.
    ///
    /// # Errors
    /// As [`Db::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("key", "")?;
    /// assert!(db.contains_key("key")?);
    /// db.clear()?;
    /// assert!(!db.contains_key("key")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.0.contains_key(key)
    }

    /// [`Db::get`] with options.
    ///
    /// # Errors
    /// As [`Db::get`].
    pub fn get_opt(&self, key: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Option<Value>> {
        self.0.get_opt(key, options)
    }

    /// Sets a key. What its return means is told at [`WriteOptions`].
    ///
    /// # Errors
    /// `NoSpace`, `Poisoned` after a failed sync, `Io`, `Closed`. After an error the write did not
    /// happen, unless only its sync failed.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// [`Db::put`] with options.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn put_opt(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.0.put_opt(key, value, options)
    }

    /// Deletes a key; a missing one is no error.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// [`Db::delete`] with options.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn delete_opt(&self, key: impl AsRef<[u8]>, options: &WriteOptions) -> Result<()> {
        self.0.delete_opt(key, options)
    }

    /// Deletes all keys of a range, in one write whatever their number. It ends the history of each
    /// of them exactly as a [`Db::delete`] of the key at that moment would: what is put or merged
    /// later starts on nothing, and snapshots taken before go on seeing what was there. A range
    /// without keys between its ends, like `"b".."b"`, deletes nothing.
    ///
    /// The cost of a range delete is that of one small write. Its space comes back with
    /// compactions; [`Db::compact`] of the range gets it at once.
    ///
    /// # Errors
    /// `InvalidArgument` for a range that ends before it starts; else as [`Db::put`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     merge_operator: Some("uint64add".to_owned()),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for user in ["ann", "bob", "cid"] {
    ///     db.merge(user, 5u64.to_le_bytes())?;
    /// }
    /// let before = db.snapshot();
    /// db.delete_range("b"..)?;
    /// db.merge("bob", 1u64.to_le_bytes())?;
    /// assert_eq!(db.get("ann")?.unwrap(), 5u64.to_le_bytes());
    /// assert_eq!(db.get("bob")?.unwrap(), 1u64.to_le_bytes());
    /// assert_eq!(db.get("cid")?, None);
    /// assert_eq!(before.get("cid")?.unwrap(), 5u64.to_le_bytes());
    /// db.delete_range(..)?;
    /// assert_eq!(db.iter()?.count(), 0);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        self.delete_range_opt(range, &WriteOptions::default())
    }

    /// Deletes all keys of the default keyspace; see [`Keyspace::clear`].
    ///
    /// # Errors
    /// As [`Db::delete_range`].
    pub fn clear(&self) -> Result<()> {
        self.0.clear()
    }

    /// [`Db::delete_range`] with options.
    ///
    /// # Errors
    /// As [`Db::delete_range`].
    pub fn delete_range_opt(&self, range: impl AsKeyRange, options: &WriteOptions) -> Result<()> {
        self.0.delete_range_opt(range, options)
    }

    /// Merges an operand into a key with the default operator: a blind write, whatever the key
    /// holds.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed operand, or where no default operator is; else as
    /// [`Db::put`].
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_opt(key, operand, &WriteOptions::default())
    }

    /// [`Db::merge`] with options.
    ///
    /// # Errors
    /// As [`Db::merge`].
    pub fn merge_opt(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.0.merge_opt(key, operand, options)
    }

    /// Merges with an operator of [`Db::operator`]. Operands of several operators may meet in one
    /// key; they apply in the order in which they were written.
    ///
    /// # Errors
    /// As [`Db::merge`].
    pub fn merge_with(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.merge_with_opt(operator, key, operand, &WriteOptions::default())
    }

    /// [`Db::merge_with`] with options.
    ///
    /// # Errors
    /// As [`Db::merge`].
    pub fn merge_with_opt(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.0.merge_with_opt(operator, key, operand, options)
    }

    /// An operator by `NAME` or `NAME:PARAM`, for [`Db::merge_with`]. One that the database meets
    /// for the first time is written to the manifest, durably, before this returns.
    ///
    /// # Errors
    /// `UnknownOperator`; `InvalidArgument` for a parameter it does not take; `Io`.
    pub fn operator(&self, spec: &str) -> Result<Operator> {
        self.core().operator(spec)
    }

    /// The operator of merges that name none, if there is one.
    pub fn default_operator(&self) -> Option<Operator> {
        self.0.default_operator()
    }

    /// Applies a batch: all of it or nothing, for readers and for crashes, in all keyspaces that it
    /// writes to.
    ///
    /// # Errors
    /// As [`Db::merge`].
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// [`Db::write`] with options.
    ///
    /// # Errors
    /// As [`Db::merge`].
    pub fn write_opt(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        self.core().write(batch, options)
    }

    /// Keeps the present moment readable, in all keyspaces.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(self)
    }

    /// An iterator over all entries.
    ///
    /// # Errors
    /// `Closed`.
    pub fn iter(&self) -> Result<Iter> {
        self.range(..)
    }

    /// An iterator over the entries whose keys lie in a range.
    ///
    /// # Errors
    /// `Closed`.
    pub fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
        self.range_opt(range, &ReadOptions::default())
    }

    /// [`Db::range`] with options.
    ///
    /// # Errors
    /// `Closed`; `InvalidArgument` for a snapshot of another database.
    pub fn range_opt(&self, range: impl AsKeyRange, options: &ReadOptions) -> Result<Iter> {
        self.0.range_opt(range, options)
    }

    /// An iterator over the entries whose keys begin with `prefix`.
    ///
    /// # Errors
    /// `Closed`; `InvalidArgument` if the database is not ordered by the bytes of its keys.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter> {
        self.0.prefix(prefix)
    }

    /// Flushes everything written so far, in all keyspaces, to tables, and waits for it.
    ///
    /// # Errors
    /// `NoSpace`, `Corruption`, `Io`, `Closed`.
    pub fn flush(&self) -> Result<()> {
        self.core().flush()
    }

    /// Flushes, then compacts a key range of every keyspace into one run of the last level, and
    /// waits for it ([`Keyspace::compact`] does one keyspace). Operands of the range are folded and
    /// deleted entries gone, except what a snapshot still sees.
    ///
    /// # Errors
    /// As [`Db::flush`].
    pub fn compact(&self, range: impl AsKeyRange) -> Result<()> {
        let core = self.core();
        core.all_keyspaces()
            .iter()
            .try_for_each(|keyspace| core.compact(keyspace, range.key_bounds()))
    }

    /// Waits until sealed memtables are flushed, and compactions and garbage collections of value
    /// segments have nothing left to do. What compactions leave until nobody has written for a
    /// second is done at once for who waits, as long as nobody writes meanwhile.
    ///
    /// # Errors
    /// As [`Db::flush`], and why a merge failed if it did.
    pub fn wait_for_background(&self) -> Result<()> {
        self.core().wait_for_background()
    }

    /// Does one step of pending background work on this thread: a flush, or one slice of a
    /// compaction. Answers whether there was any. For environments without threads: where there are
    /// threads they do it all, and the answer is `false`.
    ///
    /// # Errors
    /// As [`Db::flush`].
    pub fn step_background(&self) -> Result<bool> {
        self.core().check_open()?;
        self.core().step_background()
    }

    /// Reads every table of all keyspaces whole and checks it: checksums, order of the records,
    /// filters, properties. Answers how many bytes were read.
    ///
    /// # Errors
    /// `Corruption`, naming file and offset, for the first thing found wrong; `Io`.
    pub fn verify(&self) -> Result<u64> {
        self.core().verify()
    }

    /// Makes all earlier writes durable.
    ///
    /// # Errors
    /// `Io`; the database then takes no more writes.
    pub fn sync(&self) -> Result<()> {
        self.core().sync()
    }

    /// Every option in effect: its value, where that comes from, and what more or less of it costs.
    /// What the database keeps from earlier opens, such as its operator, is told as stored.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for option in db.explain_options() {
    ///     println!("{} = {} {} ({}): {}", option.name, option.value, option.unit, option.source, option.cost);
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.default_keyspace().explain_options()
    }

    /// What the engine did and what shape it is in.
    pub fn stats(&self) -> Stats {
        self.core().stats()
    }

    /// Where the memory of the database's runtime is: its own, or with [`Options::runtime`] that of
    /// all databases that share it, for they have one budget.
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

    /// Closes the database: background work ends, later calls answer `Closed`. What was written
    /// without a log is flushed first. Closing twice is no error. Iterators that exist go on, until
    /// one needs a file that was removed meanwhile, as happens when the path is opened again or
    /// destroyed: then it answers `Closed`. A
    /// compaction or merge that another thread asked for ends at its next step, and is waited for.
    ///
    /// # Errors
    /// Of the last flush or manifest edit: the database is closed all the same. So it is with
    /// `Poisoned`: a sync had failed, and not all that was acknowledged may be durable.
    /// `InvalidArgument` on a thread that is inside a callback of the database's (an
    /// [`crate::EventListener`], an operator, what is told of a merge's progress), for which the
    /// close would wait: the database stays open.
    pub fn close(&self) -> Result<()> {
        self.core().close()
    }

    /// Returns the directory of the database, as it was given at the open.
    pub fn path(&self) -> &Path {
        self.core().names.directory()
    }

    /// The keyspace that [`Db`]'s own data methods read and write.
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
