//! Random histories under a compaction filter, against a model that knows exactly which values a
//! manual compaction shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldb::custom::Verdict;
use foldb::env::MemFs;
use foldb::{CompactionPreset, Db, KeyspaceOptions, Options, Snapshot};
use proptest::prelude::*;
use proptest::sample::select;

use super::support::Noting;
use crate::support::{PATH, PRESETS, sliced, text};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Step {
    Put(&'static str, &'static str),
    Merge(&'static str, &'static str),
    Delete(&'static str),
    DeleteAll,
    Flush,
    Background,
    Compact,
    TakeSnapshot,
    ReleaseSnapshot(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let text = || select(vec!["k", "r", "c"]);
    prop_oneof![
        6 => (select(&KEYS[..]), text()).prop_map(|(key, value)| Step::Put(key, value)),
        8 => (select(&KEYS[..]), text()).prop_map(|(key, value)| Step::Merge(key, value)),
        2 => select(&KEYS[..]).prop_map(Step::Delete),
        1 => Just(Step::DeleteAll),
        4 => Just(Step::Flush),
        2 => Just(Step::Background),
        3 => Just(Step::Compact),
        2 => Just(Step::TakeSnapshot),
        2 => (0..4usize).prop_map(Step::ReleaseSnapshot),
    ]
}

/// Removes values that end with `r`, and changes those with `c`.
fn judge(_: &[u8], value: &[u8]) -> Verdict {
    match value {
        [.., b'r'] => Verdict::Remove,
        [.., b'c'] => Verdict::Change(b"changed".to_vec()),
        _ => Verdict::Keep,
    }
}

/// A record of a key.
#[derive(Clone, Debug)]
enum Record {
    /// A put, or a delete.
    Base(Option<String>),
    Operand(&'static str),
}

/// The history of every key: its records by the moments of their writes.
#[derive(Default)]
struct Model {
    now: u64,
    keys: BTreeMap<&'static str, Vec<(u64, Record)>>,
}

impl Model {
    fn write(&mut self, key: &'static str, record: Record) {
        self.now += 1;
        self.keys.entry(key).or_default().push((self.now, record));
    }

    /// Returns the records that a reader at a moment folds, oldest first.
    fn chain(&self, key: &str, moment: u64) -> &[(u64, Record)] {
        let all = self.keys.get(key).map_or(&[][..], Vec::as_slice);
        let seen = &all[..all.partition_point(|(written, _)| *written <= moment)];
        let base = seen.iter().rposition(|(_, record)| matches!(record, Record::Base(_)));
        &seen[base.unwrap_or(0)..]
    }

    fn read(&self, key: &str, moment: u64) -> Option<String> {
        self.chain(key, moment).iter().fold(None, |value, (_, record)| match (value, record) {
            (_, Record::Base(base)) => base.clone(),
            (Some(value), Record::Operand(operand)) => Some(format!("{value},{operand}")),
            (None, Record::Operand(operand)) => Some((*operand).to_owned()),
        })
    }

    /// Shows the values of a manual compaction to the filter. Returns what it is shown. A value is
    /// whole if its chain has a base above the newest snapshot, or if there is no snapshot.
    fn compact(&mut self, newest_snapshot: Option<u64>) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        for key in KEYS {
            let chain = self.chain(key, u64::MAX);
            let Some(&(newest, _)) = chain.last() else { continue };
            let has_base = matches!(chain[0].1, Record::Base(_));
            let is_whole = newest_snapshot.is_none_or(|seen| has_base && chain[0].0 > seen);
            let Some(value) = self.read(key, u64::MAX).filter(|_| is_whole) else { continue };
            let left = match judge(key.as_bytes(), value.as_bytes()) {
                Verdict::Keep => Some(value.clone()),
                Verdict::Remove => None,
                Verdict::Change(changed) => Some(String::from_utf8(changed).unwrap()),
            };
            shown.push((key.to_owned(), value));
            let from = chain[0].0;
            let history = self.keys.get_mut(key).unwrap();
            history.retain(|(written, _)| *written < from);
            history.push((newest, Record::Base(left)));
        }
        shown
    }
}

/// A database, its model, and the snapshots of both.
struct Run {
    db: Db,
    filter: Arc<Noting>,
    model: Model,
    snapshots: Vec<(u64, Snapshot)>,
}

impl Run {
    fn new(preset: CompactionPreset) -> Run {
        let (fs, filter) = (MemFs::new(), Noting::by(judge).only_manual());
        let mut options = sliced(&fs, preset);
        options.default = KeyspaceOptions {
            merge_operator: Some("stringappend:,".to_owned()),
            ..options.default
        };
        let filters = vec![("default".to_owned(), Arc::clone(&filter) as _)];
        let options = Options { compaction_filters: filters, ..options };
        let db = Db::open(PATH, options).unwrap();
        Run { db, filter, model: Model::default(), snapshots: Vec::new() }
    }

    fn step(&mut self, step: &Step) {
        let Run { db, model, snapshots, .. } = self;
        match *step {
            Step::Put(key, value) => {
                db.put(key, value).unwrap();
                model.write(key, Record::Base(Some(value.to_owned())));
            }
            Step::Merge(key, operand) => {
                db.merge(key, operand).unwrap();
                model.write(key, Record::Operand(operand));
            }
            Step::Delete(key) => {
                db.delete(key).unwrap();
                model.write(key, Record::Base(None));
            }
            // Over nothing, a range tombstone may go at once: then no base lies above a snapshot.
            Step::DeleteAll if !snapshots.is_empty() => {}
            Step::DeleteAll => {
                db.delete_range("a".."z").unwrap();
                KEYS.iter().for_each(|key| model.write(key, Record::Base(None)));
            }
            Step::Flush => db.flush().unwrap(),
            Step::Background => while db.step_background().unwrap() {},
            Step::Compact => {
                db.compact(..).unwrap();
                let newest = snapshots.iter().map(|(moment, _)| *moment).max();
                assert_eq!(self.filter.take_shown(), model.compact(newest));
            }
            Step::TakeSnapshot => snapshots.push((model.now, db.snapshot())),
            Step::ReleaseSnapshot(at) if at < snapshots.len() => drop(snapshots.remove(at)),
            Step::ReleaseSnapshot(_) => {}
        }
        self.check();
    }

    fn check(&self) {
        for key in KEYS {
            assert_eq!(text(&self.db, key), self.model.read(key, u64::MAX), "{key} now");
            for (moment, snapshot) in &self.snapshots {
                assert_eq!(text(snapshot, key), self.model.read(key, *moment), "{key} at {moment}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_sees_and_changes_exactly_what_no_snapshot_protects(
        preset in select(&PRESETS[..]),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut run = Run::new(preset);
        steps.iter().for_each(|step| run.step(step));
        run.db.verify().unwrap();
    }
}

#[cfg(debug_assertions)]
#[test]
fn the_model_notices_a_filter_that_reaches_below_a_snapshot() {
    use foldb::faults::{Fault, plant};

    let steps = [Step::Put("a", "r"), Step::TakeSnapshot, Step::Compact];
    let play = || {
        let mut run = Run::new(PRESETS[0]);
        steps.iter().for_each(|step| run.step(step));
    };
    play();
    plant(Some(Fault::FilterBelowSnapshot));
    let played = std::panic::catch_unwind(play);
    plant(None);
    assert!(played.is_err(), "the fault goes unnoticed");
}
