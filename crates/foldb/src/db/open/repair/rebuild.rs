//! A manifest made of nothing but the other files.
//!
//! Each table tells whose it is and what its records are. The last table of each flush and slice tells
//! of the tree around it as well ([`Surroundings`]): how much of which files was shown then, and up to
//! which write everything is in tables. What is shown only gets less, so what all of them say together is
//! what was shown at the end: a record that was folded into another is not counted twice, and
//! neither is a write of the logs (H1, H5).
//!
//! Tables that show keys of each other go into runs by their age. Not told anywhere, and lost, are the
//! names and options of keyspaces, and what was trimmed by slices that left nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::db::open::files::{highest_number, logs_in};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{Comparator, DEFAULT_KEYSPACE, KeyspaceId};
use crate::options::Options;
use crate::segment::{OpenSegments, Placement, SegmentHeader, SegmentId};
use crate::table::{BlockCache, BlockStore, Surroundings, TableReader};
use crate::version::{
    Edit, FileFacts, FileKind, FileNames, Key, KeyRange, KeyspaceEdit, Recovered, TablePool,
    TableRef, Trash, TreeEdit, Upper, Version,
};
use crate::wal::{LogReader, LogRecord};

/// A table, as it tells of itself.
struct Told {
    keyspace: KeyspaceId,
    facts: FileFacts,
    surroundings: Option<Surroundings>,
}

/// What a manifest would say of these files.
///
/// # Errors
/// `Corruption` where there is no table to tell whose files these are; `Io`.
pub(super) fn rebuild(
    fs: &Arc<dyn FileSystem>,
    names: &FileNames,
    present: &[FileKind],
    options: &Options,
    damaged: &mut Vec<(PathBuf, Error)>,
) -> Result<Recovered> {
    let mut rebuild = Rebuild {
        fs,
        names,
        options,
        cache: Arc::new(BlockCache::sharing(&Arc::new(BlockStore::new(1 << 20)))),
        database: None,
        operators: BTreeMap::new(),
        told: Vec::new(),
    };
    for kind in present {
        if let FileKind::Table(number) = *kind {
            match rebuild.look_at(number) {
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    damaged.push((names.table(number), error));
                }
                looked => looked?,
            }
        }
    }
    rebuild.edit(present)
}

struct Rebuild<'a> {
    fs: &'a Arc<dyn FileSystem>,
    names: &'a FileNames,
    options: &'a Options,
    cache: Arc<BlockCache>,
    database: Option<u64>,
    operators: BTreeMap<u32, crate::fold::Definition>,
    told: Vec<Told>,
}

impl Rebuild<'_> {
    /// Reads what a table tells.
    fn look_at(&mut self, number: u64) -> Result<()> {
        let path = self.names.table(number);
        let file =
            self.fs.open(&path).map_err(|error| Error::io(&path, "open the table", &error))?;
        let order = Arc::clone(&self.options.comparator);
        let table = TableReader::open(file, &path, number, order, Arc::clone(&self.cache))?;
        table.verify()?;
        let properties = table.properties();
        let database = *self.database.get_or_insert(properties.database_id);
        if properties.database_id != database || properties.file_number != number {
            let message = format!("expected a table of database {database:016x}");
            return Err(Error::corruption(message).in_file(&path));
        }
        for operator in properties.operators.iter().filter(|operator| operator.id >= 128) {
            self.operators.insert(operator.id, operator.clone());
        }
        let (smallest, end) = bounds(&table, &*self.options.comparator);
        let tombstones = table.range_tombstones().map(|all| all.to_vec()).unwrap_or_default();
        let deleted_at = tombstones.iter().map(|tombstone| tombstone.seqno).max();
        let facts = FileFacts {
            number,
            len: table.file_len(),
            entries: properties.entries,
            deletes: properties.deletes,
            merges: properties.merges,
            range_deletes: properties.range_deletes,
            samples: Arc::new([Arc::clone(&smallest)]),
            smallest,
            end,
            smallest_seqno: properties.smallest_seqno,
            largest_seqno: properties.largest_seqno.max(deleted_at.unwrap_or(0)),
            references: table.references()?.totals().into(),
            ..FileFacts::default()
        };
        let surroundings = properties.surroundings.clone();
        self.told.push(Told { keyspace: properties.keyspace, facts, surroundings });
        Ok(())
    }

    fn edit(self, present: &[FileKind]) -> Result<Recovered> {
        let database = match self.database {
            Some(database) => database,
            None => self.database_of_logs(present)?,
        };
        let mut ids: Vec<KeyspaceId> = self.told.iter().map(|told| told.keyspace).collect();
        ids.push(DEFAULT_KEYSPACE);
        ids.sort_unstable();
        ids.dedup();
        let mut placements = self.placements(present, database)?;
        let (mut keyspaces, mut next_run, mut last_seqno) = (Vec::new(), 1, 0);
        for &id in &ids {
            let own = self.told.iter().filter(|told| told.keyspace == id);
            let flushed = own.clone().filter_map(|told| told.surroundings.as_ref());
            let flushed_through = flushed.map(|told| told.flushed_through).max().unwrap_or(0);
            let largest = own.map(|told| told.facts.largest_seqno).max().unwrap_or(0);
            last_seqno = largest.max(flushed_through).max(last_seqno);
            keyspaces.push(KeyspaceEdit {
                id,
                name: (id != DEFAULT_KEYSPACE).then(|| format!("keyspace-{id}")),
                comparator: Some(self.options.comparator.name().to_owned()),
                num_levels: Some(self.options.num_levels as u64),
                flushed_through: Some(flushed_through),
                tree: self.tree(id, placements.remove(&id).unwrap_or_default(), &mut next_run)?,
                ..KeyspaceEdit::default()
            });
        }
        let edit = Edit {
            database: Some(database),
            log: logs_in(present).first().copied().or(Some(1)),
            next_file: Some(highest_number(present) + 1),
            next_run: Some(next_run),
            last_seqno: Some(last_seqno),
            next_keyspace: ids.last().map(|id| id + 1),
            operators: self.operators.into_values().collect(),
            keyspaces,
            ..Edit::default()
        };
        Ok(Recovered { number: highest_number(present) + 1, edits: vec![edit] })
    }

    /// Whose logs these are.
    fn database_of_logs(&self, present: &[FileKind]) -> Result<u64> {
        for number in logs_in(present) {
            let mut log = LogReader::open(&**self.fs, &self.names.log(number), number)?;
            let mut record = Vec::new();
            if log.next(&mut record)?
                && let LogRecord::Header(header) = LogRecord::decode(&record)?
            {
                return Ok(header.database);
            }
        }
        let error = Error::corruption("no manifest, table or log that can be read is left");
        Err(error.in_file(self.names.directory()))
    }

    /// Where segments lie, by keyspace. Of a segment in two files the later is as good, and may be all
    /// that is whole.
    fn placements(
        &self,
        present: &[FileKind],
        database: u64,
    ) -> Result<BTreeMap<KeyspaceId, BTreeMap<SegmentId, Placement>>> {
        let pool = Arc::new(TablePool::new(Arc::clone(self.cache.store()), 100));
        let segments = OpenSegments::new(Arc::clone(self.fs), self.names.clone(), pool, database);
        let trash: Arc<Trash> = Arc::default();
        let mut found: BTreeMap<KeyspaceId, BTreeMap<SegmentId, Placement>> = BTreeMap::new();
        let mut files: Vec<u64> = present
            .iter()
            .filter_map(|kind| match kind {
                FileKind::Segment(number) => Some(*number),
                _ => None,
            })
            .collect();
        files.sort_unstable();
        for number in files {
            let path = self.names.segment(number);
            let bytes = self.fs.read(&path).map_err(|error| Error::io(&path, "read", &error))?;
            let Ok(header) = SegmentHeader::decode(&bytes) else { continue };
            let file = trash.segment_file(number);
            let Ok(sections) = segments.sections(header.keyspace, &file, bytes.len() as u64) else {
                continue;
            };
            let own = found.entry(header.keyspace).or_default();
            own.extend(sections.into_iter().map(|placed| (placed.segment, placed)));
        }
        Ok(found)
    }

    /// The tree of a keyspace.
    fn tree(
        &self,
        id: KeyspaceId,
        placements: BTreeMap<SegmentId, Placement>,
        next_run: &mut u64,
    ) -> Result<Vec<TreeEdit>> {
        let comparator = &*self.options.comparator;
        let own: Vec<&Told> = self.told.iter().filter(|told| told.keyspace == id).collect();
        // A run for each table first, of which what is not shown is carved out.
        let mut edits: Vec<TreeEdit> = placements.into_values().map(TreeEdit::Place).collect();
        for told in &own {
            let run = told.facts.number;
            edits.push(TreeEdit::NewRun { level: 0, run, before: None });
            edits.push(insert(
                run,
                &told.facts,
                Arc::clone(&told.facts.smallest),
                told.facts.end.clone(),
            ));
        }
        let said = own.iter().filter_map(|told| told.surroundings.as_ref());
        for (file, pieces) in said.flat_map(|told| &told.trimmed) {
            if !own.iter().any(|told| told.facts.number == *file) {
                continue;
            }
            let mut lo: Option<Key> = None;
            for piece in pieces {
                let hi = Some(Upper::Excluded(piece.lo[..].into()));
                edits.push(TreeEdit::Carve { run: *file, range: KeyRange { lo, hi } });
                lo = Some(piece.hi[..].into());
                if piece.hi_included {
                    // The file's own end: nothing lies behind.
                    lo = None;
                    break;
                }
            }
            if lo.is_some() || pieces.is_empty() {
                edits.push(TreeEdit::Carve { run: *file, range: KeyRange { lo, hi: None } });
            }
        }
        let trash: Arc<Trash> = Arc::default();
        let shown = Version::empty(self.options.num_levels).apply(&edits, comparator, &trash)?;
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

/// Where the records and range tombstones of a table begin and end.
fn bounds(table: &TableReader, comparator: &dyn Comparator) -> (Key, Upper) {
    let properties = table.properties();
    let mut bounds: Option<(Key, Upper)> = (properties.entries > 0)
        .then(|| (properties.smallest[..].into(), Upper::Included(properties.largest[..].into())));
    for tombstone in table.range_tombstones().map(|all| all.to_vec()).unwrap_or_default() {
        let (Some(start), Some(end)) = (tombstone.start.key(), tombstone.end.key()) else {
            continue;
        };
        let end = Upper::Excluded(Arc::clone(end));
        bounds = Some(match bounds {
            None => (Arc::clone(start), end),
            Some((lo, hi)) => (
                if comparator.compare(start, &lo) == Ordering::Less {
                    Arc::clone(start)
                } else {
                    lo
                },
                if hi.compare(comparator, &end) == Ordering::Less { end } else { hi },
            ),
        });
    }
    bounds.unwrap_or_default()
}
