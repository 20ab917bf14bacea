//! Settings that go with one write.

use std::time::Duration;

/// How one write behaves, and what its return means.
///
/// A returned write is in the hands of the operating system: a killed process loses nothing of
/// it. Power loss may take an unsynced tail of the writes, always the newest ones, in commit order:
/// what survives is a prefix of the writes.
///
/// # Example
/// ```no_run
/// # let db = foldb::Db::open("/tmp/db", foldb::Options::default())?;
/// let durable = foldb::WriteOptions { sync: true, ..Default::default() };
/// db.put_opt("key", "value", &durable)?; // on the medium
/// db.put("other", "value")?; // in the operating system's hands
/// db.sync()?; // and now on the medium
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Return only when this write, and all before it, are on the medium (`fdatasync`).
    pub sync: bool,
    /// Do not log: the write is lost if the process or the machine stops before its memtable is
    /// flushed. Closing the database flushes it.
    pub disable_wal: bool,
    /// Longest time to wait before the write is begun: for the write buffer to be flushed, for
    /// level 0 to be compacted, or while writes are slowed because compaction is behind. What would
    /// take longer answers [`crate::ErrorKind::Busy`] and writes nothing. Zero: never wait.
    /// Default: none, wait as long as it takes.
    ///
    /// Not part of it: other writes whose turn it is (well below a millisecond), and with `sync`
    /// the sync, during which the write has happened already.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// use std::time::Duration;
    /// use foldb::{ErrorKind, WriteOptions};
    ///
    /// let soon = WriteOptions { deadline: Some(Duration::from_millis(5)), ..Default::default() };
    /// match db.put_opt("key", "value", &soon) {
    ///     Err(error) if error.kind() == ErrorKind::Busy => { /* shed load, or try again later */ }
    ///     outcome => outcome?,
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub deadline: Option<Duration>,
}
