//! Operators of an open database: how they are registered, on which keys they fail, and how
//! finalizing folds all operands into values.

use std::sync::Arc;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::writer::WriterState;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Event, FailedMerge};
use crate::faults::{Fault, planted};
use crate::fold::expiring::Expiring;
use crate::fold::{Definition, MergeOperator, Operator};
use crate::iterator::Iter;
use crate::key::OperatorId;
use crate::version::Edit;
use crate::wal::{LogWriter, encode_definition};

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
    /// #     merge_operator: Some("uint64add".to_owned()),
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
            let (failed, broken) = match keyspace.range_opt(.., &once) {
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
        let states = self.core().all_keyspaces();
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

impl Core {
    /// Reports keys that a flush or compaction could not fold.
    pub(crate) fn tell_failures(
        &self,
        keyspace: &KeyspaceState,
        failures: &[(Vec<u8>, OperatorId)],
    ) {
        for (key, operator) in failures {
            self.events.tell(&Event::MergeFailed(FailedMerge {
                keyspace: Arc::clone(&keyspace.name),
                key: key.clone(),
                operator: self.registry.resolver().name(*operator),
            }));
        }
    }

    /// Counts and reports a failed merge of a read. Ignores other errors.
    #[cold]
    pub(crate) fn note_failed_read(&self, keyspace: &KeyspaceState, error: &Error) {
        let Some((key, operator)) = error.failed_merge() else { return };
        self.totals.add(Total::FailedMerges, 1);
        self.events.tell(&Event::MergeFailed(FailedMerge {
            keyspace: Arc::clone(&keyspace.name),
            key: key.to_vec(),
            operator: operator.to_owned(),
        }));
    }

    /// Removes a keyspace's default operator: writes a new manifest without it.
    pub(crate) fn unset_default_operator(&self, keyspace: &KeyspaceState) -> Result<()> {
        self.check_writable()?;
        self.check_not_inside()?;
        let mut tree = self.lock_tree();
        keyspace.check_exists()?;
        if keyspace.unset_operator(true) {
            return Ok(());
        }
        self.begin_manifest(&mut tree).inspect_err(|_| {
            keyspace.unset_operator(false);
        })
    }

    /// Returns the operator of a spec, and registers it durably if it is new to the database.
    pub(crate) fn operator(self: &Arc<Core>, spec: &str) -> Result<Operator> {
        self.check_open()?;
        let implementation = self.registry.parse(spec)?;
        let id = self.register(&*implementation)?;
        let operator = Operator { id, registry: Arc::clone(&self.registry), implementation };
        if self.time.is_used() && !self.read_only {
            self.wrapping_operator(&operator)?;
        }
        Ok(operator)
    }

    /// Returns the operator of a definition that another database may have stored. Parameters are
    /// compared as bytes: not all of them are text, and two operators may share a name.
    ///
    /// # Errors
    /// `UnknownOperator` if this program has no operator that reads its operands.
    pub(crate) fn operator_of(self: &Arc<Core>, definition: &Definition) -> Result<Operator> {
        self.check_open()?;
        let implementation = self.registry.implementation_of(definition)?;
        let id = self.register(&*implementation)?;
        Ok(Operator { id, registry: Arc::clone(&self.registry), implementation })
    }

    /// Returns the id under which a keyspace stores operands of an operator. In a keyspace with
    /// expiry the operands have stamps, so another operator wraps this one.
    #[inline]
    pub(crate) fn stored_operator(
        &self,
        keyspace: &KeyspaceState,
        operator: &Operator,
    ) -> Result<OperatorId> {
        if !keyspace.stamps || !operator.belongs_to(&self.registry) {
            return Ok(operator.id);
        }
        self.wrapping_operator(operator)
    }

    /// Returns the id of the operator that wraps one. The first call for an operator waits for a
    /// synced edit of the manifest, so calls without a deadline make it.
    #[cold]
    pub(crate) fn wrapping_operator(&self, operator: &Operator) -> Result<OperatorId> {
        match self.registry.resolver().expiring_id(operator.id) {
            Some(id) => Ok(id),
            None => self.register(&Expiring::new(Arc::clone(&operator.implementation))),
        }
    }

    /// Returns the id of an operator, and registers the operator durably if it is new to the
    /// database.
    fn register(&self, operator: &dyn MergeOperator) -> Result<OperatorId> {
        self.check_process()?;
        self.check_not_inside()?;
        // While this thread holds the writer lock, no log without the definition begins.
        let mut writer = self.lock_writer()?;
        self.check_open()?;
        let id = match self.registry.id_of(operator) {
            Some(id) => id,
            None => {
                self.check_writable()?;
                let definition = self.registry.next_definition(operator);
                let edit = Edit { operators: vec![definition.clone()], ..Edit::default() };
                // The next full description of the tree, in a manifest or a checkpoint, includes
                // the operator.
                let mut tree = self.lock_tree();
                self.append_edit(&mut tree, &edit)?;
                self.registry.adopt(&definition)?;
                definition.id
            }
        };
        if !self.read_only {
            // An earlier attempt may have registered the operator in the manifest, but not in the
            // log.
            let WriterState { log, defined, .. } = &mut *writer;
            let before = log.len();
            self.define_operators(log, defined)?;
            self.totals.add_exclusive(Total::BytesLog, log.len() - before);
        }
        Ok(id)
    }

    /// Writes the operator definitions that the log lacks. Built-in ids are the same in every
    /// database and need no definition.
    pub(crate) fn define_operators(&self, log: &mut LogWriter, defined: &mut usize) -> Result<()> {
        let resolver = self.registry.resolver();
        for definition in resolver.dynamic_definitions().skip(*defined) {
            encode_definition(definition, log.begin());
            let appended = log.append();
            if planted(Fault::ForgetDefinition) {
                *defined += 1;
            }
            appended?;
            if !planted(Fault::ForgetDefinition) {
                *defined += 1;
            }
        }
        Ok(())
    }
}
