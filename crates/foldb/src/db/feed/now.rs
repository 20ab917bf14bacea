//! The position of the last write, alone or with a snapshot of the same moment.

use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::handle::snapshot::Snapshot;
use crate::db::state::chain::lost;
use crate::db::state::position::Position;
use crate::error::{Error, ErrorKind, Result};
use crate::wal::LogWriter;

impl Db {
    /// Returns the position directly after the last write. The feed continues there
    /// ([`Db::updates_since`]).
    ///
    /// A power loss takes the position back together with unsynced writes before it.
    ///
    /// # Errors
    /// `InvalidArgument` if the database keeps no logs ([`crate::Options::wal_retention_bytes`]).
    /// `Closed`, `ReadOnly`.
    pub fn position(&self) -> Result<Position> {
        let core = self.core();
        core.check_writable()?;
        let writer = core.lock_writer()?;
        core.position_of(&writer.log)
    }

    /// Takes a snapshot, and the position of the same moment. A new follower copies the snapshot
    /// and then follows from the position: it gets each write exactly once.
    ///
    /// If there are writes with [`crate::WriteOptions::disable_wal`], they are flushed first.
    ///
    /// # Errors
    /// As [`Db::position`]; those of [`Db::flush`]. `Busy` if other threads make unlogged writes
    /// without pause.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = || foldb::Options {
    /// #     create_if_missing: true,
    /// #     wal_retention_bytes: 64 << 20,
    /// #     ..foldb::Options::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path().join("db"), options())?;
    /// db.put("a", "1")?;
    /// let (snapshot, position) = db.snapshot_and_position()?;
    /// db.put("b", "2")?;
    /// assert_eq!(snapshot.iter()?.count(), 1);
    /// assert_eq!(db.position()?.sequence_number() - position.sequence_number(), 1);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn snapshot_and_position(&self) -> Result<(Snapshot, Position)> {
        const ATTEMPTS: usize = 16;
        let core = self.core();
        for _ in 0..ATTEMPTS {
            core.check_writable()?;
            let writer = core.lock_writer()?;
            if writer.unlogged || core.sealed.any_unlogged() {
                drop(writer);
                core.flush()?;
                continue;
            }
            let position = core.position_of(&writer.log)?;
            return Ok((self.snapshot(), position));
        }
        Err(Error::new(
            ErrorKind::Busy,
            "other threads write without the log all the time, and their writes have no position; \
             try again later",
        ))
    }
}

impl Core {
    /// Returns the current position. `log` is the log of the writer, which is locked.
    fn position_of(&self, log: &LogWriter) -> Result<Position> {
        let chain = self.chain()?;
        let lineage = match chain.newest() {
            Some((number, id)) if number == log.number() => id,
            _ => return Err(lost("the log does not name its history")),
        };
        let (log, frame) = (log.number(), log.frames());
        Ok(Position { seqno: self.published(), log, frame, lineage })
    }
}
