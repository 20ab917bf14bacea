//! Reads what all files except manifests say: tables, logs and the sections of segments.
//!
//! The survey also tells what is missing. [`rebuild`](super::rebuild) makes a manifest of it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::files::{logs_in, next_number};
use crate::db::lifecycle::open::repair::logs::LogFacts;
use crate::db::lifecycle::open::stored::named_file;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileKind, FileNames};
use crate::fold::{Definition, FIRST_DYNAMIC_ID};
use crate::key::{Comparator, KeyspaceId, OperatorId, SeqNo};
use crate::options::Options;
use crate::segment::SegmentFiles;
use crate::segment::{FoundSection, OpenSegments, SEGMENT_HEADER_LEN, SegmentHeader};
use crate::separated::{References, SegmentId};
use crate::settings::Expiry;
use crate::table::{BlockCache, BlockStore, Loaded, Surroundings, TableReader};
use crate::version::{FileFacts, Key, Recovered, Upper};
use crate::wal::{LogReader, LogRecord};

/// A table that was found, with the facts that it stores about itself.
pub(super) struct FoundTable {
    pub(super) keyspace: KeyspaceId,
    /// The order of its keys.
    pub(super) comparator: Arc<dyn Comparator>,
    pub(super) facts: FileFacts,
    pub(super) surroundings: Option<Surroundings>,
    pub(super) flushed_with: Option<SeqNo>,
    pub(super) loaded: Option<Loaded>,
    pub(super) references: References,
    /// The expiry of the keyspace.
    pub(super) expiry: Option<Expiry>,
}

impl FoundTable {
    /// Returns whether the records of the table were logged, and it is no part of a flush that may
    /// have been interrupted.
    fn is_installed(&self) -> bool {
        self.loaded.is_none() && self.flushed_with.is_none()
    }

    /// Returns the keyspace of a loaded table, and its part in the load.
    fn load(&self) -> Option<(KeyspaceId, Loaded)> {
        self.loaded.map(|loaded| (self.keyspace, loaded))
    }
}

/// The whole sections of each segment, by keyspace; sections of later files come last.
pub(super) type Sections = BTreeMap<KeyspaceId, BTreeMap<SegmentId, Vec<FoundSection>>>;

/// The descriptions in all files except manifests.
pub(crate) struct Survey<'a> {
    pub(super) fs: &'a Arc<dyn FileSystem>,
    pub(super) names: &'a FileNames,
    pub(super) present: &'a [FileKind],
    pub(super) options: &'a Options,
    pub(super) cache: Arc<BlockCache>,
    pub(super) database: Option<u64>,
    pub(super) operators: BTreeMap<OperatorId, Definition>,
    pub(super) tables: Vec<FoundTable>,
    pub(super) sections: Sections,
    pub(super) logs: LogFacts,
    /// Tables of loads that are left out.
    pub(super) unfinished_loads: Vec<(PathBuf, Error)>,
    /// Damaged tables.
    pub(crate) damaged: Vec<(PathBuf, Error)>,
}

impl<'a> Survey<'a> {
    /// Reads all tables, and finds the sections of all segment files.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn take(
        fs: &'a Arc<dyn FileSystem>,
        names: &'a FileNames,
        present: &'a [FileKind],
        options: &'a Options,
    ) -> Result<Survey<'a>> {
        let mut survey = Survey {
            fs,
            names,
            present,
            options,
            cache: Arc::new(BlockCache::sharing(&Arc::new(BlockStore::new(1 << 20)))),
            database: None,
            operators: BTreeMap::new(),
            tables: Vec::new(),
            sections: BTreeMap::new(),
            logs: LogFacts::default(),
            unfinished_loads: Vec::new(),
            damaged: Vec::new(),
        };
        for kind in present {
            if let FileKind::Table(number) = *kind {
                match survey.look_at(number) {
                    Err(error) if error.kind() == ErrorKind::Corruption => {
                        survey.damaged.push((names.table(number), error));
                    }
                    looked => looked?,
                }
            }
        }
        let flushed = survey.flushed();
        survey.logs = LogFacts::of(&**fs, names, &logs_in(present), &flushed)?;
        survey.pass_over_unfinished_flushes(&flushed);
        survey.number_loads(&flushed);
        survey.database = match survey.database.or(survey.logs.database) {
            None => survey.database_of_segments()?,
            database => database,
        };
        survey.find_sections()?;
        Ok(survey)
    }

    /// Returns the tables that the newest description of a keyspace lists and that do not exist,
    /// unless another description says that they were replaced. Also returns the last tables of
    /// loads that are missing. They may hold lost data.
    pub(crate) fn missing(&self) -> Vec<(PathBuf, Error)> {
        let mut newest: BTreeMap<KeyspaceId, &FoundTable> = BTreeMap::new();
        let mut replaced = BTreeSet::new();
        for table in &self.tables {
            let Some(around) = &table.surroundings else { continue };
            let gone = around.trimmed.iter().filter(|(_, pieces)| pieces.is_empty());
            replaced.extend(gone.map(|(file, _)| *file));
            let known = newest.entry(table.keyspace).or_insert(table);
            if table.facts.number > known.facts.number {
                *known = table;
            }
        }
        let live = newest.values().filter_map(|table| table.surroundings.as_ref());
        let live: BTreeSet<u64> = live.flat_map(|around| around.live.iter().copied()).collect();
        let is_there = |file: &u64| self.present.contains(&FileKind::Table(*file));
        let missing = live.difference(&replaced).filter(|file| !is_there(file));
        let error = |file: u64| {
            let path = self.names.table(file);
            let message = "the table is missing: a newer table says that it was in use";
            (path.clone(), Error::corruption(message).in_file(&path))
        };
        missing.map(|file| error(*file)).chain(self.unfinished_loads.iter().cloned()).collect()
    }

    /// Returns whether the newest tables may be missing: the writes in logs do not follow directly
    /// on those in tables. A load has a number that no log has.
    pub(crate) fn may_lack_newest(&self) -> bool {
        let described = self.described();
        let mut installed = self.tables.iter().filter(|table| table.is_installed());
        if installed.any(|table| table.facts.largest_seqno > described[&table.keyspace]) {
            return true;
        }
        let mut next = self.flushed().into_values().max().unwrap_or(0) + 1;
        let loads: BTreeSet<SeqNo> = self
            .tables
            .iter()
            .filter(|table| table.loaded.is_some())
            .map(|table| table.facts.largest_seqno)
            .collect();
        let mut is_followed = false;
        for &(first, last) in &self.logs.stretches {
            if last < next {
                continue;
            }
            if (next..first).any(|seqno| !loads.contains(&seqno)) {
                return true;
            }
            (next, is_followed) = (last + 1, true);
        }
        !is_followed
    }

    /// Returns the expiry of a keyspace, as its newest table has it. Logs tell only whether there
    /// is one: with [`Expiry::per_write`] their entries keep their ends.
    pub(super) fn expiry_of(&self, keyspace: KeyspaceId) -> Option<Expiry> {
        let own = self.tables.iter().filter(|table| table.keyspace == keyspace);
        let newest = own.max_by_key(|table| table.facts.number);
        let of_tables = newest.and_then(|table| table.expiry);
        of_tables.or_else(|| self.logs.stamped.contains(&keyspace).then(Expiry::per_write))
    }

    /// Returns the order of a keyspace, as its tables have it. Logs do not tell it: a keyspace
    /// without tables gets the default order.
    pub(super) fn comparator_of(&self, keyspace: KeyspaceId) -> Arc<dyn Comparator> {
        let of_tables = self.tables.iter().find(|table| table.keyspace == keyspace);
        of_tables.map_or_else(
            || self.options.default.comparator(),
            |table| Arc::clone(&table.comparator),
        )
    }

    /// Returns the last write of each keyspace that is in tables. Records beyond what descriptions
    /// say are in tables too: the table that says so is missing.
    pub(super) fn flushed(&self) -> BTreeMap<KeyspaceId, SeqNo> {
        let mut flushed = self.described();
        for table in self.tables.iter().filter(|table| table.is_installed()) {
            let known: &mut SeqNo = flushed.entry(table.keyspace).or_default();
            *known = table.facts.largest_seqno.max(*known);
        }
        flushed
    }

    /// Returns the last write of each keyspace that a description says is in tables.
    fn described(&self) -> BTreeMap<KeyspaceId, SeqNo> {
        let mut described = BTreeMap::new();
        for FoundTable { keyspace, surroundings, .. } in &self.tables {
            let through = surroundings.as_ref().map_or(0, |around| around.flushed_through);
            let known: &mut SeqNo = described.entry(*keyspace).or_default();
            *known = through.max(*known);
        }
        described
    }

    /// Leaves out the tables of flushes that a crash interrupted. Their records are in the logs
    /// too, so their merges would count twice.
    fn pass_over_unfinished_flushes(&mut self, flushed: &BTreeMap<KeyspaceId, SeqNo>) {
        let unflushed = &self.logs.unflushed;
        self.tables.retain(|table| {
            let (flushed, first) = (flushed.get(&table.keyspace), unflushed.get(&table.keyspace));
            let is_unfinished = table.flushed_with.is_some_and(|through| {
                flushed.is_none_or(|flushed| *flushed < through)
                    && first.is_some_and(|first| *first <= through)
            });
            !is_unfinished
        });
    }

    /// Gives each sorted load its sequence number, and leaves out loads that a crash interrupted.
    /// If a flush or slice came after a load, it has noted the number. All other records in tables
    /// of the keyspace are older than a load of which nothing is noted. The logs hold no older
    /// records of its keys, so it is enough that its number follows those of the tables.
    fn number_loads(&mut self, flushed: &BTreeMap<KeyspaceId, SeqNo>) {
        let mut known: BTreeMap<(KeyspaceId, u64), SeqNo> = BTreeMap::new();
        let mut newest = flushed.clone();
        for FoundTable { keyspace, surroundings, facts, .. } in &self.tables {
            let loads = surroundings.iter().flat_map(|around| &around.loads);
            known.extend(loads.map(|&(first, seqno)| ((*keyspace, first), seqno)));
            let newest = newest.entry(*keyspace).or_default();
            *newest = facts.largest_seqno.max(*newest);
        }
        for (&(keyspace, _), &seqno) in &known {
            let newest = newest.entry(keyspace).or_default();
            *newest = seqno.max(*newest);
        }
        let mut files: BTreeMap<(KeyspaceId, u64), (u64, u64)> = BTreeMap::new();
        for (keyspace, loaded) in self.tables.iter().filter_map(FoundTable::load) {
            let (found, expected) = files.entry((keyspace, loaded.first)).or_default();
            *found += 1;
            *expected = loaded.tables.max(*expected);
        }
        for (&load, &(found, expected)) in &files {
            if found == expected && !known.contains_key(&load) {
                let newest = newest.entry(load.0).or_default();
                let next = *newest + 1;
                // If the table of a flush before the load is missing, but not its log, then the
                // log's writes would come to lie above the load.
                let is_logged = |stretch: &(SeqNo, SeqNo)| (stretch.0..=stretch.1).contains(&next);
                if !self.logs.stretches.iter().any(is_logged) {
                    *newest = next;
                    known.insert(load, next);
                }
            }
        }
        let mut cut_short = BTreeSet::new();
        self.tables.retain_mut(|table| {
            let Some((keyspace, loaded)) = table.load() else { return true };
            let Some(&seqno) = known.get(&(keyspace, loaded.first)) else {
                cut_short.insert(table.facts.number);
                return false;
            };
            table.facts.loaded = Some(loaded.first);
            (table.facts.smallest_seqno, table.facts.largest_seqno) = (seqno, seqno);
            true
        });
        let cut_short = cut_short.into_iter().map(|file| {
            let path = self.names.table(file);
            let message = "its sorted load has no place: it was cut short, or a table is missing";
            (path.clone(), Error::corruption(message).in_file(&path))
        });
        self.unfinished_loads = cut_short.collect();
    }

    /// Returns a number above that of every file and segment. One counter numbers both, and
    /// segments are not named after files. A reused segment id would make reads find the wrong
    /// segment.
    ///
    /// # Errors
    /// See [`next_number`].
    pub(crate) fn next_number(&self) -> Result<u64> {
        let sections = self.sections.values().flat_map(BTreeMap::keys).copied();
        let references = self.tables.iter().flat_map(|table| &*table.facts.references);
        let segments = sections.chain(references.map(|(id, _)| *id)).max().unwrap_or(0);
        next_number(self.present, segments.saturating_add(1), self.names)
    }

    /// Returns whether a flush, slice or load finished after the last edit of this manifest. Also
    /// returns true if garbage collection moved a segment that exists nowhere else now.
    pub(crate) fn has_work_since(&self, manifest: &Recovered) -> bool {
        let next_file = manifest.edits.iter().rev().find_map(|edit| edit.next_file).unwrap_or(0);
        let named = named_files(manifest);
        let is_after = |file: u64| file >= next_file && !named.contains(&file);
        let is_last = |table: &FoundTable| {
            table.surroundings.is_some() || table.loaded.is_some_and(|loaded| loaded.tables > 0)
        };
        let mut finished = self.tables.iter().filter(|table| is_last(table));
        let mut segments = self.sections.values().flatten();
        finished.any(|table| is_after(table.facts.number))
            || segments.any(|(&segment, found)| {
                let is_new = |section: &FoundSection| is_after(section.placement.file);
                segment < next_file && found.iter().all(is_new)
            })
    }

    /// Reads the description of a table.
    fn look_at(&mut self, number: u64) -> Result<()> {
        let path = self.names.table(number);
        let file =
            self.fs.open(&path).map_err(|error| Error::io(&path, "open the table", &error))?;
        let name = TableReader::properties_of(Arc::clone(&file), &path, number)?.comparator;
        let order = self.options.comparator_named(&name).ok_or_else(|| {
            let message = format!(
                "the table is ordered by comparator '{name}', which is not registered: add it to \
                 Options::comparators"
            );
            Error::new(ErrorKind::UnknownComparator, message).in_file(&path)
        })?;
        let (comparator, cache) = (Arc::clone(&order), Arc::clone(&self.cache));
        let table = TableReader::open(file, &path, number, comparator, None, cache)?;
        match table.verify() {
            // The readable part is salvaged once the tree is known.
            Err(error) if error.kind() == ErrorKind::Corruption => {}
            verified => drop(verified?),
        }
        let properties = table.properties();
        let database = *self.database.get_or_insert(properties.database_id);
        if properties.database_id != database || properties.file_number != number {
            let message = format!("expected a table of database {database:016x}");
            return Err(Error::corruption(message).in_file(&path));
        }
        for operator in
            properties.operators.iter().filter(|operator| operator.id >= FIRST_DYNAMIC_ID)
        {
            self.operators.insert(operator.id, operator.clone());
        }
        let references = table.references()?;
        let (smallest, end) = bounds(&table, &*order);
        let tombstones = table.range_tombstones().map(|all| all.to_vec()).unwrap_or_default();
        let deleted_at = tombstones.iter().map(|tombstone| tombstone.seqno).max();
        let facts = FileFacts {
            number,
            len: table.file_len(),
            entries: properties.entries,
            deletes: properties.deletes,
            merges: properties.merges,
            range_deletes: properties.range_deletes,
            samples: std::iter::once(&smallest).collect(),
            smallest,
            end,
            smallest_seqno: properties.smallest_seqno,
            largest_seqno: properties.largest_seqno.max(deleted_at.unwrap_or(0)),
            references: references.totals().into(),
            expiry: properties.expiry.map(|(_, own)| own),
            ..FileFacts::default()
        };
        let (keyspace, flushed_with) = (properties.keyspace, properties.flushed_with);
        let (surroundings, loaded) = (properties.surroundings.clone(), properties.loaded);
        let expiry = properties.expiry.map(|(expiry, _)| expiry);
        self.tables.push(FoundTable {
            keyspace,
            comparator: order,
            facts,
            surroundings,
            flushed_with,
            loaded,
            references,
            expiry,
        });
        Ok(())
    }

    /// Returns the identity of the database in the header of a readable segment file.
    fn database_of_segments(&self) -> Result<Option<u64>> {
        for kind in self.present {
            let FileKind::Segment(number) = *kind else { continue };
            let path = self.names.segment(number);
            let failed = |error| Error::io(&path, "read the value segment", &error);
            let file = self.fs.open(&path).map_err(failed)?;
            let mut header = [0; SEGMENT_HEADER_LEN as usize];
            if file.len().map_err(failed)? >= SEGMENT_HEADER_LEN {
                file.read_exact_at(&mut header, 0).map_err(failed)?;
                match SegmentHeader::decode(&header) {
                    Ok(header) => return Ok(Some(header.database)),
                    Err(error) if error.kind() == ErrorKind::Unsupported => {
                        return Err(error.at(&path, 0));
                    }
                    Err(_) => {}
                }
                // The file may be a log that was adopted as a segment.
                let mut record = Vec::new();
                let is_read = LogReader::open(&**self.fs, &path, number)?.next(&mut record);
                if let Ok(true) = is_read
                    && let Ok(LogRecord::Header(header)) = LogRecord::decode(&record)
                {
                    return Ok(Some(header.database));
                }
            }
        }
        Ok(None)
    }

    /// Finds the sections of all segment files.
    fn find_sections(&mut self) -> Result<()> {
        let Some(database) = self.database else { return Ok(()) };
        let (fs, names) = (Arc::clone(self.fs), self.names.clone());
        let pool = self.cache.store().file_pool(100);
        let segments = OpenSegments::new(fs, names, pool, database, Arc::default());
        let segment_files: Arc<SegmentFiles> = Arc::default();
        let numbers = self.present.iter().filter_map(|kind| match kind {
            FileKind::Segment(number) => Some(*number),
            _ => None,
        });
        for number in numbers.collect::<BTreeSet<u64>>() {
            let path = self.names.segment(number);
            let failed = |error| Error::io(&path, "read the value segment", &error);
            let open = self.fs.open(&path).map_err(failed)?;
            let len = open.len().map_err(failed)?;
            let mut header = [0; SEGMENT_HEADER_LEN as usize];
            if len < SEGMENT_HEADER_LEN {
                continue;
            }
            open.read_exact_at(&mut header, 0).map_err(failed)?;
            let file = segment_files.get(number);
            let header = match SegmentHeader::decode(&header) {
                Ok(header) => header,
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    return Err(error.at(&path, 0));
                }
                Err(_) => {
                    if let Some((keyspace, log)) = segments.adopted_log(&file, len)? {
                        let id = log.placement.segment;
                        let own = self.sections.entry(keyspace).or_default();
                        own.entry(id).or_default().push(log);
                    }
                    continue;
                }
            };
            let sections = match segments.sections(header.keyspace, &file, len) {
                Err(error) if error.kind() == ErrorKind::Corruption => continue,
                sections => sections?,
            };
            let own = self.sections.entry(header.keyspace).or_default();
            for section in sections {
                own.entry(section.placement.segment).or_default().push(section);
            }
        }
        Ok(())
    }
}

/// Returns the numbers of the tables and segment files that the edits of a manifest name.
fn named_files(manifest: &Recovered) -> HashSet<u64> {
    let keyspaces = manifest.edits.iter().flat_map(|edit| &edit.keyspaces);
    keyspaces.flat_map(|own| &own.tree).filter_map(named_file).collect()
}

/// Returns the first and the last key of the records and range tombstones of a table.
pub(crate) fn bounds(table: &TableReader, comparator: &dyn Comparator) -> (Key, Upper) {
    let properties = table.properties();
    let mut bounds: Option<(Key, Upper)> = (properties.entries > 0)
        .then(|| (properties.smallest[..].into(), Upper::Included(properties.largest[..].into())));
    for tombstone in table.range_tombstones().map(|all| all.to_vec()).unwrap_or_default() {
        let (Some(start), Some(end)) = (tombstone.start.key(), Upper::of(&tombstone.end)) else {
            continue;
        };
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
