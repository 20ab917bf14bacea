//! Options of one write.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::settings::Expires;

/// Options of one write, and the guarantee that its return gives.
///
/// A write returns once the operating system has it: a killed process loses nothing of it. Power
/// loss may take an unsynced tail of the writes. These are always the newest ones in commit order,
/// so a prefix of the writes survives.
///
/// # Example
/// ```no_run
/// # let db = foldb::Db::open("/tmp/db", foldb::Options::default())?;
/// let durable = foldb::WriteOptions { sync: true, ..Default::default() };
/// db.with(&durable).put("key", "value")?; // on the medium
/// db.put("other", "value")?; // in the operating system's hands
/// db.sync()?; // and now on the medium
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Return only when this write, and every earlier one, is on the medium (`fdatasync`). Default:
    /// false.
    pub sync: bool,
    /// Do not log. The write is lost if the process or the machine stops before its memtable is
    /// flushed. Closing the database flushes it. Default: false. A write with `sync` needs the log:
    /// both together fail with [`crate::ErrorKind::InvalidArgument`].
    pub disable_wal: bool,
    /// Longest time to wait before the write begins: for a flush of the write buffer, for a
    /// compaction of level 0, or while compaction is behind and writes are slowed. A write that
    /// would wait longer fails with [`crate::ErrorKind::Busy`] and writes nothing. Zero: never
    /// wait. Default: none: wait as long as it takes.
    ///
    /// The deadline does not cover the time slices of other writers (well below a millisecond), and
    /// a write in progress that a disk delays for 100 ms at most. It does not cover this write's
    /// own calls of the disk once it has begun: a disk that hangs in them delays the write. With
    /// `sync` it does not cover the sync: the write has already happened then.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// use std::time::Duration;
    /// use foldb::{ErrorKind, WriteOptions};
    ///
    /// let soon = WriteOptions { deadline: Some(Duration::from_millis(5)), ..Default::default() };
    /// match db.with(&soon).put("key", "value") {
    ///     Err(error) if error.kind() == ErrorKind::Busy => { /* shed load, or try again later */ }
    ///     outcome => outcome?,
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub deadline: Option<Duration>,
    /// When the puts and merges of this write expire. Default: none, and the keyspace decides.
    /// Allowed only in keyspaces with [`KeyspaceOptions::expiry`](crate::KeyspaceOptions::expiry).
    /// A batch sets it with [`WriteBatch::set_expires`](crate::WriteBatch::set_expires) instead.
    pub expires: Option<Expires>,
    /// Lets a new value expire when the value before it would have expired. Default: false, and the
    /// keyspace decides, or `expires`: a new value is then a first write, and its lifetime begins
    /// again. A key that is absent gets its end from them in any case.
    ///
    /// Only calls that read the key know the value before it, such as
    /// [`With::update`](crate::With::update). All other writes fail with
    /// [`crate::ErrorKind::InvalidArgument`]. A merge of such a call keeps to the keyspace's rule.
    ///
    /// # Example
    /// At most three calls a minute for each address. The count of a minute ends with it, because
    /// each new count keeps the end of the first one.
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb::expiry::Expiry;
    /// use foldb::{Keyspace, KeyspaceOptions, WriteOptions};
    ///
    /// fn may_call(calls: &Keyspace, address: &str) -> foldb::Result<bool> {
    ///     let kept = WriteOptions { keep_end: true, ..WriteOptions::default() };
    ///     let mut count = 0;
    ///     calls.with(&kept).update(address, |old| {
    ///         count = old.map_or(0, |old| old[0]).saturating_add(1);
    ///         Some(vec![count])
    ///     })?;
    ///     Ok(count <= 3)
    /// }
    ///
    /// let expiry = Some(Expiry::after_first_write(Duration::from_secs(60)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let calls = db.create_keyspace("calls", options)?;
    /// assert!(may_call(&calls, "10.0.0.1")?);
    /// let end = calls.expires_at("10.0.0.1")?;
    /// assert!(may_call(&calls, "10.0.0.1")? && may_call(&calls, "10.0.0.1")?);
    /// assert!(!may_call(&calls, "10.0.0.1")?);
    /// assert_eq!(calls.expires_at("10.0.0.1")?, end);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub keep_end: bool,
}

impl WriteOptions {
    /// The default options, for constants; the same as [`WriteOptions::default`].
    ///
    /// ```
    /// # use foldb::WriteOptions;
    /// const DURABLE: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
    /// ```
    pub const DEFAULT: WriteOptions = WriteOptions {
        sync: false,
        disable_wal: false,
        deadline: None,
        expires: None,
        keep_end: false,
    };

    /// Checks the options of a write that does not read: that they do not contradict each other.
    ///
    /// # Errors
    /// `InvalidArgument` for a synced write without the log, and for a write that is to keep an end
    /// that it does not read.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if (self.sync && self.disable_wal) || self.keep_end {
            Err(contradiction(self))
        } else {
            Ok(())
        }
    }
}

#[cold]
fn contradiction(options: &WriteOptions) -> Error {
    if options.keep_end {
        return Error::invalid_argument(
            "WriteOptions::keep_end is for writes that read the value before, such as update; a \
             write that does not read cannot know when that value expires",
        );
    }
    Error::invalid_argument(
        "WriteOptions::sync and disable_wal contradict each other: a write outside of the log is \
         durable only after a flush; set one of them, or call Db::flush after the write",
    )
}
