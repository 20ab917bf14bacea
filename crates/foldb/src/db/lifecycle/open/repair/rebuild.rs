//! Builds a manifest from all other files.
//!
//! Each table names its keyspace and describes its records. The last table of each flush and slice
//! also describes the tree around it ([`Surroundings`]): the visible parts of its files, and the
//! last write that tables hold. Visible parts only shrink, so all descriptions together give the
//! final parts. So no folded record and no logged write counts twice (H1, H5).
//!
//! A replaced table may outlive the table whose description says so, for example while an iterator
//! holds it. So each description also repeats which replaced tables may still exist.
//!
//! Each description lists the tables in use. Those that do not exist are reported: they are lost,
//! or a slice replaced them without writing a table. Nothing lists the newest table, but the writes
//! in logs follow directly on those in tables. If they do not, the report says so.
//!
//! Tables whose visible keys overlap go into runs by age. The names and options of keyspaces are
//! lost.
//!
//! A segment that tables refer to but no file holds whole is placed in a file that does not exist.
//! Reads of its values then report the loss, and all other reads work.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::db::lifecycle::open::files::logs_in;
use crate::db::lifecycle::open::repair::logs::LogFacts;
use crate::db::lifecycle::open::repair::survey::{FoundTable, Sections, Survey};
use crate::error::{Error, Result};
use crate::fold::{Definition, FIRST_DYNAMIC_ID};
use crate::key::{Comparator, DEFAULT_KEYSPACE, KeyspaceId, OperatorId, SeqNo};
use crate::options::KeyspaceOptions;
use crate::segment::SegmentFiles;
use crate::segment::{FoundSection, Placement};
use crate::separated::SegmentId;
use crate::settings::{Expiry, KeyspaceSettings};
use crate::version::{
    Edit, FileFacts, Key, KeyRange, KeyspaceEdit, Recovered, TableRef, TreeEdit, Upper, Version,
};
use crate::wal::Tail;

/// A rebuilt manifest, with the segments that no table claims.
pub(crate) struct Rebuilt {
    pub(crate) recovered: Recovered,
    /// The existing segments of each keyspace that may have lost unknown tables. They show which
    /// keyspace the values belong to.
    pub(crate) unclaimed: BTreeMap<KeyspaceId, Unclaimed>,
}

/// Segments that unknown lost tables may have referred to.
#[derive(Default)]
pub(crate) struct Unclaimed {
    pub(crate) placements: Vec<Placement>,
    /// The first write that the next replay of the logs brings back, if there is one. Values from
    /// here on were separated by a flush that a crash interrupted.
    pub(crate) logged_from: Option<SeqNo>,
}

/// Returns the definitions of tables and logs, in the order of ids. Ids are consecutive, but only
/// logs may define an operator that has no operands in tables. A missing id gets a definition
/// without an operator, so that no other operator takes it.
pub(crate) fn without_gaps(
    tables: BTreeMap<OperatorId, Definition>,
    logged: &LogFacts,
) -> Vec<Definition> {
    let logs = &logged.operators;
    let used = Some(logged.last_operator).filter(|id| *id >= FIRST_DYNAMIC_ID);
    let last = tables.keys().chain(logs.keys()).copied().max().max(used);
    // A number that no database reaches is rejected when the definitions are registered.
    let last = last.map_or(FIRST_DYNAMIC_ID, |last| last.min(MOST_OPERATORS).saturating_add(1));
    let ids = FIRST_DYNAMIC_ID..last;
    let unknown = |id: OperatorId| Definition {
        id,
        name: format!("unknown.{id}"),
        version: 0,
        parameters: Vec::new(),
    };
    let beyond = tables.range(last..).map(|(_, definition)| definition.clone());
    let known = |id: OperatorId| tables.get(&id).or_else(|| logs.get(&id)).cloned();
    ids.map(|id| known(id).unwrap_or_else(|| unknown(id))).chain(beyond).collect()
}

/// More ids than a program registers.
const MOST_OPERATORS: OperatorId = 1 << 16;

impl Survey<'_> {
    /// Builds the contents of a manifest.
    ///
    /// # Errors
    /// `Corruption` if no file names the database, or if tables contradict each other.
    pub(crate) fn rebuild(mut self) -> Result<Rebuilt> {
        let database = self.database.ok_or_else(|| {
            let message = "no manifest, table, log or value segment is readable";
            let error = Error::corruption(message);
            error.in_file(self.names.directory())
        })?;
        let next_file = self.next_number()?;
        let sections = std::mem::take(&mut self.sections);
        let mut ids: Vec<KeyspaceId> = self.tables.iter().map(|table| table.keyspace).collect();
        ids.extend(&self.logs.keyspaces);
        ids.extend(sections.keys());
        ids.push(DEFAULT_KEYSPACE);
        ids.sort_unstable();
        ids.dedup();
        let flushed = self.flushed();
        let (mut keyspaces, mut next_run, mut last_seqno) = (Vec::new(), 1, 0);
        let mut unclaimed = BTreeMap::new();
        for &id in &ids {
            let own = self.tables.iter().filter(|table| table.keyspace == id);
            let flushed_through = flushed.get(&id).copied().unwrap_or(0);
            let largest = own.map(|table| table.facts.largest_seqno).max().unwrap_or(0);
            last_seqno = largest.max(flushed_through).max(last_seqno);
            let placements = self.placements(id, &sections);
            if self.lacks_tables(id) {
                // Only existing segments count. The others were placed in files that do not exist.
                let there = sections.get(&id).into_iter().flat_map(BTreeMap::keys);
                let there = there.filter_map(|segment| placements.get(segment));
                let logged_from = self.logs.unflushed.get(&id).copied();
                unclaimed
                    .insert(id, Unclaimed { placements: there.copied().collect(), logged_from });
            }
            keyspaces.push(KeyspaceEdit {
                id,
                name: (id != DEFAULT_KEYSPACE).then(|| format!("keyspace-{id}")),
                comparator: Some(self.comparator_of(id).name().to_owned()),
                settings: self.expiry_of(id).map(|expiry| self.settings_with(expiry)),
                num_levels: Some(self.options.num_levels as u64),
                flushed_through: Some(flushed_through),
                tree: self.tree(id, placements, &mut next_run)?,
                ..KeyspaceEdit::default()
            });
        }
        let edit = Edit {
            database: Some(database),
            log: logs_in(self.present).first().copied().or(Some(1)),
            next_file: Some(next_file),
            next_run: Some(next_run),
            last_seqno: Some(last_seqno),
            next_keyspace: ids.last().map(|id| id + 1),
            operators: without_gaps(self.operators, &self.logs),
            keyspaces,
            ..Edit::default()
        };
        let recovered =
            Recovered { number: next_file, edits: vec![edit], end: 0, tail: Tail::default() };
        Ok(Rebuilt { recovered, unclaimed })
    }

    /// Returns the settings of a keyspace with expiry, otherwise those of the keyspace `default`.
    fn settings_with(&self, expiry: Expiry) -> KeyspaceSettings {
        KeyspaceOptions { expiry: Some(expiry), ..self.options.default.clone() }.settings()
    }

    /// Returns whether tables of a keyspace are lost: it has none, or some tables are damaged and
    /// may belong to any keyspace.
    fn lacks_tables(&self, id: KeyspaceId) -> bool {
        !self.damaged.is_empty() || self.tables.iter().all(|table| table.keyspace != id)
    }

    /// Returns the places of a keyspace's segments. If a segment has several whole sections, the
    /// section with the most referenced bytes wins. Among equal sections the last one wins. A
    /// section that garbage collection was writing, or has copied from, may lack values that tables
    /// refer to.
    fn placements(&self, id: KeyspaceId, sections: &Sections) -> BTreeMap<SegmentId, Placement> {
        let own = || self.tables.iter().filter(|table| table.keyspace == id);
        let mut placements = BTreeMap::new();
        for (segment, found) in sections.get(&id).into_iter().flatten() {
            let covered = |section: &&FoundSection| -> u64 {
                let wanted = own().filter_map(|table| table.references.of(*segment));
                wanted.map(|wanted| section.covers(wanted)).sum()
            };
            let best = match &found[..] {
                [only] => Some(only),
                several => several.iter().max_by_key(covered),
            };
            placements.extend(best.map(|best| (*segment, best.placement)));
        }
        let mut lost: BTreeMap<SegmentId, u64> = BTreeMap::new();
        for (segment, bytes) in own().flat_map(|table| table.references.totals()) {
            if !placements.contains_key(&segment) {
                *lost.entry(segment).or_default() += bytes;
            }
        }
        placements.extend(lost.into_iter().map(|(id, bytes)| (id, Placement::lost(id, bytes))));
        placements
    }

    /// Returns the edits that make the tree of a keyspace.
    fn tree(
        &self,
        id: KeyspaceId,
        placements: BTreeMap<SegmentId, Placement>,
        next_run: &mut u64,
    ) -> Result<Vec<TreeEdit>> {
        let comparator = &*self.comparator_of(id);
        let own: Vec<&FoundTable> =
            self.tables.iter().filter(|table| table.keyspace == id).collect();
        // Each table first gets a run, from which invisible parts are carved.
        let mut edits: Vec<TreeEdit> = placements.into_values().map(TreeEdit::Place).collect();
        for table in &own {
            let run = table.facts.number;
            edits.push(TreeEdit::NewRun { level: 0, run, before: None });
            edits.push(insert(
                run,
                &table.facts,
                Arc::clone(&table.facts.smallest),
                table.facts.end.clone(),
            ));
        }
        let surroundings = own.iter().filter_map(|table| table.surroundings.as_ref());
        for (file, pieces) in surroundings.flat_map(|around| &around.trimmed) {
            if !own.iter().any(|table| table.facts.number == *file) {
                continue;
            }
            let mut lo: Option<Key> = None;
            for piece in pieces {
                let hi = Some(Upper::Excluded(piece.lo[..].into()));
                edits.push(TreeEdit::Carve { run: *file, range: KeyRange { lo, hi } });
                lo = Some(piece.hi[..].into());
                if piece.hi_included {
                    // The end of the file: no keys follow.
                    lo = None;
                    break;
                }
            }
            if lo.is_some() || pieces.is_empty() {
                edits.push(TreeEdit::Carve { run: *file, range: KeyRange { lo, hi: None } });
            }
        }
        let segment_files: Arc<SegmentFiles> = Arc::default();
        let shown =
            Version::empty(self.options.num_levels).apply(&edits, comparator, &segment_files)?;
        let mut edits: Vec<TreeEdit> =
            shown.segments.iter().map(|segment| TreeEdit::Place(segment.placement)).collect();
        let mut oldest_first: Vec<&TableRef> = shown.tables().collect();
        oldest_first.sort_by_key(|table| (table.file.largest_seqno, table.file.number));
        let mut depths: Vec<(usize, &TableRef)> = Vec::new();
        for table in oldest_first {
            let below = depths.iter().filter(|(_, other)| overlap(table, other, comparator));
            let depth = below.map(|(depth, _)| depth + 1).max().unwrap_or(0);
            depths.push((depth, table));
        }
        let deepest = depths.iter().map(|(depth, _)| depth + 1).max().unwrap_or(0);
        for depth in 0..deepest {
            let (run, level) =
                (*next_run, if depth == 0 { self.options.num_levels - 1 } else { 0 });
            *next_run += 1;
            edits.push(TreeEdit::NewRun { level, run, before: None });
            for (_, table) in depths.iter().filter(|(at, _)| *at == depth) {
                edits.push(insert(
                    run,
                    table.file.facts(),
                    Arc::clone(&table.lo),
                    table.hi.clone(),
                ));
            }
        }
        Ok(edits)
    }
}

fn insert(run: u64, facts: &FileFacts, lo: Key, hi: Upper) -> TreeEdit {
    TreeEdit::Insert { run, file: facts.clone(), lo, hi }
}

fn overlap(a: &TableRef, b: &TableRef, comparator: &dyn Comparator) -> bool {
    let range = KeyRange { lo: Some(Arc::clone(&a.lo)), hi: Some(a.hi.clone()) };
    range.overlaps(comparator, &b.lo, &b.hi)
}
