//! Builds a database from the manifest and the logs.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::db::state::writer_lock::WriterLock;
use crate::db::throttle::full_disk::FIRST_LOOK;
use crate::settings::Settings;
use foldb_chains::Pins;
use foldb_env::{FileLock, FileSystem, Process};

use crate::compaction::policy::DeadShare;
use crate::db::core::Core;
use crate::db::lifecycle::open::files::{
    check_log, check_tables, list_files, logs_in, next_number,
};
use crate::db::lifecycle::open::kept_logs::{Recovered, copy_replayed, recover};
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::take_over::StoredLogs;
use crate::db::lifecycle::open::with_comparators;
use crate::db::lifecycle::replay::{Replay, ReplayKeyspace, WhenFull, needed_logs, replay_logs};
use crate::db::state::background::Background;
use crate::db::state::buffers::{Buffers, SealedGroups};
use crate::db::state::chain::Chain;
use crate::db::state::fronts::Fronts;
use crate::db::state::keyspace::{KeyspaceParts, KeyspaceState};
use crate::db::state::keyspaces::Keyspaces;
use crate::db::state::logs::Logs;
use crate::db::state::ownership::Ownership;
use crate::db::state::reserve::Reserve;
use crate::db::state::snapshots::SnapshotList;
use crate::db::state::standing::Standing;
use crate::db::state::time::DatabaseTime;
use crate::db::state::transactions::OpenTransactions;
use crate::db::state::tree::{KeyspaceTree, Tree, TreeLock};
use crate::db::state::writer::WriterState;
use crate::error::{Error, Result};
use crate::events::{DroppedTail, Event, Events};
use crate::faults::{Fault, planted};
use crate::files::HeldFiles;
use crate::files::{FileKind, FileNames};
use crate::files::{FoundReserve, Identity, Proof, find_reserve, remove};
use crate::fold::Registry;
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, MAX_SEQNO, SeqNo};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::segment::SegmentFiles;
use crate::table::BlockCache;
use crate::version::{CloseRecord, Edit, Manifest, OpenTables};
use crate::wal::{LogWriter, Tail};

/// An open in progress. The lock is held and the manifest was read.
pub(crate) struct Opening<'a> {
    pub(crate) options: Options,
    pub(crate) names: FileNames,
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Taken when the open succeeds.
    pub(crate) lock: &'a mut Option<Box<dyn FileLock>>,
    pub(crate) stored: Stored,
    /// The record of a clean close, if the database has one.
    pub(crate) closed: Option<CloseRecord>,
    pub(crate) runtime: Runtime,
    /// Whether a restore fills the database.
    pub(crate) restores: bool,
    /// Bytes of the reserve that was given back to the disk, because the disk is full.
    pub(crate) given_back: Option<u64>,
}

impl Opening<'_> {
    pub(crate) fn finish(self) -> Result<Arc<Core>> {
        let options = self.options.clone();
        with_comparators(&options, "the open", || self.assemble())
    }

    fn assemble(self) -> Result<Arc<Core>> {
        let Opening { options, names, fs, lock, mut stored, closed, runtime, restores, given_back } =
            self;
        let present = list_files(&*fs, &names)?;
        if stored.fresh
            && present.iter().any(|kind| matches!(kind, FileKind::Table(_) | FileKind::Segment(_)))
        {
            // A new database would remove the tables as leftovers.
            return Err(Error::corruption(
                "CURRENT is missing, but there are tables: run `foldb repair`, or destroy \
                 the database",
            )
            .in_file(&names.current()));
        }
        let segment_files = Arc::default();
        let parts = keyspace_parts(&stored, &options, &names, &segment_files)?;
        check_tables(&parts, &present, &names)?;
        if !stored.fresh {
            check_log(stored.log, &present, &names)?;
        }
        stored.next_file = next_number(&present, stored.next_file, &names)?;

        let next_log = stored.next_file;
        let manifest_number = stored.next_file + 1;
        let member = runtime.next_database();
        let logs = StoredLogs { first: stored.log, on_disk: logs_in(&present), closed };
        let closed = &logs.closed;
        let replay = Replay {
            options: &options,
            names: &names,
            registry: &stored.registry,
            runtime: &runtime,
            member,
            memtable_bytes: options.replayed_bytes(&runtime.ledger().shares),
            first_log: logs.first,
            logs: needed_logs(&*fs, &names, logs.first, logs.on_disk.clone(), closed.as_ref()),
            closed: closed.as_ref(),
            totals: &stored.totals,
            counted_through: stored.last_seqno,
            through: MAX_SEQNO,
            database: (!stored.fresh).then_some(stored.database),
            keyspaces: replayed_keyspaces(&stored, &parts),
            next_keyspace: stored.next_keyspace,
            by_log: given_back.is_some(),
        };
        let mut replayed = replay_logs(replay, WhenFull::Check)?;
        // The logs of the change feed go into its archive at once. What does not fit into memory
        // needs tables, and the blocks of the reserve may do for them.
        let defers = given_back.is_some()
            && !options.resolve().wal_retention.is_on()
            && replayed.applied_through.is_none();
        if stored.fresh && replayed.last_seqno > 0 {
            // A creation that failed has no logged writes, so these files belong to a damaged
            // database or to an unfinished checkpoint.
            return Err(Error::corruption(
                "CURRENT is missing, but there are logged writes: run `foldb repair`, or destroy \
                 the database",
            )
            .in_file(&names.current()));
        }
        let (settings, reserve) = settings_and_reserve(&*fs, &names, &options, given_back);
        let mut kept = Recovered::default();
        if settings.wal_retention.is_on() {
            let now = options.env.clock.now();
            let flushed = (stored.log, stored.feed_end);
            kept = recover(&*fs, &names, &present, &mut replayed.logs, flushed, now);
        }
        let last_seqno = stored.last_seqno_with(&replayed);
        let dropped = dropped_tails(&mut stored, &replayed.tails, last_seqno);
        let blocks = &runtime.ledger().blocks;
        let cache = Arc::new(BlockCache::in_either(blocks, options.block_cache.as_ref()));
        let tables = OpenTables::new(
            Arc::clone(&fs),
            names.clone(),
            Arc::clone(&options.comparator),
            Arc::clone(&cache),
            Arc::clone(&runtime.ledger().tables),
            stored.database,
        );
        if !options.allow_unresolved_operators {
            check_operators(&parts, &stored.registry, &tables)?;
        }
        remove_unneeded(&*fs, &names, &present, &stored)?;
        let log = LogWriter::create(&fs, &names.log(next_log), next_log, stored.database, None)?;
        let files = vec![names.log(next_log)];
        let mut begun = BegunFiles { fs: Arc::clone(&fs), names: names.clone(), files, led: false };
        if stored.fresh && restores && !planted(Fault::RestoreUnmarked) {
            let mark = names.restoring();
            begun.files.push(mark.clone());
            fs.create(&mark).map_err(|error| Error::io(&mark, "create", &error))?;
        }
        let trees = keyspace_trees(parts, &stored, &settings, &tables);
        if closed.is_none() {
            let now = options.env.clock.now();
            copy_replayed(&*fs, &names, &mut kept, &replayed.logs, now, &mut begun.files)?;
        }
        // The new manifest begins with the final state of the old one. A second edit adds the
        // replayed tables and the new log number.
        let snapshot = Edit {
            database: Some(stored.database),
            log: Some(if stored.fresh { next_log } else { stored.log }),
            next_file: Some(manifest_number + 1),
            next_run: Some(stored.next_run),
            last_seqno: Some(last_seqno),
            next_keyspace: Some(stored.next_keyspace),
            operators: stored.registry.resolver().dynamic_definitions().cloned().collect(),
            totals: Some(stored.totals.to_vec()),
            keyspaces: trees.values().map(KeyspaceTree::describe).collect(),
            dropped: Vec::new(),
            feed_end: stored.feed_end,
            time: Some(stored.time).filter(|time| *time > 0),
        };
        let manifest = Manifest::begin(&fs, &names, manifest_number, stored.database, &snapshot)?;
        begun.files.push(names.manifest(manifest_number));
        let (is_fresh, replaced) = (stored.fresh, stored.manifest);
        begun.led = is_fresh;
        if let Err(error) = manifest.put_in_force(&*fs, &names) {
            if !is_fresh {
                // The next open may read either of the two manifests.
                begun.files.pop();
            }
            return Err(error);
        }
        if let Some(replaced) = replaced {
            begun.files.pop();
            begun.files.push(names.manifest(replaced));
        }
        let core = Assembly {
            options,
            settings,
            names,
            stored,
            trees,
            cache,
            runtime,
            member,
            held: None,
            segment_files,
            last_seqno,
            log,
            manifest,
            next_file: manifest_number + 1,
            logs: logs.on_disk.clone(),
            feed: settings
                .wal_retention
                .is_on()
                .then(|| Chain::new(settings.wal_retention, kept.links, last_seqno)),
            dropped,
            reserve,
            lock: lock.take(),
        }
        .into_core();
        if let Some(error) = kept.shortened.take() {
            core.events.tell(&Event::FeedShortened { error });
        }
        let first_log = logs.first;
        let taken = match defers {
            true => core.defer(&replayed, first_log, next_log),
            false => {
                replayed.join_groups();
                core.take_over(replayed, logs, last_seqno, next_log, kept.end, kept.announced)
            }
        };
        if let Err(error) = taken {
            if core.standing.is_poisoned() && !is_fresh {
                // The manifest on the medium may name any of these files.
                begun.files.clear();
            }
            *lock = core.ownership.take();
            return Err(error);
        }
        begun.files.clear();
        core.runtime.ledger().rest();
        let needed_from = if defers { first_log } else { next_log };
        core.remove_leftovers(&present, needed_from, manifest_number);
        if given_back.is_some() {
            core.keep_part_of_reserve();
        }
        Ok(core)
    }
}

/// Returns the settings, and the reserve that the database has. A file of its name that is not
/// foldb's turns the reserve off.
fn settings_and_reserve(
    fs: &dyn FileSystem,
    names: &FileNames,
    options: &Options,
    given_back: Option<u64>,
) -> (Settings, Reserve) {
    let mut settings = options.resolve();
    let bytes = match find_reserve(fs, names) {
        FoundReserve::Nothing => 0,
        FoundReserve::Bytes(bytes) => bytes,
        FoundReserve::Foreign => {
            settings.space_reserve = 0;
            0
        }
    };
    let reserve = Reserve::of(given_back.unwrap_or(bytes), FIRST_LOOK);
    reserve.set_open(given_back.is_some());
    (settings, reserve)
}

/// Files that an open created or replaced. They are removed if it fails.
struct BegunFiles {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    files: Vec<PathBuf>,
    /// Whether the `CURRENT` of a new database may name the new manifest.
    led: bool,
}

impl BegunFiles {
    /// Removes `CURRENT`, durably, if it may name the new manifest.
    fn forget_current(&self) -> io::Result<()> {
        if !self.led {
            return Ok(());
        }
        match remove(&*self.fs, &self.names.current(), Proof::Written) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
        self.fs.sync_dir(self.names.directory())
    }
}

impl Drop for BegunFiles {
    fn drop(&mut self) {
        if planted(Fault::LeaveAttempts) {
            return;
        }
        // A crash must not leave a `CURRENT` that names a missing manifest: such a directory is
        // neither a new database nor the old one.
        if !self.files.is_empty() && self.forget_current().is_err() {
            return;
        }
        for file in &self.files {
            // The next successful open removes files that cannot be removed now.
            let _best_effort = remove(&*self.fs, file, Proof::Written);
        }
    }
}

/// Removes files that are not needed even after a crash. These are manifests that are not in force,
/// and tables and segments that no edit ever named, such as those of an interrupted compaction. It
/// runs before the open writes anything, because the disk may be full. Files that an edit named
/// stay until the new manifest is durable, because that edit may be the last durable one.
fn remove_unneeded(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
    stored: &Stored,
) -> Result<()> {
    let is_other = |kind: &&FileKind| match **kind {
        FileKind::Manifest(number) => Some(number) != stored.manifest,
        _ => false,
    };
    let others = present.iter().filter(is_other).count();
    if others > 0 {
        // The choice of the manifest in force may not be durable yet.
        let directory = names.directory();
        let synced = fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
    }
    if planted(Fault::LeaveAttempts) {
        return Ok(());
    }
    let Some(identity) = Identity::of(fs, names) else { return Ok(()) };
    for kind in present {
        let path = match *kind {
            FileKind::Table(number) if !stored.named.contains(&number) => names.table(number),
            FileKind::Segment(number) if !stored.named.contains(&number) => names.segment(number),
            FileKind::Manifest(number) if is_other(&kind) => names.manifest(number),
            _ => continue,
        };
        // The end of the open tries again.
        let _best_effort = remove(fs, &path, Proof::Named(&identity));
    }
    Ok(())
}

/// The parts of an opened database.
pub(crate) struct Assembly {
    pub(crate) options: Options,
    pub(crate) settings: Settings,
    pub(crate) names: FileNames,
    pub(crate) stored: Stored,
    pub(crate) trees: BTreeMap<KeyspaceId, KeyspaceTree>,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) runtime: Runtime,
    /// The number of the database in the runtime.
    pub(crate) member: u64,
    /// The tables and segment files of a read-only open, which stay open.
    pub(crate) held: Option<HeldFiles>,
    pub(crate) segment_files: Arc<SegmentFiles>,
    pub(crate) last_seqno: SeqNo,
    /// The log and the manifest that take new writes.
    pub(crate) log: LogWriter,
    pub(crate) manifest: Manifest,
    pub(crate) next_file: u64,
    /// Logs on disk from earlier opens.
    pub(crate) logs: Vec<u64>,
    /// The logs of the change feed; `None` if logs are not kept for it.
    pub(crate) feed: Option<Chain>,
    /// The bytes after the valid ends of the manifest and the logs.
    pub(crate) dropped: Vec<DroppedTail>,
    /// The reserve for a full disk.
    pub(crate) reserve: Reserve,
    /// `None` for a read-only database.
    pub(crate) lock: Option<Box<dyn FileLock>>,
}

impl Assembly {
    pub(crate) fn into_core(self) -> Arc<Core> {
        let Assembly { options, stored, trees, last_seqno, .. } = self;
        let log_number = self.log.number();
        let operators = stored.registry.cached_resolver();
        let keyspaces: Vec<_> = trees.values().map(|own| Arc::clone(&own.keyspace)).collect();
        let default = Arc::clone(&trees[&DEFAULT_KEYSPACE].keyspace);
        let process = Process::current();
        let core = Arc::new(Core {
            names: self.names,
            database: stored.database,
            registry: stored.registry,
            writer: WriterLock::new(WriterState::new(
                buffers_of(&keyspaces, &options),
                self.log,
                operators,
            )),
            keyspaces: Keyspaces::new(default, keyspaces, process),
            pins: Pins::new(last_seqno),
            sealed: SealedGroups::default(),
            snapshots: SnapshotList::default(),
            tree: TreeLock::new(Tree {
                manifest: self.manifest,
                next_run: stored.next_run,
                next_keyspace: stored.next_keyspace,
                log: log_number,
                last_loaded: 0,
                unwritten_since: None,
                keyspaces: trees,
                last_served: DEFAULT_KEYSPACE,
            }),
            next_file: AtomicU64::new(self.next_file),
            logs: Logs::of(self.logs),
            feed: self.feed,
            cache: self.cache,
            member: self.member,
            runtime: self.runtime,
            _held: self.held,
            segment_files: self.segment_files,
            background: Background::default(),
            step: Core::step_background,
            totals: stored.totals,
            time: DatabaseTime::new(stored.time),
            transactions: OpenTransactions::default(),
            fronts: Fronts::default(),
            syncs: AtomicU64::new(0),
            events: Events::new(options.listeners.clone()),
            reserve: self.reserve,
            standing: Standing::new(process, self.lock.is_none()),
            ownership: Ownership::new(self.lock),
            dropped: self.dropped,
            settings: self.settings,
            options,
        });
        if core.keyspaces.all().iter().any(|keyspace| keyspace.settings.expiry.is_some()) {
            core.time.note_use();
        }
        for tail in &core.dropped {
            core.events.tell(&Event::TailDropped(tail.clone()));
        }
        core
    }
}

/// Returns the bytes dropped after the valid ends of the manifest and the logs.
pub(crate) fn dropped_tails(
    stored: &mut Stored,
    of_logs: &[(PathBuf, u64, Tail)],
    last_seqno: SeqNo,
) -> Vec<DroppedTail> {
    let found = stored.tail.take().into_iter().chain(of_logs.iter().cloned());
    let told = found.filter(|(_, _, tail)| tail.bytes > 0).map(|(file, offset, tail)| {
        DroppedTail { file, offset, bytes: tail.bytes, frames: tail.frames, last_seqno }
    });
    told.collect()
}

/// Returns the initial parts of each stored keyspace.
pub(crate) fn keyspace_parts(
    stored: &Stored,
    options: &Options,
    names: &FileNames,
    segment_files: &Arc<SegmentFiles>,
) -> Result<Vec<KeyspaceParts>> {
    let manifest = stored.manifest.map(|number| names.manifest(number));
    let parts = stored.keyspaces.values().map(|own| {
        own.parts(options, &stored.registry, segment_files).map_err(|error| match &manifest {
            Some(path) => error.in_file(path),
            None => error,
        })
    });
    parts.collect()
}

pub(crate) fn replayed_keyspaces(
    stored: &Stored,
    parts: &[KeyspaceParts],
) -> BTreeMap<KeyspaceId, ReplayKeyspace> {
    let keyspaces = parts.iter().map(|own| {
        let comparator = Arc::clone(&own.comparator);
        let flushed_through = stored.keyspaces[&own.id].flushed_through;
        (own.id, ReplayKeyspace { comparator, flushed_through })
    });
    keyspaces.collect()
}

pub(crate) fn keyspace_trees(
    parts: Vec<KeyspaceParts>,
    stored: &Stored,
    settings: &Settings,
    tables: &OpenTables,
) -> BTreeMap<KeyspaceId, KeyspaceTree> {
    let trees = parts.into_iter().map(|parts| {
        let own = &stored.keyspaces[&parts.id];
        let version = Arc::clone(&parts.version);
        let dead_share = DeadShare::new(own.dead_share, 32 * settings.tree.target_file_size);
        let keyspace = KeyspaceState::new(parts, settings, tables);
        (keyspace.id, KeyspaceTree::new(keyspace, version, own.flushed_through, dead_share))
    });
    trees.collect()
}

/// # Errors
/// `UnknownOperator` if a table has operands of an unregistered operator. If every operator is
/// registered, no table is opened for this check.
pub(crate) fn check_operators(
    parts: &[KeyspaceParts],
    registry: &Registry,
    tables: &OpenTables,
) -> Result<()> {
    let resolver = registry.resolver();
    if resolver.unresolved().next().is_none() {
        return Ok(());
    }
    for own in parts {
        let tables = own.open_tables(tables);
        for table in own.version.tables() {
            let open = tables.get_owned(&table.file)?;
            let used = &open.properties().operators;
            if let Some(unknown) = used.iter().find(|used| resolver.is_unresolved(used.id)) {
                return Err(registry.unknown_operator(unknown));
            }
        }
    }
    Ok(())
}

/// Returns buffers without memtables. The default keyspace is the first.
fn buffers_of(keyspaces: &[Arc<KeyspaceState>], options: &Options) -> Buffers {
    let (first, is_shared) = (Arc::clone(&keyspaces[0]), options.runtime.is_some());
    let mut buffers = Buffers::new(first, options.write_buffer_size, is_shared);
    keyspaces[1..].iter().for_each(|keyspace| buffers.add(Arc::clone(keyspace)));
    buffers
}
