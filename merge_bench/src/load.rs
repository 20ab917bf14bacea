//! Readers and writers during a garbage collection.
//!
//! They use the hot keys of a plan. Each key has one writer, which notes a generation after its
//! write has returned. A reader that begins later must find that generation or a newer one. So the
//! run detects an undone write as soon as a reader reads its key. After a reopen, each key must
//! have the last generation that its writer noted.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::{Db, WriteOptions};

use crate::failure::Failure;
use crate::latency::Latencies;
use crate::matrix::Case;
use crate::plan::{Plan, key, told};

/// No garbage collection yet.
const BEFORE: u8 = 0;
/// A garbage collection runs.
const BESIDE: u8 = 1;
/// The load is over.
const OVER: u8 = 2;

/// A hot key.
#[derive(Debug)]
struct Hot {
    index: u64,
    /// The newest generation whose write has returned.
    generation: AtomicU64,
}

/// The hot keys of one copy of the data.
#[derive(Debug)]
pub(crate) struct HotKeys(Vec<Hot>);

impl HotKeys {
    /// Makes the hot keys as the plan leaves them.
    pub(crate) fn of(plan: &Plan) -> HotKeys {
        let hot = plan.hot().into_iter().map(|index| Hot {
            index,
            generation: AtomicU64::new(plan.state(index).expect("hot keys are live")),
        });
        HotKeys(hot.collect())
    }

    /// Reads each key once, so that the load finds warm caches, as a baseline does after its first
    /// second. Otherwise the slow first reads of a fresh copy would count against the garbage
    /// collection.
    ///
    /// # Errors
    /// Errors of a read.
    pub(crate) fn warm(&self, db: &Db) -> Result<(), Failure> {
        for hot in &self.0 {
            db.get(key(hot.index)).map_err(Failure::during("reading the hot keys once"))?;
        }
        Ok(())
    }

    /// Returns the keys with their current generations.
    pub(crate) fn generations(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|hot| (hot.index, hot.generation.load(Ordering::Acquire)))
    }
}

/// The operations of a load, added up over the copies of a repetition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    pub reads: Latencies,
    pub writes: Latencies,
    /// Operations before the garbage collection.
    pub before: u64,
    /// Time of the load before the garbage collection.
    pub before_time: Duration,
    /// Time of the load during the garbage collection.
    pub beside_time: Duration,
}

impl Done {
    /// Returns the time of the whole load.
    pub(crate) fn time(&self) -> Duration {
        self.before_time + self.beside_time
    }

    fn add(&mut self, other: &Done) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.before += other.before;
    }
}

/// State that all threads of a load share.
struct Shared<'a> {
    db: &'a Db,
    plan: &'a Plan,
    case: &'a Case,
    hot: &'a HotKeys,
    phase: AtomicU8,
    start: Barrier,
    /// Time of the load on earlier copies.
    past: Duration,
}

/// Runs the load of `case` on `db`: for `baseline` alone, then as long as `merge` takes. Adds its
/// operations to `done`.
///
/// # Errors
/// Errors of the garbage collection or of any operation, or a wrong value.
pub(crate) fn run_beside<T>(
    db: &Db,
    (plan, case): (&Plan, &Case),
    hot: &HotKeys,
    baseline: Duration,
    done: &mut Done,
    merge: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (readers, writers) = (case.workload.readers as usize, case.workload.writers as usize);
    let shared = Shared {
        db,
        plan,
        case,
        hot,
        phase: AtomicU8::new(if baseline.is_zero() { BESIDE } else { BEFORE }),
        start: Barrier::new(readers + writers + 1),
        past: done.time(),
    };
    thread::scope(|scope| {
        let shared = &shared;
        let reading = (0..readers).map(|i| scope.spawn(move || Worker::new(shared, i).read()));
        let reading: Vec<_> = reading.collect();
        let writing =
            (0..writers).map(|i| scope.spawn(move || Worker::new(shared, i).write(i, writers)));
        let threads: Vec<_> = reading.into_iter().chain(writing.collect::<Vec<_>>()).collect();
        shared.start.wait();
        // Ends the threads on every return from this function.
        let over = Over(&shared.phase);
        let began = Instant::now();
        if !baseline.is_zero() {
            thread::sleep(baseline);
            shared.phase.store(BESIDE, Ordering::Release);
            done.before_time += began.elapsed();
        }
        let began = Instant::now();
        let merged = merge();
        done.beside_time += began.elapsed();
        drop(over);
        for thread in threads {
            let finished = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.add(&finished?);
        }
        merged
    })
}

/// Ends the load when dropped.
struct Over<'a>(&'a AtomicU8);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(OVER, Ordering::Release);
    }
}

/// A thread of a load.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    random: fastrand::Rng,
    done: Done,
    began: Instant,
    count: u64,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared<'a>, index: usize) -> Worker<'a> {
        let random = fastrand::Rng::with_seed(index as u64 + 1);
        Worker { shared, random, done: Done::default(), began: Instant::now(), count: 0 }
    }

    /// Waits for all other threads.
    fn begin(&mut self) {
        self.shared.start.wait();
        self.began = Instant::now();
    }

    /// Does and times an operation. `side` says where in [`Done`] it counts.
    fn operate<T>(
        &mut self,
        phase: u8,
        side: fn(&mut Done) -> &mut Latencies,
        operation: impl FnOnce() -> foldb::Result<T>,
    ) -> foldb::Result<T> {
        let beside_merge = phase == BESIDE;
        let is_timed = self.count.is_multiple_of(self.shared.case.sample_every);
        self.count += 1;
        match beside_merge {
            true => side(&mut self.done).operations += 1,
            false => self.done.before += 1,
        }
        if !is_timed {
            return operation();
        }
        let start = Instant::now();
        let answer = operation()?;
        let end = Instant::now();
        let at = self.shared.past + (end - self.began);
        side(&mut self.done).record(at, end - start, beside_merge);
        Ok(answer)
    }

    fn phase(&self) -> u8 {
        self.shared.phase.load(Ordering::Relaxed)
    }

    fn read(mut self) -> Result<Done, Failure> {
        let Shared { db, plan, hot, .. } = self.shared;
        self.begin();
        loop {
            let phase = self.phase();
            if phase == OVER {
                return Ok(self.done);
            }
            let hot = &hot.0[self.random.usize(..hot.0.len())];
            let key = key(hot.index);
            let least = hot.generation.load(Ordering::Acquire);
            let read = self.operate(phase, |done| &mut done.reads, || db.get(key));
            let value = read.map_err(Failure::during("reading beside the merge"))?;
            let is_right = value.as_ref().is_some_and(|value| {
                let expected = |(index, generation)| index == hot.index && generation >= least;
                value.len() == plan.dataset.value_len && told(value).is_some_and(expected)
            });
            if !is_right {
                let found = value.as_ref().map(|value| told(value));
                return Err(Failure::new(format!(
                    "key {} read beside the merge: expected generation {least} or newer, found {found:?}",
                    key.escape_ascii(),
                )));
            }
        }
    }

    /// Writes as number `own` of `writers`.
    fn write(mut self, own: usize, writers: usize) -> Result<Done, Failure> {
        let Shared { db, plan, hot, case, .. } = self.shared;
        let options = WriteOptions { sync: case.sync, ..WriteOptions::default() };
        let slots = hot.0.len().saturating_sub(own).div_ceil(writers);
        let mut value = Vec::new();
        self.begin();
        loop {
            let phase = self.phase();
            if phase == OVER || slots == 0 {
                return Ok(self.done);
            }
            let hot = &hot.0[own + writers * self.random.usize(..slots)];
            let generation = hot.generation.load(Ordering::Relaxed) + 1;
            plan.value(hot.index, generation, &mut value);
            let put = || db.with(&options).put(key(hot.index), &value);
            let written = self.operate(phase, |done| &mut done.writes, put);
            written.map_err(Failure::during("writing beside the merge"))?;
            hot.generation.store(generation, Ordering::Release);
        }
    }
}
