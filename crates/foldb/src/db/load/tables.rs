//! The tables of a sorted load, while they are written.
//!
//! Invariant: the files belong to the load until an edit names them. A load that ends without an
//! edit removes them. After a kill, the next open removes them as leftovers.

use std::path::PathBuf;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::{Error, ErrorKind, Result};
use crate::key::{Kind, OperatorId, RecordHeader};
use crate::memory::Charge;
use crate::rewriting::output::facts;
use crate::table::{LaterSyncs, Loaded, TableBuilder, TableBuilderOptions};
use crate::version::FileFacts;

/// Keys between two updates of the memory charge.
const CHARGED_EVERY: usize = 256;

/// Tables of level 0, written one after the other.
pub(super) struct LoadTables {
    current: Option<(TableBuilder, u64)>,
    finished: Vec<FileFacts>,
    /// The files that no edit names yet.
    created: Vec<u64>,
    later: LaterSyncs,
    /// Number of keys after which a table ends.
    max_keys: usize,
    /// Whether there is memory for a helper that compresses and writes.
    may_have_helper: bool,
    /// Bytes of file after which a table ends.
    target: u64,
    charge: Charge,
    /// Keys since the last update of the charge.
    uncharged: usize,
}

impl LoadTables {
    pub(super) fn new(core: &Core) -> LoadTables {
        let memory = core.work_memory();
        LoadTables {
            current: None,
            finished: Vec::new(),
            created: Vec::new(),
            later: LaterSyncs::default(),
            max_keys: memory.max_keys(),
            may_have_helper: memory.allows_helper(),
            target: core.settings.tree.target_file_size,
            charge: memory.charge(0),
            uncharged: 0,
        }
    }

    /// Returns the last key; empty without a record.
    #[inline]
    pub(super) fn last_key(&self) -> &[u8] {
        match &self.current {
            Some((builder, _)) => builder.last_key(),
            None => self.finished.last().map_or(&[], |last| last.end.key()),
        }
    }

    /// Adds a record. Its key comes after all earlier ones, and has its first `shared` bytes in
    /// common with the last of them.
    #[inline]
    pub(super) fn add(
        &mut self,
        core: &Core,
        keyspace: &KeyspaceState,
        (kind, operator): (Kind, OperatorId),
        mut shared: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if self.is_full()? {
            self.end_table(core, 0)?;
            if self.later.is_full() {
                core.sync_tables(&self.later)?;
            }
        }
        if self.current.is_none() {
            self.current = Some(self.begin(core, keyspace)?);
            shared = 0;
        }
        let Some((builder, _)) = &mut self.current else { return Ok(()) };
        builder.add_sharing(shared, key, RecordHeader { seqno: 0, kind, operator }, value)
    }

    #[inline]
    fn is_full(&mut self) -> Result<bool> {
        let Some((builder, _)) = &mut self.current else { return Ok(false) };
        self.uncharged += 1;
        if self.uncharged == CHARGED_EVERY {
            self.uncharged = 0;
            self.charge.set(builder.memory_bytes());
        }
        Ok(builder.filter_keys() >= self.max_keys || builder.reaches(self.target)?)
    }

    /// Creates the file of the next table.
    ///
    /// # Errors
    /// `Closed`, `KeyspaceDropped`, `Poisoned`; `Io`, `NoSpace`.
    fn begin(&mut self, core: &Core, keyspace: &KeyspaceState) -> Result<(TableBuilder, u64)> {
        core.check_writable()?;
        keyspace.check_exists()?;
        // After the close the directory may belong to another open, which gives the same numbers.
        let Some(owned) = core.ownership.hold() else {
            return Err(Error::new(ErrorKind::Closed, "the database was closed during the load"));
        };
        let number = core.new_file_number();
        let path: PathBuf = core.names.table(number);
        let fs = &core.options.env.fs;
        let file =
            fs.create(&path).map_err(|error| Error::io(&path, "create the table", &error))?;
        drop(owned);
        assert!(
            self.created.last().is_none_or(|last| *last < number),
            "each table of a load has a new number"
        );
        self.created.push(number);
        let options = core.table_options(keyspace, 0);
        let options = TableBuilderOptions { file_number: number, path, ..options };
        let mut builder = TableBuilder::new(file, options);
        if self.may_have_helper {
            builder.set_threads(Arc::clone(core.runtime.workers().threads()));
        }
        Ok((builder, number))
    }

    /// Ends the table being written. `tables` is the number of the load's tables if it is the last.
    fn end_table(&mut self, core: &Core, tables: u64) -> Result<()> {
        let Some((mut builder, number)) = self.current.take() else { return Ok(()) };
        let first = self.created.first().copied().unwrap_or(number);
        builder.set_loaded(Loaded { first, tables });
        builder.set_operators(core.registry.resolver().definitions().cloned().collect());
        self.charge.set(builder.memory_bytes_at_end());
        let summary = builder.finish(Some(&self.later));
        self.charge.set(0);
        self.finished.push(facts(number, summary?));
        Ok(())
    }

    /// Ends the last table and makes all tables durable, except for their names. Returns them in
    /// the order of their keys.
    pub(super) fn finish(
        &mut self,
        core: &Core,
        keyspace: &KeyspaceState,
    ) -> Result<Vec<FileFacts>> {
        core.check_writable()?;
        keyspace.check_exists()?;
        self.end_table(core, self.created.len() as u64)?;
        core.sync_tables(&self.later)?;
        assert_eq!(self.finished.len(), self.created.len(), "a load installs each table it made");
        Ok(std::mem::take(&mut self.finished))
    }

    /// Leaves the files to the edit that names them.
    pub(super) fn keep(&mut self) {
        self.created.clear();
    }

    /// Removes the files, unless an edit names them or may name them.
    pub(super) fn discard(&mut self, core: &Core) {
        self.current = None;
        core.discard_uninstalled(std::mem::take(&mut self.created));
    }
}
