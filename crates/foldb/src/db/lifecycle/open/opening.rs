//! Builds a database from the manifest and the logs, in phases. A crash or an error in any of them
//! leaves a database that opens with the same writes.
//!
//! ```text
//!   Opening    the lock is held, the manifest was read
//!   Listed     what the directory and the manifest list; nothing was written
//!   InMemory   the logs were replayed; nothing was written
//!   Core       after a clean close, if little is in the logs: still nothing was written
//!
//!   Begun      a log and copies of logs exist, which no manifest names
//!   InForce    a new manifest has the old state; the replayed writes are in the old logs
//!   Core       one edit has added their tables, and named the new log
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::db::throttle::full_disk::{FIRST_LOOK, replayed_bytes_on_full_disk};
use crate::settings::Settings;
use foldb_env::{FileLock, FileSystem};

use crate::db::core::Core;
use crate::db::lifecycle::open::assembly::{
    Assembly, check_operators, dropped_tails, keyspace_parts, keyspace_trees, replayed_keyspaces,
};
use crate::db::lifecycle::open::begun::{BegunFiles, remove_unneeded};
use crate::db::lifecycle::open::files::{check_log, check_tables, logs_in, next_number};
use crate::db::lifecycle::open::kept_logs::{Recovered, copy_replayed, recover, sync_replayed};
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::take_over::StoredLogs;
use crate::db::lifecycle::open::with_comparators;
use crate::db::lifecycle::replay::{Replay, Replayed, WhenFull, needed_logs, replay_logs};
use crate::db::state::announced::Announced;
use crate::db::state::chain::Chain;
use crate::db::state::keyspace::KeyspaceParts;
use crate::db::state::reserve::Reserve;
use crate::db::state::tree::KeyspaceTree;
use crate::error::{Error, Result};
use crate::events::{DroppedTail, Event};
use crate::faults::{Fault, planted};
use crate::files::{FileKind, FileNames};
use crate::files::{FoundReserve, find_reserve};
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, MAX_SEQNO, SeqNo};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::segment::SegmentFiles;
use crate::table::BlockCache;
use crate::version::{CloseRecord, Edit, Manifest, OpenTables};
use crate::wal::{LogWriter, Predecessor};

/// An open in progress. The lock is held and the manifest was read.
pub(crate) struct Opening<'a> {
    pub(crate) options: Options,
    pub(crate) names: FileNames,
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Taken when the open succeeds.
    pub(crate) lock: &'a mut Option<Box<dyn FileLock>>,
    pub(crate) stored: Stored,
    /// The files of the directory.
    pub(crate) present: Vec<FileKind>,
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

    fn assemble(mut self) -> Result<Arc<Core>> {
        let listed = Listed::of(&mut self)?;
        let found = listed.replay(&mut self)?;
        if let Some(files) = found.resumable(&self) {
            return Ok(found.resume(self, &files));
        }
        found.begin(&self)?.put_in_force(self)?.take_over()
    }
}

/// What the directory and the manifest list. Nothing was written.
pub(super) struct Listed {
    pub(super) present: Vec<FileKind>,
    parts: Vec<KeyspaceParts>,
    pub(super) segment_files: Arc<SegmentFiles>,
    pub(super) logs: StoredLogs,
    /// The log that takes new writes. The manifest of this open has the number after it.
    pub(super) next_log: u64,
    /// The number of the database in the runtime.
    pub(super) member: u64,
}

impl Listed {
    fn of(opening: &mut Opening<'_>) -> Result<Listed> {
        let Opening { options, names, stored, closed, runtime, .. } = opening;
        let present = std::mem::take(&mut opening.present);
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
        let parts = keyspace_parts(stored, options, names, &segment_files)?;
        check_tables(&parts, &present, names)?;
        if !stored.fresh {
            check_log(stored.log, &present, names)?;
        }
        let next_log = next_number(&present, stored.next_file, names)?;
        let on_disk = logs_in(&present);
        let logs = StoredLogs { first: stored.log, on_disk, closed: closed.take() };
        let member = runtime.next_database();
        Ok(Listed { present, parts, segment_files, logs, next_log, member })
    }

    /// Reads the logs.
    fn read_logs(&self, opening: &Opening<'_>) -> Result<Replayed> {
        let Opening { options, names, fs, stored, runtime, given_back, .. } = opening;
        let (logs, closed) = (&self.logs, self.logs.closed.as_ref());
        let mut memtable_bytes = options.replayed_bytes(&runtime.ledger().shares);
        if given_back.is_some() {
            let most = replayed_bytes_on_full_disk(&options.resolve().write_buffers);
            memtable_bytes = memtable_bytes.max(most);
        }
        let replay = Replay {
            options,
            names,
            registry: &stored.registry,
            runtime,
            member: self.member,
            memtable_bytes,
            first_log: logs.first,
            logs: needed_logs(&**fs, names, logs.first, logs.on_disk.clone(), closed),
            closed,
            totals: &stored.totals,
            counted_through: stored.last_seqno,
            through: MAX_SEQNO,
            database: (!stored.fresh).then_some(stored.database),
            keyspaces: replayed_keyspaces(stored, &self.parts),
            next_keyspace: stored.next_keyspace,
            by_log: given_back.is_some(),
        };
        let replayed = replay_logs(replay, WhenFull::Check)?;
        if stored.fresh && replayed.last_seqno > 0 {
            // A creation that failed has no logged writes, so these files belong to a damaged
            // database or to an unfinished checkpoint.
            return Err(Error::corruption(
                "CURRENT is missing, but there are logged writes: run `foldb repair`, or destroy \
                 the database",
            )
            .in_file(&names.current()));
        }
        Ok(replayed)
    }

    /// Replays the logs, and checks what it found.
    fn replay(self, opening: &mut Opening<'_>) -> Result<InMemory> {
        let mut replayed = self.read_logs(opening)?;
        let Opening { options, names, fs, stored, runtime, given_back, .. } = opening;
        let (settings, reserve) = settings_and_reserve(&**fs, names, options, *given_back);
        let mut kept = Recovered::default();
        if settings.wal_retention.is_on() {
            let now = options.env.clock.now();
            let flushed = (stored.log, stored.feed_end);
            let has_had_keyspaces = stored.next_keyspace > DEFAULT_KEYSPACE + 1;
            let logs = &mut replayed.logs;
            kept = recover(&**fs, names, &self.present, logs, flushed, has_had_keyspaces, now);
        }
        let last_seqno = stored.last_seqno_with(&replayed);
        let dropped = dropped_tails(stored, &replayed.tails, last_seqno);
        let blocks = &runtime.ledger().blocks;
        let cache = Arc::new(BlockCache::in_either(blocks, options.block_cache.as_ref()));
        let tables = OpenTables::new(
            Arc::clone(fs),
            names.clone(),
            options.default.comparator(),
            Arc::clone(&cache),
            Arc::clone(&runtime.ledger().tables),
            stored.database,
        );
        if !options.allow_unresolved_operators {
            check_operators(&self.parts, &stored.registry, &tables)?;
        }
        let mut listed = self;
        let (parts, memory) = (std::mem::take(&mut listed.parts), runtime.work_memory());
        let trees = keyspace_trees(parts, stored, &settings, &tables, &memory);
        Ok(InMemory {
            listed,
            trees,
            replayed,
            settings,
            reserve,
            kept,
            last_seqno,
            dropped,
            cache,
        })
    }
}

/// The database as the manifest and the logs have it, in memory. Nothing was written.
pub(super) struct InMemory {
    pub(super) listed: Listed,
    pub(super) trees: BTreeMap<KeyspaceId, KeyspaceTree>,
    pub(super) replayed: Replayed,
    pub(super) settings: Settings,
    pub(super) reserve: Reserve,
    /// The logs that the change feed keeps.
    kept: Recovered,
    pub(super) last_seqno: SeqNo,
    pub(super) dropped: Vec<DroppedTail>,
    pub(super) cache: Arc<BlockCache>,
}

impl InMemory {
    /// Begins the files of this open. No manifest in force names them.
    fn begin(mut self, opening: &Opening<'_>) -> Result<Begun> {
        let Opening { options, names, fs, stored, restores, given_back, .. } = opening;
        let Listed { present, logs, next_log, .. } = &self.listed;
        remove_unneeded(&**fs, names, present, stored)?;
        assert!(
            present.iter().filter_map(|kind| kind.number()).all(|number| number < *next_log),
            "a new log takes the number of no other file"
        );
        let log = names.log(*next_log);
        let writer = LogWriter::create(fs, &log, *next_log, stored.database, None)?;
        let mut files = BegunFiles::new(fs, names);
        files.push(log);
        if stored.fresh && *restores && !planted(Fault::RestoreUnmarked) {
            let mark = names.restoring();
            files.push(mark.clone());
            fs.create(&mark).map_err(|error| Error::io(&mark, "create", &error))?;
        }
        if logs.closed.is_none() {
            let (kept, logs) = (&mut self.kept, &self.replayed.logs);
            match given_back {
                None => {
                    let now = options.env.clock.now();
                    copy_replayed(&**fs, names, kept, logs, now, &mut files)?;
                }
                // A full disk has no space for copies.
                Some(_) => sync_replayed(&**fs, names, kept, logs)?,
            }
        }
        Ok(Begun { files, found: self, log: writer })
    }
}

/// A log and copies of logs that no manifest names yet.
struct Begun {
    files: BegunFiles,
    found: InMemory,
    log: LogWriter,
}

impl Begun {
    /// Makes a new manifest the one in force. It begins with the final state of the old one. A
    /// second edit adds the replayed tables and the new log number.
    fn new_manifest(&mut self, opening: &Opening<'_>) -> Result<Manifest> {
        let Opening { names, fs, stored, .. } = opening;
        let next_log = self.found.listed.next_log;
        let number = next_log + 1;
        let snapshot = Edit {
            database: Some(stored.database),
            log: Some(if stored.fresh { next_log } else { stored.log }),
            next_file: Some(number + 1),
            next_run: Some(stored.next_run),
            last_seqno: Some(self.found.last_seqno),
            next_keyspace: Some(stored.next_keyspace),
            operators: stored.registry.resolver().dynamic_definitions().cloned().collect(),
            totals: Some(stored.totals.to_vec()),
            keyspaces: self.found.trees.values().map(KeyspaceTree::describe).collect(),
            dropped: Vec::new(),
            feed_end: stored.feed_end,
            time: Some(stored.time).filter(|time| *time > 0),
        };
        let manifest = Manifest::begin(fs, names, number, stored.database, &snapshot)?;
        self.files.put_in_force(&manifest, number, stored.manifest)?;
        Ok(manifest)
    }

    /// Makes a new manifest the one in force, and makes the database.
    fn put_in_force<'a>(mut self, opening: Opening<'a>) -> Result<InForce<'a>> {
        let manifest = self.new_manifest(&opening)?;
        let Opening { options, names, lock, stored, given_back, runtime, .. } = opening;
        let InMemory {
            listed,
            trees,
            replayed,
            settings,
            reserve,
            kept,
            last_seqno,
            dropped,
            cache,
        } = self.found;
        let Listed { present, logs, next_log, member, segment_files, .. } = listed;
        let is_fresh = stored.fresh;
        let feed = settings
            .wal_retention
            .is_on()
            .then(|| Chain::new(settings.wal_retention, kept.links, last_seqno));
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
            log: self.log,
            manifest,
            next_file: next_log + 2,
            first_log: next_log,
            logs: logs.on_disk.iter().map(|log| (*log, None)).collect(),
            is_as_closed: false,
            feed,
            dropped,
            reserve,
            lock: lock.take(),
        }
        .into_core();
        if let Some(error) = kept.shortened {
            core.events.tell(&Event::FeedShortened { error });
        }
        Ok(InForce {
            core,
            files: self.files,
            lock,
            present,
            logs,
            next_log,
            replayed,
            last_seqno,
            end: kept.end,
            announced: kept.announced,
            is_fresh,
            given_back,
        })
    }
}

/// The database of a manifest in force, without the writes that only the logs have.
struct InForce<'a> {
    core: Arc<Core>,
    files: BegunFiles,
    /// Gets the lock back if the open fails.
    lock: &'a mut Option<Box<dyn FileLock>>,
    present: Vec<FileKind>,
    logs: StoredLogs,
    next_log: u64,
    replayed: Replayed,
    last_seqno: SeqNo,
    /// The end that the new log of the change feed follows, and the keyspaces announced there.
    end: Option<Predecessor>,
    announced: Option<Announced>,
    is_fresh: bool,
    given_back: Option<u64>,
}

impl InForce<'_> {
    /// Takes the writes of the logs over, and removes what is no longer needed.
    fn take_over(mut self) -> Result<Arc<Core>> {
        let core = self.core;
        let (first_log, next_log) = (self.logs.first, self.next_log);
        // What does not fit into memory needs tables. The blocks of the reserve may do for them.
        let defers = self.given_back.is_some() && self.replayed.applied_through.is_none();
        let end = self.end;
        let taken = match defers {
            true => core.defer(&self.replayed, first_log, next_log, end, self.announced),
            false => {
                self.replayed.join_groups();
                let last_seqno = self.last_seqno;
                core.take_over(self.replayed, self.logs, last_seqno, next_log, end, self.announced)
            }
        };
        if let Err(error) = taken {
            if core.standing.may_have_failed_edit() && !self.is_fresh {
                // The manifest on the medium may name any of these files.
                self.files.keep();
            }
            *self.lock = core.ownership.take();
            return Err(error);
        }
        self.files.keep();
        core.runtime.ledger().rest();
        let needed_from = if defers { first_log } else { next_log };
        core.remove_leftovers(&self.present, needed_from, next_log + 1);
        if self.given_back.is_some() {
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
