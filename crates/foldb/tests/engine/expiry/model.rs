//! Expiry against a model: all rules, a clock that jumps both ways, snapshots, flushes, compactions
//! and crashes.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldb::env::{ManualClock, MemFs};
use foldb::expiry::{Expires, Expiry};
use foldb::{Db, Keyspace, ReadOptions, Snapshot, WriteOptions};
use proptest::prelude::*;

use crate::expiry::support::{clock, lists, open, seconds, set, settle};
#[cfg(debug_assertions)]
use crate::support::quiet;

const NEVER: u64 = u64::MAX;

/// The rules of the keyspaces, with a lifetime of ten seconds.
const RULES: [&str; 4] = ["last", "first", "first in buckets", "per write"];

fn expiry_of(rule: &str) -> Expiry {
    match rule {
        "last" => Expiry::after_last_write(seconds(10)),
        "first" => Expiry::after_first_write(seconds(10)),
        "first in buckets" => Expiry::after_first_write(seconds(10)).with_bucket(seconds(4)),
        _ => Expiry::per_write().with_bucket(seconds(3)),
    }
}

fn bucket_of(rule: &str) -> u64 {
    match rule {
        "first in buckets" => 4,
        "per write" => 3,
        _ => 1,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    value: String,
    end: u64,
}

/// Entries by keyspace and key, expired ones too.
type Entries = BTreeMap<(usize, u8), Entry>;

#[derive(Clone, Copy, Debug)]
enum Write {
    Put(u8),
    Merge(u8),
    Delete(u8),
    DeleteRange(u8, u8),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Writes to a keyspace, perhaps with a lifetime.
    Write(usize, Write, Option<u64>),
    Forward(u64),
    Back(u64),
    Flush,
    Compact(usize),
    Background,
    Snapshot,
    Release,
    Crash,
    /// Sets the database's time back to the clock.
    Reset,
    Check,
}

fn write() -> impl Strategy<Value = Write> {
    let key = || b'a'..=b'd';
    prop_oneof![
        4 => key().prop_map(Write::Put),
        8 => key().prop_map(Write::Merge),
        1 => key().prop_map(Write::Delete),
        1 => (key(), key()).prop_map(|(a, b)| Write::DeleteRange(a.min(b), a.max(b))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let lifetime = prop_oneof![4 => Just(None), 1 => (1u64..20).prop_map(Some)];
    prop_oneof![
        16 => (0..RULES.len(), write(), lifetime).prop_map(|(at, write, lifetime)| {
            Step::Write(at, write, lifetime)
        }),
        5 => (1u64..8).prop_map(Step::Forward),
        1 => (1u64..30).prop_map(Step::Forward),
        1 => (1u64..10).prop_map(Step::Back),
        3 => Just(Step::Flush),
        2 => (0..RULES.len()).prop_map(Step::Compact),
        2 => Just(Step::Background),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Release),
        1 => Just(Step::Crash),
        1 => Just(Step::Reset),
        2 => Just(Step::Check),
    ]
}

/// The database beside its model.
struct World {
    fs: MemFs,
    clock: Arc<ManualClock>,
    /// The clock's second, which may fall.
    second: u64,
    /// The database's second, which falls only by a reset.
    time: u64,
    db: Option<Db>,
    model: Entries,
    snapshots: Vec<(Snapshot, Entries, u64)>,
    written: u32,
}

impl World {
    fn new() -> World {
        let (fs, clock) = (MemFs::new(), clock());
        let db = Some(open(&fs, &clock));
        let mut world = World {
            fs,
            clock,
            second: 20,
            time: 20,
            db,
            model: Entries::new(),
            snapshots: Vec::new(),
            written: 0,
        };
        world.set_clock();
        world
    }

    fn set_clock(&mut self) {
        set(&self.clock, self.second);
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn keyspace(&self, at: usize) -> Keyspace {
        lists(self.db(), RULES[at], expiry_of(RULES[at]))
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write(at, write, lifetime) => self.write(at, write, lifetime),
            Step::Forward(seconds) => {
                self.second += seconds;
                self.set_clock();
            }
            Step::Back(seconds) => {
                // A database that never looked at the clock does not know how far it was.
                self.keyspace(0).get("a").unwrap();
                self.time = self.time.max(self.second);
                self.second = self.second.saturating_sub(seconds);
                self.set_clock();
            }
            Step::Flush => self.db().flush().unwrap(),
            Step::Compact(at) => self.keyspace(at).compact(..).unwrap(),
            Step::Background => settle(self.db()),
            Step::Snapshot => {
                // A snapshot of a database with such a keyspace looks at the clock.
                let _keyspace = self.keyspace(0);
                self.time = self.time.max(self.second);
                self.snapshots.push((self.db().snapshot(), self.model.clone(), self.time));
            }
            Step::Release => {
                if !self.snapshots.is_empty() {
                    self.snapshots.remove(0);
                }
            }
            Step::Crash => {
                self.snapshots.clear();
                self.fs = self.fs.kill();
                self.db = None;
                self.db = Some(open(&self.fs, &self.clock));
            }
            Step::Reset => self.reset(),
            Step::Check => self.check(),
        }
    }

    /// Resets the time. What had expired by the time before is back, unless a flush or compaction
    /// has dropped it.
    fn reset(&mut self) {
        let _keyspace = self.keyspace(0);
        let before = self.time.max(self.second);
        self.db().reset_clock().unwrap();
        self.time = self.second;
        let mut model = std::mem::take(&mut self.model);
        model.retain(|(at, key), entry| {
            let is_doubtful = entry.end <= before && entry.end > self.time;
            !is_doubtful || self.keyspace(*at).contains_key([*key]).unwrap()
        });
        self.model = model;
    }

    fn write(&mut self, at: usize, write: Write, lifetime: Option<u64>) {
        let keyspace = self.keyspace(at);
        self.time = self.time.max(self.second);
        self.written += 1;
        let text = self.written.to_string();
        let expires = lifetime.map(|lifetime| Expires::After(seconds(lifetime)));
        let options = WriteOptions { expires, ..WriteOptions::default() };
        match write {
            Write::Put(key) => {
                keyspace.with(&options).put([key], &text).unwrap();
                let end = self.end_of(at, lifetime, None);
                self.model.insert((at, key), Entry { value: text, end });
            }
            Write::Merge(key) => {
                keyspace.with(&options).merge([key], &text).unwrap();
                let alive = self.model.remove(&(at, key)).filter(|entry| entry.end > self.time);
                let end = self.end_of(at, lifetime, alive.as_ref().map(|entry| entry.end));
                let value = alive.map_or(text.clone(), |entry| entry.value + "," + &text);
                self.model.insert((at, key), Entry { value, end });
            }
            Write::Delete(key) => {
                keyspace.delete([key]).unwrap();
                self.model.remove(&(at, key));
            }
            Write::DeleteRange(start, end) => {
                keyspace.delete_range([start]..[end]).unwrap();
                self.model.retain(|(own, key), _| *own != at || *key < start || *key >= end);
            }
        }
    }

    /// Returns the end after a write, over an entry with this end if it is a merge onto one.
    fn end_of(&self, at: usize, lifetime: Option<u64>, before: Option<u64>) -> u64 {
        let rule = RULES[at];
        let lives = |lifetime: u64| {
            // Buckets count from 2020-01-01.
            let origin = crate::expiry::support::START - 1_577_836_800;
            (origin + self.time + lifetime).next_multiple_of(bucket_of(rule)) - origin
        };
        match (lifetime, rule, before) {
            (Some(lifetime), ..) => lives(lifetime),
            (None, "last", _) => lives(10),
            (None, _, Some(before)) => before,
            (None, "per write", None) => NEVER,
            (None, _, None) => lives(10),
        }
    }

    fn check(&mut self) {
        for (snapshot, entries, time) in &self.snapshots {
            let options =
                ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
            self.check_against(entries, *time, &options);
        }
        for at in 0..RULES.len() {
            let _keyspace = self.keyspace(at);
        }
        self.time = self.time.max(self.second);
        self.check_against(&self.model, self.time, &ReadOptions::default());
    }

    fn check_against(&self, entries: &Entries, time: u64, options: &ReadOptions) {
        for (at, rule) in RULES.iter().enumerate() {
            let keyspace = self.keyspace(at);
            let alive = |key: u8| entries.get(&(at, key)).filter(|entry| entry.end > time);
            let mut expected = Vec::new();
            for key in b'a'..=b'd' {
                let found = keyspace.with(options).get([key]).unwrap();
                let found = found.map(|value| String::from_utf8(value.into_owned()).unwrap());
                let key_name = char::from(key);
                assert_eq!(
                    found.as_ref(),
                    alive(key).map(|entry| &entry.value),
                    "{rule} {key_name}"
                );
                expected.extend(found.map(|value| (vec![key], value.into_bytes())));
            }
            let pairs = |entry: foldb::Result<(Vec<u8>, foldb::Value)>| {
                let (key, value) = entry.unwrap();
                (key, value.into_owned())
            };
            let walked: Vec<_> = keyspace.with(options).range(..).unwrap().map(pairs).collect();
            assert_eq!(walked, expected, "{rule}");
            let walked: Vec<_> =
                keyspace.with(options).range(..).unwrap().rev().map(pairs).collect();
            expected.reverse();
            assert_eq!(walked, expected, "{rule} backwards");
        }
    }
}

fn run(steps: &[Step]) {
    let mut world = World::new();
    for at in 0..RULES.len() {
        world.keyspace(at);
    }
    for step in steps {
        world.step(*step);
    }
    world.check();
    settle(world.db());
    world.check();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn entries_expire_as_in_the_model(steps in proptest::collection::vec(step(), 1..120)) {
        run(&steps);
    }
}

/// The model notices each planted fault of expiry within the same number of histories.
#[cfg(debug_assertions)]
#[test]
fn planted_faults_of_expiry_are_noticed() {
    use foldb::faults::{Fault, plant};
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    for fault in [Fault::MergeOntoExpired, Fault::DropExpiredEarly, Fault::DropExpiredBelowMerge] {
        let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, random);
        let histories = proptest::collection::vec(step(), 1..120);
        let is_noticed = (0..400).any(|_| {
            let steps = histories.new_tree(&mut runner).unwrap().current();
            plant(Some(fault));
            let outcome = quiet::catch(|| run(&steps));
            plant(None);
            outcome.is_err()
        });
        assert!(is_noticed, "no history notices {fault:?}");
    }
}
