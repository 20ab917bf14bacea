//! The work of each thread: steps of its window, and checked reads.
//!
//! Invariant: only one thread writes each key, so after its own steps it knows the key's value.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldb::{Db, Keyspace, ReadOptions, Snapshot, Value};

use super::latency::Latencies;
use super::window::{Merges, Window, count};
use crate::check::{Wrong, told};

/// The key that counts all steps of all threads, in the keyspace of counters.
pub(super) const TOTAL: &[u8] = b"all steps";
/// Steps between two iterators that are compared with the window, and number of keys that each
/// walks.
const WALK_EVERY: u64 = 256;
const WALK_LENGTH: u64 = 64;
/// Most steps that a snapshot lives, and steps between two reads at it.
const SNAPSHOT_LIFE: u64 = 4000;
const SNAPSHOT_EVERY: u64 = 16;

/// The database with its keyspaces of merges.
pub(super) struct Keyspaces {
    pub db: Db,
    merges: [Keyspace; Merges::ALL.len()],
}

impl Keyspaces {
    /// Finds the keyspaces, or creates them.
    pub(super) fn of(db: Db) -> Result<Keyspaces, Wrong> {
        let keyspace = |kind: Merges| -> Result<Keyspace, foldb::Error> {
            let (name, operator) = kind.names();
            if db.keyspaces().iter().any(|found| found == name) {
                return db.keyspace(name);
            }
            let merge_operator = Some(operator.to_owned());
            let options = foldb::KeyspaceOptions { merge_operator, ..Default::default() };
            db.create_keyspace(name, options)
        };
        let of = |kind| keyspace(kind).map_err(told("cannot open a keyspace"));
        let merges = [of(Merges::Counters)?, of(Merges::Notes)?, of(Merges::Peaks)?];
        Ok(Keyspaces { db, merges })
    }

    pub(super) fn merges(&self, kind: Merges) -> &Keyspace {
        &self.merges[kind as usize]
    }
}

/// What all threads share.
pub(super) struct Shared<'a> {
    pub keyspaces: &'a Keyspaces,
    /// Bytes of keys and values written so far.
    pub written: AtomicU64,
    pub ends: AtomicBool,
    /// Most bytes that a thread writes in a second.
    pub rate: Option<f64>,
    /// Snapshots that are never dropped, with `--leak`: the run must notice the growth.
    pub leaked: Option<Mutex<Vec<Snapshot>>>,
}

/// One thread.
pub(super) struct Load<'a> {
    shared: &'a Shared<'a>,
    latencies: &'a Mutex<Latencies>,
    window: Window,
    steps: u64,
    rng: fastrand::Rng,
    /// A snapshot, and the number of steps before it.
    snapshot: Option<(Snapshot, u64)>,
    written: u64,
}

impl<'a> Load<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        latencies: &'a Mutex<Latencies>,
        window: Window,
    ) -> Self {
        let rng = fastrand::Rng::with_seed(window.key(0).iter().map(|byte| u64::from(*byte)).sum());
        Load { shared, latencies, window, steps: 0, rng, snapshot: None, written: 0 }
    }

    /// Works until the run ends. Returns the number of steps.
    pub(super) fn work(mut self) -> Result<u64, Wrong> {
        let begun = Instant::now();
        while !self.shared.ends.load(Ordering::Relaxed) {
            self.write()?;
            self.steps += 1;
            self.read()?;
            if let Some(rate) = self.shared.rate {
                let due = Duration::from_secs_f64(self.written as f64 / rate);
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        }
        Ok(self.steps)
    }

    /// The writes of one step.
    fn write(&mut self) -> Result<(), Wrong> {
        let (db, step) = (&self.shared.keyspaces.db, self.steps);
        let before = self.written;
        self.put(step, 0)?;
        if let Some(number) = self.window.overwritten_by(step) {
            self.put(number, 1)?;
        }
        if let Some(number) = self.window.deleted_by(step) {
            let key = self.window.key(number);
            db.delete(key).map_err(told("a delete"))?;
            self.written += key.len() as u64;
        }
        for kind in Merges::ALL {
            let keyspace = self.shared.keyspaces.merges(kind);
            for (number, operand) in self.window.merges(kind, step) {
                let key = self.window.key(number);
                keyspace.merge(key, &operand).map_err(told("a merge"))?;
                self.written += (key.len() + operand.len()) as u64;
            }
        }
        let counters = self.shared.keyspaces.merges(Merges::Counters);
        counters.merge(TOTAL, 1u64.to_le_bytes()).map_err(told("a merge"))?;
        if let Some(cut) = self.window.cut_by(step) {
            let key = |number| self.window.key(number);
            let told = told("a range delete");
            db.delete_range(key(cut.start)..key(cut.end)).map_err(&told)?;
            for kind in Merges::ALL {
                let keys = key(cut.start / kind.every())..key(cut.end / kind.every());
                self.shared.keyspaces.merges(kind).delete_range(keys).map_err(&told)?;
            }
        }
        self.shared.written.fetch_add(self.written - before, Ordering::Relaxed);
        Ok(())
    }

    fn put(&mut self, number: u64, generation: u64) -> Result<(), Wrong> {
        let key = self.window.key(number);
        let makes = Instant::now();
        let value = self.window.value(number, generation);
        let begun = Instant::now();
        self.shared.keyspaces.db.put(key, &value).map_err(told("a put"))?;
        let took = begun.elapsed();
        let mut latencies = self.latencies();
        latencies.put(took);
        // Other load of the machine delays this work as it delays a put.
        latencies.control(begun - makes);
        drop(latencies);
        self.written += (key.len() + value.len()) as u64;
        Ok(())
    }

    /// Makes the reads of a step, and compares each with the expected contents of the window.
    fn read(&mut self) -> Result<(), Wrong> {
        self.get()?;
        let kind = Merges::ALL[(self.steps % 3) as usize];
        let range = self.window.merged(kind, self.steps);
        let number = self.rng.u64(range.start.saturating_sub(2)..range.end + 2);
        let found = self.shared.keyspaces.merges(kind).get(self.window.key(number));
        let found = found.map_err(told("a get of a merged key"))?;
        self.compare(
            kind.names().0,
            number,
            found,
            self.window.expected_merge(kind, number, self.steps),
        )?;
        if self.steps.is_multiple_of(WALK_EVERY) {
            self.walk()?;
        }
        if self.steps.is_multiple_of(SNAPSHOT_EVERY) {
            self.read_at_snapshot()?;
        }
        Ok(())
    }

    /// Returns a key of the window, or one just outside it.
    fn any_key(&mut self, steps: u64) -> u64 {
        let first = self.window.cut(steps).saturating_sub(20);
        self.rng.u64(first..steps + 20)
    }

    fn get(&mut self) -> Result<(), Wrong> {
        let number = self.any_key(self.steps);
        let key = self.window.key(number);
        let begun = Instant::now();
        let found = self.shared.keyspaces.db.get(key).map_err(told("a get"))?;
        self.latencies().get(begun.elapsed());
        self.compare("values", number, found, self.window.expected(number, self.steps))
    }

    fn read_at_snapshot(&mut self) -> Result<(), Wrong> {
        let db = &self.shared.keyspaces.db;
        let steps = self.steps;
        let life = SNAPSHOT_LIFE.min(self.window.width / 4);
        let is_old = |at: &u64| at + life < steps;
        if let Some((snapshot, _)) = self.snapshot.take_if(|(_, at)| is_old(at))
            && let Some(leaked) = &self.shared.leaked
        {
            leaked.lock().unwrap_or_else(PoisonError::into_inner).push(snapshot);
        }
        let (snapshot, at) = self.snapshot.get_or_insert_with(|| (db.snapshot(), steps)).clone();
        let number = self.any_key(at);
        let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
        let found = db.with(&options).get(self.window.key(number));
        let found = found.map_err(told("a get at a snapshot"))?;
        self.compare("values at a snapshot", number, found, self.window.expected(number, at))
    }

    /// Iterates over some keys, forwards or backwards, and compares them with the window.
    fn walk(&mut self) -> Result<(), Wrong> {
        let first = self.any_key(self.steps);
        let keys = self.window.key(first)..self.window.key(first + WALK_LENGTH);
        let iterator = self.shared.keyspaces.db.range(keys).map_err(told("an iterator"))?;
        let backwards = self.steps.is_multiple_of(2 * WALK_EVERY);
        let mut found: Vec<_> = match backwards {
            true => iterator.rev().collect::<Result<_, _>>(),
            false => iterator.collect(),
        }
        .map_err(told("a step of an iterator"))?;
        if backwards {
            found.reverse();
        }
        let mut found = found.into_iter().peekable();
        for number in first..first + WALK_LENGTH {
            let key = self.window.key(number);
            let value = found.next_if(|(found, _)| found[..] == key).map(|(_, value)| value);
            self.compare("an iterator", number, value, self.window.expected(number, self.steps))?;
        }
        found.next().map_or(Ok(()), |(key, _)| Err(format!("an iterator shows the key {key:?}")))
    }

    fn compare(
        &self,
        what: &str,
        number: u64,
        found: Option<Value>,
        expected: Option<Vec<u8>>,
    ) -> Result<(), Wrong> {
        compare(&self.window, what, number, found.as_deref(), expected.as_deref(), self.steps)
    }

    fn latencies(&self) -> std::sync::MutexGuard<'_, Latencies> {
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compare(
    window: &Window,
    what: &str,
    number: u64,
    found: Option<&[u8]>,
    expected: Option<&[u8]>,
    steps: u64,
) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    let told = |value: Option<&[u8]>| match value {
        Some(value) => format!("{} bytes {:02x?}", value.len(), &value[..value.len().min(16)]),
        None => "nothing".to_owned(),
    };
    let (key, found, expected) = (window.key(number), told(found), told(expected));
    Err(format!("{what}: the key {key:02x?} holds {found} after {steps} steps, not {expected}"))
}

/// Compares all keys of all threads, each at its number of steps, and reports unexpected keys.
/// Returns the number of keys.
pub(super) fn check_all(keyspaces: &Keyspaces, threads: &[(Window, u64)]) -> Result<u64, Wrong> {
    let mut compared = 0;
    for (window, steps) in threads {
        let all = window.key(0)..window.key(u64::MAX);
        let mut found = keyspaces.db.range(all.clone()).map_err(told("an iterator"))?;
        let mut expected = (window.cut(*steps)..*steps)
            .filter(|&number| window.generation(number, *steps).is_some());
        while found.advance().map_err(told("a step of an iterator"))? {
            let number = expected.next().ok_or("the window holds more keys than it must")?;
            let value = found.value().map_err(told("a value of an iterator"))?;
            if found.key() != window.key(number) {
                return Err(format!("the key {number} is missing, {:02x?} comes", found.key()));
            }
            let wanted = window.expected(number, *steps);
            compare(window, "the last check", number, Some(value), wanted.as_deref(), *steps)?;
            compared += 1;
        }
        if let Some(number) = expected.next() {
            return Err(format!("the key {number} is missing at the end of its window"));
        }
        for kind in Merges::ALL {
            let entries = keyspaces.merges(kind).range(all.clone());
            let mut range = window.merged(kind, *steps);
            for entry in entries.map_err(told("an iterator"))? {
                let (key, value) = entry.map_err(told("a step of an iterator"))?;
                let number = range.next().ok_or("a keyspace of merges holds too many keys")?;
                if key != window.key(number) {
                    return Err(format!("{kind:?}: the key {number} is missing"));
                }
                let wanted = window.expected_merge(kind, number, *steps);
                compare(window, kind.names().0, number, Some(&value), wanted.as_deref(), *steps)?;
                compared += 1;
            }
            if let Some(number) = range.next() {
                return Err(format!("{kind:?}: the key {number} is missing"));
            }
        }
    }
    let total = keyspaces.merges(Merges::Counters).get(TOTAL).map_err(told("a get"))?;
    let total = total.map_or(0, |value| count(&value));
    let steps: u64 = threads.iter().map(|(_, steps)| steps).sum();
    match total == steps {
        true => Ok(compared),
        false => Err(format!("{total} steps were counted, {steps} were done")),
    }
}
