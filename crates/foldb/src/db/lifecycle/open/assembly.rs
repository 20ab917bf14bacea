//! Puts an opened database together from its parts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::db::state::writer_lock::WriterLock;
use crate::settings::Settings;
use foldb_chains::Pins;
use foldb_env::{FileLock, Process};

use crate::compaction::policy::DeadShare;
use crate::db::core::Core;
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::replay::ReplayKeyspace;
use crate::db::state::background::Background;
use crate::db::state::buffers::{Buffers, SealedGroups};
use crate::db::state::chain::Chain;
use crate::db::state::fronts::Fronts;
use crate::db::state::keyspace::{KeyspaceParts, KeyspaceState};
use crate::db::state::keyspaces::Keyspaces;
use crate::db::state::last_close::LastClose;
use crate::db::state::logs::{KnownLog, Logs};
use crate::db::state::ownership::Ownership;
use crate::db::state::reserve::Reserve;
use crate::db::state::snapshots::SnapshotList;
use crate::db::state::standing::Standing;
use crate::db::state::time::DatabaseTime;
use crate::db::state::transactions::OpenTransactions;
use crate::db::state::tree::{KeyspaceTree, Tree, TreeLock};
use crate::db::state::writer::WriterState;
use crate::error::Result;
use crate::events::{DroppedTail, Event, EventListener, Events};
use crate::files::FileNames;
use crate::files::HeldFiles;
use crate::fold::Registry;
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, SeqNo};
use crate::options::Options;
use crate::recording::{Recorder, RecorderOptions};
use crate::rewriting::memory::WorkMemory;
use crate::runtime::Runtime;
use crate::segment::SegmentFiles;
use crate::table::BlockCache;
use crate::version::{Manifest, OpenTables};
use crate::wal::{LogWriter, Tail};

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
    /// The first log that is needed.
    pub(crate) first_log: u64,
    /// Logs on disk from earlier opens.
    pub(crate) logs: Vec<KnownLog>,
    /// Whether the record of the last clean close stays in force.
    pub(crate) is_as_closed: bool,
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
        let operators = stored.registry.cached_resolver();
        let keyspaces: Vec<_> = trees.values().map(|own| Arc::clone(&own.keyspace)).collect();
        let default = Arc::clone(&trees[&DEFAULT_KEYSPACE].keyspace);
        let process = Process::current();
        let recorder = recorder_of(&options, &self.names, &self.runtime, self.lock.is_none());
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
                log: self.first_log,
                last_loaded: 0,
                unwritten_since: None,
                keyspaces: trees,
                last_served: DEFAULT_KEYSPACE,
            }),
            next_file: AtomicU64::new(self.next_file),
            logs: Logs::of(self.logs),
            last_close: LastClose::new(self.is_as_closed),
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
            events: Events::new(options.listeners.clone(), observer_of(&recorder)),
            recorder,
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

/// Returns the flight recorder; `None` if the options want none, or no thread could write. In an
/// environment with a seed the same run is repeated, so nothing may depend on real time there.
fn recorder_of(
    options: &Options,
    names: &FileNames,
    runtime: &Runtime,
    is_read_only: bool,
) -> Option<Arc<Recorder>> {
    let budget = options.flight_recorder;
    let is_recorded = budget > 0 && !is_read_only && runtime.ticker().has_thread();
    let (fs, clock) = (Arc::clone(&options.env.fs), Arc::clone(&options.env.clock));
    let own = RecorderOptions { fs, clock, names: names.clone(), budget };
    (is_recorded && options.env.seed.is_none()).then(|| Arc::new(Recorder::new(own)))
}

/// Returns the recorder as a listener.
fn observer_of(recorder: &Option<Arc<Recorder>>) -> Option<Arc<dyn EventListener>> {
    recorder.clone().map(|recorder| recorder as Arc<dyn EventListener>)
}

/// Returns buffers without memtables. The default keyspace is the first.
fn buffers_of(keyspaces: &[Arc<KeyspaceState>], options: &Options) -> Buffers {
    let (first, is_shared) = (Arc::clone(&keyspaces[0]), options.runtime.is_some());
    assert_eq!(first.id, DEFAULT_KEYSPACE, "the first keyspace is the default one");
    let mut buffers = Buffers::new(first, options.write_buffer_size, is_shared);
    keyspaces[1..].iter().for_each(|keyspace| buffers.add(Arc::clone(keyspace)));
    buffers
}

/// Returns the bytes dropped after the valid ends of the manifest and the logs.
pub(crate) fn dropped_tails(
    stored: &mut Stored,
    of_logs: &[(PathBuf, u64, Tail)],
    last_seqno: SeqNo,
) -> Vec<DroppedTail> {
    let found = stored.tail.take().into_iter().chain(of_logs.iter().cloned());
    let dropped = found.filter(|(_, _, tail)| tail.bytes > 0).map(|(file, offset, tail)| {
        DroppedTail { file, offset, bytes: tail.bytes, frames: tail.frames, last_seqno }
    });
    dropped.collect()
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
    memory: &WorkMemory,
) -> BTreeMap<KeyspaceId, KeyspaceTree> {
    let trees = parts.into_iter().map(|parts| {
        let own = &stored.keyspaces[&parts.id];
        let version = Arc::clone(&parts.version);
        let dead_share = DeadShare::new(own.dead_share, 32 * settings.tree.target_file_size);
        let keyspace = KeyspaceState::new(parts, settings, tables, memory);
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
