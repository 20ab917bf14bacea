//! Salvages damaged tables: new tables with the readable part replace the damaged one in its run.
//!
//! ```text
//! run 4:  t [a, m)  u [m, z)        t is damaged between d and g
//! run 4:  v [a, m)  u [m, z)        v has the visible records of t, except some of d to g
//! ```
//!
//! Invariant: a salvaged record keeps its sequence number, its run, and the bounds in which it was
//! visible (H1). So the order of records does not change, and none counts twice. In the lost ranges
//! an older value may show; the report lists these ranges (H26).

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use crate::db::lifecycle::open::repair::{LostRange, Repair};
use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{Error, Result};
use crate::files::FileKind;
use crate::key::Comparator;
use crate::range_tombstone::Edge;
use crate::rewriting::folding::RecordSink;
use crate::rewriting::memory::WorkMemory;
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::output::TableOutput;
use crate::rewriting::range_deletes::PassedOn;
use crate::settings::Compression;
use crate::table::{Gap, Surroundings, TableBuilderOptions, salvage};
use crate::version::{FileFacts, KeyRange, TableRef, Upper, Version};

/// The result of salvaging a table.
#[derive(Default)]
pub(crate) struct TableSalvage {
    /// The new tables.
    pub(crate) files: Vec<FileFacts>,
    pub(crate) records: u64,
    pub(crate) lost: Vec<LostRange>,
    pub(crate) lost_range_deletes: bool,
}

impl Repair<'_> {
    /// Writes the readable visible part of a table to new tables.
    pub(crate) fn salvage_table(
        &mut self,
        own: &KeyspaceParts,
        table: &TableRef,
        surroundings: Surroundings,
    ) -> Result<TableSalvage> {
        let number = table.file.number;
        let path = self.names.table(number);
        if !self.present.contains(&FileKind::Table(number)) {
            let lost = vec![whole(table)];
            let lost_range_deletes = table.has_range_tombstones();
            return Ok(TableSalvage { lost, lost_range_deletes, ..TableSalvage::default() });
        }
        let file = self.fs.open(&path).map_err(|error| Error::io(&path, "open", &error))?;
        let comparator = Arc::clone(&own.comparator);
        let mut done = TableSalvage::default();
        done.files = self.write_tables(own, table.file.kept_apart, |output| {
            output.set_surroundings(surroundings);
            let mut take = |key: &[u8], header, value: &[u8]| {
                if !table.contains(&*comparator, key) {
                    return Ok(());
                }
                done.records += 1;
                output.add(key, table.file.header_of(header), value)
            };
            let order = Arc::clone(&comparator);
            let found = salvage(file, &path, number, order, &mut take)?;
            let (lo, hi) = (Edge::Before(Arc::clone(&table.lo)), table.hi.edge());
            let shown = found.tombstones.iter();
            let tombstones = shown.filter_map(|it| it.clipped(&*comparator, &lo, &hi)).collect();
            let kept_apart = table.file.kept_apart;
            let nothing = Version::empty(0);
            let older = OlderTables::below(&nothing, &[], &KeyRange::all(), &comparator);
            output.set_tombstones(PassedOn { tombstones, kept_apart }, &older);
            // A table without range tombstones loses none.
            done.lost_range_deletes = found.lost_tombstones && table.has_range_tombstones();
            if found.records != table.file.entries {
                let gaps = found.gaps.iter();
                done.lost = gaps.filter_map(|gap| shown_part(gap, table, &*comparator)).collect();
            }
            Ok(())
        })?;
        Ok(done)
    }

    /// Writes tables of the newest level and syncs them. The caller still syncs the directory.
    pub(crate) fn write_tables(
        &mut self,
        own: &KeyspaceParts,
        kept_apart: u64,
        write: impl FnOnce(&mut TableOutput<'_>) -> Result<()>,
    ) -> Result<Vec<FileFacts>> {
        let options = TableBuilderOptions {
            path: PathBuf::new(),
            file_number: 0,
            database_id: self.stored.database,
            keyspace: own.id,
            comparator: Arc::clone(&own.comparator),
            block_size: self.options.block_size,
            compression: Compression::None,
            filter_bits: own.settings.filter_bits(own.version.levels.len(), 0),
            filter_policy: own.filter_policy.clone(),
            operators: self.stored.registry.resolver().definitions().cloned().collect(),
            expiry: own.settings.expiry,
        };
        let next = Cell::new(self.stored.next_file);
        let next_number = || next.replace(next.get() + 1);
        let memory = WorkMemory::new(Arc::default(), self.options.compaction_memory_budget);
        let mut output = TableOutput::new(&self.fs, &self.names, &next_number, options, &memory);
        write(&mut output)?;
        let mut files = output.finish()?;
        for file in &mut files {
            file.kept_apart = file.kept_apart.max(kept_apart);
        }
        self.stored.next_file = next.get();
        Ok(files)
    }
}

fn whole(table: &TableRef) -> LostRange {
    LostRange { first_key: table.lo.to_vec(), last_key: table.hi.key().to_vec() }
}

/// Returns the part of a gap within the visible bounds of the table.
fn shown_part(gap: &Gap, table: &TableRef, comparator: &dyn Comparator) -> Option<LostRange> {
    let whole = whole(table);
    let is_before = |a: &[u8], b: &[u8]| comparator.compare(a, b).is_lt();
    let first_key = match &gap.after {
        Some(after) if is_before(&whole.first_key, after) => after.clone(),
        _ => whole.first_key.clone(),
    };
    let last_key = match &gap.before {
        Some(before) if is_before(before, &whole.last_key) => before.clone(),
        _ => whole.last_key,
    };
    let ends_before_it = is_before(&last_key, &whole.first_key);
    let begins_behind_it = match &table.hi {
        Upper::Included(end) => is_before(end, &first_key),
        Upper::Excluded(end) => !is_before(&first_key, end),
    };
    (!ends_before_it && !begins_behind_it).then_some(LostRange { first_key, last_key })
}
