//! The change feed of a handle that only reads.

use crate::db::feed::updates::{Updates, UpdatesOptions, not_kept};
use crate::db::handle::With;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::handle::snapshot::Snapshot;
use crate::db::lifecycle::open::Shown;
use crate::db::state::position::Position;
use crate::error::{Error, ErrorKind, Result};

impl ReadOnlyDb {
    /// Returns a snapshot of what this handle shows, and the position of the same moment. A new
    /// follower in another process than the writer copies the snapshot and then follows from the
    /// position: it gets each later write exactly once. The feed may announce a keyspace again that
    /// the snapshot has.
    ///
    /// A power loss takes the position back together with unsynced writes before it. So does a
    /// synced write before it that fails ([`crate::Options::visible_when_durable`]).
    ///
    /// # Errors
    /// - `InvalidArgument` if the database keeps no logs.
    /// - `Busy` if the writer has writes without the log
    ///   ([`crate::WriteOptions::disable_wal`]) in its memory, or loaded sorted tables since its
    ///   last flush. Open the database again after the flush.
    /// - `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("db");
    /// # let options = || foldb::Options {
    /// #     create_if_missing: true,
    /// #     wal_retention_bytes: 64 << 20,
    /// #     ..foldb::Options::default()
    /// # };
    /// use foldb::feed::UpdatesOptions;
    /// use foldb::{Db, ReadOnlyDb};
    ///
    /// let db = Db::open(&path, options())?; // in another process
    /// db.put("a", "1")?;
    ///
    /// let shown = ReadOnlyDb::open(&path, options())?;
    /// let (snapshot, position) = shown.snapshot_and_position()?;
    /// assert_eq!(snapshot.iter()?.count(), 1);
    /// db.put("b", "2")?;
    /// let all = UpdatesOptions { include_unsynced: true };
    /// assert_eq!(shown.with(&all).updates_since(&position)?.count(), 1);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn snapshot_and_position(&self) -> Result<(Snapshot, Position)> {
        self.db().core().check_open()?;
        match *self.shown() {
            Shown::At(position) => Ok((self.snapshot(), position)),
            Shown::NotKept => Err(not_kept()),
            Shown::Without(number) => Err(Error::new(
                ErrorKind::Busy,
                format!(
                    "the write of number {number} is in no log and in no table yet, and the next \
                     ones are: open the database again after the writer's next flush"
                ),
            )),
        }
    }

    /// Returns the updates after a position: see [`crate::Db::updates_since`]. It also returns
    /// updates that another process makes after this open. It learns of the last sync only when a
    /// later write follows.
    ///
    /// # Errors
    /// As [`crate::Db::updates_since`]. `PositionLost` if the database keeps no logs.
    pub fn updates_since(&self, position: &Position) -> Result<Updates> {
        self.with(&UpdatesOptions::default()).updates_since(position)
    }

    /// Returns the oldest position at which the feed can begin: see [`crate::Db::oldest_position`].
    ///
    /// # Errors
    /// `PositionLost` if the database keeps no logs; `Io`.
    pub fn oldest_position(&self) -> Result<Position> {
        self.db().oldest_position()
    }
}

impl With<'_, ReadOnlyDb, UpdatesOptions> {
    /// Returns the updates after a position: see [`ReadOnlyDb::updates_since`].
    ///
    /// # Errors
    /// As [`ReadOnlyDb::updates_since`].
    pub fn updates_since(&self, position: &Position) -> Result<Updates> {
        Updates::since(self.handle.db(), position, self.options)
    }
}
