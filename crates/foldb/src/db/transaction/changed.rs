//! Whether a key was written after a snapshot.
//!
//! A program that keeps its own list of what it depends on asks this of each key. It is the check
//! of a transaction's claims for one key, by its records: the snapshot lives, so no fold hides that
//! a record is newer than it.

use crate::db::core::Core;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::snapshot::Snapshot;
use crate::db::read::key_walk::Sought;
use crate::db::read::settings::ReadSettings;
use crate::db::transaction::check::Breach;
use crate::db::transaction::claims::KeyClaim;
use crate::error::{Error, Result};
use crate::key::MAX_SEQNO;

impl Keyspace {
    /// Returns whether a write of any kind changed a key after a snapshot. A key that was absent,
    /// and is absent again, may count as unchanged.
    ///
    /// A program with transactions of its own kind checks with it what they depend on. To check
    /// and write in one step, it makes the writes in a [`Transaction`](crate::Transaction) that
    /// began before the check.
    ///
    /// # Errors
    /// `InvalidArgument` for a snapshot of another database, and for a key that the comparator
    /// cannot compare. `Corruption`, `Io`, `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("account", "7")?;
    /// let before = db.snapshot();
    /// let accounts = db.default_keyspace();
    /// assert!(!accounts.is_written_after("account", &before)?);
    /// db.put("account", "7")?;
    /// assert!(accounts.is_written_after("account", &before)?);
    /// assert!(!accounts.is_written_after("other", &before)?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn is_written_after(&self, key: impl AsRef<[u8]>, snapshot: &Snapshot) -> Result<bool> {
        if !std::ptr::eq(&**snapshot.core(), &**self.core()) {
            return Err(Error::invalid_argument("the snapshot belongs to another database"));
        }
        let (key, keyspace) = (key.as_ref(), self.state());
        self.core().check_open()?;
        keyspace.check_key(key)?;
        let now = ReadSettings::default();
        let (view, ..) = self.core().begin_read(keyspace, now, Core::pin)?;
        let claim = KeyClaim::of_any_write(key);
        let sought = Sought { key, hash: claim.hash, seqno: MAX_SEQNO };
        let mut breach = Breach::new(claim, snapshot.moment().seqno_to_read()?);
        keyspace.walk_key(&view, &sought, now, &mut breach)?;
        Ok(breach.is_found())
    }
}
