//! One life of a database: open, compare, write until the kill.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use foldb::{
    Db, ErrorKind, Iter, Keyspace, KeyspaceOptions, MergeOptions, ReadOptions, Snapshot,
    WriteBatch, WriteOptions,
};

use crate::arguments::Life;
use crate::check::{self, Found, Wrong, told};
use crate::coverage::{Counted, Counts};
use crate::features::{Features, Operator, draws};
use crate::model::Model;
use crate::report::{Line, tell_counts};
use crate::write::{Operation, TALLY_KEYSPACE, Write};

/// The database that all threads work on.
pub struct Stage {
    pub features: Features,
    pub db: Db,
    /// Those of the features, in their order.
    pub keyspaces: Vec<Keyspace>,
    pub tally: Keyspace,
    /// In the order of [`Operator::ALL`].
    operators: Vec<foldb::Operator>,
}

impl Stage {
    /// Opens the database, and creates keyspaces that are not there yet.
    fn open(path: &Path, features: Features, counts: &Arc<Counts>) -> Result<Stage, Wrong> {
        let mut options = features.options();
        options.listeners.push(Arc::clone(counts) as _);
        let db = Db::open(path, options).map_err(told("the database does not open"))?;
        let operators = Operator::ALL.iter().map(|operator| db.operator(operator.name()));
        let operators = operators.collect::<Result<_, _>>();
        let operators = operators.map_err(told("cannot define an operator"))?;
        let keyspace = |name: &str, operator: Operator| match db.keyspace(name) {
            Err(error) if error.kind() == ErrorKind::KeyspaceMissing => {
                let merge_operator = Some(operator.name().to_owned());
                db.create_keyspace(name, KeyspaceOptions { merge_operator, ..Default::default() })
            }
            outcome => outcome,
        };
        let mut keyspaces = vec![db.default_keyspace().clone()];
        for (at, &operator) in features.operators.iter().enumerate().skip(1) {
            let name = format!("keyspace-{at}");
            keyspaces.push(keyspace(&name, operator).map_err(told("cannot open a keyspace"))?);
        }
        let tally = keyspace(TALLY_KEYSPACE, Operator::Add);
        let tally = tally.map_err(told("cannot open the keyspace of tallies"))?;
        Ok(Stage { features, db, keyspaces, tally, operators })
    }

    /// A copy of the database at another place, or another look at it, that changes nothing.
    fn look(&self, path: &Path) -> Result<Stage, Wrong> {
        let db = Db::open_read_only(path, self.features.options());
        let db = db.map_err(told("cannot open to read only"))?;
        let again = |own: &Keyspace| db.keyspace(own.name()).map_err(told("a keyspace is missing"));
        let keyspaces = self.keyspaces.iter().map(again).collect::<Result<_, _>>()?;
        let tally = again(&self.tally)?;
        let operators = self.operators.clone();
        Ok(Stage { features: self.features.clone(), db, keyspaces, tally, operators })
    }
}

/// Runs one life. Ends by a kill, unless only the check is wanted.
pub fn run(life: &Life) -> Result<(), String> {
    let outcome = live(life);
    if let Err(message) = &outcome {
        Line::Wrong { message: message.clone() }.tell();
    }
    outcome
}

/// Plants a bug in this process.
#[cfg(debug_assertions)]
fn plant(name: &str) -> Result<(), String> {
    use foldb::faults::{Fault, plant_everywhere};
    let names = || Fault::ALL.map(|fault| format!("{fault:?}")).join(", ");
    let fault = Fault::from_name(name);
    let fault =
        fault.ok_or_else(|| format!("no fault is called '{name}'; there are {}", names()))?;
    plant_everywhere(fault);
    Ok(())
}

#[cfg(not(debug_assertions))]
fn plant(_name: &str) -> Result<(), String> {
    Err("faults can be planted in builds with debug assertions only".to_owned())
}

fn live(life: &Life) -> Result<(), Wrong> {
    if let Some(fault) = &life.plant {
        plant(fault)?;
    }
    let counts = Arc::new(Counts::default());
    let stage = Stage::open(&life.database, Features::draw(life.seed), &counts)?;
    let found = check::whole(&stage, &life.acknowledged)?;
    for (thread, (found, &acknowledged)) in found.iter().zip(&life.acknowledged).enumerate() {
        if found.writes > acknowledged {
            counts.add(Counted::InterruptedWriteKept);
        }
        Line::Found { thread, writes: found.writes }.tell();
    }
    if life.check_only {
        stage.db.verify().map_err(told("the database does not verify"))?;
        counts.add(Counted::Verify);
        tell_counts(&counts);
        return stage.db.close().map_err(told("the database does not close"));
    }
    Line::Begun.tell();
    thread::scope(|scope| {
        for (thread, found) in (0..).zip(found) {
            let mut worker = Worker::new(&stage, &counts, life, thread, found);
            scope.spawn(move || {
                if let Err(message) = worker.work() {
                    Line::Wrong { message }.tell();
                    std::process::exit(1);
                }
            });
        }
        loop {
            thread::sleep(Duration::from_millis(20));
            tell_counts(&counts);
        }
    })
}

/// What a thread looks at later: the keys as they were at a moment.
enum Held {
    Snapshot(Snapshot),
    /// One of each keyspace.
    Iterators(Vec<Iter>),
}

struct Worker<'a> {
    stage: &'a Stage,
    counts: &'a Counts,
    life: &'a Life,
    thread: u8,
    model: Model,
    /// Number of the next write.
    next: u64,
    rng: fastrand::Rng,
    /// A moment, the model then, and the number of the write before which they are compared.
    held: Option<(Held, Model, u64)>,
}

impl<'a> Worker<'a> {
    fn new(stage: &'a Stage, counts: &'a Counts, life: &'a Life, thread: u8, found: Found) -> Self {
        let rng = draws(life.seed, "reads", &[life.life.into(), thread.into()]);
        let Found { model, writes: next } = found;
        Worker { stage, counts, life, thread, model, next, rng, held: None }
    }

    fn work(&mut self) -> Result<(), Wrong> {
        loop {
            let write = self.stage.features.write(self.thread, self.next);
            self.write(&write)?;
            self.model.apply(&write);
            self.next += 1;
            Line::Acknowledged { thread: self.thread.into() }.tell();
            self.count(&write);
            match self.rng.u8(..) {
                0..25 => self.read_own_key()?,
                25..40 => self.read_pairs()?,
                _ => {}
            }
            if self.held.as_ref().is_some_and(|(_, _, until)| *until <= self.next) {
                self.compare_held()?;
            }
            match self.rng.u32(..1000) {
                0..10 if self.held.is_none() => self.hold()?,
                10 if self.stage.features.manual_work => self.work_by_hand()?,
                11 if self.stage.features.checkpoints => self.checkpoint()?,
                12 if self.stage.features.read_only => self.read_only()?,
                7 => {
                    check::own_keys(self.stage, self.thread, &self.model, &ReadOptions::default())?
                }
                _ => {}
            }
        }
    }

    fn write(&self, write: &Write) -> Result<(), Wrong> {
        let options = WriteOptions { sync: write.sync, ..WriteOptions::default() };
        let keyspace = |at: usize| &self.stage.keyspaces[at];
        let outcome = match &write.operations[..] {
            [Operation::Put { keyspace: at, key, value }] => {
                keyspace(*at).put_opt(key, value, &options)
            }
            [Operation::Delete { keyspace: at, key }] => keyspace(*at).delete_opt(key, &options),
            [Operation::Merge { keyspace: at, operator, key, operand }]
                if self.stage.features.operators[*at] == *operator =>
            {
                keyspace(*at).merge_opt(key, operand, &options)
            }
            [Operation::DeleteRange { keyspace: at, range }] => {
                keyspace(*at).delete_range_opt(range.clone(), &options)
            }
            operations => self.stage.db.write_opt(&self.batch(operations), &options),
        };
        outcome.map_err(told("a write failed"))
    }

    fn batch(&self, operations: &[Operation]) -> WriteBatch {
        let mut batch = WriteBatch::new();
        let keyspace = |at: usize| &self.stage.keyspaces[at];
        for operation in operations {
            match operation {
                Operation::Put { keyspace: at, key, value } => {
                    batch.put_in(keyspace(*at), key, value)
                }
                Operation::Delete { keyspace: at, key } => batch.delete_in(keyspace(*at), key),
                Operation::Merge { keyspace: at, operator, key, operand } => {
                    let operator = &self.stage.operators[*operator as usize];
                    batch.merge_with_in(operator, keyspace(*at), key, operand)
                }
                Operation::DeleteRange { keyspace: at, range } => {
                    batch.delete_range_in(keyspace(*at), range.clone())
                }
                Operation::Tally { slot } => {
                    batch.merge_in(&self.stage.tally, [*slot], 1u64.to_le_bytes())
                }
            };
        }
        batch
    }

    fn count(&self, write: &Write) {
        self.counts.add(Counted::Write);
        if write.sync {
            self.counts.add(Counted::SyncedWrite);
        }
        if write.operations.len() > 1 {
            self.counts.add(Counted::Batch);
        }
        for operation in &write.operations {
            match operation {
                Operation::DeleteRange { .. } => self.counts.add(Counted::RangeDelete),
                Operation::Merge { operator, .. } => {
                    self.counts.add(match operator {
                        Operator::Add => Counted::Add,
                        Operator::Max => Counted::Max,
                        Operator::Min => Counted::Min,
                        Operator::Append => Counted::Append,
                        Operator::Put => Counted::Put,
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
        let expected = self.model.keyspaces[at].get(&key);
        check::expect_get(&self.stage.keyspaces[at], &key, expected, &ReadOptions::default())
            .map_err(|wrong| format!("thread {} before write {}: {wrong}", self.thread, self.next))
    }

    /// Looks at other threads' batches just after they were written, or while they are. A snapshot
    /// shows the same again a moment later.
    fn read_pairs(&mut self) -> Result<(), Wrong> {
        let options =
            ReadOptions { snapshot: Some(self.stage.db.snapshot()), ..ReadOptions::default() };
        let (once, wait) = (check::pairs(self.stage, &options)?, self.rng.u8(..8) == 0);
        if wait {
            thread::sleep(Duration::from_millis(2));
        }
        let again = check::pairs(self.stage, &options)?;
        if once != again {
            return Err(format!("a snapshot showed {once:?}, and later {again:?}"));
        }
        Ok(())
    }

    /// Begins to hold a moment, while more is written.
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
                let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
                check::own_keys(self.stage, self.thread, &model, &options)
                    .and_then(|()| check::pairs(self.stage, &options).map(drop))
                    .map_err(|wrong| format!("at a snapshot, {wrong}"))?;
                self.counts.add(Counted::SnapshotCheck);
                Ok(())
            }
            Some((Held::Iterators(iterators), model, _)) => {
                for (iterator, expected) in iterators.into_iter().zip(&model.keyspaces) {
                    let mut actual = Default::default();
                    check::collect(iterator, &mut actual)?;
                    actual.retain(|key, _| self.stage.features.owner(key) == Some(self.thread));
                    if let Some(difference) = check::difference_of(expected, &actual) {
                        return Err(format!("a walk that began earlier: {difference}"));
                    }
                }
                self.counts.add(Counted::IteratorCheck);
                Ok(())
            }
        }
    }

    /// Does by a call what workers do by themselves.
    fn work_by_hand(&mut self) -> Result<(), Wrong> {
        let db = &self.stage.db;
        let outcome = match self.rng.u8(..5) {
            0 => db.flush(),
            1 => db.compact(..),
            2 => db.merge_segments(&MergeOptions::default()).map(drop),
            3 => db.sync(),
            _ => {
                self.counts.add(Counted::Verify);
                db.verify().map(drop)
            }
        };
        outcome.map_err(told("background work on demand failed"))
    }

    /// Makes a second database and compares it: this thread's keys are as they are now.
    fn checkpoint(&mut self) -> Result<(), Wrong> {
        let name = format!("checkpoint-{}-{}", self.life.life, self.thread);
        let path = self.life.database.with_extension(name);
        let _from_an_earlier_life = std::fs::remove_dir_all(&path);
        self.stage.db.checkpoint(&path).map_err(told("a checkpoint failed"))?;
        let copy = self.stage.look(&path)?;
        let options = ReadOptions::default();
        check::own_keys(&copy, self.thread, &self.model, &options)
            .and_then(|()| check::pairs(&copy, &options).map(drop))
            .map_err(|wrong| format!("in a checkpoint, {wrong}"))?;
        drop(copy);
        std::fs::remove_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.counts.add(Counted::CheckpointCheck);
        Ok(())
    }

    /// Looks at the database from beside, while threads write.
    fn read_only(&mut self) -> Result<(), Wrong> {
        let look = self.stage.look(&self.life.database)?;
        let options = ReadOptions::default();
        check::own_keys(&look, self.thread, &self.model, &options)
            .and_then(|()| check::pairs(&look, &options).map(drop))
            .map_err(|wrong| format!("opened to read only, {wrong}"))?;
        self.counts.add(Counted::ReadOnlyCheck);
        Ok(())
    }
}
