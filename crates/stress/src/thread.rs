//! One thread of a worker: it makes the writes of its seed, and reads them back.

mod copies;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::{Error, Iter, Keyspace, Snapshot, WriteBatch, WriteOptions};
use foldb_model::Change;

use crate::arguments::Life;
use crate::check::{self, Found, Wrong, told};
use crate::coverage::{Counted, Counts};
use crate::features::{BadDisk, Operator, draws};
use crate::mistakes;
use crate::model::Model;
use crate::report::Line;
use crate::stage::Stage;
use crate::surroundings;
use crate::way::{self, Way};
use crate::write::{Operation, Write};

/// State that a thread shares with the [watch](crate::worker) over it.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Whether to end after the call in progress.
    pub ends: AtomicBool,
    /// How often a call began or ended.
    pub beats: AtomicU64,
}

/// Whether a write took effect.
enum Written {
    Yes,
    No,
    /// The write failed and is visible: a sync failed, for example.
    Perhaps,
}

/// A view of the keys at one moment, which a thread reads later.
enum Held {
    Snapshot(Snapshot),
    /// One iterator of each keyspace.
    Iterators(Vec<Iter>),
}

pub(crate) struct Worker<'a> {
    stage: &'a Stage,
    counts: &'a Counts,
    life: &'a Life,
    watched: &'a Watched,
    thread: u8,
    model: Model,
    /// Number of the next write.
    next: u64,
    /// Number of writes in this life.
    writes: u64,
    rng: fastrand::Rng,
    /// An earlier view, the model then, and the number of the write before which they are compared.
    held: Option<(Held, Model, u64)>,
}

/// Failures in a row after which a thread gives up: the database takes no more writes then.
const MOST_FAILURES: u32 = 20;

impl<'a> Worker<'a> {
    pub(crate) fn new(
        (stage, counts, life): (&'a Stage, &'a Counts, &'a Life),
        watched: &'a Watched,
        thread: u8,
        found: Found,
    ) -> Self {
        let rng = draws(life.seed, "reads", &[life.life.into(), thread.into()]);
        let Found { model, progress, .. } = found;
        let next = progress.acknowledged;
        Worker { stage, counts, life, watched, thread, model, next, writes: 0, rng, held: None }
    }

    /// Works until the life ends, or until the disk allows no more writes.
    pub(crate) fn work(&mut self) -> Result<(), Wrong> {
        let (mut failures, mut was_large) = (0, false);
        // After a large write comes another one, which must not wait for it.
        while was_large || !self.watched.ends.load(Ordering::Relaxed) && failures < MOST_FAILURES {
            let write = self.stage.features.write(self.thread, self.next);
            was_large = !write.operations.iter().all(Operation::is_small);
            match self.write(&write)? {
                Written::Yes => {
                    failures = 0;
                    self.model.apply(&write);
                    Line::Acknowledged { thread: self.thread.into() }.tell();
                    self.count(&write);
                }
                Written::No => {
                    failures += 1;
                    Line::Failed { thread: self.thread.into() }.tell();
                }
                // The write may survive this process or not. So it stays the write in progress.
                Written::Perhaps => return Ok(()),
            }
            self.next += 1;
            self.beat();
            self.read_now_and_then()?;
            self.work_now_and_then()?;
            self.disturb_now_and_then()?;
            self.beat();
        }
        Ok(())
    }

    fn beat(&self) {
        self.watched.beats.fetch_add(1, Ordering::Relaxed);
    }

    fn read_now_and_then(&mut self) -> Result<(), Wrong> {
        let _here = self.stage.around.in_place();
        match self.rng.u8(..) {
            0..25 => self.read_own_key()?,
            25..40 => self.read_pairs()?,
            _ => {}
        }
        if self.held.as_ref().is_some_and(|(_, _, until)| *until <= self.next) {
            self.compare_held()?;
        }
        Ok(())
    }

    fn work_now_and_then(&mut self) -> Result<(), Wrong> {
        let _here = self.stage.around.in_place();
        let features = &self.stage.features;
        match self.rng.u32(..1000) {
            0..10 if self.held.is_none() => self.hold(),
            10 if features.manual_work => self.work_by_hand(),
            11 if features.checkpoints => self.checkpoint(),
            12 if features.read_only => self.read_only(),
            6 if features.surroundings.visitors => self.back_up(),
            13..16 if features.mistakes => {
                self.counts.add(Counted::Mistake);
                mistakes::make_one(self.stage, &mut self.rng)
            }
            16 => self.sync_nothing(),
            17..20 => {
                self.worsen_disk();
                Ok(())
            }
            7 => check::own_keys(&self.stage.now(), self.thread, &self.model),
            _ => Ok(()),
        }
    }

    /// Disturbs the process: forks, moves the database, lets the clock jump. A thread does each
    /// once after its first writes, and again at random.
    fn disturb_now_and_then(&mut self) -> Result<(), Wrong> {
        self.writes += 1;
        let draw = self.rng.u32(..2000);
        let now = |number: u64| self.writes == 5 * number || u64::from(draw) == number;
        let (stage, counts) = (self.stage, self.counts);
        let drawn = stage.features.surroundings;
        if drawn.changes_directory && now(1) {
            stage.around.change_directory(&mut self.rng)?;
            counts.add(Counted::ChangedDirectory);
        }
        if drawn.forks && now(2) {
            let _here = stage.around.in_place();
            surroundings::fork(stage, self.thread, &self.model)?;
            counts.add(Counted::Fork);
        }
        if drawn.forks && now(3) {
            surroundings::leave_an_orphan(stage, self.thread, &self.model)?;
        }
        if drawn.moves && now(4) {
            surroundings::move_away_and_back(stage, &self.life.database, &mut self.rng)?;
            counts.add(Counted::MovedAway);
        }
        if let Some(leases) = stage.leases.as_ref().filter(|_| now(5)) {
            let _here = stage.around.in_place();
            if surroundings::jump(stage, leases, self.thread, &mut self.rng)? {
                counts.add(Counted::ClockJump);
            }
        }
        Ok(())
    }

    /// Makes some calls to the disk hang, or some syncs fail.
    fn worsen_disk(&self) {
        match self.stage.features.disk {
            BadDisk::Hanging(millis) => {
                self.counts.add(Counted::Hang);
                self.stage.trouble.hang_once(Duration::from_millis(millis));
            }
            BadDisk::FailingSyncs if self.rng.clone().u8(..4) == 0 => {
                self.stage.trouble.fail_next_sync();
            }
            _ => {}
        }
    }

    fn write(&self, write: &Write) -> Result<Written, Wrong> {
        let begun = Instant::now();
        let outcome = self.call(write);
        let (took, patience) = (begun.elapsed(), Duration::from_secs(self.life.patience));
        let is_small = write.operations.iter().all(Operation::is_small);
        // On a bad disk a write may take any time.
        if is_small && took > patience && self.stage.features.disk == BadDisk::Nothing {
            return Err(format!("write {} of thread {} took {took:?}", self.next, self.thread));
        }
        match outcome {
            Ok(()) => Ok(Written::Yes),
            Err(error) if self.stage.is_excused(&error) => self.after_failure(write),
            Err(error) => Err(format!("a write failed: {error}")),
        }
    }

    fn call(&self, write: &Write) -> foldb::Result<()> {
        match write.way {
            Way::Plain => {}
            Way::Transaction => return way::transact(self.stage, &self.model, write),
            Way::Conditional => return way::write_if(self.stage, &self.model, write),
        }
        let options = WriteOptions { sync: write.sync, ..WriteOptions::default() };
        let features = &self.stage.features;
        if let [Operation::Own(own)] = &write.operations[..] {
            let keyspace = self.stage.keyspaces[own.keyspace].with(&options);
            let stored = |key: &[u8]| features.stored_key(key);
            match &own.change {
                Change::Put(key, value) => return keyspace.put(stored(key), value),
                Change::Delete(key) => return keyspace.delete(stored(key)),
                Change::DeleteRange(range) => {
                    return keyspace.delete_range(features.stored_range(range));
                }
                Change::Merge(operator, key, operand)
                    if features.operators[own.keyspace] == *operator =>
                {
                    return keyspace.merge(stored(key), operand);
                }
                Change::Merge(..) => {}
            }
        }
        self.stage.db.with(&options).write(&self.stage.batch(&write.operations))
    }

    /// Reads after a failed write: they still work, and show whether the write is visible.
    fn after_failure(&self, write: &Write) -> Result<Written, Wrong> {
        self.counts.add(Counted::FailedWrite);
        let _here = self.stage.around.in_place();
        let compare = |model: &Model| check::own_keys(&self.stage.now(), self.thread, model);
        let Err(without) = compare(&self.model) else { return Ok(Written::No) };
        let mut model = self.model.clone();
        model.apply(write);
        compare(&model).map_err(|with| {
            format!("after write {} failed, neither is right: {without}; {with}", self.next)
        })?;
        Ok(Written::Perhaps)
    }

    /// Writes an empty batch with a sync.
    fn sync_nothing(&self) -> Result<(), Wrong> {
        let options = WriteOptions { sync: true, ..WriteOptions::default() };
        self.excused("a sync", self.stage.db.with(&options).write(&WriteBatch::new())).map(drop)
    }

    /// Ignores an error that the disk may have caused. Returns whether the call succeeded.
    fn excused(&self, what: &str, outcome: Result<(), Error>) -> Result<bool, Wrong> {
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if self.stage.is_excused(&error) => {
                self.counts.add(Counted::FailedCall);
                Ok(false)
            }
            Err(error) => Err(told(what)(error)),
        }
    }

    fn count(&self, write: &Write) {
        self.counts.add(Counted::Write);
        if write.sync {
            self.counts.add(Counted::SyncedWrite);
        }
        if write.operations.len() > 1 {
            self.counts.add(Counted::Batch);
        }
        match write.way {
            Way::Plain => {}
            Way::Transaction => self.counts.add(Counted::Transaction),
            Way::Conditional => self.counts.add(Counted::Conditional),
        }
        for operation in &write.operations {
            let Operation::Own(own) = operation else { continue };
            match &own.change {
                Change::DeleteRange(_) => self.counts.add(Counted::RangeDelete),
                Change::Merge(operator, ..) => {
                    self.counts.add(match operator {
                        Operator::Add => Counted::Add,
                        Operator::Max => Counted::Max,
                        Operator::Min => Counted::Min,
                        Operator::Append(_) => Counted::Append,
                        Operator::Put => Counted::Put,
                        Operator::OwnAppend => Counted::OwnAppend,
                        Operator::WholeAppend => Counted::WholeAppend,
                        Operator::Replace => Counted::Replace,
                        Operator::References | Operator::Register => {
                            unreachable!("an operator of other tests")
                        }
                    });
                }
                _ => {}
            }
        }
    }

    fn read_own_key(&mut self) -> Result<(), Wrong> {
        let features = &self.stage.features;
        let at = self.rng.usize(..self.stage.keyspaces.len());
        let key = features.key(self.rng.u16(..features.blocks), self.thread, self.rng.u8(..70));
        let expected = self.model.get(at, &key);
        let key = features.stored_key(&key);
        check::expect_get(&self.stage.keyspaces[at], &key, expected)
            .map_err(|wrong| format!("thread {} before write {}: {wrong}", self.thread, self.next))
    }

    /// Reads other threads' batches during or just after their writes. Checks that a snapshot shows
    /// the same a moment later.
    fn read_pairs(&mut self) -> Result<(), Wrong> {
        let waits = self.rng.u8(..8) < 2;
        if waits {
            // Right after its own write a thread seldom meets another thread's.
            thread::sleep(Duration::from_micros(self.rng.u64(..1500)));
        }
        let moment = self.stage.at(&self.stage.db.snapshot());
        let once = check::pairs(&moment)?;
        if waits {
            thread::sleep(Duration::from_millis(2));
        }
        let again = check::pairs(&moment)?;
        if once != again {
            return Err(format!("a snapshot showed {once:?}, and later {again:?}"));
        }
        Ok(())
    }

    /// Begins to hold a view of the current keys, while writes continue.
    fn hold(&mut self) -> Result<(), Wrong> {
        let held = if self.stage.features.snapshots && self.rng.bool() {
            Held::Snapshot(self.stage.db.snapshot())
        } else if self.stage.features.iterators {
            let iterators = self.stage.keyspaces.iter().map(Keyspace::iter);
            Held::Iterators(iterators.collect::<Result<_, _>>().map_err(told("cannot scan"))?)
        } else {
            return Ok(());
        };
        let until = self.next + self.rng.u64(1..2000);
        self.held = Some((held, self.model.clone(), until));
        Ok(())
    }

    fn compare_held(&mut self) -> Result<(), Wrong> {
        match self.held.take() {
            None => Ok(()),
            Some((Held::Snapshot(snapshot), model, _)) => {
                let then = self.stage.at(&snapshot);
                check::own_keys(&then, self.thread, &model)
                    .and_then(|()| check::pairs(&then).map(drop))
                    .map_err(|wrong| format!("at a snapshot, {wrong}"))?;
                self.counts.add(Counted::SnapshotCheck);
                Ok(())
            }
            Some((Held::Iterators(iterators), model, _)) => {
                for (at, iterator) in iterators.into_iter().enumerate() {
                    let mut actual = Default::default();
                    check::collect(&self.stage.features, iterator, &mut actual)?;
                    actual.retain(|key, _| self.stage.features.owner(key) == Some(self.thread));
                    if let Some(difference) = check::difference_of(model.entries(at), &actual) {
                        return Err(format!("a walk that began earlier: {difference}"));
                    }
                }
                self.counts.add(Counted::IteratorCheck);
                Ok(())
            }
        }
    }

    /// Requests background work by a call, such as a flush or a compaction.
    fn work_by_hand(&mut self) -> Result<(), Wrong> {
        let db = &self.stage.db;
        let outcome = match self.rng.u8(..5) {
            0 => db.flush(),
            1 => db.compact(..),
            2 => db.collect_garbage().map(drop),
            3 => db.sync(),
            _ => {
                self.counts.add(Counted::Verify);
                db.verify().map(drop)
            }
        };
        self.excused("background work on demand failed", outcome).map(drop)
    }
}
