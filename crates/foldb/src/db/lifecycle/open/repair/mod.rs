//! Repair: rebuilds a database with missing or damaged files so that it opens.
//!
//! A repair keeps everything that an open would read. In a sound database it changes no answer: it
//! writes a new manifest, then opens and closes the database. Lost data is reported, never guessed:
//!
//! - *Manifest.* The repair reads the manifest that `CURRENT` names. If only `CURRENT` is lost, it
//!   reads the newest readable manifest. If no manifest is readable, or tables are newer than one
//!   that was replaced, the repair builds a manifest from the tables ([`rebuild`]). Unless the
//!   manifest that `CURRENT` names was readable,
//!   the repair gives other names to tables and segments that the new manifest does not name. An
//!   open would remove them.
//! - *Tables.* The readable part of a damaged table is written to new tables, which replace it
//!   ([`tables`]). For the lost keys of damaged and missing tables, the repair recovers the newest
//!   separated values from the segments that these tables referred to ([`values`]). Other values,
//!   operands and deletes of these keys are lost, so an older value may show.
//! - *Logs.* A missing log is skipped. Its writes are lost; those of later logs are kept. A log
//!   with its intact records replaces a damaged one ([`mend`]).
//! - *No manifest.* It is unknown which tables are lost. If a keyspace has no table, the repair
//!   searches all segments of this keyspace. If tables are damaged, they may belong to any
//!   keyspace, and the repair searches the segments of all keyspaces.
//! - *Segments.* They need no repair: reads of lost values report the loss. A segment that only
//!   lost tables referred to is renamed, because it may hold values that the repair could not
//!   recover.
//!
//! A repair can work on a copy ([`copy`]), run in memory only (a dry run), and cut a log ([`cut`]).
//!
//! The new manifest takes effect when `CURRENT` names it. Until then the tree is unchanged. Damaged
//! tables are kept under another name.

mod aside;
mod copy;
mod cut;
mod logs;
mod mend;
mod options;
mod rebuild;
mod report;
mod survey;
mod tables;
mod values;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, OverlayFs};

pub use self::options::{LogCut, RepairOptions};
pub use self::report::{CutLog, LostRange, LostTable, RepairReport, SkippedPart};

use self::aside::{Unnamed, sync_directory_of};
use self::copy::Copy;
use self::cut::cut_log;
use self::logs::LogFacts;
use self::mend::{Mending, heads, logs_from};
use self::rebuild::{Rebuilt, Unclaimed, without_gaps};
use self::survey::Survey;
pub(crate) use self::survey::bounds;
use self::values::{LostPart, Sought};
use crate::db::lifecycle::open::assembly::{keyspace_parts, keyspace_trees};
use crate::db::lifecycle::open::files::{MISSING_TABLE, list_files, logs_in, next_number};
use crate::db::lifecycle::open::platform;
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::surroundings::runtime_of;
use crate::db::lifecycle::open::{Locked, lock, open};
use crate::db::state::keyspace::KeyspaceParts;
use crate::db::state::tree::KeyspaceTree;
use crate::encoding::format::{LOG, MANIFEST};
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileKind, FileNames, is_there, refuse_foreign, refuse_unfinished_restore};
use crate::key::{KeyspaceId, MAX_SEQNO};
use crate::options::Options;
use crate::segment::Placement;
use crate::segment::SegmentFiles;
use crate::table::{BlockCache, TableReader};
use crate::version::{
    CloseRecord, Edit, FileFacts, KeyRange, Manifest, OpenTables, Recovered, TableRef, TreeEdit,
    Upper, Version, manifest_in_force,
};
use crate::wal::{Extent, LogHeader, LogReader, LogWriter};

/// Repairs the database at `path`, or a copy of it, and opens it once as a check.
pub(crate) fn repair(path: &Path, how: RepairOptions) -> Result<RepairReport> {
    platform::check()?;
    let RepairOptions { open, copy_to, dry_run, cut_log } = how;
    let mut options = for_repair(open)?;
    let cut = cut_log.as_ref();
    let names = FileNames::at(&*options.env.fs, path)?;
    let path = names.directory();
    if dry_run {
        options.env.fs = Arc::new(OverlayFs::new(options.env.fs));
        return repair_in_place(path, options, cut);
    }
    let Some(to) = copy_to else { return repair_in_place(path, options, cut) };
    let present = check_is_database(&*options.env.fs, path)?;
    refuse_other_formats(&*options.env.fs, &names, &present)?;
    let target = FileNames::at(&*options.env.fs, &to)?;
    let (copy, locked) = Copy::make(&options.env.fs, path, target.directory())?;
    let mut report = repair_locked(target.directory(), locked, options, cut)?;
    copy.keep();
    report.copy = Some(to);
    Ok(report)
}

/// Returns the files of the database at `path`, or of its remains.
pub(crate) fn check_is_database(fs: &dyn FileSystem, path: &Path) -> Result<Vec<FileKind>> {
    let missing = |why: &str| Error::new(ErrorKind::DatabaseMissing, why).in_file(path);
    let failed = |error| Error::io(path, "read the directory", &error);
    if !fs.try_exists(path).map_err(failed)? || !fs.is_dir(path) {
        return Err(missing("there is no such directory"));
    }
    let names = FileNames::new(path);
    refuse_foreign(fs, &names)?;
    refuse_unfinished_restore(fs, &names)?;
    let present = list_files(fs, &names)?;
    if !present.iter().any(|kind| !matches!(kind, FileKind::Lock | FileKind::Temporary)) {
        return Err(missing("the directory holds no database"));
    }
    Ok(present)
}

fn repair_in_place(path: &Path, options: Options, cut: Option<&LogCut>) -> Result<RepairReport> {
    check_is_database(&*options.env.fs, path)?;
    let locked = lock(&options.env.fs, &FileNames::new(path))?;
    repair_locked(path, locked, options, cut)
}

fn for_repair(options: Options) -> Result<Options> {
    let options = Options {
        create_if_missing: false,
        error_if_exists: false,
        allow_unresolved_operators: true,
        // A repair may lose writes, so the history of the change feed ends here.
        wal_retention_bytes: 0,
        wal_retention_seconds: 0,
        ..options
    };
    options.validate()?;
    Ok(options)
}

fn repair_locked(
    path: &Path,
    locked: Locked,
    options: Options,
    cut: Option<&LogCut>,
) -> Result<RepairReport> {
    let names = FileNames::new(path);
    let Locked { lock, fs } = locked;
    let mut held = options.clone();
    held.env.fs = Arc::clone(&fs);
    let mut report = RepairReport::default();
    let mut present = list_files(&*fs, &names)?;
    refuse_other_formats(&*fs, &names, &present)?;
    if let Some(cut) = cut {
        report.cut_log = Some(cut_log(&*fs, &names, &present, cut)?);
        present = list_files(&*fs, &names)?;
    }
    let mut unclaimed = BTreeMap::new();
    let closed = closed(&*fs, &names, &mut report)?;
    let (recovered, known) = match manifest_or_cut(&*fs, &names, closed.as_ref(), &mut report) {
        Ok(recovered) => (recovered, 0),
        Err(error) if error.kind() == ErrorKind::Corruption => {
            report.manifest = Some(error);
            match manifest_without_current(&*fs, &names, &present) {
                Some(recovered) => (recovered, 0),
                None => {
                    let database = identity(&*fs, &names, &present, &held)?;
                    mend(&fs, &names, logs_from(&present, 0), database, &mut report)?;
                    let survey = Survey::take(&fs, &names, &present, &held)?;
                    let known = survey.next_number()?;
                    let rebuilt = older_or_rebuilt(&*fs, &names, &present, survey, &mut report)?;
                    unclaimed = rebuilt.unclaimed;
                    (rebuilt.recovered, known)
                }
            }
        }
        Err(error) => return Err(error),
    };
    let mut stored = Stored::recover(recovered, &held, &names)?;
    stored.next_file = next_number(&present, stored.next_file.max(known), &names)?;
    let logs = logs_from(&present, stored.log);
    if mend(&fs, &names, logs.clone(), stored.database, &mut report)? {
        adopt_operators(&*fs, &names, &logs, &stored)?;
    }
    let report_to = &mut report;
    Repair { options: held, names, fs, present, stored, unclaimed, report: report_to }.run()?;
    drop(lock);
    open(path, options)?.close()?;
    Ok(report)
}

/// Replaces damaged logs by logs with their intact records, and reports what they lack. Returns
/// whether there were any.
fn mend(
    fs: &Arc<dyn FileSystem>,
    names: &FileNames,
    logs: Vec<u64>,
    database: u64,
    report: &mut RepairReport,
) -> Result<bool> {
    let mended = Mending { fs, names, logs, database }.run()?;
    let is_mended = !mended.skipped.is_empty();
    // What is missing since the close is now known exactly.
    let is_of = |error: &Error| mended.skipped.iter().any(|it| error.path() == Some(&*it.file));
    report.cut.retain(|error| !is_of(error));
    report.skipped.extend(mended.skipped);
    report.lost_logs.extend(mended.lost);
    Ok(is_mended)
}

/// Registers the operators of the operands in mended logs: their definitions may lie in a gap. An
/// operator whose definition is lost stays unknown, and reads of its operands say so.
fn adopt_operators(
    fs: &dyn FileSystem,
    names: &FileNames,
    logs: &[u64],
    stored: &Stored,
) -> Result<()> {
    let logged = LogFacts::of(fs, names, logs, &BTreeMap::new())?;
    let known = stored.registry.resolver();
    let known = known.dynamic_definitions().map(|known| (known.id, known.clone())).collect();
    without_gaps(known, &logged).iter().try_for_each(|definition| stored.registry.adopt(definition))
}

/// Returns the identity of a database without a manifest, or a new one if no log and no table is
/// readable.
fn identity(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
    options: &Options,
) -> Result<u64> {
    if let Some(head) = heads(fs, names, &logs_in(present))?.values().next() {
        return Ok(head.database);
    }
    for kind in present {
        let FileKind::Table(number) = *kind else { continue };
        let path = names.table(number);
        let file = fs.open(&path).map_err(|error| Error::io(&path, "open the table", &error))?;
        if let Ok(properties) = TableReader::properties_of(file, &path, number) {
            return Ok(properties.database_id);
        }
    }
    Ok(options.env.random_seed())
}

/// Rejects manifests, logs and close records of another format version, even if they are not
/// needed. A repair cannot read such files, so it must not write a new manifest.
fn refuse_other_formats(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
) -> Result<()> {
    for kind in present {
        let (path, number, format) = match *kind {
            FileKind::Log(number) => (names.log(number), number, &LOG),
            FileKind::Manifest(number) => (names.manifest(number), number, &MANIFEST),
            _ => continue,
        };
        let mut record = Vec::new();
        // Damage is reported later.
        if let Ok(true) = LogReader::open(fs, &path, number)?.next(&mut record)
            && let Err(error) = LogHeader::of_record(&record, format)
            && error.kind() == ErrorKind::Unsupported
        {
            return Err(error.at(&path, 0));
        }
    }
    match CloseRecord::read(fs, names) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(error),
        _ => Ok(()),
    }
}

/// Returns the record of a clean close if it is readable. Reports the logs that differ from it.
fn closed(
    fs: &dyn FileSystem,
    names: &FileNames,
    report: &mut RepairReport,
) -> Result<Option<CloseRecord>> {
    let closed = match CloseRecord::read(fs, names) {
        Err(error) if error.kind() == ErrorKind::Corruption => {
            report.cut.push(error);
            return Ok(None);
        }
        closed => closed?,
    };
    for log in closed.iter().flat_map(|closed| &closed.logs) {
        match check_closed_log(fs, names, log) {
            Err(error) if error.kind() == ErrorKind::Corruption => report.cut.push(error),
            checked => checked?,
        }
    }
    Ok(closed)
}

/// # Errors
/// `Corruption` if a log differs from its state at the close.
fn check_closed_log(fs: &dyn FileSystem, names: &FileNames, closed: &Extent) -> Result<()> {
    let path = names.log(closed.number);
    if !is_there(fs, &path)? {
        return Err(Error::corruption("the log is missing").in_file(&path));
    }
    let mut log = LogReader::open(fs, &path, closed.number)?;
    let mut record = Vec::new();
    while log.next(&mut record)? {}
    log.end_as(Some(closed)).map(drop)
}

/// Returns [`manifest`], or its readable part. Reports if the manifest differs from its state at a
/// clean close.
fn manifest_or_cut(
    fs: &dyn FileSystem,
    names: &FileNames,
    closed: Option<&CloseRecord>,
    report: &mut RepairReport,
) -> Result<Recovered> {
    match manifest(fs, names, closed) {
        Err(error) if error.kind() == ErrorKind::Corruption && closed.is_some() => {
            let recovered = manifest(fs, names, None)?;
            report.cut.push(error);
            Ok(recovered)
        }
        read => read,
    }
}

/// Returns the manifest in force. After a clean close, it must be in the state that the close
/// recorded.
pub(crate) fn manifest(
    fs: &dyn FileSystem,
    names: &FileNames,
    closed: Option<&CloseRecord>,
) -> Result<Recovered> {
    let missing = || Error::corruption("CURRENT is missing").in_file(&names.current());
    let number = manifest_in_force(fs, names)?.ok_or_else(missing)?;
    if let Some(closed) = closed {
        closed.check_number(Some(number), names)?;
    }
    Manifest::read(fs, names, number, closed.map(|closed| &closed.manifest))
}

/// Returns the newest readable manifest if only `CURRENT` is lost.
fn manifest_without_current(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
) -> Option<Recovered> {
    // A `CURRENT` that names another manifest proves that this one was replaced.
    let is_replaced = matches!(manifest_in_force(fs, names), Ok(Some(_)));
    let newest = newest_manifest(fs, names, present).filter(|_| !is_replaced);
    newest.filter(|newest| has_its_log(newest, present))
}

/// Returns the newest readable manifest, or a manifest built from the other files if those are
/// newer.
fn older_or_rebuilt(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
    survey: Survey<'_>,
    report: &mut RepairReport,
) -> Result<Rebuilt> {
    let newest = newest_manifest(fs, names, present);
    if let Some(recovered) = newest.filter(|newest| !survey.has_work_since(newest)) {
        return Ok(Rebuilt { recovered, unclaimed: BTreeMap::new() });
    }
    report.rebuilt = true;
    report.lost_tables = survey.damaged.iter().cloned().map(LostTable::unknown).collect();
    report.lost_tables.extend(survey.missing().into_iter().map(LostTable::unknown));
    report.may_lack_newest = survey.may_lack_newest();
    let rebuilt = survey.rebuild()?;
    let keyspaces = rebuilt.recovered.edits.iter().flat_map(|edit| &edit.keyspaces);
    report.lost_keyspace_names = keyspaces.count() > 1;
    Ok(rebuilt)
}

/// Returns the newest readable manifest. A manifest takes further edits only in force. So a
/// manifest with its first edit alone may be an attempt that failed, and a whole older one then
/// knows more.
fn newest_manifest(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
) -> Option<Recovered> {
    let mut numbers: Vec<u64> = present
        .iter()
        .filter_map(|kind| match kind {
            FileKind::Manifest(number) => Some(*number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let read = |number| Manifest::read(fs, names, number, None).ok();
    let mut readable = numbers.into_iter().filter_map(read);
    let mut newest = readable.next()?;
    for older in readable {
        if newest.edits.len() > 1 || older.tail.bytes > 0 {
            break;
        }
        newest = older;
    }
    Some(newest)
}

/// Returns whether the first log that a manifest needs exists. Logs are removed when an edit says
/// that tables hold their writes. So a manifest that lacks such an edit lacks its log too.
fn has_its_log(manifest: &Recovered, present: &[FileKind]) -> bool {
    let log = manifest.edits.iter().rev().find_map(|edit| edit.log);
    log.is_some_and(|log| present.contains(&FileKind::Log(log)))
}

struct Repair<'a> {
    options: Options,
    names: FileNames,
    fs: Arc<dyn FileSystem>,
    present: Vec<FileKind>,
    stored: Stored,
    /// Segments to search completely.
    unclaimed: BTreeMap<KeyspaceId, Unclaimed>,
    report: &'a mut RepairReport,
}

impl Repair<'_> {
    fn run(mut self) -> Result<()> {
        self.pass_over_missing_logs()?;
        let segment_files: Arc<SegmentFiles> = Arc::default();
        let parts = keyspace_parts(&self.stored, &self.options, &self.names, &segment_files)?;
        let tables = self.tables();
        let mut repaired = Vec::new();
        for own in &parts {
            repaired.push(self.repair_keyspace(own, &tables, &segment_files)?);
        }
        let referred_before: BTreeSet<u64> =
            parts.iter().flat_map(|own| segment_files_of(&own.version)).collect();
        let memory = runtime_of(&self.options).work_memory();
        let settings = self.options.resolve();
        let mut trees = keyspace_trees(parts, &self.stored, &settings, &tables, &memory);
        for (own, version) in trees.values_mut().zip(repaired) {
            own.version = Arc::new(version);
        }
        let unnamed = self.unnamed(&trees, &referred_before);
        let unnamed = unnamed.link(&*self.fs)?;
        let number = self.new_number();
        let stored = &self.stored;
        let snapshot = Edit {
            database: Some(stored.database),
            log: Some(stored.log),
            next_file: Some(stored.next_file),
            next_run: Some(stored.next_run),
            last_seqno: Some(stored.last_seqno),
            next_keyspace: Some(stored.next_keyspace),
            operators: stored.registry.resolver().dynamic_definitions().cloned().collect(),
            totals: Some(stored.totals.to_vec()),
            keyspaces: trees.values().map(KeyspaceTree::describe).collect(),
            dropped: Vec::new(),
            feed_end: None,
            time: Some(stored.time).filter(|time| *time > 0),
        };
        sync_directory_of(&*self.fs, &self.names.current())?;
        Manifest::create(&self.fs, &self.names, number, stored.database, &snapshot)?;
        unnamed.rename(&*self.fs)
    }

    fn new_number(&mut self) -> u64 {
        self.stored.next_file += 1;
        self.stored.next_file - 1
    }

    /// Skips missing logs: the replay begins with the first log that exists.
    fn pass_over_missing_logs(&mut self) -> Result<()> {
        let needed = self.stored.log;
        if self.present.contains(&FileKind::Log(needed)) {
            return Ok(());
        }
        if !self.report.rebuilt {
            self.report.lost_logs.push(self.names.log(needed));
        }
        let next = logs_in(&self.present).into_iter().find(|&log| log > needed);
        self.stored.log = match next {
            Some(log) => log,
            None => {
                let log = self.new_number();
                let path = self.names.log(log);
                let database = self.stored.database;
                LogWriter::create(&self.fs, &path, log, database, None)?
                    .sync_handle()
                    .sync_all()?;
                log
            }
        };
        Ok(())
    }

    fn tables(&self) -> OpenTables {
        let ledger = runtime_of(&self.options);
        let ledger = ledger.ledger();
        OpenTables::new(
            Arc::clone(&self.fs),
            self.names.clone(),
            self.options.default.comparator(),
            Arc::new(BlockCache::sharing(&ledger.blocks)),
            Arc::clone(&ledger.tables),
            self.stored.database,
        )
    }

    /// Returns the version of a keyspace in which recovered tables replace the lost ones.
    fn repair_keyspace(
        &mut self,
        own: &KeyspaceParts,
        tables: &OpenTables,
        segment_files: &Arc<SegmentFiles>,
    ) -> Result<Version> {
        // A table is whole whatever a filter policy says of its keys.
        let tables = tables.for_keyspace(own.id, Arc::clone(&own.comparator), None);
        let (before, comparator) = (&own.version, &*own.comparator);
        for (number, file) in before.segments.files() {
            if !self.present.contains(&FileKind::Segment(number)) {
                self.report.lost_segments.push(self.names.segment(file.file.number()));
            }
        }
        let (mut lost, mut edits) = (Vec::new(), Vec::new());
        for (_, run) in before.runs() {
            for table in &run.tables {
                let Some(error) = self.what_is_wrong(table, &tables)? else {
                    self.report.tables += 1;
                    continue;
                };
                edits.push(TreeEdit::Carve { run: run.id, range: range_of(table) });
                let flushed_through = self.stored.keyspaces[&own.id].flushed_through;
                let surroundings = before.surroundings(&edits, comparator, flushed_through, &[])?;
                let found = self.salvage_table(own, table, surroundings)?;
                edits.extend(found.files.into_iter().map(|file| whole_file(run.id, file)));
                self.report.lost_tables.push(LostTable {
                    keyspace: own.name.to_string(),
                    file: self.names.table(table.file.number),
                    error,
                    first_key: table.lo.to_vec(),
                    last_key: table.hi.key().to_vec(),
                    records_salvaged: found.records,
                    lost: found.lost.clone(),
                    lost_range_deletes: found.lost_range_deletes,
                });
                lost.push(LostPart { table: table.clone(), ranges: found.lost });
            }
        }
        let without = before.apply(&edits, comparator, segment_files)?;
        let Unclaimed { placements: unclaimed, logged_from } =
            self.unclaimed.remove(&own.id).unwrap_or_default();
        let sought = match unclaimed.is_empty() {
            true => Sought::Of(&lost),
            false => Sought::All(&unclaimed, logged_from.unwrap_or(MAX_SEQNO)),
        };
        let found = self.find_values(own, &sought, &without, &tables)?;
        if found.is_empty() {
            return Ok(without);
        }
        if !unclaimed.is_empty() {
            self.report.incomplete_keyspaces.push(own.name.to_string());
        }
        let unplaced = |at: &&Placement| before.segments.get(at.segment).is_none();
        edits.extend(unclaimed.iter().filter(unplaced).copied().map(TreeEdit::Place));
        self.report.values_recovered += found.len() as u64;
        let files = self.write_found(own, found)?;
        let run = self.stored.next_run;
        self.stored.next_run += 1;
        edits.push(TreeEdit::NewRun { level: 0, run, before: None });
        edits.extend(files.into_iter().map(|file| whole_file(run, file)));
        // The edits apply to the original version, which still has the segments that only lost
        // tables referred to.
        before.apply(&edits, comparator, segment_files)
    }

    /// Reads a whole table and returns its damage. Other errors end the repair, because a table
    /// that cannot be opened now may be intact.
    fn what_is_wrong(&self, table: &TableRef, tables: &OpenTables) -> Result<Option<Error>> {
        let number = table.file.number;
        if !self.present.contains(&FileKind::Table(number)) {
            return Ok(Some(Error::corruption(MISSING_TABLE).in_file(&self.names.table(number))));
        }
        match tables.get_owned(&table.file).and_then(|open| open.verify()) {
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::Corruption => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Returns the files that may hold lost data and that the next open would remove.
    fn unnamed(
        &self,
        trees: &BTreeMap<KeyspaceId, KeyspaceTree>,
        referred_before: &BTreeSet<u64>,
    ) -> Unnamed {
        let versions = || trees.values().map(|own| &own.version);
        let tables: HashSet<u64> = versions()
            .flat_map(|version| version.tables())
            .map(|table| table.file.number)
            .collect();
        let segments: HashSet<u64> =
            versions().flat_map(|version| segment_files_of(version)).collect();
        let is_manifest_lost = self.report.manifest.is_some();
        let may_lack_writes = !self.report.lost_nothing();
        let mut unnamed = Unnamed::default();
        for table in &self.report.lost_tables {
            unnamed.add(table.file.clone(), "damaged");
        }
        for kind in &self.present {
            match *kind {
                FileKind::Table(number) if is_manifest_lost && !tables.contains(&number) => {
                    unnamed.add(self.names.table(number), "unknown");
                }
                FileKind::Segment(number)
                    if !segments.contains(&number)
                        && (is_manifest_lost || referred_before.contains(&number)) =>
                {
                    unnamed.add(self.names.segment(number), "unknown");
                }
                // It may hold the only copy of lost writes.
                FileKind::Archive(number) if may_lack_writes => {
                    unnamed.add(self.names.archive(number), "kept");
                }
                _ => {}
            }
        }
        unnamed
    }
}

/// Returns the numbers of the files that hold segments of a version.
fn segment_files_of(version: &Version) -> impl Iterator<Item = u64> {
    version.segments.iter().map(|segment| segment.placement.file)
}

/// Returns the edit that adds a whole file to a run.
fn whole_file(run: u64, file: FileFacts) -> TreeEdit {
    TreeEdit::Insert { run, lo: Arc::clone(&file.smallest), hi: file.end.clone(), file }
}

fn range_of(table: &TableRef) -> KeyRange {
    let hi: Upper = table.hi.clone();
    KeyRange { lo: Some(Arc::clone(&table.lo)), hi: Some(hi) }
}
