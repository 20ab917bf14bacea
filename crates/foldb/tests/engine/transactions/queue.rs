//! Queues: each entry is taken once, in order, and as fast behind many as behind none.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use foldb::custom::Comparator;
use foldb::env::MemFs;
use foldb::stats::ReadReport;
use foldb::{
    Db, ErrorKind, Isolation, Keyspace, KeyspaceOptions, Options, ReadOptions, TransactionOptions,
};
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
    Load(u8),
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
        1 => (0..40u8).prop_map(Step::Load),
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
            Step::Load(key) => {
                let mut load = db.default_keyspace().sorted_load().unwrap();
                load.put([key], at.to_be_bytes()).unwrap();
                load.finish().unwrap();
                model.insert(key, at.to_be_bytes());
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

/// The order of the bytes, which counts its comparisons: the work of walks, whatever the machine
/// does besides.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "test.counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        self.0.fetch_add(1, Ordering::Relaxed);
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

struct Counted {
    db: Db,
    own: Keyspace,
    counting: Arc<Counting>,
}

impl Counted {
    fn new() -> Counted {
        let db = Db::open(PATH, crate::support::options(&MemFs::new())).unwrap();
        let counting = Arc::new(Counting::default());
        let comparator = Some(Arc::clone(&counting) as Arc<dyn Comparator>);
        let options = KeyspaceOptions { comparator, ..KeyspaceOptions::default() };
        let own = db.create_keyspace("own", options).unwrap();
        Counted { db, own, counting }
    }

    /// Returns the comparisons of each of `n` steps.
    fn each(&self, n: u32, mut step: impl FnMut(u32)) -> u64 {
        self.counting.0.store(0, Ordering::Relaxed);
        (0..n).for_each(&mut step);
        self.counting.0.load(Ordering::Relaxed) / u64::from(n)
    }
}

/// Compares the work of a step among few with the work of a step among ten times as many.
fn assert_constant(name: &str, cost: impl Fn(u32) -> u64, few: u32) {
    let (among_few, among_many) = (cost(few), cost(10 * few));
    println!("{name}: {among_few} comparisons a step among {few}, {among_many} among {}", 10 * few);
    assert!(among_many <= 2 * among_few, "{name}: {among_many} after {among_few}");
}

fn fill(of: &Counted, n: u32) {
    (0..n).for_each(|key| of.own.put(key.to_be_bytes(), "job").unwrap());
}

/// Each call stepped over all keys that were deleted before. (facebook/rocksdb#5265)
#[test]
fn a_drain_with_first_and_delete_is_linear() {
    let front = |n: u32| {
        let of = Counted::new();
        fill(&of, n);
        of.db.flush().unwrap();
        let cost = of.each(n, |_| {
            let (key, _) = of.own.first().unwrap().unwrap();
            of.own.delete(key).unwrap();
        });
        assert!(of.own.is_empty().unwrap());
        cost
    };
    assert_constant("first and delete over tables", front, 1000);
    // Backwards, runs are led past deleted keys in the order of the bytes only.
    let back = |n: u32| {
        let of = Counted::new();
        let db = &of.db;
        (0..n).for_each(|key| db.put(key.to_be_bytes(), [7; 100]).unwrap());
        db.flush().unwrap();
        let report = ReadReport::default();
        let options = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
        for _ in 0..n {
            let mut iter = db.with(&options).range(..).unwrap();
            let (key, _) = iter.next_back().unwrap().unwrap();
            db.delete(key).unwrap();
        }
        100 * (report.cached_blocks() + report.read_blocks()) / u64::from(n)
    };
    assert_constant("last and delete over tables, in blocks of 100 calls", back, 1000);
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        for is_flushed in [false, true] {
            let inside = |n: u32| {
                let of = Counted::new();
                fill(&of, n);
                if is_flushed {
                    of.db.flush().unwrap();
                }
                let options = TransactionOptions { isolation, ..Default::default() };
                let transaction = of.db.with(&options).begin().unwrap();
                let own = transaction.keyspace(&of.own);
                let cost = of.each(n, |step| {
                    let entry = if step % 2 == 0 { own.first() } else { own.last() };
                    own.delete(entry.unwrap().unwrap().0).unwrap();
                });
                assert!(own.is_empty().unwrap());
                transaction.commit().unwrap();
                assert!(of.own.is_empty().unwrap());
                cost
            };
            assert_constant(&format!("{isolation:?}, flushed: {is_flushed}"), inside, 1000);
        }
    }
}

/// Calls remembered the fronts of 64 queues only. The same tasks are in 1000 queues or in 10 000.
#[test]
fn taking_from_many_queues_is_as_cheap_as_from_few() {
    const ALL: u32 = 60_000;
    for is_flushed in [false, true] {
        let queues = |n: u32| {
            let of = Counted::new();
            let key = |queue: u32, task: u32| [queue.to_be_bytes(), task.to_be_bytes()].concat();
            for task in 0..ALL / n {
                (0..n).for_each(|queue| of.own.put(key(queue, task), "task").unwrap());
            }
            if is_flushed {
                of.db.flush().unwrap();
            }
            // One walk sorts the memtable.
            assert_eq!(of.own.iter().unwrap().count() as u32, ALL);
            of.each(ALL, |step| {
                let (queue, task) = (step % n, step / n);
                let range = &queue.to_be_bytes()[..]..&(queue + 1).to_be_bytes()[..];
                let (taken, _) = of.own.take_first(range).unwrap().unwrap();
                assert_eq!(taken, key(queue, task));
            })
        };
        assert_constant(&format!("queues, flushed: {is_flushed}"), queues, 1000);
    }
}

/// A smaller key, put between two calls, made the next one search from the start again.
#[test]
fn taking_is_as_cheap_with_smaller_keys_put_between() {
    for is_flushed in [false, true] {
        let urgent = |n: u32| {
            let of = Counted::new();
            let key = |priority: u8, task: u32| [&[priority][..], &task.to_be_bytes()].concat();
            (0..n).for_each(|task| of.own.put(key(5, task), "task").unwrap());
            if is_flushed {
                of.db.flush().unwrap();
            }
            of.each(n, |task| {
                of.own.put(key(4, task), "urgent").unwrap();
                for priority in [4, 5] {
                    let (taken, _) = of.own.take_first(..).unwrap().unwrap();
                    assert_eq!(taken, key(priority, task));
                }
            })
        };
        assert_constant(&format!("urgent tasks, flushed: {is_flushed}"), urgent, 1000);
    }
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
