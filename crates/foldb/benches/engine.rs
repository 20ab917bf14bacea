//! The engine: what a record costs to merge, fold and rewrite, and what a call of the database
//! costs. Figures are per record or per call.
//!
//! Records are 16-byte keys (random) and 8-byte values, a million of them. Files are in memory and
//! every block that point reads need is cached, so this measures the processor alone.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::cell::LazyCell;
use std::hint::black_box;
use std::ops::Deref;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foldb::env::{Env, MemFs};
use foldb::internals::{Into, key_hash, merge};
use foldb::{Compression, Db, KeyspaceOptions, Options, WriteOptions};

const RECORDS: usize = 1_000_000;
const RUNS: usize = 8;
const NO_LOG: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };

/// An empty database in memory that does nothing by itself.
fn database() -> Db {
    database_with(Compression::Lz4)
}

fn database_with(compression: Compression) -> Db {
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions {
            merge_operator: Some("uint64add".to_owned()),
            compression: Some(compression),
            ..KeyspaceOptions::default()
        },
        write_buffer_size: 256 << 20,
        block_cache_size: 256 << 20,
        disable_auto_compactions: true,
        env: Env::in_memory(MemFs::new()),
        ..Options::default()
    };
    Db::open("db", options).expect("memory does not fail")
}

fn key(number: usize) -> [u8; 16] {
    let number = number as u64;
    let (high, low) = (key_hash(&number.to_le_bytes()), key_hash(&(!number).to_le_bytes()));
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

fn keys(count: usize) -> Vec<[u8; 16]> {
    (0..count).map(key).collect()
}

fn put(db: &Db, keys: &[[u8; 16]]) {
    for key in keys {
        db.with(&NO_LOG).put(key, [key[0]; 8]).expect("memory does not fail");
    }
}

fn add(db: &Db, keys: &[[u8; 16]]) {
    for key in keys {
        db.with(&NO_LOG).merge(key, 1u64.to_le_bytes()).expect("memory does not fail");
    }
}

/// Puts each key into one of so many runs of level 0.
fn in_runs(db: Db, keys: &[[u8; 16]], runs: usize) -> Db {
    for part in keys.chunks(keys.len().div_ceil(runs)) {
        put(&db, part);
        db.flush().expect("memory does not fail");
    }
    db
}

fn merge_runs(c: &mut Criterion) {
    // Made when a bench that is not filtered out needs it.
    let distinct = LazyCell::new(|| in_runs(database(), &keys(RECORDS), RUNS));
    let plain = LazyCell::new(|| in_runs(database_with(Compression::None), &keys(RECORDS), RUNS));
    let counters = LazyCell::new(|| {
        let db = database();
        for _ in 0..RUNS {
            add(&db, &keys(RECORDS / RUNS));
            db.flush().expect("memory does not fail");
        }
        db
    });
    let mut group = c.benchmark_group("merge 8 runs");
    group.sample_size(10).throughput(Throughput::Elements(RECORDS as u64));
    let databases: [(_, &dyn Deref<Target = Db>); 3] = [
        ("distinct keys", &distinct),
        ("distinct keys, not compressed", &plain),
        ("counters in every run", &counters),
    ];
    for (what, db) in databases {
        for (how, into) in [("fold", Into::Nothing), ("fold, build", Into::Table)] {
            group.bench_function(format!("{what}/{how}"), |b| {
                let db: &Db = db;
                b.iter(|| merge(db, into).expect("intact"));
            });
        }
    }
    group.finish();
}

/// Databases that hold the same keys.
const PLACES: [&str; 3] = ["memtable", "one level", "5 runs"];

fn database_in(place: &str, keys: &[[u8; 16]]) -> Db {
    let db = match place {
        "memtable" => {
            let db = database();
            put(&db, keys);
            db
        }
        "one level" => {
            let db = in_runs(database(), keys, 1);
            db.compact(..).expect("memory does not fail");
            db
        }
        _ => in_runs(database(), keys, 5),
    };
    // Warm: every block was read.
    keys.iter().for_each(|key| assert!(db.get(key).expect("intact").is_some()));
    db
}

/// Goes over all entries.
fn walk(db: &Db) {
    let mut entries = db.iter().expect("open");
    let mut more = entries.seek_to_first().expect("intact");
    while more {
        black_box((entries.key(), entries.value().expect("no merges")));
        more = entries.advance().expect("intact");
    }
}

fn read(c: &mut Criterion) {
    let keys = keys(RECORDS);
    for place in PLACES {
        let db = LazyCell::new(|| database_in(place, &keys));
        let mut n = 0;
        let mut next_number = || {
            n = (n + 1) % RECORDS;
            n
        };
        let mut group = c.benchmark_group("get");
        group.bench_function(format!("present, {place}"), |b| {
            let db = &*db;
            b.iter(|| db.get(keys[next_number()]).expect("intact"))
        });
        group.bench_function(format!("absent, {place}"), |b| {
            let db = &*db;
            b.iter(|| db.get(key(RECORDS + next_number())).expect("intact"))
        });
        group.finish();

        let mut group = c.benchmark_group("iterate");
        group.sample_size(10).throughput(Throughput::Elements(RECORDS as u64));
        group.bench_function(place, |b| {
            let db = &*db;
            b.iter(|| walk(db))
        });
        group.finish();
    }
}

/// Time of `write` alone, into a new database each time.
fn into_new_databases(iterations: u64, write: impl Fn(&Db)) -> Duration {
    let mut spent = Duration::ZERO;
    for _ in 0..iterations {
        let db = database();
        let start = Instant::now();
        write(&db);
        spent += start.elapsed();
        // Dropping it flushes what has no log, which is not counted.
    }
    spent
}

fn write(c: &mut Criterion) {
    let distinct = keys(RECORDS / 4);
    let hot: Vec<_> = keys(1000).into_iter().cycle().take(RECORDS / 4).collect();
    let mut group = c.benchmark_group("write without a log");
    group.sample_size(10).throughput(Throughput::Elements(RECORDS as u64 / 4));
    for (what, keys) in [("distinct keys", &distinct), ("1000 keys", &hot)] {
        group.bench_function(format!("put, {what}"), |b| {
            b.iter_custom(|iterations| into_new_databases(iterations, |db| put(db, keys)))
        });
        group.bench_function(format!("merge, {what}"), |b| {
            b.iter_custom(|iterations| into_new_databases(iterations, |db| add(db, keys)))
        });
    }
    group.finish();
}

/// A million merges on one key, with a snapshot dropped after every thousandth or none.
fn hot_counter(pins: bool) -> Db {
    let db = database();
    for n in 0..RECORDS {
        add(&db, &[key(0)]);
        if pins && n % 1000 == 0 {
            drop(db.snapshot());
        }
    }
    db
}

/// A million appends of 10 bytes to one key.
fn hot_list() -> Db {
    let db = database();
    let list = db.operator("append").expect("a built-in");
    for _ in 0..RECORDS {
        db.default_keyspace()
            .with(&NO_LOG)
            .merge_with(&list, key(0), "0123456789")
            .expect("memory does not fail");
    }
    db
}

fn hot_keys(c: &mut Criterion) {
    let mut group = c.benchmark_group("get of one key");
    for (what, db) in [
        ("a million merges", hot_counter(false)),
        ("a million merges, pinned every 1000", hot_counter(true)),
        ("a million appends of 10 bytes", hot_list()),
    ] {
        group.bench_function(what, |b| b.iter(|| db.get(black_box(key(0)))));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(900));
    targets = merge_runs, read, write, hot_keys
}
criterion_main!(benches);
