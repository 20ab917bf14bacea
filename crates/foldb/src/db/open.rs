//! Opening: take the lock, read the manifest, replay the logs, begin anew.
//!
//! Opening never repairs: what is missing or damaged is an error that names it. It never appends to
//! a file that an earlier open created, either: what the logs hold goes into tables, which become part
//! of the tree by the first edit of a new manifest; that edit also says that the old logs are not
//! needed (H5), so that a crash at any moment replays them once or not at all.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use foldb_chains::{ArenaPool, Pins};
use foldb_env::{FileLock, FileSystem};

use crate::compaction::policy::{DeadShare, Policy};
use crate::db::background::Background;
use crate::db::core::Core;
use crate::db::flush::new_level0_run;
use crate::db::replay::{Replay, replay_logs};
use crate::db::snapshot::SnapshotList;
use crate::db::tree::Tree;
use crate::db::view::{View, ViewCell};
use crate::db::write::WriterState;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::{MergeOperator, Operator, Registry};
use crate::key::{DEFAULT_KEYSPACE, OperatorId};
use crate::memtable::{Memtable, MemtableWriter};
use crate::options::{MAX_LEVELS, Options};
use crate::table::BlockCache;
use crate::totals::Totals;
use crate::version::{
    Edit, FileKind, FileNames, Manifest, OpenTables, Recovered, Trash, TreeEdit, Version,
    refuse_foreign,
};
use crate::wal::LogWriter;

/// Bytes of free memtable memory kept for the next memtables: as many as are flushed together. A
/// memtable reserves nearly twice its buffer, for the index beside the records.
fn pooled_bytes(options: &Options) -> usize {
    2 * options.write_buffer_size * options.flush_together()
}

/// Opens a database, with its workers not started yet.
pub(crate) fn open(path: &Path, options: Options) -> Result<Arc<Core>> {
    options.validate()?;
    let names = FileNames::new(path);
    let fs = Arc::clone(&options.env.fs);
    if fs.exists(&names.current()) && !fs.exists(&names.lock()) {
        // Whatever this is, it is no database that was ever open: leave no lock file in it.
        Manifest::recover(&*fs, &names)?;
    }
    let lock = lock_directory(&*fs, &names, &options)?;
    let state = match Manifest::recover(&*fs, &names)? {
        Some(_) if options.error_if_exists => {
            return Err(
                Error::new(ErrorKind::DatabaseExists, "a database is already here").in_file(path)
            );
        }
        Some(recovered) => State::recover(recovered, &options, &names)?,
        None => State::create(&options),
    };
    Opening { options, names, fs, lock, state }.finish()
}

/// Removes a database: the files it knows, and the directory if nothing else is in it. What another
/// engine wrote under the same names stays.
pub(crate) fn destroy(path: &Path, options: &Options) -> Result<()> {
    let names = FileNames::new(path);
    let fs = &*options.env.fs;
    if !fs.is_dir(path) {
        return Ok(());
    }
    let list = fs.list(path).map_err(|error| Error::io(path, "list", &error))?;
    let known: Vec<_> = list.iter().filter(|name| FileKind::parse(name).is_some()).collect();
    if known.is_empty() {
        return Ok(());
    }
    refuse_foreign(fs, &names)?;
    let lock = lock(fs, &names)?;
    // CURRENT goes first: without it there is no database, whatever is left.
    for name in known.iter().filter(|name| **name == "CURRENT").chain(&known) {
        let file = path.join(name);
        if fs.exists(&file) {
            fs.remove(&file).map_err(|error| Error::io(&file, "remove", &error))?;
        }
    }
    drop(lock);
    if known.len() == list.len() {
        fs.remove_dir(path).map_err(|error| Error::io(path, "remove", &error))?;
    }
    Ok(())
}

/// Takes the lock of a database's directory, creating it if that is wanted.
fn lock_directory(
    fs: &dyn FileSystem,
    names: &FileNames,
    options: &Options,
) -> Result<Box<dyn FileLock>> {
    let path = names.directory();
    let missing = |what: &str| {
        Error::new(
            ErrorKind::DatabaseMissing,
            format!("{what}; set create_if_missing to create a database"),
        )
        .in_file(path)
    };
    if fs.exists(path) && !fs.is_dir(path) {
        return Err(Error::invalid_argument("this is a file, not a database").in_file(path));
    }
    if !options.create_if_missing && !fs.exists(&names.current()) {
        return Err(missing(if fs.exists(path) {
            "the directory holds no database"
        } else {
            "there is no such directory"
        }));
    }
    fs.create_dir_all(path).map_err(|error| Error::io(path, "create the directory", &error))?;
    lock(fs, names)
}

fn lock(fs: &dyn FileSystem, names: &FileNames) -> Result<Box<dyn FileLock>> {
    let path = names.lock();
    fs.lock(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            Error::new(ErrorKind::Locked, "the database is open already; close it first")
                .in_file(&path)
        }
        _ => Error::io(&path, "lock", &error),
    })
}

/// What the manifest says.
struct State {
    fresh: bool,
    database: u64,
    version: Version,
    log: u64,
    next_file: u64,
    next_run: u64,
    last_seqno: u64,
    flushed_through: u64,
    default_operator: Option<OperatorId>,
    registry: Arc<Registry>,
    dead_share: f64,
    totals: Arc<Totals>,
    trash: Arc<Trash>,
}

impl State {
    fn create(options: &Options) -> State {
        State {
            fresh: true,
            database: options.env.random_seed(),
            version: Version::empty(options.num_levels),
            log: 1,
            next_file: 1,
            next_run: 1,
            last_seqno: 0,
            flushed_through: 0,
            default_operator: None,
            registry: Arc::new(Registry::new(options.operators.clone())),
            dead_share: 1.0,
            totals: Arc::default(),
            trash: Arc::default(),
        }
    }

    fn recover(recovered: Recovered, options: &Options, names: &FileNames) -> Result<State> {
        let mut state = State { fresh: false, ..State::create(options) };
        let path = names.manifest(recovered.number);
        let mut tree: Vec<Vec<TreeEdit>> = Vec::new();
        let mut num_levels = options.num_levels;
        for edit in recovered.edits {
            state.absorb(&edit, options).map_err(|error| error.in_file(&path))?;
            num_levels = edit.num_levels.map_or(num_levels, |levels| levels as usize);
            tree.push(edit.tree);
        }
        if num_levels > MAX_LEVELS {
            return Err(Error::corruption(format!(
                "expected at most {MAX_LEVELS} levels, found {num_levels}"
            ))
            .in_file(&path));
        }
        // A tree may become deeper when it is opened, but not shallower than what is in it.
        let levels = num_levels.max(options.num_levels);
        let comparator = &*options.comparator;
        state.version = Version::empty(levels)
            .apply_all(tree.iter().map(Vec::as_slice), comparator, &state.trash)
            .map_err(|error| error.in_file(&path))?;
        state.next_file = state.next_file.max(recovered.number + 1);
        Ok(state)
    }

    fn absorb(&mut self, edit: &Edit, options: &Options) -> Result<()> {
        if let Some(name) = &edit.comparator
            && name != options.comparator.name()
        {
            return Err(Error::invalid_argument(format!(
                "the database is ordered by comparator '{name}', not '{}': open it with that one",
                options.comparator.name()
            )));
        }
        self.database = edit.database.unwrap_or(self.database);
        self.log = edit.log.unwrap_or(self.log);
        self.next_file = edit.next_file.unwrap_or(self.next_file);
        self.next_run = edit.next_run.unwrap_or(self.next_run);
        self.last_seqno = edit.last_seqno.unwrap_or(self.last_seqno);
        if let Some((_, seqno)) = edit.flushed_through {
            self.flushed_through = seqno;
        }
        for definition in &edit.operators {
            self.registry.adopt(definition)?;
        }
        self.default_operator = edit.default_operator.or(self.default_operator);
        self.dead_share = edit.dead_share.unwrap_or(self.dead_share);
        if let Some(totals) = &edit.totals {
            self.totals.restore(totals);
        }
        Ok(())
    }
}

/// An open in progress: the lock is held, the manifest read.
struct Opening {
    options: Options,
    names: FileNames,
    fs: Arc<dyn FileSystem>,
    lock: Box<dyn FileLock>,
    state: State,
}

impl Opening {
    fn finish(self) -> Result<Arc<Core>> {
        let Opening { mut options, names, fs, lock, mut state } = self;
        options.num_levels = state.version.levels.len();
        let present = list_files(&*fs, &names)?;
        if state.fresh && present.iter().any(|kind| matches!(kind, FileKind::Table(_))) {
            // A new database would remove them as leftovers of nobody.
            return Err(Error::corruption(
                "CURRENT is missing, but here are tables: restore it, or destroy the database",
            )
            .in_file(&names.current()));
        }
        check_tables(&state.version, &present, &names)?;
        if !state.fresh {
            check_first_log(state.log, &present, &names)?;
        }
        state.next_file = state.next_file.max(highest_number(&present) + 1);

        let default = choose_default_operator(&options, &mut state)?;
        let comparator = Arc::clone(&options.comparator);
        let arenas = ArenaPool::new(pooled_bytes(&options));
        let cache = Arc::new(BlockCache::new(options.block_cache_size));
        let tables = Arc::new(OpenTables::new(
            Arc::clone(&fs),
            names.clone(),
            Arc::clone(&comparator),
            Arc::clone(&cache),
            options.max_open_files,
            state.database,
        ));

        let next_log = state.next_file;
        let manifest_number = state.next_file + 1;
        let replayed = replay_logs(Replay {
            options: &options,
            names: &names,
            registry: &state.registry,
            arenas: &arenas,
            first_log: state.log,
            logs: logs_in(&present),
            database: (!state.fresh).then_some(state.database),
            flushed_through: state.flushed_through,
        })?;
        let last_seqno = state.last_seqno.max(state.flushed_through).max(replayed.last_seqno);

        let log = LogWriter::create(&fs, &names.log(next_log), next_log, state.database, None)?;
        let memtable =
            MemtableWriter::create(&arenas, options.write_buffer_size, &comparator, next_log);
        let version = Arc::new(state.version);
        let view = View {
            active: Arc::clone(&memtable.memtable),
            sealed: Vec::new(),
            version: Arc::clone(&version),
        };
        // The manifest begins with what the old one ended with; the replayed tables come as an edit
        // of their own, together with the new log number.
        let snapshot = Edit {
            comparator: Some(comparator.name().to_owned()),
            database: Some(state.database),
            num_levels: Some(options.num_levels as u64),
            log: Some(if state.fresh { next_log } else { state.log }),
            next_file: Some(manifest_number + 1),
            next_run: Some(state.next_run),
            last_seqno: Some(last_seqno),
            flushed_through: Some((DEFAULT_KEYSPACE, state.flushed_through)),
            operators: state.registry.resolver().dynamic_definitions().cloned().collect(),
            default_operator: default.as_ref().map(|operator| operator.id),
            tree: version.describe(),
            dead_share: Some(state.dead_share),
            totals: Some(state.totals.to_vec()),
        };
        let manifest = Manifest::create(&fs, &names, manifest_number, state.database, &snapshot)?;
        let tree = Tree {
            manifest,
            version,
            next_run: state.next_run,
            running: Vec::new(),
            log: next_log,
            flushed_through: state.flushed_through,
            dead_share: DeadShare::new(state.dead_share, 32 * options.target_file_size()),
            idle_since: last_seqno,
        };
        let policy = Policy::new(&options);
        let operators = state.registry.cached_resolver();
        let core = Arc::new(Core {
            names,
            database: state.database,
            comparator,
            registry: state.registry,
            default_operator: default,
            policy,
            writer: Mutex::new(WriterState::new(memtable, log, operators)),
            pins: Pins::new(last_seqno),
            view: ViewCell::new(view),
            snapshots: SnapshotList::default(),
            tree: Mutex::new(tree),
            next_file: AtomicU64::new(manifest_number + 1),
            logs: Mutex::new(logs_in(&present).into_iter().map(|log| (log, None)).collect()),
            tables,
            cache,
            arenas,
            trash: state.trash,
            background: Background::default(),
            totals: state.totals,
            poison: OnceLock::new(),
            closed: AtomicBool::new(false),
            lock: Mutex::new(Some(lock)),
            options,
        });
        core.take_over(&replayed.memtables, last_seqno, next_log)?;
        core.remove_leftovers(&present, next_log, manifest_number);
        Ok(core)
    }
}

impl Core {
    /// Makes what the logs held part of the tree, in one edit with the number of the new log.
    fn take_over(&self, memtables: &[Arc<Memtable>], last_seqno: u64, log: u64) -> Result<()> {
        {
            let mut writer = self.lock_writer();
            self.define_operators(&mut writer.log)?;
            self.note_log(&writer.log);
        }
        let mut tree = self.lock_tree();
        let mut edit = Edit {
            log: Some(log),
            flushed_through: Some((DEFAULT_KEYSPACE, last_seqno)),
            ..Edit::default()
        };
        let files = self.write_memtables(memtables, &tree.version)?;
        if !files.is_empty() {
            edit.tree = new_level0_run(tree.next_run, files);
            tree.next_run += 1;
        }
        self.install(&mut tree, edit, &[])
    }

    /// Removes files that nothing refers to: unfinished tables, old logs and manifests.
    fn remove_leftovers(&self, present: &[FileKind], log: u64, manifest: u64) {
        self.remove_logs_below(log);
        let tree = self.lock_tree();
        let used: HashSet<u64> = tree.version.tables().map(|table| table.file.number).collect();
        for kind in present {
            let path = match *kind {
                FileKind::Table(number) if !used.contains(&number) => self.names.table(number),
                FileKind::Manifest(number) if number != manifest => self.names.manifest(number),
                FileKind::Temporary => self.names.current_temporary(),
                _ => continue,
            };
            // What cannot be removed now is tried again at the next open.
            let _best_effort = self.options.env.fs.remove(&path);
        }
    }
}

/// The files of a database's directory.
fn list_files(fs: &dyn FileSystem, names: &FileNames) -> Result<Vec<FileKind>> {
    let directory = names.directory();
    let list = fs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
    Ok(list.iter().filter_map(|name| FileKind::parse(name)).collect())
}

/// Refuses a tree with a table missing.
fn check_tables(version: &Version, present: &[FileKind], names: &FileNames) -> Result<()> {
    let present: HashSet<u64> = present
        .iter()
        .filter_map(|kind| match kind {
            FileKind::Table(number) => Some(*number),
            _ => None,
        })
        .collect();
    match version.tables().find(|table| !present.contains(&table.file.number)) {
        None => Ok(()),
        Some(table) => Err(Error::corruption("the table is missing; restore it from a copy")
            .in_file(&names.table(table.file.number))),
    }
}

/// Refuses a database without the log that its manifest says is needed: it was there, if only
/// empty, when the manifest said so.
fn check_first_log(log: u64, present: &[FileKind], names: &FileNames) -> Result<()> {
    if present.contains(&FileKind::Log(log)) {
        return Ok(());
    }
    Err(Error::corruption("the log is missing; restore it from a copy").in_file(&names.log(log)))
}

fn highest_number(present: &[FileKind]) -> u64 {
    let number = |kind: &FileKind| match *kind {
        FileKind::Manifest(number) | FileKind::Log(number) | FileKind::Table(number) => number,
        FileKind::Current | FileKind::Lock | FileKind::Temporary => 0,
    };
    present.iter().map(number).max().unwrap_or(0)
}

/// Numbers of the logs, ascending.
fn logs_in(present: &[FileKind]) -> Vec<u64> {
    let mut logs: Vec<u64> = present
        .iter()
        .filter_map(|kind| match kind {
            FileKind::Log(number) => Some(*number),
            _ => None,
        })
        .collect();
    logs.sort_unstable();
    logs
}

/// The operator of merges that name none: the caller's, else the one of last time.
fn choose_default_operator(options: &Options, state: &mut State) -> Result<Option<Operator>> {
    let registry = &state.registry;
    let implementation: Arc<dyn MergeOperator>;
    let id = match &options.merge_operator {
        Some(spec) => {
            implementation = registry.parse(spec)?;
            match registry.id_of(&*implementation) {
                Some(id) => id,
                None => {
                    let definition = registry.next_definition(&*implementation);
                    registry.adopt(&definition)?;
                    definition.id
                }
            }
        }
        None => {
            let Some(id) = state.default_operator else { return Ok(None) };
            implementation = registry.implementation(id).ok_or_else(|| {
                Error::corruption(format!("the default operator {id} is defined nowhere"))
            })?;
            id
        }
    };
    Ok(Some(Operator { id, registry: Arc::clone(registry), implementation }))
}
