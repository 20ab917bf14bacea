//! Plays a program against a database in memory and against the model, step by step.
//!
//! After a kill the database must hold everything. After a crash it must hold the state after a
//! prefix of the writes, no shorter than the durable part. The test searches for that prefix and
//! sets the model back to it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use foldb::env::{Env, MemFs};
use foldb::expiry::Expires;
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::operators::Base;
use foldb::stats::Stats;
use foldb::{
    CompactionPreset, Db, ErrorKind, Keyspace, KeyspaceOptions, KeyspaceReader, LogAdoption,
    Options, ReadOptions, Snapshot, WriteBatch, WriteOptions,
};

use super::compare::{assert_get, check_keyspace, check_snapshot, is_between, scan};
use super::fading::{DayClock, Fading};
use super::feed::Feed;
use super::held::HeldIterator;
use super::program::{Draft, Key, Operator, Place, Program, Range, Settings, Step, Text};
use super::transactions::Plan;
use super::{Cell, Placed, State, World, Write};
use crate::support::{AnyDb, PATH, operators, steps};

/// Tests whether a key lies in a range.
type KeyTest = Box<dyn Fn(&[u8]) -> bool>;

/// Path of checkpoints.
const COPY: &str = "copy";

/// Most handles of one kind held at once.
const MAX_HELD: usize = 4;

/// What happened in a program.
pub(crate) struct Played {
    /// The engine's statistics.
    pub stats: Stats,
    /// Batches that followers of the change feed read.
    pub followed: u64,
    /// Entries that expired.
    pub expired: u64,
    /// Commits that met a conflict.
    pub conflicts: u64,
}

/// Plays a program to its end.
///
/// # Panics
/// When database and model differ.
pub(crate) fn play(program: &Program) -> Played {
    let mut player = Player::open(program.settings);
    for step in &program.steps {
        player.step(step);
    }
    player.tick();
    player.check_all();
    player.restart(MemFs::kill, Stop::Kill);
    steps::run_background(&player.db, |_| {});
    player.tick();
    player.check_all();
    let Player { expired, conflicts, .. } = player;
    Played { stats: player.db.stats(), followed: player.followed(), expired, conflicts }
}

pub(super) struct Player {
    fs: MemFs,
    settings: Settings,
    pub(super) db: Db,
    /// The keyspaces that exist.
    keyspaces: [Option<Keyspace>; Place::COUNT],
    snapshots: Vec<(Snapshot, World)>,
    iterators: Vec<HeldIterator>,
    pub(super) current: World,
    /// The least that a crash must leave; the writes since follow.
    durable: World,
    pending: Vec<Pending>,
    clock: Arc<DayClock>,
    /// The second that the database has seen.
    second: u64,
    /// Opens so far. Each has a seed of its own, as with real random numbers.
    opens: u64,
    /// The change feed, if the settings have one.
    feed: Option<Feed>,
    /// Batches that followers of earlier feeds read.
    followed_before: u64,
    expired: u64,
    pub(super) conflicts: u64,
}

/// A write that a crash may lose.
struct Pending {
    /// The second of the write.
    second: u64,
    writes: Vec<Placed>,
    /// Entries of the feed up to this write.
    entries: usize,
}

/// How a database stopped that was not closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The process ended: every write survives.
    Kill,
    /// The power failed: a prefix of the writes survives.
    Crash,
}

impl Player {
    fn open(settings: Settings) -> Player {
        let (fs, clock) = (MemFs::new(), Arc::new(DayClock::default()));
        let db = open(&fs, settings, &clock, 0);
        let feed = settings.feed.then(|| Feed::begin(&db, true, &World::default()));
        Player {
            feed,
            second: clock.second(),
            clock,
            opens: 1,
            followed_before: 0,
            expired: 0,
            conflicts: 0,
            keyspaces: keyspaces(&db),
            fs,
            settings,
            db,
            snapshots: Vec::new(),
            iterators: Vec::new(),
            current: World::default(),
            durable: World::default(),
            pending: Vec::new(),
        }
    }

    pub(super) fn at(&self, place: Place) -> Option<&Keyspace> {
        self.keyspaces[place.index()].as_ref()
    }

    fn step(&mut self, step: &Step) {
        self.tick();
        match step {
            Step::Lasting(draft, lifetime) => self.lasting(*draft, *lifetime),
            Step::Clock(seconds) => self.move_clock(*seconds),
            Step::Follow { unsynced, anew } => {
                if let Some(feed) = &mut self.feed {
                    feed.follow(&self.db, &self.current, *unsynced, *anew);
                }
            }
            Step::Write { place, write, sync } => self.write(*place, *write, *sync),
            Step::Batch { writes, sync } => self.batch(writes, *sync),
            Step::Merges { place, operator, key, text, count, snapshot_after } => {
                // Short enough that all of them fit one memtable at times.
                let len = text.len.min(40);
                for n in 0..*count {
                    let letter = b'a' + (text.letter - b'a' + n) % 26;
                    let text = Text { letter, len };
                    self.write(*place, Draft::Merge(Some(*operator), *key, text), false);
                    if *snapshot_after == Some(n) {
                        self.step(&Step::Snapshot);
                    }
                }
                self.step(&Step::Get(*place, *key));
            }
            Step::LargePuts { place, text, count } => {
                let len = 400 + text.len % 600;
                for n in 0..*count {
                    let text = Text { letter: text.letter.wrapping_add(n), len };
                    self.write(*place, Draft::Put(Key(n), text), false);
                }
            }
            Step::Load { place, loaded, meanwhile, finish } => {
                self.load(*place, loaded, meanwhile, *finish);
            }
            Step::Transaction { place, serial, own, keys, walks, meanwhile, commit } => {
                let plan = Plan { place: *place, serial: *serial, own, keys, walks: *walks };
                self.transaction(plan, meanwhile, *commit);
            }
            Step::Conditional(place, condition) => self.conditional(*place, *condition),
            Step::Get(place, key) => {
                if let Some(keyspace) = self.at(*place) {
                    let key = key.bytes();
                    assert_get(&key, keyspace.get(&key), self.current.of(*place));
                }
            }
            Step::MultiGet { place, keys, snapshot } => self.multi_get(*place, keys, *snapshot),
            Step::GetOperands(place, key) => self.get_operands(*place, &key.bytes()),
            Step::CreateKeyspace(place) => self.create(*place),
            Step::DropKeyspace(place) => self.drop_keyspace(*place),
            Step::Snapshot if self.snapshots.len() < MAX_HELD => {
                self.snapshots.push((self.db.snapshot(), self.current.clone()));
            }
            Step::Snapshot => {}
            Step::ReadSnapshot(index) => {
                if let Some((snapshot, world)) = pick(&mut self.snapshots, *index) {
                    for keyspace in self.keyspaces.iter().zip(Place::all()) {
                        if let (Some(keyspace), place) = keyspace {
                            check_snapshot(keyspace, snapshot, world.of(place));
                        }
                    }
                }
            }
            Step::DropSnapshot(index) => remove(&mut self.snapshots, *index),
            Step::OpenIterator { place, range, snapshot } => {
                self.open_iterator(*place, range, *snapshot);
            }
            Step::MoveIterator(index, moves) => {
                if let Some(held) = pick(&mut self.iterators, *index) {
                    moves.iter().for_each(|a_move| held.make(*a_move));
                }
            }
            Step::DropIterator(index) => remove(&mut self.iterators, *index),
            Step::Flush => {
                self.db.flush().expect("flush");
                self.now_durable();
                self.check_all();
            }
            Step::Compact(place, lower, upper) => self.compact(*place, *lower, *upper),
            Step::Background => {
                self.db.step_background().expect("a background step");
                self.check_all();
            }
            Step::AllBackground => {
                steps::run_background(&self.db, |_| {});
                self.check_all();
            }
            Step::Gc(percent, memory) => {
                let options = GcOptions {
                    max_dead_fraction: f64::from(*percent) / 100.0,
                    memory_budget: Some(*memory),
                    ..GcOptions::default()
                };
                self.db.collect_garbage(&options).expect("a garbage collection");
                self.check_all();
            }
            Step::Sync => {
                self.db.sync().expect("sync");
                self.now_durable();
            }
            Step::CheckAll => self.check_all(),
            Step::Look => self.look(),
            Step::Checkpoint(settings) => self.checkpoint(settings.unwrap_or(self.settings)),
            Step::Reopen(settings) => {
                self.drop_handles();
                self.db.close().expect("close");
                self.db.close().expect("close again");
                self.reopen(self.fs.clone(), *settings);
                self.begin_feed();
                self.now_durable();
                self.check_all();
            }
            Step::Kill => self.restart(MemFs::kill, Stop::Kill),
            Step::Crash => self.restart(MemFs::crash, Stop::Crash),
            Step::CrashPartly(seed) => self.restart(|fs| fs.crash_with(*seed), Stop::Crash),
        }
    }

    /// Checks that a read-only open beside the writer shows the writer's state.
    fn look(&self) {
        let before = self.fs.counts().mutations();
        let options = options(&self.fs, self.settings, &self.clock, self.opens);
        let shown = Db::open_read_only(PATH, options);
        let shown = shown.expect("a read-only open");
        self.check_elsewhere(&shown);
        assert_eq!(self.fs.counts().mutations(), before, "a look changes nothing");
    }

    fn checkpoint(&self, settings: Settings) {
        self.db.checkpoint(COPY).expect("a checkpoint");
        let options = options(&self.fs, settings, &self.clock, 1000 + self.opens);
        let options = Options { create_if_missing: false, ..options };
        let copy = Db::open(COPY, options.clone()).expect("the checkpoint opens");
        self.check_elsewhere(&copy);
        // Changes to the copy must not reach the database.
        for key in Key::all().step_by(3) {
            copy.put(key, "of the copy").expect("a write to the copy");
        }
        copy.compact(..).expect("a compaction of the copy");
        self.check_all();
        drop(copy);
        Db::destroy(COPY, &options).expect("the checkpoint can be destroyed");
        self.check_all();
    }

    /// Checks that another database holds the same.
    fn check_elsewhere(&self, db: &impl AnyDb) {
        let mut current = self.current.clone();
        current.advance(self.clock.second());
        for place in Place::all() {
            let keyspace = db.reader(place.name()).ok();
            assert_eq!(keyspace.is_some(), current.has(place), "{place:?}");
            if let Some(keyspace) = keyspace {
                check_keyspace(&keyspace, current.of(place));
            }
        }
    }

    fn create(&mut self, place: Place) {
        if self.at(place).is_some() {
            let again = self.db.create_keyspace(place.name(), KeyspaceOptions::default());
            assert_eq!(again.unwrap_err().kind(), ErrorKind::KeyspaceExists);
            return;
        }
        let options = KeyspaceOptions {
            merge_operator: place.operator().map(|operator| operator.spec().to_owned()),
            compaction: (place.index() == 1).then_some(CompactionPreset::Leveled),
            expiry: (place == Place::FADING).then(|| self.settings.rule.expiry()),
            ..KeyspaceOptions::default()
        };
        let keyspace = self.db.create_keyspace(place.name(), options).expect("a keyspace");
        self.keyspaces[place.index()] = Some(keyspace);
        // A new keyspace is durable at once, and was empty at all earlier moments.
        self.second = self.second.max(self.clock.second());
        let fading =
            || (place == Place::FADING).then(|| Fading::new(self.settings.rule, self.second));
        self.current.create(place, fading());
        self.durable.create(place, fading());
        self.snapshots.iter_mut().for_each(|(_, world)| world.create(place, fading()));
    }

    fn drop_keyspace(&mut self, place: Place) {
        let outcome = self.db.drop_keyspace(place.name());
        if place == Place::DEFAULT {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidArgument);
            return;
        }
        let Some(gone) = self.keyspaces[place.index()].take() else {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::KeyspaceMissing);
            return;
        };
        outcome.expect("a drop");
        assert_eq!(gone.get("key").unwrap_err().kind(), ErrorKind::KeyspaceDropped);
        assert_eq!(gone.put("key", "x").unwrap_err().kind(), ErrorKind::KeyspaceDropped);
        self.current.drop(place);
        self.snapshots.iter_mut().for_each(|(_, world)| world.drop(place));
        self.now_durable();
    }

    fn multi_get(&mut self, place: Place, keys: &[Key], snapshot: Option<u8>) {
        let Some(keyspace) = &self.keyspaces[place.index()] else { return };
        let held = snapshot.and_then(|index| pick(&mut self.snapshots, index));
        let (snapshot, world) = match held {
            Some((snapshot, world)) => (Some(snapshot.clone()), &*world),
            None => (None, &self.current),
        };
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.bytes()).collect();
        let read = keyspace.with(&options).multi_get(&keys).expect("a multi-get");
        assert_eq!(read.len(), keys.len());
        keys.iter().zip(read).for_each(|(key, read)| assert_get(key, read, world.of(place)));
    }

    /// Checks that base and operands, folded by the model, give the key's value.
    fn get_operands(&self, place: Place, key: &[u8]) {
        let Some(keyspace) = self.at(place) else { return };
        let read = keyspace.get_operands(key).expect("operands");
        let mut state = State::default();
        if let Base::Put(value) = read.base() {
            state.apply(&Write::Put(key.to_vec(), value.to_vec()));
        }
        for operand in read.oldest_first() {
            let operator = Operator::of_spec(operand.operator());
            state.apply(&Write::Merge(operator, key.to_vec(), operand.value().to_vec()));
        }
        let seen = |state: &State| state.0.get(key).map(Cell::seen);
        let expected = seen(self.current.of(place));
        assert_eq!(seen(&state), expected, "operands of '{}'", key.escape_ascii());
    }

    pub(super) fn write(&mut self, place: Place, draft: Draft, sync: bool) {
        let Some(keyspace) = self.at(place) else { return };
        let options = WriteOptions { sync, ..WriteOptions::default() };
        let write = self.spell_out(place, draft);
        let outcome = match &write {
            Write::Put(key, value) => keyspace.with(&options).put(key, value),
            Write::Delete(key) => keyspace.with(&options).delete(key),
            Write::DeleteRange(range) => keyspace.with(&options).delete_range(range.clone()),
            Write::Merge(_, key, operand) if has_default_operator(draft) => {
                keyspace.with(&options).merge(key, operand)
            }
            Write::Merge(operator, key, operand) => {
                let operator = self.db.operator(operator.spec()).expect("the operator");
                keyspace.with(&options).merge_with(&operator, key, operand)
            }
            Write::Lasting(..) => Ok(()),
        };
        outcome.expect("a write");
        self.committed(vec![(place, write)], sync);
    }

    /// Puts or merges an entry with a lifetime of its own.
    fn lasting(&mut self, draft: Draft, lifetime: u8) {
        let place = Place::FADING;
        let Some(keyspace) = self.at(place) else { return };
        let expires = Some(Expires::After(Duration::from_secs(lifetime.into())));
        let options = WriteOptions { expires, ..WriteOptions::default() };
        let write = self.spell_out(place, draft);
        match &write {
            Write::Put(key, value) => keyspace.with(&options).put(key, value).expect("a put"),
            Write::Merge(operator, key, operand) => {
                let operator = self.db.operator(operator.spec()).expect("the operator");
                let outcome = keyspace.with(&options).merge_with(&operator, key, operand);
                outcome.expect("a merge");
            }
            _ => return,
        }
        let write = Write::Lasting(lifetime.into(), Box::new(write));
        self.committed(vec![(place, write)], false);
    }

    /// Lets the model see the clock, if the database looks at it.
    fn tick(&mut self) {
        if self.current.has(Place::FADING) {
            self.second = self.second.max(self.clock.second());
            let before = self.current.of(Place::FADING).0.len();
            self.current.advance(self.second);
            self.expired += (before - self.current.of(Place::FADING).0.len()) as u64;
        }
    }

    /// Moves the clock. Before it goes back, the database looks at it: only then does the database
    /// know how far it was.
    fn move_clock(&mut self, seconds: i8) {
        if seconds < 0 {
            let Some(fading) = self.at(Place::FADING) else { return };
            fading.contains_key("any").expect("a read");
        }
        self.clock.move_by(seconds.into());
    }

    /// Returns how many batches followers read.
    fn followed(&self) -> u64 {
        self.followed_before + self.feed.as_ref().map_or(0, |feed| feed.batches)
    }

    /// Loads the first draft of each key, in order. A finished load is durable, with every logged
    /// write before it.
    fn load(&mut self, place: Place, drafts: &[Draft], meanwhile: &[(Place, Draft)], finish: bool) {
        let Some(keyspace) = self.at(place) else { return };
        let mut load = keyspace.sorted_load().expect("a load");
        let mut writes = BTreeMap::new();
        for &draft in drafts {
            let write = self.spell_out(place, draft);
            // A load into a keyspace with expiry takes no merges.
            if matches!(write, Write::Merge(..)) && place == Place::FADING {
                continue;
            }
            if let Write::Put(key, _) | Write::Merge(_, key, _) = &write {
                writes.entry(key.clone()).or_insert((draft, write));
            }
        }
        let mut placed = Vec::new();
        for (key, (draft, write)) in writes {
            let outcome = match &write {
                Write::Put(_, value) => load.put(&key, value),
                Write::Merge(_, _, operand) if has_default_operator(draft) => {
                    load.merge(&key, operand)
                }
                Write::Merge(operator, _, operand) => {
                    let operator = self.db.operator(operator.spec()).expect("the operator");
                    load.merge_with(&operator, &key, operand)
                }
                _ => Ok(()),
            };
            outcome.expect("a loaded key");
            let again = load.put(&key, "again").unwrap_err();
            assert_eq!(again.kind(), ErrorKind::InvalidArgument, "{again}");
            placed.push((place, write));
        }
        for &(place, draft) in meanwhile {
            self.write(place, draft, false);
        }
        if !finish {
            drop(load);
            return self.check_all();
        }
        let report = load.finish().expect("a finished load");
        assert_eq!(report.entries, placed.len() as u64);
        if !placed.is_empty() {
            placed.iter().for_each(|write| self.current.apply(write));
            if let Some(feed) = &mut self.feed {
                feed.add_load();
            }
            self.now_durable();
        }
        self.check_all();
    }

    fn batch(&mut self, drafts: &[(Place, Draft)], sync: bool) {
        let mut batch = WriteBatch::new();
        let mut writes = Vec::new();
        for &(place, draft) in drafts {
            let Some(keyspace) = self.at(place) else { continue };
            let write = self.spell_out(place, draft);
            self.add(&mut batch, keyspace, draft, &write);
            writes.push((place, write));
        }
        assert_eq!(batch.len(), writes.len());
        let options = WriteOptions { sync, ..WriteOptions::default() };
        self.db.with(&options).write(&batch).expect("a batch");
        let synced = sync && !writes.is_empty();
        self.committed(writes, synced);
    }

    fn add(&self, batch: &mut WriteBatch, keyspace: &Keyspace, draft: Draft, write: &Write) {
        let by_itself = keyspace.name() == Place::DEFAULT.name();
        let operator =
            |operator: &Operator| self.db.operator(operator.spec()).expect("the operator");
        match write {
            Write::Put(key, value) if by_itself => batch.put(key, value),
            Write::Put(key, value) => batch.put_in(keyspace, key, value),
            Write::Delete(key) if by_itself => batch.delete(key),
            Write::Delete(key) => batch.delete_in(keyspace, key),
            Write::DeleteRange(range) if by_itself => batch.delete_range(range.clone()),
            Write::DeleteRange(range) => batch.delete_range_in(keyspace, range.clone()),
            Write::Merge(_, key, operand) if has_default_operator(draft) && by_itself => {
                batch.merge(key, operand)
            }
            Write::Merge(_, key, operand) if has_default_operator(draft) => {
                batch.merge_in(keyspace, key, operand)
            }
            Write::Merge(own, key, operand) if by_itself => {
                batch.merge_with(&operator(own), key, operand)
            }
            Write::Merge(own, key, operand) => {
                batch.merge_with_in(&operator(own), keyspace, key, operand)
            }
            Write::Lasting(..) => batch,
        };
    }

    pub(super) fn spell_out(&self, place: Place, draft: Draft) -> Write {
        match draft {
            Draft::Put(key, text) => Write::Put(key.bytes(), text.bytes()),
            Draft::PutNumber(key, text) => Write::Put(key.bytes(), text.number()),
            Draft::Delete(key) => Write::Delete(key.bytes()),
            Draft::DeleteRange(start, end) => Write::DeleteRange(in_order(start, end)),
            Draft::Merge(operator, key, text) => {
                let default = place.operator().unwrap_or(self.settings.default_operator);
                let operator = operator.unwrap_or(default);
                // No merge onto an entry that may expire fails.
                let fails = operator.is_number() && place == Place::FADING;
                let operator = if fails { Operator::Append } else { operator };
                let operand = if operator.is_number() { text.number() } else { text.bytes() };
                Write::Merge(operator, key.bytes(), operand)
            }
        }
    }

    pub(super) fn committed(&mut self, writes: Vec<Placed>, synced: bool) {
        writes.iter().for_each(|write| self.current.apply(write));
        if let Some(feed) = &mut self.feed {
            feed.add(&writes);
        }
        let entries = self.feed.as_ref().map_or(0, Feed::len);
        self.pending.push(Pending { second: self.second, writes, entries });
        if synced {
            self.now_durable();
        }
    }

    fn now_durable(&mut self) {
        self.durable = self.current.clone();
        self.pending.clear();
        self.feed.iter_mut().for_each(Feed::now_durable);
    }

    fn compact(&mut self, place: Option<Place>, lower: Bound<Key>, upper: Bound<Key>) {
        let range = (lower.map(Key::bytes), upper.map(Key::bytes));
        match place {
            None => self.db.compact(range).expect("compact"),
            Some(place) => {
                let Some(keyspace) = self.at(place) else { return };
                keyspace.compact(range).expect("compact");
            }
        }
        self.now_durable();
        self.check_all();
    }

    fn open_iterator(&mut self, place: Place, range: &Range, snapshot: Option<u8>) {
        let Some(keyspace) = self.keyspaces[place.index()].clone() else { return };
        if self.iterators.len() == MAX_HELD {
            self.iterators.remove(0);
        }
        let held = snapshot.and_then(|index| pick(&mut self.snapshots, index));
        let (snapshot, state) = match held {
            Some((snapshot, world)) => (Some(snapshot.clone()), world.of(place)),
            None => (None, self.current.of(place)),
        };
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let (iter, inside): (_, KeyTest) = match range {
            Range::Prefix(key, len) if options.snapshot.is_none() => {
                let key = key.bytes();
                let prefix = key[..key.len().min(*len)].to_vec();
                (keyspace.prefix(&prefix), Box::new(move |key| key.starts_with(&prefix)))
            }
            Range::All | Range::Prefix(..) => {
                (keyspace.with(&options).range(..), Box::new(|_| true))
            }
            Range::Between(lower, upper) => {
                let bounds = (lower.map(Key::bytes), upper.map(Key::bytes));
                let iter = keyspace.with(&options).range(bounds.clone());
                (iter, Box::new(move |key| is_between(key, &bounds)))
            }
        };
        let mut entries = state.seen();
        entries.retain(|(key, _)| inside(key));
        let iter = iter.expect("an iterator");
        self.iterators.push(HeldIterator::new(iter, entries));
    }

    fn drop_handles(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
        self.feed.iter_mut().for_each(Feed::close);
    }

    /// Stops without a close, and opens what `survive` leaves of the files.
    fn restart(&mut self, survive: impl FnOnce(&MemFs) -> MemFs, stop: Stop) {
        let fs = survive(&self.fs);
        self.drop_handles();
        self.reopen(fs, None);
        if stop == Stop::Crash {
            self.find_prefix();
        }
        self.begin_feed();
        self.tick();
        self.now_durable();
        self.check_all();
    }

    fn reopen(&mut self, fs: MemFs, settings: Option<Settings>) {
        self.settings = settings.unwrap_or(self.settings);
        // No handle may keep the old database open.
        self.keyspaces = Default::default();
        self.db = open(&fs, self.settings, &self.clock, self.opens);
        self.opens += 1;
        self.keyspaces = keyspaces(&self.db);
        if !self.settings.feed {
            self.end_feed();
        }
        for place in Place::all() {
            assert_eq!(self.at(place).is_some(), self.current.has(place), "{place:?}");
        }
        self.fs = fs;
    }

    fn end_feed(&mut self) {
        self.followed_before = self.followed();
        self.feed = None;
    }

    /// Begins a feed after the writes that are there.
    fn begin_feed(&mut self) {
        if self.settings.feed && self.feed.is_none() {
            // A power loss may take back the position of a log that was never synced.
            self.db.sync().expect("sync");
            self.feed = Some(Feed::begin(&self.db, false, &self.current));
        }
    }

    /// Sets the model back to the prefix of the writes that the crash left. If there is a feed, it
    /// says which.
    fn find_prefix(&mut self) {
        let durable = self.feed.as_ref().map_or(0, Feed::durable);
        let survivors = match &mut self.feed {
            Some(feed) => feed.survivors(&self.db),
            None => None,
        };
        if survivors.is_none() {
            self.end_feed();
        }
        let is_prefix = |entries: usize| survivors.is_none_or(|survivors| survivors == entries);
        let scan_of = |keyspace: &Keyspace| scan(keyspace.iter().expect("an iterator"));
        let found: Vec<_> =
            self.keyspaces.iter().map(|keyspace| keyspace.as_ref().map(scan_of)).collect();
        // Reads see the second now.
        self.second = self.second.max(self.clock.second());
        let seen = |world: &World| {
            let mut world = world.clone();
            world.advance(self.second);
            (world.seen() == found).then_some(world)
        };
        let mut world = self.durable.clone();
        let mut survivor = seen(&world).filter(|_| is_prefix(durable));
        for Pending { second, writes, entries } in &self.pending {
            world.advance(*second);
            writes.iter().for_each(|write| world.apply(write));
            if is_prefix(*entries) {
                survivor = seen(&world).or(survivor);
            }
        }
        self.current = survivor.unwrap_or_else(|| {
            panic!(
                "after the crash the database holds no prefix of the writes\n   durable: {:?}\n\
                 unsynced: {:?}\n  in the feed: {survivors:?}\n     found: {found:?}",
                self.durable,
                self.pending.iter().map(|pending| &pending.writes).collect::<Vec<_>>(),
            )
        });
        // Prefixes that look the same may differ in what a failed merge hides.
        let failed = |cell: &Cell| matches!(cell, Cell::Failed(_));
        let sync = WriteOptions { sync: true, ..WriteOptions::default() };
        for place in Place::all().filter(|&place| self.current.has(place)).collect::<Vec<_>>() {
            let keys = self.current.of(place).0.iter().filter(|(_, cell)| failed(cell));
            let keys: Vec<Vec<u8>> = keys.map(|(key, _)| key.clone()).collect();
            for key in keys {
                let keyspace = self.at(place).expect("the keyspace exists");
                keyspace.with(&sync).delete(&key).unwrap();
                self.committed(vec![(place, Write::Delete(key))], true);
            }
        }
    }

    fn check_all(&self) {
        for place in Place::all() {
            if let Some(keyspace) = self.at(place) {
                check_keyspace(&now(keyspace), self.current.of(place));
            }
        }
        let Some(fading) = self.at(Place::FADING) else { return };
        for key in self.current.of(Place::FADING).0.keys() {
            let end = fading.expires_at(key).expect("an end");
            let end = end.map(|end| end.duration_since(UNIX_EPOCH).expect("after 1970").as_secs());
            let expected = self.current.of(Place::FADING).end_of(key);
            assert_eq!(end, expected, "the end of '{}'", key.escape_ascii());
        }
    }
}

fn open(fs: &MemFs, settings: Settings, clock: &Arc<DayClock>, seed: u64) -> Db {
    #[cfg(debug_assertions)]
    foldb::faults::keep_few_notes(settings.few_notes);
    let db = Db::open(PATH, options(fs, settings, clock, seed));
    #[cfg(debug_assertions)]
    foldb::faults::keep_few_notes(false);
    db.expect("open")
}

fn options(fs: &MemFs, settings: Settings, clock: &Arc<DayClock>, seed: u64) -> Options {
    let in_memory = Env::in_memory(fs.clone());
    Options {
        create_if_missing: true,
        env: Env { clock: Arc::clone(clock) as _, seed: Some(seed), ..in_memory },
        wal_retention_bytes: if settings.feed { 1 << 40 } else { 0 },
        default: KeyspaceOptions {
            merge_operator: Some(settings.default_operator.spec().to_owned()),
            compaction: Some(settings.preset),
            compression: Some(settings.compression),
            bloom_bits: Some(settings.bloom_bits),
            value_separation_min: settings.separation,
            ..KeyspaceOptions::default()
        },
        operators: operators::all(),
        write_buffer_size: settings.write_buffer,
        target_file_size: settings.target_file,
        block_size: settings.block,
        block_cache_size: settings.cache,
        max_open_files: settings.open_files,
        wal_limit: settings.wal_limit,
        level0_compaction_trigger: settings.level0_trigger,
        level0_slowdown_trigger: settings.level0_trigger + 4,
        level0_stop_trigger: settings.level0_trigger + 8,
        max_bytes_for_level_base: settings.level_base,
        max_bytes_for_level_multiplier: 2.0,
        num_levels: settings.levels,
        knobs: Knobs {
            tier_fan_in: settings.fan_in,
            segment_size: settings.segment_size,
            value_hints: settings.hints,
            ..Knobs::default()
        },
        adopt_logs: LogAdoption::Always,
        max_dead_fraction: settings.dead_fraction,
        ..Options::default()
    }
}

/// Returns handles of the keyspaces that exist.
fn keyspaces(db: &Db) -> [Option<Keyspace>; Place::COUNT] {
    let mut keyspaces = [const { None }; Place::COUNT];
    for place in Place::all() {
        keyspaces[place.index()] = db.keyspace(place.name()).ok();
    }
    keyspaces
}

fn now(keyspace: &Keyspace) -> KeyspaceReader {
    keyspace.reader()
}

pub(super) fn has_default_operator(draft: Draft) -> bool {
    matches!(draft, Draft::Merge(None, ..))
}

fn pick<T>(held: &mut [T], index: u8) -> Option<&mut T> {
    let len = held.len().max(1);
    held.get_mut(usize::from(index) % len)
}

fn remove<T>(held: &mut Vec<T>, index: u8) {
    if !held.is_empty() {
        held.remove(usize::from(index) % held.len());
    }
}

/// Returns a range that does not end before it starts.
fn in_order(start: Bound<Key>, end: Bound<Key>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let (start, end) = (start.map(Key::bytes), end.map(Key::bytes));
    let key = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
    };
    match (key(&start), key(&end)) {
        (Some(first), Some(last)) if first > last => (end, start),
        _ => (start, end),
    }
}
