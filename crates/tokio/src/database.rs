//! The handle of a database: open, calls of the whole database, close.

use std::fmt;
use std::path::PathBuf;

use foldb::backup::CheckpointReport;
use foldb::feed::{Position, UpdatesOptions};
use foldb::{
    AsKeyRange, Db, Iter, KeyspaceOptions, Options, Result, Transaction, WriteBatch, WriteOptions,
};

use crate::calls::AsyncKeyspace;
use crate::entries::Entries;
use crate::pool::Pool;
use crate::updates::UpdateStream;

/// Calls that run at the same time, unless [`AsyncDb::with_most_calls`] says otherwise. Synced
/// writes share a sync, so more of them at a time take fewer syncs.
const MOST_CALLS: usize = 32;

/// A database whose calls wait without the executor's thread. Cloning is cheap: all clones are one
/// open database, and share the bound of calls.
///
/// Each call has an owned copy of its arguments, because it may outlive the future. Calls need a
/// Tokio runtime.
#[derive(Clone)]
pub struct AsyncDb {
    pub(crate) db: Db,
    pub(crate) pool: Pool,
    pub(crate) writing: WriteOptions,
}

impl AsyncDb {
    /// Opens a database: see [`Db::open`].
    ///
    /// # Errors
    /// As [`Db::open`].
    pub async fn open(path: impl Into<PathBuf>, options: Options) -> Result<AsyncDb> {
        let (path, pool) = (path.into(), Pool::new(MOST_CALLS));
        let db = pool.run(move || Db::open(path, options)).await?;
        Ok(AsyncDb { db, pool, writing: WriteOptions::DEFAULT })
    }

    /// Opens or creates a database with default options: see [`Db::create`].
    ///
    /// # Errors
    /// As [`Db::create`].
    pub async fn create(path: impl Into<PathBuf>) -> Result<AsyncDb> {
        let (path, pool) = (path.into(), Pool::new(MOST_CALLS));
        let db = pool.run(move || Db::create(path)).await?;
        Ok(AsyncDb { db, pool, writing: WriteOptions::DEFAULT })
    }

    /// Makes an asynchronous handle of an open database.
    pub fn new(db: Db) -> AsyncDb {
        AsyncDb { db, pool: Pool::new(MOST_CALLS), writing: WriteOptions::DEFAULT }
    }

    /// Returns a handle with a bound of its own: at most so many of its calls run at a time, and
    /// the others wait in the order of their first polls. Default: 32.
    pub fn with_most_calls(&self, most: usize) -> AsyncDb {
        AsyncDb { pool: Pool::new(most), ..self.clone() }
    }

    /// Returns a handle that writes with these options. It shares the bound of this one.
    ///
    /// # Example
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> foldb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_tokio::AsyncDb::create(dir.path().join("db")).await?;
    /// use foldb::WriteOptions;
    ///
    /// let durable = db.with_write_options(WriteOptions { sync: true, ..WriteOptions::DEFAULT });
    /// durable.put("order 7", "tea").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_write_options(&self, options: WriteOptions) -> AsyncDb {
        AsyncDb { writing: options, ..self.clone() }
    }

    /// Returns the handle for blocking calls. Calls that wait for nothing need no other thread:
    /// [`Db::snapshot`], [`Db::stats`], [`Db::keyspaces`].
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Runs any call of the engine: what it waits for, it waits for on a blocking thread.
    ///
    /// # Errors
    /// The error of `call`; `Aborted` if the runtime shuts down before it begins.
    ///
    /// # Example
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> foldb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_tokio::AsyncDb::create(dir.path().join("db")).await?;
    /// let is_new = db.run(|db| db.put_if_absent("a", "1")).await?;
    /// assert!(is_new);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Db) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let db = self.db.clone();
        self.pool.run(move || call(&db)).await
    }

    /// Returns the keyspace of this name, and creates it if there is none: see
    /// [`Db::keyspace_or_create`].
    ///
    /// # Errors
    /// As [`Db::keyspace_or_create`].
    pub async fn keyspace_or_create(
        &self,
        name: impl Into<String>,
        options: KeyspaceOptions,
    ) -> Result<AsyncKeyspace> {
        let name = name.into();
        let keyspace = self.run(move |db| db.keyspace_or_create(&name, options)).await?;
        Ok(AsyncKeyspace { keyspace, db: self.clone() })
    }

    /// Returns the keyspace of this name. It reads no disk, so it needs no other thread.
    ///
    /// # Errors
    /// As [`Db::keyspace`].
    pub fn keyspace(&self, name: &str) -> Result<AsyncKeyspace> {
        Ok(AsyncKeyspace { keyspace: self.db.keyspace(name)?, db: self.clone() })
    }

    /// Applies a batch at one moment: see [`Db::write`].
    ///
    /// # Errors
    /// As [`Db::write`].
    pub async fn write(&self, batch: WriteBatch) -> Result<()> {
        let writing = self.writing;
        self.run(move |db| db.with(&writing).write(&batch)).await
    }

    /// Runs `work` in a transaction, and again after a conflict: see [`Db::transact`]. All of it
    /// runs on one blocking thread, so `work` makes blocking calls and holds no lock of a task.
    ///
    /// If the future is dropped, the transaction does not begin, or runs to its commit.
    ///
    /// # Errors
    /// As [`Db::transact`].
    pub async fn transact<T: Send + 'static>(
        &self,
        work: impl FnMut(&Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |db| db.transact(work)).await
    }

    /// Makes all earlier writes durable: see [`Db::sync`].
    ///
    /// # Errors
    /// As [`Db::sync`].
    pub async fn sync(&self) -> Result<()> {
        self.run(Db::sync).await
    }

    /// Writes the memtables to tables: see [`Db::flush`].
    ///
    /// # Errors
    /// As [`Db::flush`].
    pub async fn flush(&self) -> Result<()> {
        self.run(Db::flush).await
    }

    /// Compacts a range of all keyspaces: see [`Db::compact`].
    ///
    /// # Errors
    /// As [`Db::compact`].
    pub async fn compact(&self, range: impl AsKeyRange + Send + 'static) -> Result<()> {
        self.run(move |db| db.compact(range)).await
    }

    /// Makes a copy of the database in another directory: see [`Db::checkpoint`].
    ///
    /// # Errors
    /// As [`Db::checkpoint`].
    pub async fn checkpoint(&self, directory: impl Into<PathBuf>) -> Result<CheckpointReport> {
        let directory = directory.into();
        self.run(move |db| db.checkpoint(directory)).await
    }

    /// Closes the database: see [`Db::close`]. A handle that is dropped last without this call
    /// closes on the thread that drops it, and that thread may be the executor's.
    ///
    /// # Errors
    /// As [`Db::close`].
    pub async fn close(&self) -> Result<()> {
        self.run(Db::close).await
    }

    /// Returns the entries of any iterator as a stream. `open` runs on a blocking thread at the
    /// first poll.
    ///
    /// # Example
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> foldb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_tokio::AsyncDb::create(dir.path().join("db")).await?;
    /// db.put("a", "1").await?;
    /// let snapshot = db.db().snapshot();
    /// db.put("b", "2").await?;
    /// let mut entries = db.entries(move |_| snapshot.iter());
    /// assert_eq!(entries.next().await.unwrap()?.0, b"a");
    /// assert!(entries.next().await.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn entries(&self, open: impl FnOnce(&Db) -> Result<Iter> + Send + 'static) -> Entries {
        let db = self.db.clone();
        Entries::new(self.pool.clone(), move || open(&db))
    }

    /// Returns the updates after a position as a stream that never ends by itself: see
    /// [`Db::updates_since`] and [`UpdateStream`].
    ///
    /// # Errors
    /// As [`Db::updates_since`].
    pub async fn updates_since(
        &self,
        position: Position,
        options: UpdatesOptions,
    ) -> Result<UpdateStream> {
        let open = move |db: &Db| db.with(&options).updates_since(&position);
        Ok(UpdateStream::new(self.run(open).await?))
    }
}

impl fmt::Debug for AsyncDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncDb").field("path", &self.db.path()).finish_non_exhaustive()
    }
}
