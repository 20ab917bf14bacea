//! Finalizing folds all operands into values. Keys whose merge fails are listed.

use std::sync::Arc;

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::events::FailedMerge;
use crate::iterator::Iter;

/// The result of [`Db::finalize`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finalized {
    /// Operands still stored in tables of all keyspaces. 0 unless the merge of a key fails, or
    /// another thread merged during the call.
    pub operands_left: u64,
    /// Keys whose operator rejects their operands.
    pub failed: Vec<FailedMerge>,
}

impl Db {
    /// Folds every operand of all keyspaces into a plain value. A program without the operators, or
    /// one that only reads tables, can then take over. Operands that are merged during the call may
    /// stay. Afterwards the database opens without the custom operators that it used.
    ///
    /// Keys whose merge fails keep their operands and are part of the result. Put or delete these
    /// keys, and finalize again.
    ///
    /// # Errors
    /// `InvalidArgument` while snapshots exist, because they keep operands unfolded. Otherwise as
    /// [`Db::compact`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     default: foldb::KeyspaceOptions::with_operator("uint64add"),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.merge("visits", 7u64.to_le_bytes())?;
    /// let left = db.finalize()?;
    /// assert_eq!(left.operands_left, 0);
    /// assert!(db.get_operands("visits")?.is_empty());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn finalize(&self) -> Result<Finalized> {
        self.core().check_open()?;
        let held = self.core().snapshots.live().len();
        if held > 0 {
            return Err(Error::invalid_argument(format!(
                "{held} snapshots keep operands unfolded; drop them before finalizing"
            )));
        }
        for keyspace in self.all_keyspaces() {
            match keyspace.fold_all() {
                Err(error) if error.kind() == ErrorKind::KeyspaceDropped => {}
                finalized => finalized?,
            }
        }
        let tree = self.core().lock_tree();
        let tables = tree.keyspaces.values().flat_map(|own| own.version.tables());
        let operands_left = tables.map(|table| table.file.merges).sum();
        drop(tree);
        let failed = match operands_left {
            0 => Vec::new(),
            _ => self.list_failed_merges()?.collect::<Result<_>>()?,
        };
        Ok(Finalized { operands_left, failed })
    }

    /// Returns the keys whose operands cannot be folded: keyspace by keyspace, each in key order.
    /// The iterator reads every key once, as it advances.
    ///
    /// # Errors
    /// `Closed`. The iterator also yields `Corruption` and `Io`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("visits", "not a number")?;
    /// db.merge_with(&db.operator("uint64add")?, "visits", 1u64.to_le_bytes())?;
    /// let failed = db.list_failed_merges()?.collect::<foldb::Result<Vec<_>>>()?;
    /// assert_eq!((&failed[0].key[..], &failed[0].operator[..]), (&b"visits"[..], "uint64add"));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn list_failed_merges(&self) -> Result<impl Iterator<Item = Result<FailedMerge>> + use<>> {
        self.core().check_open()?;
        let failed = self.all_keyspaces().into_iter().flat_map(|keyspace| {
            let name: Arc<str> = keyspace.name().into();
            let once = ReadOptions { fill_cache: false, ..ReadOptions::default() };
            let (failed, broken) = match keyspace.with(&once).range(..) {
                Ok(entries) => (Some(failed_of(entries, name)), None),
                Err(error) if error.kind() == ErrorKind::KeyspaceDropped => (None, None),
                Err(error) => (None, Some(Err(error))),
            };
            failed.into_iter().flatten().chain(broken)
        });
        Ok(failed)
    }

    /// Returns handles of all keyspaces.
    fn all_keyspaces(&self) -> Vec<Keyspace> {
        let states = self.core().keyspaces.all();
        states.into_iter().map(|state| self.default_keyspace().sibling(state)).collect()
    }
}

/// Returns the entries whose merge fails.
fn failed_of(mut entries: Iter, keyspace: Arc<str>) -> impl Iterator<Item = Result<FailedMerge>> {
    std::iter::from_fn(move || {
        loop {
            match entries.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            let Err(error) = entries.value() else { continue };
            return Some(match error.failed_merge() {
                None => Err(error),
                Some((key, operator)) => Ok(FailedMerge {
                    keyspace: Arc::clone(&keyspace),
                    key: key.to_vec(),
                    operator: operator.to_owned(),
                }),
            });
        }
    })
}
