//! A write waits only for work that a worker does, whatever was written before and whatever the
//! options say.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Clock, Env, FileSystem, MemFs, SystemClock, SystemThreads};
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::{
    CompactionPreset, Db, ErrorKind, KeyspaceOptions, Options, Runtime, RuntimeOptions, WriteBatch,
    WriteOptions,
};

use crate::support::gates::Gate;
use crate::support::segments::{key, separating};
use crate::support::{PATH, RaisedAtEnd, options, watched};

const MIB: usize = 1 << 20;

/// Longer than any work of these tests takes on a busy machine.
const LONG: WriteOptions =
    WriteOptions { deadline: Some(Duration::from_secs(60)), ..WriteOptions::DEFAULT };

/// Real threads and real time.
fn on_threads(fs: Arc<dyn FileSystem>) -> Env {
    let (clock, threads) = (Arc::new(SystemClock::default()), Arc::new(SystemThreads));
    Env { fs, clock, threads, seed: Some(0) }
}

/// Returns how long a small put takes.
fn small_put(db: &Db) -> Duration {
    let start = Instant::now();
    db.with(&LONG).put("small", "value").unwrap();
    start.elapsed()
}

/// The put after a batch of 96 MiB once slept for five seconds before the flush began that it was
/// slowed for. Here that flush does not end, and the put still returns while the flush runs.
#[test]
fn the_put_after_a_large_batch_does_not_sleep_for_it() {
    for max_write_buffers in [0, 2] {
        let (fs, gate) = (MemFs::new(), Gate::before_syncs_of("tbl"));
        let env = on_threads(watched(&fs, &gate));
        let options =
            Options { env, max_write_buffers, write_buffer_size: 64 * MIB, ..options(&fs) };
        let db = Db::open(PATH, options).unwrap();
        let _end = gate.open_at_end();
        gate.close();
        let mut batch = WriteBatch::new();
        for n in 0..96u64 {
            batch.put(n.to_be_bytes(), vec![7; MIB]);
        }
        db.write(&batch).unwrap();
        let slowest = (0..2000).map(|_| small_put(&db)).max().unwrap();
        assert!(slowest < Duration::from_secs(1), "{max_write_buffers}: {slowest:?}");
        let stalled = db.stats().stall_micros;
        assert!(stalled < 500_000, "{max_write_buffers}: {stalled} µs");
        gate.wait_for_a_thread();
    }
}

/// A flush of one key once set the assumed speed for a large memtable. The put after a record of
/// 100 MiB then slept for minutes.
#[test]
fn a_put_after_large_records_waits_for_the_flush_in_progress_and_no_longer() {
    let fs = MemFs::new();
    let env = on_threads(Arc::new(fs.clone()));
    let options = Options { env, write_buffer_size: 64 * MIB, ..options(&fs) };
    let db = Db::open(PATH, options).unwrap();
    db.put("tiny", "value").unwrap();
    db.flush().unwrap();
    let large = vec![7; 100 * MIB];
    db.with(&LONG).put("large-0", &large).unwrap();
    let took = small_put(&db);
    assert!(took < Duration::from_secs(1), "{took:?}");
    for n in 1..3 {
        db.with(&LONG).put(format!("large-{n}"), &large).unwrap();
    }
    small_put(&db);
    db.flush().unwrap();
    assert_eq!(db.get("large-2").unwrap().unwrap().len(), large.len());
}

/// Extreme values of options.
#[derive(Clone, Copy, Debug)]
struct Edges {
    preset: CompactionPreset,
    num_levels: usize,
    tier_fan_in: usize,
    trigger: usize,
    slowdown: usize,
    stop: usize,
    staging_ratio: f64,
    max_write_buffers: usize,
    wal_limit: u64,
    compactions: usize,
}

/// Returns a number below another one.
fn draw(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % below as u64) as usize
}

fn draw_edges(state: &mut u64) -> Edges {
    use CompactionPreset::{LazyLeveled, Leveled, Tiered};
    let mut one_of = |of: &[usize]| of[draw(state, of.len())];
    let trigger = one_of(&[1, 2, 4, 8]);
    let stop = trigger + one_of(&[0, 0, 1, 5]);
    Edges {
        preset: [Leveled, Tiered, LazyLeveled][one_of(&[0, 1, 2])],
        num_levels: one_of(&[2, 2, 3, 5, 7]),
        tier_fan_in: one_of(&[2, 4, 8]),
        trigger,
        slowdown: one_of(&[trigger, stop, stop + 8]),
        stop,
        staging_ratio: [0.01, 0.25, 10.0][one_of(&[0, 1, 2])],
        max_write_buffers: one_of(&[0, 2, 3, 9]),
        wal_limit: one_of(&[0, 64 << 10, 1 << 20]) as u64,
        compactions: one_of(&[1, 2]),
    }
}

/// Writes to two keyspaces for a while, while callers on other threads compact. Without threads, a
/// write that waits does the work itself, and fails if there is none.
fn write_at(edges: Edges, has_threads: bool, state: &mut u64) -> foldb::Result<()> {
    let fs = MemFs::new();
    let env = match has_threads {
        true => on_threads(Arc::new(fs.clone())),
        false => Env::in_memory(fs.clone()),
    };
    let options = Options {
        env,
        write_buffer_size: 4096,
        default: KeyspaceOptions { compaction: Some(edges.preset), ..options(&fs).default },
        num_levels: edges.num_levels,
        level0_compaction_trigger: edges.trigger,
        level0_slowdown_trigger: edges.slowdown,
        level0_stop_trigger: edges.stop,
        knobs: Knobs {
            tier_fan_in: edges.tier_fan_in,
            staging_ratio: edges.staging_ratio,
            ..Knobs::default()
        },
        max_write_buffers: edges.max_write_buffers,
        wal_limit: edges.wal_limit,
        max_background_compactions: edges.compactions,
        ..options(&fs)
    };
    let db = Db::open(PATH, options)?;
    let other = db.create_keyspace("other", KeyspaceOptions::default())?;
    let compacts = has_threads && draw(state, 3) == 0;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = RaisedAtEnd(&stop);
        if compacts {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    db.compact(..).unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        for n in 0..200 {
            let key = format!("{:05}", draw(state, 1000));
            let value = vec![7; draw(state, 4000)];
            match n % 3 {
                0 => other.with(&LONG).put(key, value)?,
                _ => db.with(&LONG).put(key, value)?,
            }
        }
        Ok(())
    })
}

/// Level 0 once stopped writers for ever. It had as many runs as allowed, and they were too small
/// for any rule that wants a compaction.
#[test]
fn writers_go_on_at_the_edges_of_the_options() {
    use CompactionPreset::{LazyLeveled, Leveled, Tiered};
    let seen = [
        (Leveled, 4, 7, 1, 1),
        (Leveled, 4, 2, 1, 1),
        (LazyLeveled, 4, 2, 1, 1),
        (LazyLeveled, 4, 2, 2, 2),
        (LazyLeveled, 4, 2, 1, 2),
        (LazyLeveled, 4, 2, 2, 3),
        (Tiered, 8, 7, 2, 2),
        (LazyLeveled, 4, 7, 4, 4),
    ];
    let seen = seen.map(|(preset, tier_fan_in, num_levels, trigger, stop)| Edges {
        preset,
        num_levels,
        tier_fan_in,
        trigger,
        slowdown: stop,
        stop,
        staging_ratio: 0.25,
        max_write_buffers: 0,
        wal_limit: 0,
        compactions: 1,
    });
    let mut state = 1;
    let drawn: Vec<Edges> = (0..40).map(|_| draw_edges(&mut state)).collect();
    for edges in seen.into_iter().chain(drawn) {
        for has_threads in [false, true] {
            if let Err(error) = write_at(edges, has_threads, &mut state) {
                panic!("{edges:?}, threads: {has_threads}: {error}");
            }
        }
    }
}

/// Each `flush` once sealed a memtable and began a log, even while earlier ones were stuck.
#[test]
fn flushes_that_fail_do_not_pile_up_memtables() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 64 << 10, max_write_buffers: 3, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let fault = Fault::on(Operation::Create).path(".tbl").forever();
    fs.inject(fault.kind(io::ErrorKind::StorageFull));
    for n in 0..50 {
        db.put(format!("{n}"), "v").unwrap();
        assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    }
    let files = fs.list(std::path::Path::new(PATH)).unwrap();
    let logs = files.iter().filter(|name| name.ends_with(".log")).count();
    assert!(logs <= 3, "{logs} logs");
    fs.clear_faults();
    db.flush().unwrap();
    assert_eq!(db.iter().unwrap().count(), 50);
}

/// The system's clock, which counts the sleeps asked of it.
#[derive(Debug, Default)]
struct CountingClock {
    clock: SystemClock,
    sleeps: AtomicUsize,
}

impl Clock for CountingClock {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn sleep(&self, duration: Duration) {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        self.clock.sleep(duration);
    }
}

/// A database whose worker collects megabytes of segments at the smallest budget, and pauses for
/// minutes to keep to it.
fn open_with_a_resting_collection(fs: &MemFs) -> Db {
    open_in_with_a_resting_collection(None, fs)
}

/// The same on a runtime that others may share.
fn open_in_with_a_resting_collection(runtime: Option<Runtime>, fs: &MemFs) -> Db {
    let clock = Arc::new(CountingClock::default());
    let env = Env { clock: Arc::clone(&clock) as _, ..on_threads(Arc::new(fs.clone())) };
    let options = Options {
        env,
        runtime,
        knobs: Knobs { gc_io_budget: 4096, segment_size: 4 << 20, ..Knobs::default() },
        max_dead_fraction: 0.1,
        write_buffer_size: 4096,
        max_write_buffers: 2,
        level0_compaction_trigger: 2,
        level0_slowdown_trigger: 4,
        level0_stop_trigger: 4,
        ..separating(fs)
    };
    let db = Db::open(PATH, options).unwrap();
    for keys in [0..300, 0..200] {
        keys.for_each(|n| db.put(key(n), vec![7; 10_000]).unwrap());
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    let start = Instant::now();
    let before = clock.sleeps.load(Ordering::SeqCst);
    while clock.sleeps.load(Ordering::SeqCst) < before + 10 {
        assert!(start.elapsed() < Duration::from_secs(60), "no garbage collection pauses");
        thread::sleep(Duration::from_millis(5));
    }
    db
}

/// A garbage collection that paused to keep to its budget once held the only worker that may
/// compact. Level 0 filled up, and writers waited until it was done.
#[test]
fn compactions_go_on_beside_a_collection_that_rests() {
    let db = open_with_a_resting_collection(&MemFs::new());
    for n in 0..1000 {
        db.with(&LONG).put(format!("{n}"), vec![7; 200]).unwrap();
    }
    db.flush().unwrap();
}

/// The pause of one database once kept the only worker that may compact from all others of its
/// runtime. With one worker it delayed their flushes, too.
#[test]
fn a_collection_that_rests_holds_up_no_database_beside_it() {
    for background_threads in [1, 2] {
        let own = RuntimeOptions { background_threads, ..RuntimeOptions::default() };
        let runtime = Runtime::new(own).unwrap();
        let resting = open_in_with_a_resting_collection(Some(runtime.clone()), &MemFs::new());
        let fs = MemFs::new();
        let options = Options {
            env: on_threads(Arc::new(fs.clone())),
            runtime: Some(runtime),
            write_buffer_size: 4096,
            max_write_buffers: 2,
            level0_compaction_trigger: 2,
            level0_slowdown_trigger: 4,
            level0_stop_trigger: 4,
            ..options(&fs)
        };
        let beside = Db::open(PATH, options).unwrap();
        for n in 0..1000 {
            for db in [&beside, &resting] {
                db.with(&LONG).put(format!("{n}"), vec![7; 50]).unwrap();
            }
        }
        let (sender, receiver) = mpsc::channel();
        let flushing = [beside.clone(), resting.clone()];
        thread::spawn(move || sender.send(flushing.iter().try_for_each(Db::flush)));
        receiver
            .recv_timeout(Duration::from_secs(60))
            .expect("the flush waits for the pause")
            .unwrap();
        assert!(beside.stats().compactions > 0);
    }
}

#[test]
fn a_collection_on_demand_does_not_wait_for_one_that_rests() {
    let db = open_with_a_resting_collection(&MemFs::new());
    let (sender, receiver) = mpsc::channel();
    let merging = db.clone();
    thread::spawn(move || {
        let options = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
        sender.send(merging.with(&options).collect_garbage().map(drop))
    });
    receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("the collection waits for the pause")
        .unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
}
