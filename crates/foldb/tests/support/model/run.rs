//! Plays a program against a database in memory and against the model, step by step.
//!
//! After a kill the database must hold everything. After a crash it must hold the state after a
//! prefix of the writes, no shorter than the durable part. The test searches for that prefix and
//! cuts the model there.

use std::ops::Bound;
use std::sync::Arc;

use foldb::env::MemFs;
use foldb::garbage::GcOptions;
use foldb::stats::Stats;
use foldb::{CompactionPreset, Db, ErrorKind, Keyspace, KeyspaceOptions, Snapshot};
use foldb_model::{Model, Moment, View};

use super::compare::{assert_get, check_snapshot};
use super::fading::{DayClock, expiry_of};
use super::feed::Feed;
use super::held::HeldIterator;
use super::open::{keyspaces, open};
use super::program::{Draft, Key, Place, Program, Settings, Step, Text};
use super::stops::Stop;
use super::transactions::Plan;
use crate::support::steps;

/// Most handles of one kind held at once.
pub(super) const MAX_HELD: usize = 4;

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
    pub(super) fs: MemFs,
    pub(super) settings: Settings,
    pub(super) db: Db,
    /// The keyspaces that exist.
    pub(super) keyspaces: [Option<Keyspace>; Place::COUNT],
    pub(super) snapshots: Vec<(Snapshot, Moment)>,
    pub(super) iterators: Vec<HeldIterator>,
    pub(super) model: Model,
    /// The number of the last write.
    pub(super) number: u64,
    /// The number up to which a crash must leave the writes.
    pub(super) durable: u64,
    pub(super) clock: Arc<DayClock>,
    /// The second that the database has seen.
    pub(super) second: u64,
    /// Opens so far. Each has a seed of its own, as with real random numbers.
    pub(super) opens: u64,
    /// The change feed, if the settings have one.
    pub(super) feed: Option<Feed>,
    /// Batches that followers of earlier feeds read.
    pub(super) followed_before: u64,
    expired: u64,
    pub(super) conflicts: u64,
}

impl Player {
    pub(super) fn open(settings: Settings) -> Player {
        let (fs, clock) = (MemFs::new(), Arc::new(DayClock::default()));
        let db = open(&fs, settings, &clock, 0);
        let mut model = Model::default();
        model.create(Place::DEFAULT.index(), None);
        let feed = settings.feed.then(|| Feed::begin(&db, true, &model));
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
            model,
            number: 0,
            durable: 0,
        }
    }

    pub(super) fn at(&self, place: Place) -> Option<&Keyspace> {
        self.keyspaces[place.index()].as_ref()
    }

    /// Returns the moment that a reader sees now.
    pub(super) fn now(&self) -> Moment {
        Moment { number: self.number, second: self.second }
    }

    /// Returns what a keyspace must hold now.
    pub(super) fn view(&self, place: Place) -> View<'_> {
        self.model.of(place.index(), self.now())
    }

    pub(super) fn step(&mut self, step: &Step) {
        self.tick();
        match step {
            Step::Lasting(draft, lifetime) => self.lasting(*draft, *lifetime),
            Step::Clock(seconds) => self.move_clock(*seconds),
            Step::Follow { unsynced, anew } => {
                if let Some(feed) = &mut self.feed {
                    let least = if *unsynced { self.number } else { self.durable };
                    feed.follow(&self.db, &self.model, least, (*unsynced, *anew));
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
                    assert_get(&key, keyspace.get(&key), self.view(*place));
                }
            }
            Step::MultiGet { place, keys, snapshot } => self.multi_get(*place, keys, *snapshot),
            Step::GetOperands(place, key) => self.get_operands(*place, &key.bytes()),
            Step::CreateKeyspace(place) => self.create(*place),
            Step::DropKeyspace(place) => self.drop_keyspace(*place),
            Step::Snapshot if self.snapshots.len() < MAX_HELD => {
                self.snapshots.push((self.db.snapshot(), self.now()));
            }
            Step::Snapshot => {}
            Step::ReadSnapshot(index) => {
                if let Some((snapshot, at)) = pick(&mut self.snapshots, *index) {
                    for (place, keyspace) in Place::all().zip(&self.keyspaces) {
                        let Some(keyspace) = keyspace else { continue };
                        check_snapshot(keyspace, snapshot, self.model.of(place.index(), *at));
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
                self.db.with(&options).collect_garbage().expect("a garbage collection");
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

    fn create(&mut self, place: Place) {
        if self.at(place).is_some() {
            let again = self.db.create_keyspace(place.name(), KeyspaceOptions::default());
            assert_eq!(again.unwrap_err().kind(), ErrorKind::KeyspaceExists);
            return;
        }
        let expiry = (place == Place::FADING).then_some(self.settings.rule);
        let options = KeyspaceOptions {
            merge_operator: place.operator().map(|operator| operator.name().into_owned()),
            compaction: (place.index() == 1).then_some(CompactionPreset::Leveled),
            expiry: expiry.map(expiry_of),
            ..KeyspaceOptions::default()
        };
        let keyspace = self.db.create_keyspace(place.name(), options).expect("a keyspace");
        self.keyspaces[place.index()] = Some(keyspace);
        // A new keyspace is durable at once, and was empty at all earlier moments.
        self.second = self.second.max(self.clock.second());
        self.model.create(place.index(), expiry);
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
        self.model.remove(place.index());
        self.now_durable();
    }

    /// Lets the model see the clock, if the database looks at it.
    pub(super) fn tick(&mut self) {
        if self.at(Place::FADING).is_some() {
            let before = self.view(Place::FADING).entries().count();
            self.second = self.second.max(self.clock.second());
            self.expired += (before - self.view(Place::FADING).entries().count()) as u64;
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
    pub(super) fn followed(&self) -> u64 {
        self.followed_before + self.feed.as_ref().map_or(0, |feed| feed.batches)
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
}

pub(super) fn pick<T>(held: &mut [T], index: u8) -> Option<&mut T> {
    let len = held.len().max(1);
    held.get_mut(usize::from(index) % len)
}

fn remove<T>(held: &mut Vec<T>, index: u8) {
    if !held.is_empty() {
        held.remove(usize::from(index) % held.len());
    }
}
