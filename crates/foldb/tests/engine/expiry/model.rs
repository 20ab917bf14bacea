//! Expiry against a model: all rules, a clock that jumps both ways, snapshots, flushes, compactions
//! and crashes.

use std::sync::Arc;

use foldb::env::{ManualClock, MemFs};
use foldb::expiry::Expires;
use foldb::{Db, Keyspace, ReadOptions, Snapshot, WriteOptions};
use foldb_model::{Cell, Change, Model, Moment, Operation, Operator, Reset};
use proptest::prelude::*;

use crate::expiry::support::{START, clock, lists, open, seconds, settle};
use crate::support::model::fading::{RULES, expiry_of};
#[cfg(debug_assertions)]
use crate::support::quiet;

/// The names of the keyspaces, each of which has one of the [`RULES`].
const NAMES: [&str; RULES.len()] = ["last", "first", "first in buckets", "per write"];

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
    /// The last write and reset, and the database's second, which falls only by a reset.
    now: Moment,
    db: Option<Db>,
    model: Model,
    snapshots: Vec<(Snapshot, Moment)>,
}

impl World {
    fn new() -> World {
        let (fs, clock) = (MemFs::new(), clock());
        let db = Some(open(&fs, &clock));
        let mut model = Model::default();
        RULES.into_iter().enumerate().for_each(|(at, rule)| model.create(at, Some(rule)));
        let (second, snapshots) = (START + 20, Vec::new());
        let now = Moment { number: 0, second };
        let world = World { fs, clock, second, now, db, model, snapshots };
        world.set_clock();
        world
    }

    fn set_clock(&self) {
        self.clock.set_time_of_day(self.second);
    }

    /// Notes that the database looks at the clock.
    fn look(&mut self) {
        self.now.second = self.now.second.max(self.second);
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn keyspace(&self, at: usize) -> Keyspace {
        lists(self.db(), NAMES[at], expiry_of(RULES[at]))
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
                self.look();
                self.second = self.second.saturating_sub(seconds);
                self.set_clock();
            }
            Step::Flush => self.db().flush().unwrap(),
            Step::Compact(at) => self.keyspace(at).compact(..).unwrap(),
            Step::Background => settle(self.db()),
            Step::Snapshot => {
                // A snapshot of a database with such a keyspace looks at the clock.
                let _keyspace = self.keyspace(0);
                self.look();
                self.snapshots.push((self.db().snapshot(), self.now));
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

    /// Resets the time, and tells the model what is left.
    fn reset(&mut self) {
        let _keyspace = self.keyspace(0);
        let (before, after) = (self.now.second.max(self.second), self.second);
        self.db().reset_clock().unwrap();
        self.now = Moment { number: self.now.number + 1, second: after };
        for keyspace in 0..RULES.len() {
            let entries = self.keyspace(keyspace).iter().unwrap().map(pair).collect();
            let reset = Reset { number: self.now.number, before, after, keyspace, entries };
            self.model.reset(&reset).unwrap();
        }
    }

    fn write(&mut self, at: usize, write: Write, lifetime: Option<u64>) {
        let keyspace = self.keyspace(at);
        self.look();
        self.now.number += 1;
        let text = self.now.number.to_string().into_bytes();
        let expires = lifetime.map(|lifetime| Expires::After(seconds(lifetime)));
        let options = WriteOptions { expires, ..WriteOptions::default() };
        let change = match write {
            Write::Put(key) => {
                keyspace.with(&options).put([key], &text).unwrap();
                Change::Put(vec![key], text)
            }
            Write::Merge(key) => {
                keyspace.with(&options).merge([key], &text).unwrap();
                Change::Merge(Operator::Append(b','), vec![key], text)
            }
            Write::Delete(key) => {
                keyspace.delete([key]).unwrap();
                Change::Delete(vec![key])
            }
            Write::DeleteRange(start, end) => {
                keyspace.delete_range([start]..[end]).unwrap();
                Change::delete_range(vec![start]..vec![end])
            }
        };
        self.model.apply_lasting(&Operation { keyspace: at, change }, lifetime, self.now);
    }

    fn check(&mut self) {
        for (snapshot, at) in &self.snapshots {
            let snapshot = Some(snapshot.clone());
            self.check_against(*at, &ReadOptions { snapshot, ..ReadOptions::default() });
        }
        for at in 0..RULES.len() {
            let _keyspace = self.keyspace(at);
        }
        self.look();
        self.check_against(self.now, &ReadOptions::default());
    }

    fn check_against(&self, moment: Moment, options: &ReadOptions) {
        for (at, name) in NAMES.iter().enumerate() {
            let (keyspace, view) = (self.keyspace(at), self.model.of(at, moment));
            for key in b'a'..=b'd' {
                let found = keyspace.with(options).get([key]).unwrap();
                let found = found.map(|value| Cell::Value(value.into_owned()));
                assert_eq!(found.as_ref(), view.get(&[key]), "{name} {}", char::from(key));
            }
            let expected = view.entries().map(|(key, cell)| (key.clone(), cell.value().clone()));
            let mut expected: Vec<_> = expected.collect();
            let walk = || keyspace.with(options).range(..).unwrap();
            assert_eq!(walk().map(pair).collect::<Vec<_>>(), expected, "{name}");
            expected.reverse();
            assert_eq!(walk().rev().map(pair).collect::<Vec<_>>(), expected, "{name} backwards");
        }
    }
}

fn pair(entry: foldb::Result<(Vec<u8>, foldb::Value)>) -> (Vec<u8>, Vec<u8>) {
    let (key, value) = entry.unwrap();
    (key, value.into_owned())
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
