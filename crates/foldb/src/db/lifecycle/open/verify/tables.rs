//! Verification of tables: each against itself, the manifest, its segments and the operators of its
//! operands.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crate::db::lifecycle::open::files::MISSING_TABLE;
use crate::db::lifecycle::open::repair::bounds;
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::verify::{Checked, Verification};
use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{Error, Result};
use crate::files::FileKind;
use crate::fold::Registry;
use crate::fold::stamp::Stamp;
use crate::key::{Comparator, Kind, RecordHeader};
use crate::table::{BlockCache, BlockStore, TableReader};
use crate::version::{OpenTables, Run, TableRef, Upper};

impl Verification<'_> {
    /// Checks the tables of a keyspace.
    pub(crate) fn tables(&mut self, own: &KeyspaceParts, stored: &Stored, tables: &OpenTables) {
        let tables = own.open_tables(tables);
        let mut seen = HashSet::new();
        for (_, run) in own.version.runs() {
            if let Err(error) = check_run(run, &*own.comparator) {
                let manifest = stored.manifest.map(|number| self.names.manifest(number));
                self.fault(error.in_file(&manifest.unwrap_or_default()));
            }
            for table in &run.tables {
                if seen.insert(table.file.number) {
                    let path = self.names.table(table.file.number);
                    let checked = self.table(own, stored, table, &tables);
                    self.finished(path, table.file.len, checked);
                }
            }
        }
    }

    fn table(
        &mut self,
        own: &KeyspaceParts,
        stored: &Stored,
        table: &TableRef,
        tables: &OpenTables,
    ) -> Result<Checked> {
        let (number, facts) = (table.file.number, table.file.facts());
        if !self.present.contains(&FileKind::Table(number)) {
            return Err(Error::corruption(MISSING_TABLE));
        }
        let open = tables.get_owned(&table.file)?;
        let mut operands = Operands { registry: &stored.registry, unchecked: 0 };
        let checked =
            open.verify_with(&mut |key, header, value| operands.check(key, header, value));
        self.report.unchecked_operands += operands.unchecked;
        let checked = checked?;
        let said = open.properties();
        let (smallest, end) = bounds(&open, &*own.comparator);
        let figures = [
            ("database", stored.database, said.database_id),
            ("keyspace", own.id.into(), said.keyspace.into()),
            ("bytes", facts.len, open.file_len()),
            ("records", facts.entries, said.entries),
            ("deletes", facts.deletes, said.deletes),
            ("merges", facts.merges, said.merges),
            ("range deletes", facts.range_deletes, said.range_deletes),
        ];
        for (what, expected, found) in figures {
            if expected != found {
                return Err(Error::corruption(format!(
                    "{what}: expected {expected} as the manifest says, found {found}"
                )));
            }
        }
        if !are_same_bounds((&facts.smallest, &facts.end), (&smallest, &end), &*own.comparator) {
            return Err(Error::corruption(format!(
                "expected keys from \"{}\" to \"{}\" as the manifest says, found \"{}\" to \"{}\"",
                facts.smallest.escape_ascii(),
                facts.end.key().escape_ascii(),
                smallest.escape_ascii(),
                end.key().escape_ascii()
            )));
        }
        let references = open.references()?;
        if *facts.references != references.totals()[..] {
            return Err(Error::corruption(
                "references: expected as many bytes of each value segment as the manifest says, \
                 found others",
            ));
        }
        tables.segments().verify_references(own.id, &own.version.segments, &references)?;
        Ok(Checked { bytes: checked.bytes, records: checked.entries })
    }

    /// Checks all existing tables, each on its own.
    pub(crate) fn tables_alone(&mut self) {
        let cache = Arc::new(BlockCache::sharing(&Arc::new(BlockStore::new(1 << 20))));
        for kind in self.present.clone() {
            let FileKind::Table(number) = kind else { continue };
            let path = self.names.table(number);
            let len = self.fs.len(&path).unwrap_or(0);
            let checked = self.open_alone(&path, number, &cache).and_then(|open| open.verify());
            let checked = checked.map(|done| Checked { bytes: done.bytes, records: done.entries });
            self.finished(path, len, checked);
        }
    }

    /// Opens a table with the comparator that it names, if the caller registered it.
    fn open_alone(
        &self,
        path: &Path,
        number: u64,
        cache: &Arc<BlockCache>,
    ) -> Result<Arc<TableReader>> {
        let file = self.fs.open(path).map_err(|error| Error::io(path, "open", &error))?;
        let name = TableReader::properties_of(Arc::clone(&file), path, number)?.comparator;
        // With the wrong comparator, the open names the right one.
        let comparator = self.options.comparator_named(&name);
        let comparator = comparator.unwrap_or_else(|| self.options.default.comparator());
        TableReader::open(file, path, number, comparator, None, Arc::clone(cache))
    }
}

/// Returns whether two bounds are the same. Where different bytes are one key, the spellings may
/// differ: the manifest may have a bound from another range tombstone than the table shows first.
fn are_same_bounds(a: (&[u8], &Upper), b: (&[u8], &Upper), comparator: &dyn Comparator) -> bool {
    a == b || (comparator.compare(a.0, b.0).is_eq() && a.1.compare(comparator, b.1).is_eq())
}

/// Checks that the tables of a run are in order, inside their files, and do not overlap.
fn check_run(run: &Run, comparator: &dyn Comparator) -> Result<()> {
    let is_inside = |table: &TableRef| {
        let (lo, hi) = (&table.lo, &table.hi);
        comparator.compare(&table.file.smallest, lo).is_le()
            && hi.compare(comparator, &table.file.end).is_le()
            && match hi {
                Upper::Included(end) => comparator.compare(lo, end).is_le(),
                Upper::Excluded(end) => comparator.compare(lo, end).is_lt(),
            }
    };
    if let Some(table) = run.tables.iter().find(|table| !is_inside(table)) {
        let number = table.file.number;
        let message = format!("run {}: table {number} is visible beyond its bounds", run.id);
        return Err(Error::corruption(message));
    }
    let overlap = |pair: &&[TableRef]| pair[0].hi.admits(comparator, &pair[1].lo);
    match run.tables.windows(2).find(overlap) {
        None => Ok(()),
        Some(pair) => Err(Error::corruption(format!(
            "run {}: tables {} and {} overlap",
            run.id, pair[0].file.number, pair[1].file.number
        ))),
    }
}

/// Checks operands with their operators.
pub(crate) struct Operands<'a> {
    pub(crate) registry: &'a Registry,
    /// Operands whose operators are not registered.
    pub(crate) unchecked: u64,
}

impl Operands<'_> {
    pub(crate) fn check(&mut self, key: &[u8], header: RecordHeader, operand: &[u8]) -> Result<()> {
        if header.kind != Kind::Merge {
            return Ok(());
        }
        let resolver = self.registry.resolver();
        let id = header.operator;
        if resolver.definition(id).is_none() {
            return Err(Error::corruption(format!(
                "key \"{}\": operator {id} has no definition",
                key.escape_ascii()
            )));
        }
        let Some(operator) = resolver.implementation(id) else {
            self.unchecked += 1;
            return Ok(());
        };
        let operand = if resolver.is_expiring(id) {
            // The stamp is the engine's, not the operator's.
            Stamp::split(operand).map(|(operand, _)| operand).ok_or_else(|| {
                let key = key.escape_ascii();
                Error::corruption(format!("key \"{key}\": expected a stamp behind its operand"))
            })?
        } else {
            operand
        };
        operator.check_operand(operand).map_err(|expected| {
            Error::corruption(format!(
                "key \"{}\": {} rejects its operand: it expects {expected}",
                key.escape_ascii(),
                resolver.name(id)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::BytewiseComparator;
    use crate::testing::orders::CaseBlind;

    #[test]
    fn bounds_in_another_spelling_are_the_same_where_they_are_one_key() {
        let (low, high) = (Upper::Excluded(b"m"[..].into()), Upper::Excluded(b"M"[..].into()));
        let included = Upper::Included(b"m"[..].into());
        let same = |a, b, comparator: &dyn Comparator| are_same_bounds(a, b, comparator);
        assert!(same((b"a", &low), (b"A", &high), &CaseBlind));
        assert!(!same((b"a", &low), (b"A", &high), &BytewiseComparator));
        assert!(same((b"a", &low), (b"a", &low), &BytewiseComparator));
        assert!(!same((b"a", &low), (b"a", &included), &CaseBlind));
        assert!(!same((b"a", &low), (b"b", &low), &CaseBlind));
    }
}
