//! Writers beside each other: is four never slower than one, does each get its share, and does a
//! merge wait for the syncs of other writers (hazards H15 and H23)?
//!
//! `TMPDIR` says where; the syncs want a real disk. Cases alternate, so that a machine whose speed
//! drifts harms all of them alike, and each prints its median of several rounds.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::{Db, KeyspaceOptions, Options, WriteOptions};

/// How long the threads of a round write.
const ROUND: Duration = Duration::from_millis(300);
const ROUNDS: usize = 7;
const HOT_KEYS: u64 = 1000;
const KEYS: u64 = 1_000_000;
const WRITERS: usize = 4;

/// What one thread of a round did.
#[derive(Clone, Copy, Default)]
struct Work {
    writes: u64,
    /// Time of the write that only one in a thousand was slower than, nanoseconds.
    p999: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    Merge { log: bool },
    Put,
    SyncedPut,
}

fn main() {
    for (name, kind) in [
        ("merges on 1000 keys, no log", Kind::Merge { log: false }),
        ("merges on 1000 keys, log", Kind::Merge { log: true }),
        ("random puts of 100 bytes, log", Kind::Put),
    ] {
        one_against_four(name, kind);
    }
    for log in [false, true] {
        beside_a_syncing_writer(log);
    }
}

fn one_against_four(name: &str, kind: Kind) {
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(total(&round(&[kind])));
        together.push(round(&[kind; WRITERS]));
    }
    let rates: Vec<f64> = together.iter().map(|works| total(works)).collect();
    let shares = together.iter().map(|works| {
        let writes = works.iter().map(|work| work.writes);
        writes.clone().min().unwrap_or(0) as f64 / writes.max().unwrap_or(1).max(1) as f64
    });
    let shares = shares.fold(1.0, f64::min);
    let slow = together.iter().flatten().map(|work| work.p999 as f64 / 1e3).collect();
    println!(
        "{name}: 1 writer {:.2} M/s, {WRITERS} writers {:.2} M/s, ratio {:.2}; \
         fewest to most writes of a thread {shares:.2}; p99.9 {:.1} us",
        median(alone.clone()),
        median(rates.clone()),
        median(rates) / median(alone),
        median(slow),
    );
}

fn beside_a_syncing_writer(log: bool) {
    let merge = Kind::Merge { log };
    let (mut alone, mut beside, mut slow, mut syncs) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        alone.push(total(&round(&[merge])));
        let works = round(&[merge, Kind::SyncedPut]);
        beside.push(total(&works[..1]));
        slow.push(works[0].p999 as f64 / 1e3);
        syncs.push(works[1].writes as f64 / ROUND.as_secs_f64());
    }
    println!(
        "merges{}: alone {:.2} M/s, beside {:.0} synced puts a second {:.2} M/s, ratio {:.2}; \
         p99.9 {:.1} us",
        if log { ", log" } else { ", no log" },
        median(alone.clone()),
        median(syncs),
        median(beside.clone()),
        median(beside) / median(alone),
        median(slow),
    );
}

/// Lets one thread of each kind write to a new database.
fn round(kinds: &[Kind]) -> Vec<Work> {
    let directory = tempfile::tempdir().expect("a directory for the database");
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        write_buffer_size: 512 << 20,
        wal_limit: 1 << 40,
        ..Options::default()
    };
    let db = Db::open(directory.path(), options).expect("a new database");
    let (stop, start) = (AtomicBool::new(false), Barrier::new(kinds.len() + 1));
    thread::scope(|scope| {
        let writers: Vec<_> = (kinds.iter().zip(1..))
            .map(|(&kind, seed)| {
                let (db, stop, start) = (&db, &stop, &start);
                scope.spawn(move || {
                    start.wait();
                    write_until(stop, db, kind, seed)
                })
            })
            .collect();
        start.wait();
        thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().expect("no writer panics")).collect()
    })
}

fn write_until(stop: &AtomicBool, db: &Db, kind: Kind, seed: u64) -> Work {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut writes = 0;
    let mut samples = Vec::with_capacity(1 << 16);
    while !stop.load(Ordering::Relaxed) {
        // A clock costs as much as a write: every eighth is timed.
        for _ in 0..if matches!(kind, Kind::SyncedPut) { 0 } else { 7 } {
            write(db, kind, &mut random);
            writes += 1;
        }
        let before = Instant::now();
        write(db, kind, &mut random);
        samples.push(before.elapsed().as_nanos() as u64);
        writes += 1;
    }
    samples.sort_unstable();
    Work { writes, p999: samples.get(samples.len() * 999 / 1000).copied().unwrap_or(0) }
}

fn write(db: &Db, kind: Kind, random: &mut fastrand::Rng) {
    let options = WriteOptions {
        disable_wal: matches!(kind, Kind::Merge { log: false }),
        sync: matches!(kind, Kind::SyncedPut),
        ..WriteOptions::default()
    };
    let keys = if matches!(kind, Kind::Merge { .. }) { HOT_KEYS } else { KEYS };
    let key = random.u64(..keys).to_be_bytes();
    let outcome = match kind {
        Kind::Merge { .. } => db.with(&options).merge(key, 1u64.to_le_bytes()),
        Kind::Put | Kind::SyncedPut => db.with(&options).put(key, [b'v'; 100]),
    };
    outcome.expect("a write");
}

/// Writes of all threads, millions a second.
fn total(works: &[Work]) -> f64 {
    works.iter().map(|work| work.writes).sum::<u64>() as f64 / ROUND.as_secs_f64() / 1e6
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
