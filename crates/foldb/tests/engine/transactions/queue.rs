//! Queues: each entry is taken once, in order, and as fast behind many as behind none.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::MemFs;
use foldb::{Db, ErrorKind, Options};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::{PATH, open};

const THREADS: u64 = 4;
const TASKS: u64 = 4_000;

#[test]
pub(super) fn each_task_is_taken_once() {
    let dir = TempDir::new().unwrap();
    let small =
        Options { create_if_missing: true, write_buffer_size: 64 << 10, ..Options::default() };
    let db = Db::open(dir.path().join("db"), small).unwrap();
    let (pushed, taken) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS / 2 {
            scope.spawn(|| {
                loop {
                    let task = pushed.fetch_add(1, Ordering::SeqCst);
                    if task >= TASKS {
                        return;
                    }
                    db.put(task.to_be_bytes(), [b't'; 40]).unwrap();
                }
            });
        }
        for _ in 0..THREADS / 2 {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let is_done = pushed.load(Ordering::SeqCst) >= TASKS + THREADS / 2;
                    match db.take_first(..).unwrap() {
                        Some((key, _)) => own.push(key),
                        None if is_done => break,
                        None => thread::yield_now(),
                    }
                }
                taken.lock().unwrap().extend(own);
            });
        }
    });
    let mut taken = taken.into_inner().unwrap();
    taken.sort();
    let all: Vec<Vec<u8>> = (0..TASKS).map(|task| task.to_be_bytes().to_vec()).collect();
    assert!(taken == all, "{} taken", taken.len());
    assert!(db.is_empty().unwrap());
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Put(u8),
    Delete(u8),
    DeleteRange(u8, u8),
    Take(u8, u8),
    Flush,
    Compact,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..40u8).prop_map(Step::Put),
        1 => (0..40u8).prop_map(Step::Delete),
        1 => (0..40u8, 0..40u8).prop_map(|(a, b)| Step::DeleteRange(a.min(b), a.max(b))),
        6 => Just(Step::Take(0, 255)),
        // Several queues in one keyspace, whose ranges overlap.
        3 => (0..3u8, 1..3u8).prop_map(|(a, len)| Step::Take(a * 10, (a + len) * 10)),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

pub(super) fn play(steps: Vec<Step>) {
    let db = open(&MemFs::new()).unwrap();
    let mut model = BTreeMap::new();
    for (at, step) in (0u64..).zip(steps) {
        match step {
            Step::Put(key) => {
                db.put([key], at.to_be_bytes()).unwrap();
                model.insert(key, at.to_be_bytes());
            }
            Step::Delete(key) => {
                db.delete([key]).unwrap();
                model.remove(&key);
            }
            Step::DeleteRange(start, end) => {
                db.delete_range([start]..[end]).unwrap();
                model.retain(|key, _| !(start..end).contains(key));
            }
            Step::Take(start, end) => {
                let first = model.range(start..end).next().map(|(key, at)| (*key, *at));
                if let Some((key, _)) = first {
                    model.remove(&key);
                }
                let taken = db.take_first([start]..[end]).unwrap();
                let taken = taken.map(|(key, at)| (key[0], at[..].try_into().unwrap()));
                assert_eq!(taken, first);
            }
            Step::Flush => db.flush().unwrap(),
            Step::Compact => db.compact(..).unwrap(),
        }
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_queue_gives_its_first_entry(steps in prop::collection::vec(step(), 1..120)) {
        play(steps);
    }
}

/// A key before the front is taken although the entry behind the front cannot be read.
#[test]
fn a_failed_merge_behind_the_front_hides_no_key_before_it() {
    let db = open(&MemFs::new()).unwrap();
    for key in ["b", "c"] {
        db.put(key, "no number").unwrap();
    }
    db.merge("c", 1u64.to_le_bytes()).unwrap();
    assert_eq!(db.take_first(..).unwrap().unwrap().0, b"b");
    db.put("a", "1").unwrap();
    assert_eq!(db.take_first(..).unwrap().unwrap().0, b"a");
    assert_eq!(db.take_first(..).unwrap_err().kind(), ErrorKind::MergeFailed);
    db.put("c", "mended").unwrap();
    assert_eq!(db.take_first(..).unwrap().unwrap().0, b"c");
}

/// The cost of a call does not grow with what was taken before. The bound is loose: a search from
/// the start would take a thousand times as long at the end.
#[test]
fn the_front_does_not_slow_down() {
    let db = Db::open(PATH, crate::support::options(&MemFs::new())).unwrap();
    let round = |from: u64| {
        let start = Instant::now();
        for task in from..from + 20_000 {
            db.put(task.to_be_bytes(), "").unwrap();
            assert_eq!(db.take_first(..).unwrap().unwrap().0, task.to_be_bytes());
        }
        start.elapsed()
    };
    let first = round(0);
    let later = round(20_000).min(round(40_000));
    assert!(later < first * 5 + Duration::from_millis(200), "{first:?}, then {later:?}");
}
