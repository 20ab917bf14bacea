//! A million random 16-byte keys with 8-byte values, hashing included: insert, overwrite, get,
//! order, scan, seek. All figures are for all million at once: ms per iteration = ns per key.

#![allow(missing_docs)] // criterion generates a public function

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use foldb_chains::{ArenaPool, Chains, KeyOrder, Writer};
use xxhash_rust::xxh3::xxh3_64;

const KEYS: usize = 1 << 20;
const CAPACITY: usize = 160 << 20;

type Key = [u8; 16];

/// Random keys: the hash of a counter, twice.
fn random_keys() -> Vec<Key> {
    let half = |n: u64| xxh3_64(&n.to_le_bytes()).to_le_bytes();
    let key = |n: u64| [half(2 * n), half(2 * n + 1)].concat().try_into().unwrap();
    (0..KEYS as u64).map(key).collect()
}

/// The same keys in another order.
fn shuffled(keys: &[Key]) -> Vec<Key> {
    let mut keys = keys.to_vec();
    keys.sort_unstable_by_key(|key| xxh3_64(key));
    keys
}

fn empty(pool: &Arc<ArenaPool>) -> (Writer, Arc<Chains>) {
    Chains::create(pool, CAPACITY, KeyOrder::Bytewise)
}

fn fill(writer: &mut Writer, keys: &[Key], first_seqno: u64) {
    for (seqno, key) in (first_seqno..).zip(keys) {
        writer.insert(xxh3_64(key), key, seqno, 1, 0, &seqno.to_le_bytes()).unwrap();
    }
}

fn full(pool: &Arc<ArenaPool>, keys: &[Key]) -> Arc<Chains> {
    let (mut writer, chains) = empty(pool);
    fill(&mut writer, keys, 1);
    chains
}

fn insert(c: &mut Criterion) {
    let keys = random_keys();
    let recycled = ArenaPool::new(usize::MAX);
    full(&recycled, &keys);
    c.bench_function("insert 1M, recycled arena", |b| {
        b.iter_batched_ref(|| empty(&recycled).0, |w| fill(w, &keys, 1), BatchSize::PerIteration);
    });
    let fresh = ArenaPool::new(0);
    c.bench_function("insert 1M, fresh arena", |b| {
        b.iter_batched_ref(|| empty(&fresh).0, |w| fill(w, &keys, 1), BatchSize::PerIteration);
    });
    let again = shuffled(&keys);
    c.bench_function("overwrite 1M once", |b| {
        let filled = || {
            let (mut writer, _) = empty(&recycled);
            fill(&mut writer, &keys, 1);
            writer
        };
        b.iter_batched_ref(filled, |w| fill(w, &again, 1 << 30), BatchSize::PerIteration);
    });
    longest_growth(&recycled, &keys);
}

/// Prints the longest growth of a shard. The same inserts grow the same shards in every run, but
/// the scheduler delays different ones. So the best of several runs counts for each insert.
fn longest_growth(pool: &Arc<ArenaPool>, keys: &[Key]) {
    let mut best = vec![Duration::MAX; keys.len()];
    for _ in 0..5 {
        let (mut writer, _) = empty(pool);
        for ((seqno, key), best) in (1..).zip(keys).zip(&mut best) {
            let start = Instant::now();
            writer.insert(xxh3_64(key), key, seqno, 1, 0, b"8 bytes.").unwrap();
            *best = start.elapsed().min(*best);
        }
    }
    println!("longest growth of a shard among 1M inserts: {:?}", best.iter().max());
}

fn get(c: &mut Criterion) {
    let keys = random_keys();
    let chains = full(&ArenaPool::new(0), &keys);
    let keys = shuffled(&keys);
    c.bench_function("get 1M", |b| {
        b.iter(|| {
            let newest = |key: &Key| {
                let mut versions = chains.find(xxh3_64(key), key)?.versions(1 << 40);
                Some(u64::from(versions.next()?.value[0]))
            };
            keys.iter().map(|key| newest(key).unwrap()).sum::<u64>()
        });
    });
    let absent: Vec<Key> = keys.iter().map(|key| key.map(|byte| !byte)).collect();
    c.bench_function("get 1M absent", |b| {
        b.iter(|| absent.iter().filter(|key| chains.find(xxh3_64(*key), *key).is_some()).count());
    });
}

fn scan_all(chains: &Arc<Chains>) -> usize {
    let mut cursor = chains.cursor(u64::MAX);
    let (mut keys, mut bytes) = (0, 0);
    cursor.seek_to_first();
    while cursor.valid() {
        keys += 1;
        bytes += usize::from(cursor.key()[15]) + usize::from(cursor.value()[0]);
        cursor.next_key();
    }
    black_box(bytes);
    keys
}

fn scan_back(chains: &Arc<Chains>) -> usize {
    let mut cursor = chains.cursor(u64::MAX);
    let mut keys = 0;
    cursor.seek_to_last();
    while cursor.valid() {
        keys += usize::from(cursor.key().len() == 16);
        cursor.prev();
    }
    keys
}

fn order_and_scan(c: &mut Criterion) {
    let keys = random_keys();
    let pool = ArenaPool::new(usize::MAX);
    c.bench_function("order 1M", |b| {
        b.iter_batched_ref(|| full(&pool, &keys), |c| c.order_all(), BatchSize::PerIteration);
    });

    let chains = full(&pool, &keys);
    chains.order_all();
    c.bench_function("scan 1M, one stretch", |b| b.iter(|| scan_all(&chains)));
    c.bench_function("scan 1M backwards, one stretch", |b| b.iter(|| scan_back(&chains)));

    let (mut writer, stretched) = empty(&pool);
    let pieces = [900_000, 60_000, 40_000, 7_000, 1_000, 500];
    let mut rest = &keys[..];
    for piece in pieces {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        fill(&mut writer, now, 1);
        // Cursors sort no more than some ten thousands.
        if stretched.order_bytes() == 0 {
            stretched.order_all();
        }
        drop(stretched.cursor(u64::MAX));
        rest = later;
    }
    println!("{:?}", stretched.cursor(u64::MAX));
    c.bench_function("scan 1M, several stretches", |b| b.iter(|| scan_all(&stretched)));

    let targets = &shuffled(&keys)[..1000];
    for (name, chains) in [("one stretch", &chains), ("several stretches", &stretched)] {
        c.bench_function(&format!("1000 cursors and seeks, {name}"), |b| {
            b.iter(|| {
                for target in targets {
                    let mut cursor = chains.cursor(u64::MAX);
                    cursor.seek(target);
                    black_box(cursor.valid());
                }
            });
        });
    }
}

/// Creates a cursor and seeks after every insert: the worst case of order on demand.
fn insert_and_seek(c: &mut Criterion) {
    let keys = random_keys();
    let pool = ArenaPool::new(usize::MAX);
    let (old, new) = keys.split_at(KEYS - 20_000);
    let filled = || {
        let (mut writer, chains) = empty(&pool);
        fill(&mut writer, old, 1);
        chains.order_all();
        writer
    };
    c.bench_function("20000 times insert, cursor, seek, next", |b| {
        b.iter_batched_ref(
            filled,
            |writer| {
                for (seqno, key) in (1 << 30..).zip(new) {
                    fill(writer, std::slice::from_ref(key), seqno);
                    let mut cursor = writer.chains().cursor(seqno);
                    cursor.seek(key);
                    cursor.next_key();
                    black_box(cursor.valid());
                }
            },
            BatchSize::PerIteration,
        );
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(2));
    targets = insert, get, order_and_scan, insert_and_seek
}
criterion_main!(benches);
