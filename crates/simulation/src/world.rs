//! One run: a database with several lives, its clients, and the stops between its lives.
//!
//! ```text
//!  open ─ compare ─ clients work ─ stop ─┐
//!   ▲                 what is left       │
//!   └────────────────────────────────────┘   until enough work is done; then a clean close
//! ```

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use foldb::expiry::Expiry;
use foldb::{Db, ErrorKind, Keyspace, KeyspaceOptions, Options};
use foldb_env::{AppendOnlyFs, Env, FileSystem, MemFs, RestrictedFs};
use foldb_env::{SystemThreads, Thread, ThreadBody, Threads};
use foldb_model::Rule;
use foldb_stress::draws;

use crate::checker::{Checker, Wrong};
use crate::client::{Client, Stage};
use crate::counts::{Counted, Counts};
use crate::day::Day;
use crate::disk::{Disk, Stop, Temper, watched};
use crate::features::{End, Features, LEAST_OPERATIONS};
use crate::follower::Follower;
use crate::history::{Fed, History, Seen, Ticks};
use crate::machine::{self, Run, message_of};

/// Threads of a machine with the same number of processors wherever it is simulated.
#[derive(Debug)]
struct SimulatedThreads;

impl Threads for SimulatedThreads {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        SystemThreads.spawn(name, body)
    }

    fn processors(&self) -> usize {
        3
    }
}

/// Path of the database.
pub(crate) const PATH: &str = "/db";

/// Lives after which a run ends, however much was done.
pub(crate) const MOST_LIVES: u64 = 40;

/// Runs a seed on a machine of its own.
pub fn simulate(seed: u64, counts: &Arc<Counts>) -> Run<Result<(), Wrong>> {
    machine::run(seed, || World::new(seed, counts).run())
}

pub(crate) struct World<'a> {
    pub(crate) features: Features,
    pub(crate) checker: Checker,
    ticks: Ticks,
    pub(crate) counts: &'a Arc<Counts>,
    /// The files that the next life finds.
    pub(crate) files: MemFs,
    /// Whether every stop since the database was last opened and compared was a kill. A kill keeps
    /// all acknowledged writes.
    pub(crate) keeps_all: bool,
    operations: u64,
    stops: u64,
    pub(crate) day: Arc<Day>,
    follower: Mutex<Follower>,
    /// Opens so far. Each has a seed of its own.
    opens: Cell<u64>,
}

/// An open database with what clients need.
pub(crate) struct Opened {
    pub(crate) db: Db,
    keyspaces: Vec<Keyspace>,
}

impl<'a> World<'a> {
    fn new(seed: u64, counts: &'a Arc<Counts>) -> World<'a> {
        let features = Features::draw(seed);
        let checker = Checker::new(features.expiries());
        let (ticks, files) = (Ticks::default(), MemFs::new());
        World {
            features,
            checker,
            ticks,
            counts,
            files,
            keeps_all: true,
            operations: 0,
            stops: 0,
            day: Arc::default(),
            follower: Mutex::default(),
            opens: Cell::new(0),
        }
    }

    fn run(mut self) -> Result<(), Wrong> {
        if let Some(bytes) = self.features.frames {
            foldb::faults::shorten_frames(bytes);
        }
        foldb::faults::note_short_stretches(self.features.drains);
        for life in 0..MOST_LIVES {
            let end = self.features.end(life);
            self.live(life, end).map_err(|wrong| format!("life {life}: {wrong}"))?;
            self.repair_copy(life)
                .map_err(|wrong| format!("life {life}, {end:?}, repaired: {wrong}"))?;
            if self.operations >= LEAST_OPERATIONS && self.stops > 0 {
                break;
            }
        }
        self.last_life().map_err(|wrong| format!("the last life: {wrong}"))
    }

    /// Runs one life, up to its end.
    fn live(&mut self, life: u64, end: End) -> Result<(), Wrong> {
        let (stop, fuse) = match end {
            End::Fuse { stop, changes } => (stop, Some(changes)),
            End::Late(stop) => (stop, None),
            End::Close => (Stop::Kill, None),
        };
        let temper = self.features.temper.clone();
        let disk = self.disk(temper, stop, fuse, life);
        let Some(opened) = self.open_and_compare(&disk, life)? else {
            self.counts.add(Counted::OpenCut);
            self.end_by_stop(&disk, stop);
            self.day.catch_up();
            return Ok(());
        };
        let before = self.counts.get(Counted::Operation);
        let mut history = self.work(&opened, &disk, life)?;
        self.count_features(&opened);
        history.feed = self.fed();
        self.note_failures(&disk);
        self.operations += self.counts.get(Counted::Operation) - before;
        self.checker.check(history)?;
        if end == End::Close {
            let closed = opened.db.close();
            if let Err(error) = &closed
                && !is_excused(&disk)
            {
                return Err(format!("the close failed: {error}"));
            }
            drop(opened);
            if closed.is_ok() {
                self.counts.add(Counted::Close);
                self.checker.closed();
            }
            // After a clean close, no stop can lose anything.
            self.end_by_stop(&disk, if closed.is_ok() { Stop::Forgetful } else { Stop::Kill });
            return Ok(());
        }
        self.end_by_stop(&disk, stop);
        // After the stop, every call of the disk fails for the database's threads.
        drop(opened);
        // The last second may not be stored yet. Then the time falls if the clock was set back.
        self.day.catch_up();
        Ok(())
    }

    pub(crate) fn disk(
        &self,
        temper: Temper,
        stop: Stop,
        fuse: Option<u64>,
        life: u64,
    ) -> Arc<Disk> {
        let seed = draws(self.features.seed, "disk", &[life]).u64(..);
        Arc::new(Disk::new(self.files.clone(), temper, stop, fuse, seed))
    }

    /// Keeps the files that a stop leaves for the next life.
    fn end_by_stop(&mut self, disk: &Disk, stop: Stop) {
        self.files = disk.cut();
        self.keeps_all &= stop == Stop::Kill;
        self.stops += 1;
        self.counts.add(if stop == Stop::Kill { Counted::Kill } else { Counted::PowerCut });
        self.note_failures(disk);
        let happened = disk.happened();
        self.counts.add_many(Counted::FailedCall, happened.failures);
        self.counts.add_many(Counted::FailedSync, happened.failed_syncs);
    }

    /// Opens the database and compares it with the writes that must have survived. Returns `None`
    /// if the stop came first: a kill or a power cut.
    fn open_and_compare(&mut self, disk: &Arc<Disk>, life: u64) -> Result<Option<Opened>, Wrong> {
        for attempt in 0..2 {
            let outcome = self.open(PATH, disk, life).and_then(|opened| {
                let found = opened.entries()?;
                Ok((opened, found))
            });
            match outcome {
                Ok((opened, (number, found))) => {
                    self.begin_life(number, &found)?;
                    return Ok(Some(opened));
                }
                Err(_) if disk.is_dead() => return Ok(None),
                Err(_) if attempt == 0 && disk.happened().failures > 0 => disk.calm(),
                Err(error) => return Err(format!("it does not open: {error}")),
            }
        }
        Err("it does not open".to_owned())
    }

    pub(crate) fn begin_life(&mut self, number: u64, found: &[Seen]) -> Result<(), Wrong> {
        self.day.note_seen();
        let second = self.day.second();
        let lost = self.checker.begin_life(number, self.keeps_all, found, second)?;
        self.counts.add_many(Counted::LostWrite, lost);
        self.keeps_all = true;
        Ok(())
    }

    pub(crate) fn options(&self, disk: &Arc<Disk>, life: u64) -> Options {
        let mut options = self.features.options_of(life);
        self.opens.set(self.opens.get() + 1);
        let mut fs: Arc<dyn FileSystem> = Arc::new(watched(disk));
        if self.features.append_only {
            fs = Arc::new(AppendOnlyFs::new(Arc::new(RestrictedFs::new(fs))));
        }
        options.env = Env {
            fs,
            clock: Arc::clone(&self.day) as _,
            threads: Arc::new(SimulatedThreads),
            seed: Some(self.features.seed ^ life ^ self.opens.get() << 32),
        };
        options.listeners.push(Arc::clone(self.counts) as _);
        options
    }

    pub(crate) fn open(&self, path: &str, disk: &Arc<Disk>, life: u64) -> foldb::Result<Opened> {
        let flushes = self.counts.get(Counted::Flush);
        let db = Db::open(path, self.options(disk, life))?;
        // An open whose logs fit into its memory flushes each keyspace once.
        let flushed = self.counts.get(Counted::Flush) - flushes;
        if flushed > self.features.operators.len() as u64 {
            self.counts.add(Counted::LongRecovery);
        }
        let mut keyspaces = vec![db.default_keyspace().clone()];
        for (at, operator) in self.features.operators.iter().enumerate().skip(1) {
            let name = format!("keyspace-{at}");
            let keyspace = match db.keyspace(&name) {
                Err(error) if error.kind() == ErrorKind::KeyspaceMissing => {
                    let (merge_operator, comparator) =
                        (Some(operator.name().into_owned()), Some(self.features.order()));
                    let expiry = self.features.expiry.filter(|_| self.features.fades(at));
                    let expiry = expiry.map(|own| {
                        let lifetime = Duration::from_secs(own.lifetime);
                        let expiry = match own.rule {
                            Rule::AfterLast => Expiry::after_last_write(lifetime),
                            Rule::AfterFirst => Expiry::after_first_write(lifetime),
                            Rule::PerWrite => Expiry::per_write(),
                        };
                        expiry.with_bucket(Duration::from_secs(own.bucket))
                    });
                    let options = KeyspaceOptions {
                        merge_operator,
                        comparator,
                        expiry,
                        ..Default::default()
                    };
                    db.create_keyspace(&name, options)
                }
                outcome => outcome,
            };
            keyspaces.push(keyspace?);
        }
        Ok(Opened { db, keyspaces })
    }

    /// Runs all clients at once, until each is done. Returns their history.
    fn work(&self, opened: &Opened, disk: &Arc<Disk>, life: u64) -> Result<History, Wrong> {
        let stage = Stage {
            features: &self.features,
            db: &opened.db,
            keyspaces: &opened.keyspaces,
            disk,
            ticks: &self.ticks,
            counts: self.counts,
            options: self.options(disk, life),
            day: &self.day,
            follower: &self.follower,
        };
        let mut history = History::default();
        let clients = self.features.writers + self.features.readers;
        thread::scope(|scope| {
            let client = |number| Client::new(&stage, life, number);
            let threads = (0..clients).map(client).map(|client| scope.spawn(|| client.work()));
            let threads: Vec<_> = threads.collect();
            for thread in threads {
                match thread.join() {
                    Ok(outcome) => history.append(outcome?),
                    Err(panic) => {
                        return Err(format!("a client panicked: {}", message_of(&*panic)));
                    }
                }
            }
            Ok(())
        })?;
        Ok(history)
    }

    /// Counts the features of a life that no single call shows.
    fn count_features(&self, opened: &Opened) {
        let features = &self.features;
        for (is_there, counted) in [
            (features.append_only, Counted::AppendOnly),
            (features.own_order, Counted::OwnOrder),
            (features.budget > 0, Counted::Budget),
            (opened.db.stats().segments.segments > 0, Counted::Separated),
        ] {
            self.counts.add_many(counted, u64::from(is_there));
        }
    }

    fn note_failures(&mut self, disk: &Disk) {
        if disk.happened().failures > 0 {
            self.checker.note_failures();
            self.follower.lock().unwrap_or_else(PoisonError::into_inner).note_failures();
        }
    }

    /// Returns what the follower of the change feed read, and closes its reader.
    fn fed(&self) -> Vec<Fed> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Lets the follower read to the end, where it must have read every write.
    fn follow_to_the_end(&mut self, opened: &Opened) -> Result<(), Wrong> {
        if !self.features.feed {
            return Ok(());
        }
        let outcome = {
            let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
            follower.follow(&opened.db, &self.features, true)
        };
        outcome.map_err(|error| format!("the change feed does not continue: {error}"))?;
        let fed = self.fed();
        self.counts.add_many(Counted::Followed, fed.len() as u64);
        self.checker.all_is_read(&fed)
    }

    /// Opens, compares, verifies and closes on a disk without faults, twice.
    fn last_life(&mut self) -> Result<(), Wrong> {
        for life in [MOST_LIVES, MOST_LIVES + 1] {
            let disk = self.disk(Temper::CALM, Stop::Forgetful, None, life);
            let opened =
                self.open_and_compare(&disk, life)?.ok_or("a disk that never stops has stopped")?;
            self.follow_to_the_end(&opened)?;
            opened.db.verify().map_err(|error| format!("it does not verify: {error}"))?;
            opened.db.close().map_err(|error| format!("it does not close: {error}"))?;
            drop(opened);
            self.checker.closed();
            let report = foldb::repair::verify(PATH, self.options(&disk, life));
            let report = report.map_err(|error| format!("it cannot be verified: {error}"))?;
            if !report.is_sound() || !report.leftovers.is_empty() {
                let (faults, leftovers) = (&report.faults, &report.leftovers);
                return Err(format!(
                    "after a clean close, a verification finds faults {faults:?} and leftovers \
                     {leftovers:?}"
                ));
            }
            self.files = disk.cut();
        }
        if self.features.damage { self.damaged_life() } else { Ok(()) }
    }
}

/// Returns whether the disk explains an error.
fn is_excused(disk: &Disk) -> bool {
    disk.is_dead() || disk.happened().failures > 0
}

impl Opened {
    /// Returns the number of the last write, and all entries of all keyspaces, forwards and
    /// backwards.
    pub(crate) fn entries(&self) -> foldb::Result<(u64, Vec<Seen>)> {
        let mut found = Vec::new();
        for (keyspace, handle) in self.keyspaces.iter().enumerate() {
            let taken = |entry: foldb::Result<(Vec<u8>, foldb::Value)>| {
                entry.map(|(key, value)| (key, value.to_vec()))
            };
            let entries = handle.iter()?.map(taken).collect::<foldb::Result<Vec<_>>>()?;
            let backwards = handle.iter()?.rev().map(taken);
            let mut backwards = backwards.collect::<foldb::Result<Vec<_>>>()?;
            backwards.reverse();
            for entries in [entries, backwards] {
                found.push(Seen::Entries { keyspace, range: None, entries });
            }
        }
        Ok((self.db.snapshot().sequence_number(), found))
    }
}
