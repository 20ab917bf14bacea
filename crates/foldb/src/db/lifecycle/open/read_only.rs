//! Read-only opens: they show the database at one moment, even while another process writes to it.
//!
//! A read-only open locks and writes nothing, so a writer may change the database between any two
//! of its steps. It still shows one moment, because it reads in this order:
//!
//! 1. *the list of keyspaces*;
//! 2. *the end of the logs*: the last batch in them. Replay ends there, even if more is logged
//!    later;
//! 3. *the manifest*: its trees hold everything flushed so far, and it knows every keyspace and
//!    operator that the logs name up to that batch;
//! 4. *its files*: all of them are opened, and stay open.
//!
//! Reading the manifest first and then the logs to their end would miss unlogged writes in between:
//!
//! ```text
//! manifest read | a.PUT.50 (no log)   flush   b.PUT.51 (logged) | logs read: b without a
//! ```
//!
//! Reading the logs early requires step 1. A keyspace may be dropped between steps 2 and 3, so that
//! the manifest lacks it. Writes before the drop, such as copies of its contents, may be logged
//! after step 2 and would be left out. So steps 1 and 3 must find the same keyspaces.
//!
//! A file that the writer removes or is writing causes an error, but not the same error twice in a
//! row. After an error all steps begin again. Tables that are open stay open, so each attempt has
//! fewer tables to open. An error that occurs twice in a row is reported.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, ReadOnlyFs};

use crate::db::core::Core;
use crate::db::lifecycle::open::assembly::Assembly;
use crate::db::lifecycle::open::assembly::{
    check_operators, dropped_tails, keyspace_parts, keyspace_trees, replayed_keyspaces,
};
use crate::db::lifecycle::open::files::{check_log, check_tables, list_files, logs_in};
use crate::db::lifecycle::open::kept_logs::link;
use crate::db::lifecycle::open::place::missing;
use crate::db::lifecycle::open::platform;
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::surroundings::runtime_of;
use crate::db::lifecycle::replay::{
    Replay, Replayed, WhenFull, begin_record, needed_logs, opened, replay_logs,
};
use crate::db::state::keyspace::KeyspaceParts;
use crate::db::state::position::Position;
use crate::db::state::reserve::Reserve;
use crate::db::state::tree::KeyspaceTree;
use crate::error::{Error, ErrorKind, Result};
use crate::events::DroppedTail;
use crate::files::{FileNames, FilePool, refuse_foreign, refuse_unfinished_restore};
use crate::key::{KeyspaceId, SeqNo};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::segment::OpenSegment;
use crate::segment::SegmentFiles;
use crate::table::{BlockCache, TableReader};
use crate::version::{CloseRecord, Manifest, OpenTables};
use crate::wal::{BatchHeader, LogReader, LogWriter, Predecessor};

/// The number of attempts. In each failed attempt the writer must have changed a file before the
/// open opened it.
const ATTEMPTS: usize = 32;

/// Finds a database that will only be read.
///
/// # Errors
/// `InvalidArgument`, `ForeignDatabase`, `RestoreUnfinished`, `DatabaseMissing`, `DatabaseExists`.
pub(super) fn find(path: &Path, options: &mut Options) -> Result<FileNames> {
    platform::check()?;
    options.validate()?;
    // The file system rejects every change that the engine might try.
    options.env.fs = Arc::new(ReadOnlyFs::new(Arc::clone(&options.env.fs)));
    let names = FileNames::at(&*options.env.fs, path)?;
    refuse_foreign(&*options.env.fs, &names)?;
    refuse_unfinished_restore(&*options.env.fs, &names)?;
    if let Some(why) = missing(&*options.env.fs, &names)? {
        let message = format!("{why}, and a read-only open does not create one");
        return Err(Error::new(ErrorKind::DatabaseMissing, message).in_file(path));
    }
    if options.error_if_exists {
        return Err(Error::new(
            ErrorKind::DatabaseExists,
            "the directory already holds a database",
        )
        .in_file(path));
    }
    Ok(names)
}

/// Does work that reads the files of a database, again while a writer disturbs it.
///
/// # Errors
/// An error of the work that came twice in a row; `Locked` if none did.
pub(super) fn undisturbed<T>(path: &Path, mut work: impl FnMut() -> Result<T>) -> Result<T> {
    let mut before = String::new();
    for _ in 0..ATTEMPTS {
        match work() {
            Err(error) if may_be_of_the_moment(&error) && error.to_string() != before => {
                before = error.to_string();
            }
            outcome => return outcome,
        }
    }
    let message = format!(
        "a writer changed the database during {ATTEMPTS} attempts to read it, last: {before}; try \
         again"
    );
    Err(Error::new(ErrorKind::Locked, message).in_file(path))
}

/// Reads the stored state, and the record of a clean close.
pub(super) fn stored(
    options: &Options,
    names: &FileNames,
) -> Result<(Stored, Option<CloseRecord>)> {
    let fs = &*options.env.fs;
    let closed = CloseRecord::read(fs, names)?;
    let recovered = Manifest::recover(fs, names, closed.as_ref())?;
    let recovered = recovered.ok_or_else(|| {
        // The manifest existed before.
        Error::new(ErrorKind::DatabaseMissing, "the database was removed during the open")
            .in_file(names.directory())
    })?;
    let mut stored = Stored::recover(recovered, options, names)?;
    stored.absorb_close(closed.as_ref());
    Ok((stored, closed))
}

/// Opens a database for reading.
pub(crate) fn open_read_only(path: &Path, mut options: Options) -> Result<(Arc<Core>, Shown)> {
    let names = find(path, &mut options)?;
    let runtime = runtime_of(&options);
    runtime.check_process()?;
    let options = options.fitted(&runtime.ledger().shares);
    let blocks = &runtime.ledger().blocks;
    let cache = Arc::new(BlockCache::in_either(blocks, options.block_cache.as_ref()));
    let mut looking = Looking {
        options,
        names,
        member: runtime.next_database(),
        runtime,
        cache,
        open: HashMap::new(),
        open_segments: HashMap::new(),
        lost: HashSet::new(),
    };
    undisturbed(path, || looking.attempt())
}

/// Returns whether a concurrent writer may have caused the error.
fn may_be_of_the_moment(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Io)
}

/// A read-only open in progress.
struct Looking {
    options: Options,
    names: FileNames,
    runtime: Runtime,
    member: u64,
    cache: Arc<BlockCache>,
    /// Tables opened so far, by file number. Numbers are never reused.
    open: HashMap<u64, Arc<TableReader>>,
    /// Segment files opened so far.
    open_segments: HashMap<u64, Arc<OpenSegment>>,
    /// Segment files that could not be opened.
    lost: HashSet<u64>,
}

impl Looking {
    fn attempt(&mut self) -> Result<(Arc<Core>, Shown)> {
        let fs = Arc::clone(&self.options.env.fs);
        let (options, names) = (self.options.clone(), self.names.clone());
        let (keyspaces_before, _) = stored(&options, &names)?;
        let through = last_logged(&*fs, &names)?;
        let (mut stored, closed) = stored(&options, &names)?;
        // A sorted load may have come in between. The logs have every write before it, and a reader
        // that sees the load must see those writes too.
        let through = through.max(stored.last_seqno);
        refuse_other_keyspaces(&keyspaces_before, &stored)?;
        refuse_new_operator(&options, &stored)?;

        let present = list_files(&*fs, &names)?;
        check_log(stored.log, &present, &names)?;
        let on_disk = logs_in(&present);
        let logs = opened(needed_logs(&*fs, &names, stored.log, on_disk, closed.as_ref()))?;
        let segment_files = Arc::default();
        let parts = keyspace_parts(&stored, &options, &names, &segment_files)?;
        check_tables(&parts, &present, &names)?;
        let replayed_keyspaces = replayed_keyspaces(&stored, &parts);
        let trees = self.open_tables(parts, &stored)?;

        // From here on every file is open.
        let replay = Replay {
            options: &options,
            names: &names,
            registry: &stored.registry,
            runtime: &self.runtime,
            member: self.member,
            // It cannot flush, so it holds whatever the logs have.
            memtable_bytes: usize::MAX,
            first_log: stored.log,
            logs,
            closed: closed.as_ref(),
            totals: &stored.totals,
            counted_through: stored.last_seqno,
            through,
            database: Some(stored.database),
            keyspaces: replayed_keyspaces,
            next_keyspace: stored.next_keyspace,
            by_log: false,
        };
        let replayed = replay_logs(replay, WhenFull::Check)?;
        let last_seqno = stored.last_seqno_with(&replayed);
        let shown = Shown::of(&replayed, stored.feed_end, last_seqno);
        for (id, memtables) in replayed.memtables {
            memtables.iter().for_each(|memtable| memtable.seal(last_seqno));
            trees[&id].keyspace.view.hold(memtables);
        }
        let dropped = dropped_tails(&mut stored, &replayed.tails, last_seqno);
        Ok((self.assemble(stored, trees, segment_files, last_seqno, dropped), shown))
    }

    /// Builds the trees, with every table open. The tables count as open tables. No table is closed
    /// to keep to the limit, because its file might be gone when a read needs it again.
    fn open_tables(
        &mut self,
        parts: Vec<KeyspaceParts>,
        stored: &Stored,
    ) -> Result<BTreeMap<KeyspaceId, KeyspaceTree>> {
        let tables = OpenTables::new(
            Arc::clone(&self.options.env.fs),
            self.names.clone(),
            self.options.default.comparator(),
            Arc::clone(&self.cache),
            // A pool of its own, so that no other database closes these files.
            self.runtime.ledger().blocks.file_pool(usize::MAX),
            stored.database,
        );
        if !self.options.allow_unresolved_operators {
            check_operators(&parts, &stored.registry, &tables)?;
        }
        let (settings, memory) = (self.options.resolve(), self.runtime.work_memory());
        let trees = keyspace_trees(parts, stored, &settings, &tables, &memory);
        for own in trees.values() {
            let tables = &own.keyspace.tables;
            for (number, file) in own.version.segments.files() {
                let segments = tables.segments();
                if let Some(open) = self.open_segments.get(&number) {
                    segments.take_in(&file.file, Arc::clone(open));
                    continue;
                }
                match segments.get(own.keyspace.id, &file.file) {
                    Ok(open) => drop(self.open_segments.insert(number, open)),
                    // A writer removed the file: its manifest now places the segments elsewhere. If
                    // the next attempt finds the same place, the values are lost, and only reads of
                    // them fail.
                    Err(error) if error.kind() != ErrorKind::Corruption => return Err(error),
                    Err(error) if self.lost.insert(number) => return Err(error),
                    Err(_) => {}
                }
            }
            for table in own.version.tables() {
                let number = table.file.number;
                match self.open.get(&number) {
                    Some(open) => tables.take_in(&table.file, Arc::clone(open)),
                    None => drop(self.open.insert(number, tables.get_owned(&table.file)?)),
                }
            }
        }
        Ok(trees)
    }

    fn assemble(
        &self,
        stored: Stored,
        trees: BTreeMap<KeyspaceId, KeyspaceTree>,
        segment_files: Arc<SegmentFiles>,
        last_seqno: SeqNo,
        dropped: Vec<DroppedTail>,
    ) -> Arc<Core> {
        let (fs, names) = (&self.options.env.fs, &self.names);
        let next_file = stored.next_file;
        let files =
            |own: &KeyspaceTree| own.version.tables().count() + own.version.segments.files().len();
        let files = trees.values().map(files).sum();
        Assembly {
            log: LogWriter::unwritable(fs, &names.log(next_file), next_file),
            manifest: Manifest::unwritable(fs, names, next_file),
            options: self.options.clone(),
            settings: self.options.resolve(),
            names: names.clone(),
            stored,
            trees,
            cache: Arc::clone(&self.cache),
            runtime: self.runtime.clone(),
            member: self.member,
            held: Some(FilePool::hold(&self.runtime.ledger().tables, files)),
            segment_files,
            last_seqno,
            next_file,
            first_log: next_file,
            logs: Vec::new(),
            is_as_closed: false,
            feed: None,
            dropped,
            reserve: Reserve::of(0, u64::MAX),
            lock: None,
        }
        .into_core()
    }
}

/// The moment that a read-only open shows, as a place of the change feed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    At(Position),
    /// The database keeps no logs for the feed.
    NotKept,
    /// The logs skip this number, which only the memory of a writer may have.
    Without(SeqNo),
}

impl Shown {
    /// `feed_end`: the end of the log before the first needed one, as the manifest names it.
    fn of(replayed: &Replayed, feed_end: Option<Predecessor>, seqno: SeqNo) -> Shown {
        let first = replayed.logs.first().and_then(|log| Some((log.number, log.lineage.as_ref()?)));
        if let Some(gap) = replayed.end.gap {
            return Shown::Without(gap);
        }
        // A log without a batch may belong to an open that fails. The log before it ends here, too.
        match (replayed.end.place.or(feed_end), first) {
            _ if replayed.end.is_not_kept => Shown::NotKept,
            (Some(Predecessor { log, id, frames }), _) => {
                Shown::At(Position { seqno, log, frame: frames, lineage: id })
            }
            (None, Some((number, lineage))) => Shown::At(link(number, lineage, None).begin()),
            (None, None) => Shown::NotKept,
        }
    }
}

/// Returns the sequence number at which the last batch in the logs begins; 0 if the logs hold no
/// batch.
fn last_logged(fs: &dyn FileSystem, names: &FileNames) -> Result<SeqNo> {
    for number in logs_in(&list_files(fs, names)?).into_iter().rev() {
        let path = names.log(number);
        let mut log = LogReader::open(fs, &path, number)?;
        let (mut last, mut record, mut offset) = (None, Vec::new(), 0);
        while begin_record(&mut log, &mut record)? {
            let header = BatchHeader::of_record(&record);
            if let Some(header) = header.map_err(|error| error.at(&path, offset))? {
                last = Some(header.first_seqno);
            }
            offset = log.offset();
        }
        if let Some(last) = last {
            return Ok(last);
        }
    }
    Ok(0)
}

/// # Errors
/// An error that makes the steps begin again, if keyspaces were created or dropped between two
/// reads of the manifest.
fn refuse_other_keyspaces(before: &Stored, now: &Stored) -> Result<()> {
    if before.next_keyspace == now.next_keyspace && before.keyspaces.len() == now.keyspaces.len() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Io,
        format!(
            "keyspaces were created or dropped during the open: there were {} of {}, then {} of {}",
            before.keyspaces.len(),
            before.next_keyspace,
            now.keyspaces.len(),
            now.next_keyspace
        ),
    ))
}

/// # Errors
/// `ReadOnly` for an operator that would have to be registered in the database.
fn refuse_new_operator(options: &Options, stored: &Stored) -> Result<()> {
    let Some(spec) = &options.default.merge_operator else { return Ok(()) };
    if stored.registry.id_of(&*stored.registry.parse(spec)?).is_some() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::ReadOnly,
        format!(
            "operator '{spec}' is new to the database, which is opened read-only: leave it out of \
             Options.default, or open the database with Db::open"
        ),
    ))
}
