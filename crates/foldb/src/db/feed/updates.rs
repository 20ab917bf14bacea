//! Reads the change feed: log by log, frame by frame, up to the last frame that may be yielded.
//!
//! ```text
//! log 7:  lineage | a.PUT.1 | b.PUT.4        log 9: lineage (after 7) | a.PUT.5 | a.PUT.6
//! yields            a.PUT.1   (2..=3 unlogged)  b.PUT.4                 a.PUT.5   end: not synced
//! ```
//!
//! A reader holds no lock between two calls, and keeps one file open. The chain says how far it may
//! read, and the reader asks again only there: those frames are settled, so no failed write takes
//! them back. If the oldest log was removed meanwhile, the chain says so.
//!
//! A read-only handle sees in a log also frames that the writer, in another process, may take back.
//! It yields such a write only with `include_unsynced`. The writer then goes on in another log,
//! which names the frames that are left, so the position of the write is `PositionLost`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::db::core::Core;
use crate::db::feed::directory::Directory;
use crate::db::feed::update::{BatchUpdate, Change, CreatedKeyspace, NamedOperator, Names, Update};
use crate::db::handle::With;
use crate::db::handle::database::Db;
use crate::db::lifecycle::open::kept_logs::keeps_logs;
use crate::db::state::chain::{Chain, Seen, lost};
use crate::db::state::position::Position;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::fold::Definition;
use crate::key::{KeyspaceId, OperatorId, SeqNo};
use crate::options::Options;
use crate::wal::{BatchHeader, LogReader, LogRecord, NamedKeyspace};

/// How to read the change feed.
#[derive(Clone, Debug, Default)]
pub struct UpdatesOptions {
    /// Also yield batches that are not synced yet. A power loss may take them back, and their
    /// numbers then come again for other writes. The position of such a batch is then
    /// [`crate::ErrorKind::PositionLost`]. So it is in a [`crate::ReadOnlyDb`] if the batch was a
    /// synced write that failed, and [`crate::Options::visible_when_durable`] took it back.
    /// Default: false: a batch appears once a sync, a switch to another log and its flush, or a
    /// clean close has made it durable.
    pub include_unsynced: bool,
}

/// The change feed of a database from one position on: see [`Db::updates_since`].
///
/// As an iterator it returns `None` when there is no further update now. A later call may return
/// one. After an error, a later call tries again.
pub struct Updates {
    pub(super) db: Db,
    pub(super) durable: bool,
    /// How a read-only handle finds the logs; `None` for a writable database.
    directory: Option<Directory>,
    at: Position,
    /// The last frame of the log of `at` that the chain allowed to read.
    through: u64,
    /// Reads the log of `at`, and has read up to its frame.
    reader: Option<LogReader>,
    names: Known,
    record: Vec<u8>,
    /// The last frame of `record`, if the record was read and not yet yielded.
    held: Option<u64>,
    /// The position after the last record that was passed or yielded. It is never between the
    /// beginning of a log and the log's list of keyspaces.
    pub(super) passed: Position,
    /// The update that a wait found, and the position before it.
    pub(super) ready: Option<(Position, Update)>,
    /// Whether the next batch is the first one of its log.
    is_first: bool,
    /// Whether waits end without an update.
    pub(super) interrupted: Arc<AtomicBool>,
}

/// The names that the logs gave so far.
#[derive(Default)]
struct Known {
    /// `None` until the reader has read the list of a log.
    keyspaces: Option<BTreeMap<KeyspaceId, NamedKeyspace>>,
    operators: BTreeMap<OperatorId, Definition>,
}

impl With<'_, Db, UpdatesOptions> {
    /// Returns the updates after a position: see [`Db::updates_since`].
    ///
    /// # Errors
    /// As [`Db::updates_since`].
    pub fn updates_since(&self, position: &Position) -> Result<Updates> {
        Updates::since(self.handle, position, self.options)
    }
}

impl Db {
    /// Returns the updates after a position, oldest first: each batch of writes whole, with its
    /// keyspaces and operators, and what else happened ([`Change`]). Only updates that survive a
    /// power loss appear; see [`UpdatesOptions::include_unsynced`].
    ///
    /// The feed reads the logs. [`crate::Options::wal_retention_bytes`] and
    /// [`crate::Options::wal_retention_seconds`] say how long logs are kept, and turn the feed on.
    /// The feed costs writers nothing, except that each log is synced before its flush. A follower
    /// keeps the [`Updates`] and asks it again at the end: a new one first reads the log of the
    /// position up to the position.
    ///
    /// # Errors
    /// - `PositionLost` if the feed cannot continue there: a log was removed, or the position
    ///   belongs to another history, for example after a power loss or a repair. The follower must
    ///   copy the database anew ([`Db::snapshot_and_position`]).
    /// - `InvalidArgument` if the database keeps no logs; `Closed`, `Io`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::feed::{Change, Position, UpdateOp};
    /// use foldb::{Db, KeyspaceOptions, Options};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     default: KeyspaceOptions::with_operator("uint64add"),
    ///     wal_retention_bytes: 64 << 20,
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path(), options)?;
    /// db.merge("visits", 1u64.to_le_bytes())?;
    /// db.sync()?;
    ///
    /// let mut updates = db.updates_since(&Position::BEGINNING)?;
    /// let update = updates.next().unwrap()?;
    /// let Change::Batch(batch) = &update.change else { panic!("{update:?}") };
    /// let merge = UpdateOp::Merge {
    ///     keyspace: "default",
    ///     key: b"visits",
    ///     operand: &1u64.to_le_bytes(),
    ///     operator: "uint64add",
    ///     expires: None,
    /// };
    /// assert_eq!(batch.iter().collect::<Vec<_>>(), [merge]);
    /// assert!(updates.next().is_none());
    ///
    /// db.put("page", "text")?;
    /// assert!(updates.next().is_none(), "a power loss may take it back");
    /// db.sync()?;
    /// assert_eq!(updates.next().unwrap()?.position, db.position()?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn updates_since(&self, position: &Position) -> Result<Updates> {
        self.with(&UpdatesOptions::default()).updates_since(position)
    }

    /// Returns whether the database at a path keeps logs for the feed. An open without
    /// [`crate::Options::wal_retention_bytes`] and [`crate::Options::wal_retention_seconds`] then
    /// ends the feed. A tool that opens databases of other programs can keep their feeds:
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// # foldb::Db::create(path)?.close()?;
    /// use foldb::{Db, Options};
    ///
    /// let mut options = Options::default();
    /// if Db::has_feed(path, &options)? {
    ///     // The next open of the program removes what is too much.
    ///     options.wal_retention_bytes = 1 << 50;
    /// }
    /// let db = Db::open(path, options)?;
    /// # Ok::<(), foldb::Error>(())
    /// ```
    ///
    /// The call reads the file system of `options` and takes no lock. After a crash, the newest log
    /// decides.
    ///
    /// # Errors
    /// `Io` if the directory or its newest log cannot be read.
    pub fn has_feed(path: impl AsRef<Path>, options: &Options) -> Result<bool> {
        keeps_logs(&*options.env.fs, &FileNames::new(path.as_ref()))
    }

    /// Returns the oldest position at which the feed can begin.
    ///
    /// # Errors
    /// `InvalidArgument` if the database keeps no logs; `Closed`.
    pub fn oldest_position(&self) -> Result<Position> {
        self.core().check_open()?;
        if self.core().standing.is_read_only() {
            return Directory::default().oldest(self.core());
        }
        self.core().chain()?.oldest().ok_or_else(|| lost("the database keeps no log"))
    }

    /// Returns a position not far before the write with a sequence number, for programs that keep
    /// numbers and no positions. The feed may first yield earlier updates of the same log. If the
    /// log of the number was removed, this is [`Db::oldest_position`].
    ///
    /// A number does not say which history it belongs to, as a [`Position`] does. After a power
    /// loss or a repair, it may belong to another write.
    ///
    /// # Errors
    /// `InvalidArgument` if the database keeps no logs; `Closed`, `ReadOnly`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     wal_retention_bytes: 64 << 20,
    /// #     ..foldb::Options::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("a", "1")?;
    /// db.flush()?; // goes on in another log
    /// db.put("b", "2")?;
    /// assert_eq!(db.position_before(2)?.sequence_number(), 1);
    /// assert_eq!(db.position_before(1)?.sequence_number(), 0);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn position_before(&self, sequence_number: u64) -> Result<Position> {
        self.core().check_writable()?;
        let found = self.core().chain()?.before(sequence_number);
        found.ok_or_else(|| lost("the database keeps no log"))
    }
}

impl Core {
    /// # Errors
    /// `InvalidArgument` if the database keeps no logs for the feed.
    pub(crate) fn chain(&self) -> Result<&Chain> {
        self.feed.as_ref().ok_or_else(not_kept)
    }

    /// Opens a log under its name, or as an archived log; `None` if it was removed.
    pub(super) fn open_kept_log(&self, number: u64) -> Result<Option<LogReader>> {
        for path in [self.names.log(number), self.names.archive(number)] {
            match LogReader::open(&*self.options.env.fs, &path, number) {
                Err(error) if error.is_missing_file() => {}
                opened => return opened.map(Some),
            }
        }
        Ok(None)
    }
}

/// Returns the error of a database without a feed.
pub(crate) fn not_kept() -> Error {
    Error::invalid_argument(
        "the database keeps no logs for the change feed: set Options::wal_retention_bytes or \
         Options::wal_retention_seconds",
    )
}

impl Updates {
    /// Returns the updates of a database after a position.
    pub(super) fn since(db: &Db, position: &Position, options: &UpdatesOptions) -> Result<Updates> {
        let core = db.core();
        core.check_open()?;
        let mut updates = Updates {
            db: db.clone(),
            durable: !options.include_unsynced,
            directory: core.standing.is_read_only().then(Directory::default),
            at: *position,
            through: 0,
            reader: None,
            names: Known::default(),
            record: Vec::new(),
            held: None,
            passed: *position,
            ready: None,
            is_first: false,
            interrupted: Arc::default(),
        };
        updates.see(core)?;
        if *position == Position::BEGINNING {
            updates.names.keyspaces = Some(BTreeMap::new());
        }
        if position.frame > 0 {
            updates.find_place()?;
        }
        Ok(updates)
    }

    /// Returns the position directly after the last update that was returned. It may be in a later
    /// log than that update's own position, if there was nothing to yield in between.
    pub fn position(&self) -> Position {
        self.ready.as_ref().map_or(self.passed, |(before, _)| *before)
    }

    /// Reads the log of the position from its start up to the position, for the names in it.
    fn find_place(&mut self) -> Result<()> {
        let Some(mut reader) = self.db.core().open_kept_log(self.at.log)? else {
            // The log was removed. The chain has said that the next one continues it.
            return Ok(());
        };
        let mut last = 0;
        while reader.next_through(self.at.frame, &mut self.record)? {
            let path = reader.path();
            match LogRecord::decode(&self.record).map_err(|error| error.in_file(path))? {
                LogRecord::Batch(header, _) => last = last_of(&header),
                LogRecord::Lineage(lineage) => {
                    check_lineage(lineage.id, &self.at)?;
                    self.names.list(lineage.keyspaces);
                }
                record => drop(self.names.note(record)),
            }
        }
        if reader.frames() != self.at.frame || last > self.at.seqno {
            return Err(Error::invalid_argument(format!(
                "'{}' is no position that the feed yielded",
                self.at
            )));
        }
        self.reader = Some(reader);
        Ok(())
    }

    /// Returns what may be read next.
    fn see(&mut self, core: &Core) -> Result<Seen> {
        let durable = self.durable && !planted(Fault::FeedYieldsUnsynced);
        match &mut self.directory {
            Some(directory) => directory.see(core, &self.at, durable),
            None => core.chain()?.see(&self.at, durable),
        }
    }

    /// Returns the next update, if there is one now.
    pub(super) fn advance(&mut self) -> Result<Option<Update>> {
        let before = self.passed;
        let update = self.find_next()?;
        debug_assert!(
            update.as_ref().is_none_or(|update| before <= update.position),
            "updates come in the order of their positions"
        );
        Ok(update)
    }

    fn find_next(&mut self) -> Result<Option<Update>> {
        let db = self.db.clone();
        let core = db.core();
        loop {
            core.check_open()?;
            // The chain needs no second look before these frames: they stay readable.
            if let Some(update) = self.read_through(core, self.through)? {
                return Ok(Some(update));
            }
            // Logged writes up to this number are in frames that the reader may read.
            let durable = core.feed.as_ref().map_or(0, |chain| chain.durable());
            let seen = self.see(core)?;
            self.through = seen.through;
            if let Some(update) = self.read_through(core, seen.through)? {
                return Ok(Some(update));
            }
            match self.see(core)?.next {
                Some((log, lineage)) => {
                    self.at = Position { log, lineage, frame: 0, ..self.at };
                    self.reader = None;
                    self.through = 0;
                    self.is_first = true;
                }
                None if self.at.frame < seen.through => return Ok(None),
                None => return Ok(self.unlogged_through(durable)),
            }
        }
    }

    /// Reads the log of the position up to a frame, until there is an update to yield.
    fn read_through(&mut self, core: &Core, last: u64) -> Result<Option<Update>> {
        if last <= self.at.frame && self.held.is_none() {
            return Ok(None);
        }
        loop {
            if self.held.is_none() {
                self.held = self.next_record(core, last)?;
            }
            let Some(frame) = self.held else { return Ok(None) };
            let record = std::mem::take(&mut self.record);
            let outcome = self.take(core, &record, frame);
            self.record = record;
            match outcome? {
                Taken::Passed => {
                    self.at.frame = frame;
                    self.held = None;
                    if frame > HEADER_FRAME {
                        self.passed = self.at;
                    }
                }
                Taken::Yield(seqno, change) => {
                    self.at = Position { seqno, frame, ..self.at };
                    self.held = None;
                    self.passed = self.at;
                    return Ok(Some(Update { position: self.at, change }));
                }
                Taken::Before(seqno, change) => {
                    self.at.seqno = seqno;
                    self.passed = self.at;
                    return Ok(Some(Update { position: self.at, change }));
                }
            }
        }
    }

    /// Reads the next record up to a frame of the log. Returns the record's last frame.
    ///
    /// Another process may have renamed the file, or put another one in its place. Where a file is
    /// known by its name only, the open reader then misses frames or fails. So it opens the log
    /// again.
    fn next_record(&mut self, core: &Core, last: u64) -> Result<Option<u64>> {
        let is_new = self.reader.is_none();
        match self.try_next_record(core, last) {
            Err(_) if !is_new => {
                self.reader = None;
                self.try_next_record(core, last)
            }
            read => read,
        }
        .or_else(|error| {
            self.reader = None;
            let is_gone =
                error.kind() == ErrorKind::Corruption && self.is_taken_back(core, last)?;
            if is_gone { Ok(None) } else { Err(error) }
        })
    }

    /// Returns whether the writer, in another process, took frames back that the reader was allowed
    /// to read. Settled frames are never taken back.
    fn is_taken_back(&mut self, core: &Core, last: u64) -> Result<bool> {
        Ok(self.directory.is_some() && self.see(core)?.through < last)
    }

    fn try_next_record(&mut self, core: &Core, last: u64) -> Result<Option<u64>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                let removed = || lost("the log after it was removed");
                let mut reader = core.open_kept_log(self.at.log)?.ok_or_else(removed)?;
                reader.copy_through(self.at.frame, |_, _| Ok(()))?;
                self.reader.insert(reader)
            }
        };
        let is_read = reader.next_through(last, &mut self.record)?;
        Ok(is_read.then(|| reader.frames()))
    }

    /// Decides what to do with a record that ends at this frame.
    fn take(&mut self, core: &Core, record: &[u8], frame: u64) -> Result<Taken> {
        let seqno = self.at.seqno;
        match LogRecord::decode(record)? {
            LogRecord::Header(_) => Ok(Taken::Passed),
            LogRecord::Lineage(lineage) => {
                check_lineage(lineage.id, &self.at)?;
                if lineage.last_seqno < seqno {
                    return Err(lost("a crash took back the writes before it"));
                }
                let change = self.names.list(lineage.keyspaces);
                Ok(change.map_or(Taken::Passed, |change| Taken::Yield(seqno, change)))
            }
            LogRecord::Batch(header, operations) => self.batch(core, header, operations),
            record => {
                debug_assert!(frame > self.at.frame);
                let change = self.names.note(record);
                Ok(change.map_or(Taken::Passed, |change| Taken::Yield(seqno, change)))
            }
        }
    }

    fn batch(&mut self, core: &Core, header: BatchHeader, operations: &[u8]) -> Result<Taken> {
        let (seqno, last) = (self.at.seqno, last_of(&header));
        debug_assert!(
            last <= core.published() || core.standing.is_read_only(),
            "the feed yields no batch that readers cannot see yet"
        );
        if header.first_seqno <= seqno {
            return Err(lost("a crash took back the writes before it"));
        }
        if header.first_seqno > seqno + 1 {
            let gap = header.first_seqno - 1;
            return Ok(Taken::Before(gap, Change::Unlogged { first: seqno + 1, last: gap }));
        }
        if std::mem::take(&mut self.is_first) && planted(Fault::FeedSkipsBatch) {
            self.at.seqno = last;
            return Ok(Taken::Passed);
        }
        let names = Lookup { known: &self.names, core };
        let batch = BatchUpdate::read(header, operations, &names)?;
        Ok(Taken::Yield(last, Change::Batch(batch)))
    }

    /// Returns the update for numbers up to `last` that no logged batch has.
    fn unlogged_through(&mut self, last: SeqNo) -> Option<Update> {
        let first = self.at.seqno + 1;
        if last < first {
            return None;
        }
        self.at.seqno = last;
        self.passed = self.at;
        Some(Update { position: self.at, change: Change::Unlogged { first, last } })
    }
}

impl Iterator for Updates {
    type Item = Result<Update>;

    fn next(&mut self) -> Option<Result<Update>> {
        match self.ready.take() {
            Some((_, update)) => Some(Ok(update)),
            None => self.advance().transpose(),
        }
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Updates({})", self.position())
    }
}

/// The frame of a log's header.
const HEADER_FRAME: u64 = 1;

/// What became of a record.
enum Taken {
    /// It yields nothing.
    Passed,
    /// It yields this change. The position after it has this sequence number.
    Yield(SeqNo, Change),
    /// This change comes before the record.
    Before(SeqNo, Change),
}

impl Known {
    /// Takes over the list of keyspaces at the beginning of a log. Returns what changed.
    fn list(&mut self, keyspaces: Vec<NamedKeyspace>) -> Option<Change> {
        let now = keyspaces.into_iter().map(|keyspace| (keyspace.id, keyspace)).collect();
        let before = self.keyspaces.replace(now)?;
        let now = self.keyspaces.as_ref()?;
        let gone = before.values().filter(|keyspace| !now.contains_key(&keyspace.id));
        let dropped: Vec<String> = gone.map(|keyspace| keyspace.name.clone()).collect();
        let new = now.values().filter(|own| own.id > 0 && !before.contains_key(&own.id));
        let created: Vec<CreatedKeyspace> = new.map(CreatedKeyspace::of).collect();
        let is_same = dropped.is_empty() && created.is_empty();
        (!is_same).then_some(Change::Keyspaces { dropped, created })
    }

    /// Notes what a record says of names. Returns the change, if it is one.
    fn note(&mut self, record: LogRecord<'_>) -> Option<Change> {
        match record {
            LogRecord::Definition(definition) => {
                self.operators.insert(definition.id, definition);
                None
            }
            LogRecord::Created(keyspace) => self.create(keyspace),
            LogRecord::Dropped(id) => {
                let dropped = self.keyspaces.as_mut()?.remove(&id)?;
                let (dropped, created) = (vec![dropped.name], Vec::new());
                Some(Change::Keyspaces { dropped, created })
            }
            LogRecord::Header(_) | LogRecord::Lineage(_) | LogRecord::Batch(..) => None,
        }
    }

    /// Adds a keyspace. Another one of its name was dropped before.
    fn create(&mut self, keyspace: NamedKeyspace) -> Option<Change> {
        let known = self.keyspaces.as_mut()?;
        if known.contains_key(&keyspace.id) {
            return None;
        }
        let old = known.values().find(|other| other.name == keyspace.name).map(|other| other.id);
        let dropped = old.and_then(|id| known.remove(&id)).map(|old| old.name);
        let (dropped, created) =
            (dropped.into_iter().collect(), vec![CreatedKeyspace::of(&keyspace)]);
        known.insert(keyspace.id, keyspace);
        Some(Change::Keyspaces { dropped, created })
    }
}

/// Finds names in what the logs said, then in the open database.
struct Lookup<'a> {
    known: &'a Known,
    core: &'a Core,
}

impl Names for Lookup<'_> {
    fn keyspace(&self, id: KeyspaceId) -> Result<Arc<str>> {
        let found = self.known.keyspaces.as_ref().and_then(|known| known.get(&id));
        found.map(|keyspace| keyspace.name.as_str().into()).ok_or_else(|| {
            lost("a write names a keyspace of unknown name, which was dropped since")
        })
    }

    fn operator(&self, id: OperatorId) -> NamedOperator {
        let resolver = self.core.registry.resolver();
        let definition = resolver.definition(id).or_else(|| self.known.operators.get(&id)).cloned();
        let spec = definition.as_ref().map_or_else(|| resolver.name(id), Definition::spec);
        NamedOperator { spec: spec.into(), definition }
    }
}

/// Returns the sequence number of the last operation of a batch.
fn last_of(header: &BatchHeader) -> SeqNo {
    header.first_seqno + SeqNo::from(header.count.max(1)) - 1
}

/// # Errors
/// `PositionLost` if a log is not the one of a position.
fn check_lineage(id: u64, at: &Position) -> Result<()> {
    match id == at.lineage {
        true => Ok(()),
        false => Err(lost("it belongs to another history of the database")),
    }
}
