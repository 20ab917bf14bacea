//! Databases that share a runtime: it bounds threads, file handles and memory over all of them.
//! They share nothing else.

use std::cell::Cell;
use std::cmp::Ordering;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use foldb::custom::Comparator;
use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, MemFs, Stepped, SystemThreads, Thread, ThreadBody, Threads};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, Runtime, RuntimeOptions};
use tempfile::TempDir;

use crate::support::steps::run_background;
use crate::support::{RaisedAtEnd, assert_error, count, number, only_appends};

const MIB: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// The operating system's threads, counted.
#[derive(Debug, Default)]
struct Counted {
    begun: AtomicUsize,
    alive: Arc<AtomicUsize>,
}

impl Threads for Counted {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        self.begun.fetch_add(1, SeqCst);
        self.alive.fetch_add(1, SeqCst);
        let alive = Arc::clone(&self.alive);
        let body = Box::new(move || {
            body();
            alive.fetch_sub(1, SeqCst);
        });
        SystemThreads.spawn(name, body)
    }
}

fn options(runtime: &Runtime) -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        runtime: Some(runtime.clone()),
        ..Options::default()
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns how many files below a directory this process has open.
#[cfg(target_os = "linux")]
fn handles(directory: &Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(directory)).count()
}

#[cfg(not(target_os = "linux"))]
fn handles(_: &Path) -> usize {
    0
}

/// Ask 31, C3: a hundred databases in one process take the threads, handles and memory of one.
#[test]
fn a_hundred_databases_share_threads_handles_and_memory() {
    const DATABASES: usize = 100;
    const ROUNDS: u64 = 12;
    const KEYS: u64 = 100;
    const OPEN_TABLES: usize = 40;
    let directory = TempDir::new().unwrap();
    let threads = Arc::new(Counted::default());
    let runtime = Runtime::new(RuntimeOptions {
        // Each database takes a quarter of a MiB, whatever it holds: the first piece of a memtable
        // and the window of a log. All sealed memtables and open tables together have 3 MiB.
        memory_budget: DATABASES / 4 * MIB + 3 * MIB,
        block_cache_size: 2 * MIB,
        max_open_files: OPEN_TABLES,
        background_threads: 2,
        threads: Arc::clone(&threads) as Arc<dyn Threads>,
        ..RuntimeOptions::default()
    })
    .unwrap();
    let open = |n: usize| {
        let options = Options { target_file_size: 64 << 10, ..options(&runtime) };
        Db::open(directory.path().join(n.to_string()), options).unwrap()
    };
    let databases: Vec<Db> = (0..DATABASES).map(open).collect();
    let filler = [7; 150];
    let (mut most, mut most_handles) = (0, 0);
    for round in 0..ROUNDS {
        for (n, db) in databases.iter().enumerate() {
            for key in 0..KEYS {
                db.merge(format!("counter{key}"), number(n as u64 + 1)).unwrap();
                db.put(format!("filler{round}-{key}"), filler).unwrap();
            }
            let memory = runtime.memory();
            most = most.max(memory.total());
            assert!(memory.total() <= memory.budget, "{memory:?}");
        }
        most_handles = most_handles.max(handles(directory.path()));
    }
    assert!(most > 8 * MIB as u64, "the data fits into too little memory to test anything: {most}");
    let flushes: u64 = databases.iter().map(|db| db.stats().flushes).sum();
    assert!(flushes > 0, "the budget forces flushes");
    for (n, db) in databases.iter().enumerate() {
        for key in 0..KEYS {
            assert_eq!(count(db, &format!("counter{key}")), ROUNDS * (n as u64 + 1));
        }
        assert_eq!(db.get("filler3-50").unwrap().unwrap(), filler);
        let memory = runtime.memory();
        assert!(memory.total() <= memory.budget, "{memory:?}");
    }
    most_handles = most_handles.max(handles(directory.path()));
    // Each has a lock, a log, a manifest and a recording. Some logs are on their way out, and two
    // workers have files in hand.
    assert!(most_handles <= OPEN_TABLES + 5 * DATABASES + 40, "{most_handles} handles");
    assert_eq!(threads.begun.load(SeqCst), 3, "two workers and the recorders' thread");
    drop(databases);
    let again = open(17);
    assert_eq!(count(&again, "counter5"), ROUNDS * 18);
    assert_eq!(threads.begun.load(SeqCst), 3, "the threads start once");
}

#[test]
fn threads_end_with_the_last_user() {
    let directory = TempDir::new().unwrap();
    let threads = Arc::new(Counted::default());
    let options_of = RuntimeOptions {
        background_threads: 3,
        threads: Arc::clone(&threads) as Arc<dyn Threads>,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options_of).unwrap();
    assert_eq!(threads.begun.load(SeqCst), 0, "they start with the first work");
    let first = Db::open(directory.path().join("first"), options(&runtime)).unwrap();
    let second = Db::open(directory.path().join("second"), options(&runtime)).unwrap();
    drop(runtime);
    first.put("key", "value").unwrap();
    first.flush().unwrap();
    first.close().unwrap();
    drop(first);
    // Three workers, and the thread of the flight recorders.
    assert_eq!(threads.alive.load(SeqCst), 4);
    second.put("key", "value").unwrap();
    second.flush().unwrap();
    let iterator = second.iter().unwrap();
    drop(second);
    assert_eq!(threads.alive.load(SeqCst), 4, "an iterator keeps its database");
    drop(iterator);
    assert_eq!(threads.alive.load(SeqCst), 0);
    assert_eq!(threads.begun.load(SeqCst), 4);
}

/// File numbers and offsets repeat from database to database; the cache must tell them apart.
#[test]
fn databases_with_the_same_files_do_not_see_each_others_blocks() {
    let directory = TempDir::new().unwrap();
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let open = |name: &str| Db::open(directory.path().join(name), options(&runtime)).unwrap();
    let (left, right) = (open("left"), open("right"));
    for n in 0..1000u64 {
        left.put(format!("key{n:04}"), format!("left {n:04} and some more")).unwrap();
        right.put(format!("key{n:04}"), format!("rite {n:04} and some more")).unwrap();
    }
    left.flush().unwrap();
    right.flush().unwrap();
    for _ in 0..2 {
        for n in (0..1000).step_by(7) {
            let key = format!("key{n:04}");
            assert!(left.get(&key).unwrap().unwrap().starts_with(b"left"));
            assert!(right.get(&key).unwrap().unwrap().starts_with(b"rite"));
        }
    }
    let (own, other) = (left.stats(), right.stats());
    assert!(own.block_cache_hits > 0 && other.block_cache_hits > 0);
    assert_eq!(own.memory, other.memory, "one runtime, one account");
    let cached = runtime.memory().block_cache;
    right.close().unwrap();
    assert!(runtime.memory().block_cache < cached, "a close frees the database's blocks");
    assert!(left.get("key0000").unwrap().unwrap().starts_with(b"left"));
}

/// Every byte has an item, and items come and go with what they count.
#[test]
fn memory_is_itemised() {
    let directory = TempDir::new().unwrap();
    let own = Options {
        create_if_missing: true,
        write_buffer_size: 4 * MIB,
        runtime: None,
        ..Options::default()
    };
    let db = Db::open(directory.path(), own).unwrap();
    assert_eq!(db.memory().budget, 256 * MIB as u64);
    let before = db.memory();
    assert_eq!((before.active_memtables, before.filters, before.block_cache), (0, 0, 0));
    let value = [3; 500];
    (0..4000u32).for_each(|n| db.put(n.to_be_bytes(), value).unwrap());
    let written = db.memory();
    assert!(written.active_memtables > 4000 * 500, "{written:?}");
    let is_mapped = cfg!(unix) && !only_appends();
    assert!(!is_mapped || written.logs > 0, "{written:?}");
    let pinned = db.get(7u32.to_be_bytes()).unwrap().unwrap();
    db.flush().unwrap();
    let flushed = db.memory();
    assert_eq!((flushed.active_memtables, flushed.sealed_memtables), (0, 0));
    assert!(flushed.pinned_memtables >= 4000 * 500, "{flushed:?}");
    assert_eq!(pinned, value);
    drop(pinned);
    let let_go = db.memory();
    assert_eq!(let_go.pinned_memtables, 0);
    assert!(let_go.spare_memtables >= 4000 * 500, "{let_go:?}");
    assert_eq!(let_go.filters, 0, "no read asked a filter yet");
    assert_eq!(db.get(7u32.to_be_bytes()).unwrap().unwrap(), value);
    let read = db.memory();
    assert!(read.filters >= 4000 * 10 / 8 && read.indexes > 0 && read.block_cache > 0, "{read:?}");
    assert_eq!(db.stats().memory.filters, read.filters);
    assert_eq!(read.total(), read.items().iter().map(|(_, bytes)| bytes).sum::<u64>());
}

/// The items together stay within the budget, whatever runs at once.
#[test]
fn the_budget_is_kept_under_writes_reads_and_compactions() {
    const KEYS: u64 = 60_000;
    let directory = TempDir::new().unwrap();
    let own = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        memory_budget: 12 * MIB,
        target_file_size: 256 << 10,
        level0_compaction_trigger: 2,
        ..Options::default()
    };
    let db = Db::open(directory.path(), own).unwrap();
    let done = AtomicBool::new(false);
    let key = |n: u64| format!("{:016x}", (n % KEYS).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let _done = RaisedAtEnd(&done);
            for n in 0..5 * KEYS {
                db.merge(key(n), number(1)).unwrap();
            }
        });
        let mut n = 0;
        while !done.load(SeqCst) {
            n += 7919;
            db.get(key(n)).unwrap();
            let memory = db.memory();
            assert!(memory.total() <= memory.budget, "{memory:?}");
        }
    });
    db.wait_for_background().unwrap();
    assert!((0..KEYS).step_by(97).all(|n| count(&db, &key(n)) == 5));
    let stats = db.stats();
    assert!(stats.flushes > 2 && stats.compactions > 0, "too little happened: {stats:?}");
}

/// H14: memory that readers pin is reported, but no writer waits for it: only the reader can
/// release it.
#[test]
fn h14_pinned_memtables_stop_no_writer() {
    let directory = TempDir::new().unwrap();
    let own = Options {
        create_if_missing: true,
        memory_budget: 8 * MIB,
        max_write_buffers: 2,
        ..Options::default()
    };
    let db = Db::open(directory.path(), own).unwrap();
    let mut held = Vec::new();
    for n in 0..30_000u32 {
        db.put(n.to_be_bytes(), [n as u8; 1000]).unwrap();
        if n % 200 == 0 {
            held.push((n, db.get(n.to_be_bytes()).unwrap().unwrap()));
        }
    }
    db.flush().unwrap();
    let memory = db.memory();
    assert!(memory.pinned_memtables > 2 * memory.budget, "{memory:?}");
    assert!(held.iter().all(|(n, value)| **value == [*n as u8; 1000]));
    drop(held);
    let memory = db.memory();
    assert_eq!(memory.pinned_memtables, 0);
    assert!(memory.total() <= memory.budget, "{memory:?}");
}

/// A database of a runtime without threads is stepped by hand, and steps only itself.
#[test]
fn without_threads_each_database_steps_for_itself() {
    let fs = MemFs::new();
    let runtime = Runtime::new(RuntimeOptions {
        memory_budget: 8 * MIB,
        threads: Arc::new(Stepped),
        ..RuntimeOptions::default()
    })
    .unwrap();
    let open = |name: &str| {
        Db::open(name, Options { env: Env::in_memory(fs.clone()), ..options(&runtime) }).unwrap()
    };
    let (busy, idle) = (open("busy"), open("idle"));
    idle.put("large", vec![1; 1900 << 10]).unwrap();
    // The database that holds most is asked to seal, though another one writes.
    (0..25_000u64).for_each(|n| busy.put(format!("key{n}"), [0; 100]).unwrap());
    assert_eq!(idle.stats().flushes, 0, "no flush runs without a step");
    assert!(run_background(&idle, |_| ()) > 0);
    assert_eq!(idle.stats().flushes, 1);
    let memory = runtime.memory();
    assert!(memory.total() <= memory.budget, "{memory:?}");
    busy.flush().unwrap();
    run_background(&busy, |_| ());
    assert_eq!(busy.get("key7").unwrap().unwrap(), [0; 100]);
    assert_eq!(idle.get("large").unwrap().unwrap().len(), 1900 << 10);
}

thread_local! {
    static IS_WORKER: Cell<bool> = Cell::new(
        std::thread::current().name().is_some_and(|name| name.starts_with("foldb-"))
    );
}

/// The order of the bytes, by an implementation with a bug that shows on workers.
#[derive(Debug, Default)]
struct Treacherous {
    armed: AtomicBool,
}

impl Comparator for Treacherous {
    fn name(&self) -> &str {
        "treacherous"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if IS_WORKER.get() && self.armed.load(SeqCst) {
            std::panic::panic_any("the comparator lost its mind");
        }
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// A comparator's panic on a worker becomes an error for waiting callers, stops writes to its
/// keyspace, and does nothing else.
#[test]
fn a_panic_in_the_background_is_an_error_and_leaves_no_caller_waiting() {
    let directory = TempDir::new().unwrap();
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let comparator = Arc::new(Treacherous::default());
    let own = Options {
        default: KeyspaceOptions {
            comparator: Some(Arc::clone(&comparator) as _),
            ..options(&runtime).default
        },
        ..options(&runtime)
    };
    let sick = Db::open(directory.path().join("sick"), own.clone()).unwrap();
    let healthy = Db::open(directory.path().join("healthy"), options(&runtime)).unwrap();
    for key in ["a", "b", "c"] {
        sick.put(key, "value").unwrap();
    }
    comparator.armed.store(true, SeqCst);
    let error = assert_error(sick.flush(), ErrorKind::ComparatorFailed, None).to_string();
    assert!(error.contains("it panicked (the comparator lost its mind)"), "{error}");
    assert_error(sick.put("d", "value"), ErrorKind::ComparatorFailed, None);
    assert_error(sick.wait_for_background(), ErrorKind::ComparatorFailed, None);
    assert_eq!(sick.get("b").unwrap().unwrap(), b"value");
    healthy.put("key", "value").unwrap();
    healthy.flush().unwrap();
    healthy.compact(..).unwrap();
    drop(sick);
    comparator.armed.store(false, SeqCst);
    let recovered = Db::open(directory.path().join("sick"), own).unwrap();
    assert_eq!(recovered.get("c").unwrap().unwrap(), b"value");
    recovered.flush().unwrap();
}

/// The same in a compaction: its job is abandoned, so that callers do not wait for its end for
/// ever.
#[test]
fn a_panic_in_a_compaction_gives_up_its_job() {
    let directory = TempDir::new().unwrap();
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let comparator = Arc::new(Treacherous::default());
    let own = Options {
        default: KeyspaceOptions {
            comparator: Some(Arc::clone(&comparator) as _),
            ..options(&runtime).default
        },
        level0_compaction_trigger: 3,
        ..options(&runtime)
    };
    let db = Db::open(directory.path(), own).unwrap();
    for round in 0..3 {
        if round == 2 {
            // This flush compares no two keys: one key needs no order.
            comparator.armed.store(true, SeqCst);
        }
        db.merge("counter", number(1)).unwrap();
        if db.flush().is_err() {
            break;
        }
    }
    let waited =
        assert_error(db.wait_for_background(), ErrorKind::ComparatorFailed, None).to_string();
    assert!(waited.contains("panicked"), "{waited}");
    assert_eq!(count(&db, "counter"), 3);
    db.close().unwrap();
}

/// Writes and flushes go on while compactions fail. A caller that waits for a compaction gets the
/// error. When the cause is gone, compactions resume by themselves.
#[test]
fn a_compaction_that_fails_fails_no_write_and_no_flush() {
    let fs = MemFs::new();
    let env = Env { threads: Arc::new(SystemThreads), ..Env::in_memory(fs.clone()) };
    let own = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        level0_compaction_trigger: 2,
        env,
        ..Options::default()
    };
    let db = Db::open("db", own).unwrap();
    // So many that builds with debug assertions do not check the whole order at each install.
    (0..25_000u32).for_each(|n| db.put(n.to_be_bytes(), "value").unwrap());
    db.flush().unwrap();
    db.wait_for_background().unwrap();
    fs.inject(Fault::on(Operation::Read).path(".tbl").forever());
    for round in 1..=3u64 {
        db.merge("counter", number(round)).unwrap();
        db.flush().unwrap();
    }
    assert_error(db.wait_for_background(), ErrorKind::Io, None);
    // The failure is known by now, and affects no other call.
    for round in 4..=10u64 {
        db.merge("counter", number(round)).unwrap();
        db.flush().unwrap();
    }
    fs.clear_faults();
    wait_until("compactions do not resume", || db.wait_for_background().is_ok());
    assert!(db.stats().compactions > 0);
    assert_eq!(count(&db, "counter"), 55);
}

/// A failed flush is an error for callers that wait for it. Writes that still fit go on.
#[test]
fn a_flush_that_fails_is_reported_to_its_waiting_callers() {
    let fs = MemFs::new();
    let env = Env { threads: Arc::new(SystemThreads), ..Env::in_memory(fs.clone()) };
    let db =
        Db::open("db", Options { create_if_missing: true, env, ..Options::default() }).unwrap();
    db.put("key", "value").unwrap();
    fs.inject(Fault::on(Operation::Create).path(".tbl").forever().kind(io::ErrorKind::StorageFull));
    assert_error(db.flush(), ErrorKind::NoSpace, None);
    db.put("key", "other").unwrap();
    fs.clear_faults();
    wait_until("flushes do not resume", || db.flush().is_ok());
    assert_eq!(db.get("key").unwrap().unwrap(), b"other");
}

/// Memory that the program reserves counts in the budget, beside one database and beside several.
#[test]
fn reserved_memory_takes_from_write_buffers() {
    for databases in [1, 3] {
        let directory = TempDir::new().unwrap();
        let budget = 16 * MIB;
        let runtime = Runtime::new(RuntimeOptions {
            memory_budget: budget,
            block_cache_size: budget,
            compaction_memory_budget: budget / 16,
            ..RuntimeOptions::default()
        })
        .unwrap();
        let open =
            |n: usize| Db::open(directory.path().join(n.to_string()), options(&runtime)).unwrap();
        let databases: Vec<Db> = (0..databases).map(open).collect();
        let mut reservation = runtime.reserve();
        reservation.set(budget * 3 / 8);
        let mut most = 0;
        for n in 0..40_000u32 {
            let db = &databases[n as usize % databases.len()];
            db.put(n.to_be_bytes(), [7; 400]).unwrap();
            if n % 64 == 0 {
                let memory = runtime.memory();
                assert!(memory.total() <= memory.budget, "{memory:?}");
                most = most.max(memory.total());
            }
        }
        assert!(most > budget as u64 / 2, "too few writes to test anything: {most}");
        drop(reservation);
        assert_eq!(runtime.memory().reserved, 0);
    }
}
